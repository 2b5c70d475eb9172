"""What has come of a study: the best of it, its history, what is believed now, and how past beliefs came out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from calibo.data import Dataset, Marginal, Params
from calibo.errors import RecipeError, SpaceError, StudyError
from calibo.optimize import Direction, Strategy, believed, fitted_model, predict_table
from calibo.space import PoolSpace, ProductSpace, as_space
from calibo.study.attributes import read_description, read_seed, read_stamp
from calibo.study.description import rebuilt
from calibo.study.distributions import OptunaSpace, optuna_space, space_of
from calibo.study.opening import load_study, storage_errors
from calibo.study.sampler import grouped_distributions
from calibo.study.storage import open_storage
from calibo.study.trials import Entry, completed, completed_in_order, dataset_of, direction_of, entries

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable
    from calibo.report.story import Story

#: Levels of the quantiles of a forecast that the history shows.
LEVELS = (0.025, 0.1, 0.5, 0.9, 0.975)


@dataclass(frozen=True, eq=False)
class Result:
    """A study as it was when it was looked at; nothing in it changes if the study goes on.

    Attributes:
        study_name: Name of the study.
        direction: Whether small or large values are wanted.
        trials: Its trials, as Optuna keeps them.
        seed: The seed of its suggestions.
        method: Name of the method, or ``None`` if it has none.
        optuna_space: The space as Optuna sees it; ``None`` if it is not known.
        strategy: The method itself; ``None`` if it is not known.
        study: The Optuna study, for all that Optuna can do with it.
    """

    study_name: str
    direction: Direction
    trials: tuple[FrozenTrial, ...]
    seed: int
    method: str | None
    optuna_space: OptunaSpace | None
    strategy: Strategy | None
    study: optuna.Study

    def __repr__(self) -> str:
        done = sum(entry.value is not None for entry in self.entries)
        best = f", best_value={self.best_value!r}, best_params={self.best_params!r}" if done else ""
        return f"Result(study_name={self.study_name!r}, {done} of {len(self.trials)} trials complete{best})"

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All trials by number, in the user's sign and units, with their forecasts."""
        return entries(self.trials, self.optuna_space)

    @property
    def failures(self) -> tuple[Entry, ...]:
        """The trials that failed, each with its ``error``."""
        return tuple(entry for entry in self.entries if entry.state == "failed")

    @property
    def space(self) -> ProductSpace | PoolSpace | None:
        """What may be tried; ``None`` if that is not known."""
        return None if self.optuna_space is None else self.optuna_space.space

    @property
    def best_params(self) -> Params:
        """The parameters with the best value so far, as the objective took them."""
        best = self._best
        if self.optuna_space is None:
            return dict(best.params)
        return self.optuna_space.params(next(trial for trial in self.trials if trial.number == best.number).params)

    @property
    def best_value(self) -> float:
        """The best value so far."""
        assert self._best.value is not None
        return self._best.value

    @cached_property
    def _best(self) -> Entry:
        done = completed_in_order(self.entries)
        if not done:
            raise StudyError(
                f"study {self.study_name!r} has no completed trial yet, so there is no best one; run more trials"
            )
        return max(done, key=lambda entry: self.direction.value * (entry.value or 0.0))

    @cached_property
    def history(self) -> pd.DataFrame:
        """One row per trial, by number.

        Columns: ``number``, ``state``, ``value``, ``params_<name>`` for each parameter, then of the forecast made
        before the measurement ``forecast_mean``, ``forecast_sd`` and ``forecast_q2.5`` to ``forecast_q97.5``, the same
        as ``raw_...`` before calibration, and ``started``, ``finished``, ``error``. Missing where there is none.
        """
        import pandas as pd

        names = list(dict.fromkeys(name for entry in self.entries for name in entry.params))
        rows = [_row(entry, names) for entry in self.entries]
        return pd.DataFrame(rows, columns=_columns(names))

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """What is believed of parameters now: mean, median and calibrated intervals, one row for each.

        Columns are those of ``calibo.optimize.predict_table``.
        """
        space, strategy = self._known()
        return predict_table(
            self.data(),
            params,
            space=space.space,
            strategy=strategy,
            direction=self.direction,
            rng=np.random.default_rng(self.seed),
        )

    def calibration(self) -> CalibrationTable:
        """How the forecasts made so far came out."""
        from calibo.diagnostics import forecast_table

        judged = [entry for entry in completed_in_order(self.entries) if entry.forecast is not None]
        return forecast_table([e.forecast for e in judged if e.forecast], [e.value or 0.0 for e in judged])

    def data(self) -> Dataset:
        """All that is known, as strategies see it: larger is better, points on the unit cube."""
        return dataset_of(self.trials, self._known()[0], self.direction)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the study's report, one HTML file that needs nothing else; where it is."""
        from calibo.report import write_report

        return write_report(self.story(), path)

    def story(self) -> Story:
        """All that a report tells of the study: finished trials in the order in which their outcomes came."""
        from calibo.report.story import Story

        told = [entry for entry in self.entries if entry.state in ("complete", "failed") and entry.finished is not None]
        told.sort(key=lambda entry: (entry.finished, entry.number))
        return Story(
            title=self.study_name,
            method=self.method or getattr(self.strategy, "name", "unknown"),
            direction=self.direction,
            numbers=tuple(entry.number for entry in told),
            params=tuple(entry.params for entry in told),
            values=tuple(entry.value for entry in told),
            forecasts=tuple(entry.forecast for entry in told),
            expected_best=self._expected_best(told),
            slices=self._slices(),
        )

    def _expected_best(self, told: Sequence[Entry]) -> tuple[float | None, ...] | None:
        """After each of some trials, the best expectation today's model has of the points measured until then."""
        if self.optuna_space is None or self.strategy is None or not len(self.data()):
            return None
        measured = [entry for entry in told if entry.value is not None]
        rng = np.random.default_rng(self.seed)
        try:
            X = self.optuna_space.space.encode([entry.params for entry in measured])
            model = fitted_model(self.data(), self.strategy, rng)
        except (RecipeError, SpaceError):
            # A method without a model, or trials from before a range was changed: the report does without the line.
            return None
        law = believed(model, X, self.direction, latent=True)
        sign = self.direction.value
        best = sign * np.maximum.accumulate(sign * law.mean)
        after = {entry.number: float(value) for entry, value in zip(measured, best, strict=True)}
        return tuple(after.get(entry.number) for entry in told)

    def _slices(self) -> tuple[Any, ...]:
        """Beliefs along each parameter through the best point; none where there is no model for them."""
        from calibo.optimize.slices import slices_at

        space = self.space
        if not isinstance(space, ProductSpace) or self.strategy is None or not len(self.data()):
            return ()
        try:
            return slices_at(
                self.data(),
                self.best_params,
                space.names,
                space=space,
                strategy=self.strategy,
                direction=self.direction,
                rng=np.random.default_rng(self.seed),
            )
        except RecipeError:
            return ()

    def _known(self) -> tuple[OptunaSpace, Strategy]:
        if self.optuna_space is None or self.strategy is None:
            lacking = "space" if self.optuna_space is None else "method"
            raise StudyError(
                f"the {lacking} of study {self.study_name!r} is not known from its storage; "
                f"give it: load_result(..., {lacking}=...), or --{lacking} on the command line"
            )
        return self.optuna_space, self.strategy


def load_result(
    storage: str | os.PathLike[str] | BaseStorage,
    study_name: str | None = None,
    *,
    space: Any = None,
    method: str | Strategy | None = None,
) -> Result:
    """The result of a study that is in a storage; nothing is written to it.

    Args:
        storage: See ``open_storage``.
        study_name: Name of the study; not needed if there is only one.
        space: The space. Only needed for predictions, and then only for a pool, for choices that are not plain
            values, or for a study that calibo did not make.
        method: The method; by default the one the study was made with.
    """
    study = load_study(open_storage(storage, create=False), study_name)
    with storage_errors():
        description = read_description(study) or {}
    if space is None:
        space = rebuilt(description.get("space", {}))
    seen = _seen_by_trials(study, description) if space is None else optuna_space(as_space(space))
    return result_of(study, space=seen, method=method or _latest_method(study, description), seed=None)


def _seen_by_trials(study: optuna.Study, description: Mapping[str, Any]) -> OptunaSpace | None:
    """The space of a study that only a sampler made: what its trials suggest, if they all suggest the same."""
    if description:
        return None
    groups = grouped_distributions(completed(study.get_trials(deepcopy=False)))
    return space_of(groups[0]) if len(groups) == 1 else None


def _latest_method(study: optuna.Study, description: Mapping[str, Any]) -> str | None:
    """The method of the latest suggestion, or else the one that the study was begun with."""
    stamps = (read_stamp(trial) for trial in reversed(study.get_trials(deepcopy=False)))
    latest = next((stamp for stamp in stamps if stamp is not None), None)
    return description.get("method") if latest is None else latest.method


def result_of(
    study: optuna.Study, *, space: OptunaSpace | None, method: str | Strategy | None, seed: int | None
) -> Result:
    """A study as it is now."""
    from calibo.methods import strategy

    with storage_errors():
        return Result(
            study_name=study.study_name,
            direction=direction_of(study),
            trials=tuple(study.get_trials(deepcopy=False)),
            # To predict needs a seed, though it hardly matters which; a study that is only read gets none written.
            seed=(read_seed(study) or 0) if seed is None else seed,
            method=method_name(method),
            optuna_space=space,
            strategy=None if method is None else strategy(method),
            study=study,
        )


def method_name(method: str | Strategy | None) -> str | None:
    """The name by which a method can be had again, ``None`` if it has none."""
    return method if isinstance(method, str) else None


def _columns(names: Sequence[str]) -> list[str]:
    laws = [f"{stage}_{what}" for stage in ("forecast", "raw") for what in ("mean", "sd", *map(_level, LEVELS))]
    return ["number", "state", "value", *(f"params_{n}" for n in names), *laws, "started", "finished", "error"]


def _level(level: float) -> str:
    return f"q{100 * level:g}"


def _row(entry: Entry, names: Sequence[str]) -> list[Any]:
    forecast = entry.forecast
    laws = [None, None] if forecast is None else [forecast.calibrated, forecast.raw]
    believed = [number for law in laws for number in _law(law)]
    params = [entry.params.get(name) for name in names]
    value = float("nan") if entry.value is None else entry.value
    return [entry.number, entry.state, value, *params, *believed, entry.started, entry.finished, entry.error]


def _law(law: Marginal | None) -> list[float]:
    if law is None:
        return [float("nan")] * (2 + len(LEVELS))
    return [law.mean, law.sd, *(law.icdf(level) for level in LEVELS)]
