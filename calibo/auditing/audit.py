"""``audit``: which forecasters would have been honest and sharp on a finished study."""

from __future__ import annotations

import html
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.arguments import checked
from calibo.auditing.forecasters import REFERENCE, STORED, Asked, forecasters_of, names_of_stored
from calibo.auditing.reading import Audited, read_study
from calibo.auditing.replay import replayed
from calibo.checks import check_seed
from calibo.data import Forecast
from calibo.diagnostics.forecasters import ForecasterTable, forecaster_table
from calibo.errors import DataError, StudyError
from calibo.trials import Trial, convert_forecasts
from calibo.trials.trial import as_counted

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    import plotly.graph_objects as go
    from optuna.storages import BaseStorage

    from calibo.study import Result

#: Results before the first forecast.
START = 5
#: What a replay cannot show.
LIMITS = (
    "What a replay cannot show: the points were chosen by the study's own sampler. A method that chooses by its own "
    "forecasts would have gone elsewhere, and its forecasts would be judged there."
)
_ABOUT_STORED = "the forecasts stored with the trials before they ran"


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """How forecasters would have done on a study, one step ahead.

    Printed, it is one sentence, a table of at most 80 columns, and what to know about it.

    Attributes:
        audited: The results of the study.
        table: One row per forecaster, honest ones first.
        forecasts: Forecasts of the n trials by each forecaster, in the user's sign; ``None`` where there is none, as for
            the first trials.
    """

    audited: Audited
    table: ForecasterTable
    forecasts: Mapping[str, tuple[Forecast | None, ...]]

    def headline(self) -> str:
        """Return one sentence: how many forecasters were honest, and which of them was the sharpest."""
        return self.table.headline()

    def sentences(self) -> list[str]:
        """Return every forecaster in words, what was left out, and what a replay cannot show."""
        return [*self.table.sentences(), *self.notes()]

    def notes(self) -> list[str]:
        """Return what was left out, who was judged on fewer results, and what a replay cannot show."""
        first = f"The first {START} of {len(self.audited.trials)} results are only learned from."
        return [first, *self.table.partial(), *self.audited.notes, LIMITS]

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, one row per forecaster; see ``ForecasterTable.to_frame``."""
        return self.table.to_frame()

    def history(self) -> pd.DataFrame:
        """Return all forecasts as a pandas data frame, one row per trial and forecaster.

        Columns: ``number`` of the trial, ``value``, ``forecaster``, ``mean``, ``std``, and the ends of the intervals
        ``low_50``, ``high_50``, ``low_80``, ``high_80``, ``low_95``, ``high_95``.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "number": trial.number,
                    "value": trial.observed(self.audited.index),
                    **_forecast_record(name, forecast),
                }
                for name, made in self.forecasts.items()
                for trial, forecast in zip(self.audited.trials, made, strict=True)
                if forecast is not None
            ]
        )

    def figure(self) -> go.Figure:
        """Return the picture of the table as a Plotly figure: coverage with its bands, and scores."""
        from calibo.report.forecasters import plot_forecasters

        return plot_forecasters(self.table)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the audit as one self-contained HTML file, and return its path.

        Raises:
            StudyError: If the file cannot be written.
        """
        from calibo.report.data import OutcomeData
        from calibo.report.forecasters import write_forecasters

        seen = self.audited
        outcomes = {
            name: OutcomeData(
                name=seen.objective,
                trials=tuple(_with_forecast(*pair, seen.index) for pair in zip(seen.trials, made, strict=True)),
                directions=(seen.direction,),
            )
            for name, made in self.forecasts.items()
        }
        return write_forecasters(self._title(), self._facts(), self.table, outcomes, self.notes(), path)

    def _title(self) -> str:
        return f"Audit of study {self.audited.study_name!r}"

    def _facts(self) -> list[str]:
        seen = self.audited
        parameters = f"{seen.data.X.shape[1]} parameter{'s' if seen.data.X.shape[1] > 1 else ''}"
        goal = f"{seen.objective}, {seen.direction.name.lower()}d"
        return [goal, f"{len(seen.trials)} results", parameters, "one-step-ahead forecasts, replayed"]

    def __repr__(self) -> str:
        top = [f"{self._title()}: {', '.join(self._facts())}.", self.headline()]
        lines = [line for text in top for line in _wrapped(text)]
        about = [line for row in self.table.rows if row.about for line in _wrapped(f"{row.name}: {row.about}", "  ")]
        notes = [line for text in [*self.table.legend(), *self.notes()] for line in _wrapped(f"- {text}", "  ")]
        return "\n".join([*lines, "", *self.table.lines(), "", *about, "", *notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes())
        return f"<p><b>{html.escape(self._title())}</b></p>{self.table._repr_html_()}<ul>{notes}</ul>"


@checked
def audit(
    study: optuna.Study | Result | str | os.PathLike[str] | BaseStorage,
    study_name: str | None = None,
    *,
    objective: int | str = 0,
    methods: Sequence[Asked] | Mapping[str, Asked] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Audit:
    """Replay what forecasters would have said of the results of a finished study, and judge them.

    The study may have been made by any sampler; it is only read. In the order of their completion, each result is
    forecast from those before it by every forecaster, whose calibrator learns from its own earlier forecasts, as in a
    running study.

    Args:
        study: An Optuna study, a ``Result``, or a storage: a URL, the path of a .db file, or one of Optuna's.
        study_name: Name of the study in the storage; not needed if there is only one.
        objective: Which of several objectives: its index, or its name if the study has ``metric_names``.
        methods: Names of calibo's methods, "botorch" (BoTorch's Gaussian process), "stored" (forecasts stored with
            the trials), strategies or surrogates; a mapping names them. By default auto, ocbo, locbo, ocbo_local, cbo, gp_ei
            and cqr, botorch if it is installed, and stored if there are any. ``gp_ei``, the Gaussian process without
            calibration, is always there, for comparison.
        seed: Seed of forecasters that use random numbers.
        progress: Whether to show a progress bar.

    Raises:
        DataError: If there are fewer than 10 results, or nothing varies.
        RecipeError: If a method or an objective is unknown.
        StudyError: If there is no such study, or ``study_name`` is not the name of the study given.

    Example:
        >>> import calibo, optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", -3, 3) ** 2, n_trials=20)
        >>> found = calibo.audit(study, methods=["ocbo", "gp_ei"], progress=False)
        >>> sorted(found.to_frame()["forecaster"])
        ['gp_ei', 'ocbo']
    """
    seed = check_seed(seed)
    forecasters = forecasters_of(methods)
    seen = read_study(_opened(study, study_name), objective)
    stored: list[Forecast | None] = [None if one is None else one[0] for one in seen.data.forecasts]
    stored[:START] = [None] * START
    names = [STORED] if methods is None else names_of_stored(methods)
    there = any(one is not None for one in stored)
    if methods is not None and names and not there:
        raise DataError(
            f"no result of study {seen.study_name!r} after the first {START} has a stored forecast: only studies made with "
            'calibo have some; leave "stored" out'
        )
    made = replayed(seen.data, forecasters, start=START, seed=seed, progress=progress)
    forecasts: dict[str, list[Forecast | None]] = {
        one.name: [None] * START + list(own) for one, own in zip(forecasters, made, strict=True)
    }
    about = {one.name: one.about for one in forecasters}
    if there:
        forecasts |= dict.fromkeys(names, stored)
        about |= dict.fromkeys(names, _about_stored(seen))
    users = {name: convert_forecasts(own, (seen.direction,) * len(own)) or () for name, own in forecasts.items()}
    judged = {name: [None if one is None else one.calibrated for one in own[START:]] for name, own in users.items()}
    values = as_counted(np.array([trial.observed(seen.index) for trial in seen.trials[START:]], dtype=np.float64))
    table = forecaster_table(judged, values, reference=REFERENCE, about=about)
    return Audit(seen, table, users)


def _about_stored(seen: Audited) -> str:
    made_by = sorted({trial.suggestion.method for trial in seen.trials if trial.suggestion.method})
    return f"{_ABOUT_STORED}, by {', '.join(made_by)}" if made_by else _ABOUT_STORED


def _opened(study: Any, study_name: str | None) -> optuna.Study:
    import optuna

    from calibo.study import Result
    from calibo.study.opening import load_study
    from calibo.study.storage import open_storage

    if isinstance(study, Result):
        study = study.study
    if isinstance(study, optuna.Study):
        if study_name not in (None, study.study_name):
            raise StudyError(
                f"the study given is {study.study_name!r}, not {study_name!r}: a name is for a storage with several studies"
            )
        return study
    return load_study(open_storage(study, create=False), study_name)


def _with_forecast(trial: Trial, forecast: Forecast | None, index: int) -> Trial:
    """Return a trial with the value of one objective only, and another forecast of it."""
    suggestion = replace(trial.suggestion, forecasts=None if forecast is None else (forecast,), constraints=())
    return replace(trial, suggestion=suggestion, values=None if trial.values is None else (trial.values[index],))


def _forecast_record(name: str, forecast: Forecast) -> dict[str, object]:
    shown = forecast.calibrated
    record: dict[str, object] = {"forecaster": name, "mean": shown.mean, "std": shown.std}
    for coverage in (50, 80, 95):
        record[f"low_{coverage}"], record[f"high_{coverage}"] = shown.interval(coverage / 100)
    return record


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 80, subsequent_indent=indent, break_on_hyphens=False)
