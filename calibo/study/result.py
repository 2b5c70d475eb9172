"""The result of a study: its best trials, its history, predictions, and how forecasts came out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from calibo.arguments import checked
from calibo.data import Dataset, Params, shown_params, shown_value
from calibo.errors import DataError, StudyError
from calibo.optimize import Plan, Progress, Strategy, fitted_plan
from calibo.optimize.optimum import WithProgress
from calibo.optimize.recommending import recommended
from calibo.spaces import Space, as_space, held_values
from calibo.study.attributes import read_description, read_seed, read_stopped
from calibo.study.description import rebuilt
from calibo.study.distributions import OptunaSpace, optuna_space
from calibo.study.inference import inferred_space
from calibo.study.method import StudyMethod, own_method
from calibo.study.opening import load_study, storage_errors
from calibo.study.optuna_private import part
from calibo.study.storage import open_storage
from calibo.study.trials import (
    completed_frozen,
    directions_of,
    local_time,
    read_trials,
    study_data,
    trials_inside,
    with_user_params,
)
from calibo.trials import (
    Direction,
    State,
    Trial,
    best_trial,
    calibration_by_place_of,
    calibration_of,
    check_single,
    completed,
    constraint_names,
    feasibility_of,
    feasible,
    history_table,
    hypervolume_after,
    in_order_of_completion,
    outcome_of,
    pareto_trials,
    predict_table,
    trials_html,
)

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable, FeasibilityTable, PlaceTable
    from calibo.optimize.explaining import Explanation
    from calibo.report import Plots, ReportData


#: Names that Optuna makes up for studies without one.
_MADE_UP = re.compile(r"no-name-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, eq=False, repr=False)
class Result(WithProgress):
    """A study as it was when it was read; it does not change when the study goes on.

    Attributes:
        study_name: Name of the study.
        directions: One direction per objective.
        optuna_trials: Its trials as Optuna keeps them.
        seed: Seed of its suggestions.
        method: Name of the method, or ``None`` if it has none.
        optuna_space: The space as Optuna sees it; ``None`` if it is not known.
        strategy: The strategy; ``None`` if it is not known.
        study: The Optuna study, for everything that Optuna can do with it.
        reference: Reference point for the hypervolume, one value per objective; ``None`` if not given.
        stopped: Why a stopping rule ended the last run; ``None`` if none did.
        names: Names of the objectives; ``()`` if they have none.

    Examples:
        >>> from calibo import Float, minimize
        >>> result = minimize(lambda p: (p["x"] - 1) ** 2, {"x": Float(-2, 2)}, 8, "gp_ei", seed=0, progress=False)
        >>> result.best_value < 0.1
        True
        >>> len(result.history)
        8
        >>> list(result.predict([{"x": 0.5}]).columns)[:3]
        ['mean', 'median', 'measured_low_50']
    """

    study_name: str
    directions: tuple[Direction, ...]
    optuna_trials: tuple[FrozenTrial, ...]
    seed: int
    method: str | None
    optuna_space: OptunaSpace | None
    strategy: Strategy | None
    study: optuna.Study
    reference: tuple[float, ...] | None = None
    stopped: str | None = None
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Result({self._summary()})" if self._nameless else f"Result({self.study_name!r}: {self._summary()})"

    def _repr_html_(self) -> str:
        title = self._summary() if self._nameless else f"{self.study_name}: {self._summary()}"
        if len(self.directions) == 1:
            return trials_html(f"{title}.", self.trials, self.names or [""])
        import html

        front = self.pareto_front
        columns = [name for name in front.columns if not name.startswith(("raw_", "started", "finished"))]
        return f"<p>{html.escape(title)}</p>{front[columns].to_html(index=False, max_rows=20)}"

    @property
    def title(self) -> str:
        """What the study is called on pages: its name, unless nobody has given it one."""
        return "Study without a name" if self._nameless else self.study_name

    @property
    def _nameless(self) -> bool:
        return _MADE_UP.fullmatch(self.study_name) is not None

    def _summary(self) -> str:
        counts = f"{len(completed(self.trials))} of {len(self.trials)} trials complete"
        if not feasible(self.trials):
            return counts
        if len(self.directions) > 1:
            return f"{counts}, {len(pareto_trials(self.trials, self.directions))} on the Pareto front"
        return f"{counts}, best value {shown_value(self.best_value)} at {shown_params(self.best_params)}"

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """All trials by number, in the user's sign and units, with their forecasts.

        Their parameters are those that the objective takes; if the space is not known, or the point is not in it, they are
        the values that Optuna stores.
        """
        return tuple(with_user_params(self.stored_trials, self.optuna_space))

    @cached_property
    def stored_trials(self) -> tuple[Trial, ...]:
        """All trials by number, with the values of the space's columns as parameters."""
        return tuple(read_trials(self.optuna_trials, self.optuna_space))

    @cached_property
    def _ordered(self) -> list[Trial]:
        return in_order_of_completion(self.trials)

    @property
    def failures(self) -> tuple[Trial, ...]:
        """Trials that failed, each with its ``error``."""
        return tuple(trial for trial in self.trials if trial.state is State.FAILED)

    @property
    def feasible_trials(self) -> tuple[Trial, ...]:
        """Complete trials that meet all constraints, in the order of their outcomes."""
        return tuple(feasible(self._ordered))

    @property
    def space(self) -> Space | None:
        """Search space; ``None`` if it is not known."""
        return None if self.optuna_space is None else self.optuna_space.space

    @property
    def makes_forecasts(self) -> bool:
        """Whether its suggestions come with forecasts, as far as is known."""
        return self.strategy is None or self.strategy.makes_forecasts

    @property
    def best_trial(self) -> Trial:
        """The feasible trial with the best value."""
        return best_trial(self._ordered, self.directions)

    @property
    def best_params(self) -> Params:
        """Parameters of the best feasible trial, as the objective took them: of a pool the whole row."""
        return self.best_params_of(None)

    def best_params_of(self, objective: int | None) -> Params:
        """Return the parameters of the feasible trial with the best value of one objective, or of the only one."""
        best = best_trial(self._ordered, self.directions, objective)
        if self.optuna_space is None or not len(best.x):
            # A trial that was told without having all parameters, or in a range that has changed since.
            return dict(best.params)
        return self.optuna_space.params(next(one for one in self.optuna_trials if one.number == best.number).params)

    @property
    def best_value(self) -> float:
        """Best value of the feasible trials."""
        return best_trial(self._ordered, self.directions).value or 0.0

    @property
    def pareto_front(self) -> pd.DataFrame:
        """Feasible trials that no other feasible trial dominates: one row each, as in ``history``."""
        numbers = [trial.number for trial in pareto_trials(self._ordered, self.directions)]
        return self.history.loc[self.history["number"].isin(numbers), :].reset_index(drop=True)

    def hypervolume(self) -> pd.Series:
        """Return the hypervolume of the feasible trials after each complete trial, in the order of their outcomes.

        Without a reference point it is inferred from the outcomes.
        """
        import pandas as pd

        numbers = pd.Index([trial.number for trial in completed(self._ordered)], name="number")
        volumes = hypervolume_after(self._ordered, self.directions, self.reference)
        return pd.Series(volumes, index=numbers, name="hypervolume")

    @cached_property
    def history(self) -> pd.DataFrame:
        """Table with one row per trial, by number.

        Columns: ``number``, ``state``, ``value``, ``sem`` if any trial has a standard error, ``params_<name>`` for each
        column of the space, then of the forecast made before the measurement ``forecast_mean``, ``forecast_std`` and
        ``forecast_q2.5`` to ``forecast_q97.5``, the same as ``raw_...`` before calibration, and
        ``started``, ``finished``, ``error``. Missing where there is none.

        Of objectives with names the columns are ``value_<name>``, ``sem_<name>``, ``forecast_<name>_mean`` and so on; of
        several without names ``value_0``, ``sem_0``, ``forecast_0_mean``. A constraint has ``constraint_<name>`` and
        ``forecast_constraint_<name>_mean``.
        """
        return history_table(self.stored_trials, len(self.directions), self.names)

    @cached_property
    def plan(self) -> Plan:
        """Plan of the strategy after all trials, with its fitted models; fitted on first use.

        Raises:
            StudyError: If the space or the method is not known.
            DataError: If there is no outcome yet.
            RecipeError: If the method has no models.
        """
        return fitted_plan(self.data(), self._known()[1], rng=np.random.default_rng(self.seed))

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return mean, median and calibrated intervals at parameters; see ``calibo.trials.predict_table``.

        Args:
            params: Parameters by name, one mapping per point.
        """
        X = self._known()[0].space.encode(params)
        return predict_table(
            self.plan.models, X, directions=self.directions, constraints=self._data[1], names=self.names
        )

    def recommend(
        self, *, context: Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None
    ) -> tuple[Params, float]:
        """Return the parameters with the best expected value in a context, and that value; see ``Optimizer.recommend``.

        Args:
            context: Values of the space's contexts, by name: all of them.
            fixed: Values of parameters that the recommendation must have, by name.
        """
        check_single(self.directions, "recommendation")
        space = self._known()[0].space
        held = space.holding(held_values(space, fixed, context))
        x, mean = recommended(self.plan, self.data(), held, rng=np.random.default_rng(self.seed))
        return {**space.decode(x[None, :])[0], **(context or {})}, float(self.directions[0].value * mean)

    def calibration(self, outcome: int | str = 0) -> CalibrationTable:
        """Compare the forecasts of one outcome with the values observed.

        Args:
            outcome: Index or name of an objective, or name of a constraint.
        """
        which = outcome_of(outcome, self.names)
        return calibration_of(self._ordered, self.directions, which, makes_forecasts=self.makes_forecasts)

    def calibration_by_place(self, outcome: int | str = 0) -> PlaceTable:
        """Compare the forecasts of one outcome with the values observed: near the data, between, and far from them.

        Args:
            outcome: Index or name of an objective, or name of a constraint.
        """
        return calibration_by_place_of(self._ordered, self.directions, outcome_of(outcome, self.names))

    def feasibility(self) -> FeasibilityTable:
        """Compare the forecast probabilities of feasibility with the constraints observed."""
        return feasibility_of(self._ordered, self.directions)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints of its complete trials, sorted."""
        return constraint_names(self.trials)

    def data(self) -> Dataset:
        """Return all trials as the strategies see them: outcomes are maximized, points lie on the unit cube."""
        return self._data[0]

    @cached_property
    def _data(self) -> tuple[Dataset, tuple[str, ...]]:
        return study_data(self.optuna_trials, self._known()[0], self.directions, reference=self.reference)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report of the study, a single HTML file, and return its path."""
        from calibo.report import write_report

        return write_report(self.report_data(), path)

    def report_data(self) -> ReportData:
        """Collect what a report shows of the study: finished trials in the order of their outcomes."""
        from calibo.optimize.reporting import report_data
        from calibo.study.report import reported

        return report_data(reported(self))

    def to_dashboard(self) -> tuple[str, ...]:
        """Show the forecasts in optuna-dashboard: figures and a note of the study; see docs/dashboard.md.

        Returns:
            The ids of the figures there, which are replaced when this is called again.

        Raises:
            MissingExtra: If optuna-dashboard is not installed.
        """
        from calibo.study.dashboard import publish

        return publish(self)

    def explain(self, number: int) -> Explanation:
        """Explain why a trial's point was suggested: explore or exploit, what is known nearby, what else was promising.

        Args:
            number: Number of the trial.

        Raises:
            DataError: If there is no such trial.
            StudyError: If the space or the method is not known.
        """
        from calibo.optimize.explaining import explain

        self._known()
        for trial in self.stored_trials:
            if trial.number == number:
                return explain(trial, self._progress_before(trial), self.names)
        raise DataError(
            f"study {self.study_name!r} has no trial {number!r}: there are {len(self.trials)}, counted from 0"
        )

    def progress(self) -> Progress:
        """Return all trials so far, as stopping rules see them."""
        return self._progress(self.optuna_trials)

    def _progress_before(self, trial: Trial) -> Progress:
        """Return the study as it was when a trial was started."""
        frozen = next(one for one in self.optuna_trials if one.number == trial.number)
        start = local_time(frozen.datetime_start)
        ends = [local_time(one.datetime_complete) for one in self.optuna_trials]
        known = [
            one
            for one, end in zip(self.optuna_trials, ends, strict=True)
            if end is not None and start is not None and end <= start
        ]
        return self._progress(known)

    def _progress(self, trials: Sequence[FrozenTrial]) -> Progress:
        space, strategy = self._known()
        data, _ = study_data(trials, space, self.directions, reference=self.reference)
        return Progress(
            trials=tuple(in_order_of_completion(trials_inside(trials, space))),
            directions=self.directions,
            data=data,
            space=space.space,
            strategy=strategy,
            seed=self.seed,
            reference=self.reference,
        )

    @cached_property
    def plot(self) -> Plots:
        """The report's figures by name: ``result.plot.forecasts()``, ``.coverage()``, ``.slices()`` and so on."""
        from calibo.report import Plots

        return Plots(self.report_data)

    def _known(self) -> tuple[OptunaSpace, Strategy]:
        if self.optuna_space is None or self.strategy is None:
            lacking = "space" if self.optuna_space is None else "method"
            raise StudyError(
                f"the {lacking} of study {self.study_name!r} is not known from its storage; "
                f"give it: load_result(..., {lacking}=...), or --{lacking} on the command line"
            )
        return self.optuna_space, self.strategy


@checked
def load_result(
    storage: str | os.PathLike[str] | BaseStorage | optuna.Study,
    study_name: str | None = None,
    *,
    space: Any = None,
    method: str | Strategy | None = None,
    reference: Sequence[float] | None = None,
) -> Result:
    """Read the result of a study, of calibo's or any other of Optuna's; nothing is written to it.

    Args:
        storage: Where the study is kept (see ``open_storage``), or the study itself.
        study_name: Name of the study; not needed if there is only one, or the study itself is given.
        space: The space. Only needed for predictions, and then only for a pool, for choices that are not plain
            values, for a kind of space of your own, or for a study that calibo did not make.
        method: The method; by default the one the study was made with.
        reference: Reference point for the hypervolume, one value per objective; by default the one that the study was
            made with, or else inferred from the outcomes.

    Raises:
        StudyError: If there is no such study, or it was stored by a calibo with another format.
    """
    if isinstance(storage, optuna.Study):
        if study_name not in (None, storage.study_name):
            raise StudyError(f"the study given is {storage.study_name!r}, not {study_name!r}: leave study_name out")
        kept, name = part(storage, "_storage"), storage.study_name
    else:
        kept, name = storage, study_name
    study = load_study(open_storage(kept, create=False), name)
    with storage_errors():
        description = read_description(study) or {}
        space = rebuilt(description.get("space", {})) if space is None else as_space(space)
        seen = None if space is None else optuna_space(space)
        if seen is None and not description:
            # Only a sampler made the study: its space is what the trials suggest.
            seen = inferred_space(completed_frozen(study.get_trials(deepcopy=False)))
        own = own_method(study, description)[1]
    known = own if method is None else method
    chosen = None if known is None else StudyMethod.of(known)
    reference = description.get("reference") if reference is None else reference
    return result_of(study, space=seen, method=chosen, seed=None, reference=reference)


def result_of(
    study: optuna.Study,
    *,
    space: OptunaSpace | None,
    method: StudyMethod | None,
    seed: int | None,
    reference: Sequence[float] | None = None,
) -> Result:
    """Return the result of a study as it is now."""
    with storage_errors():
        return Result(
            study_name=study.study_name,
            directions=directions_of(study),
            optuna_trials=tuple(study.get_trials(deepcopy=False)),
            # Predictions need a seed, though it hardly matters which; a study that is only read gets none written.
            seed=(read_seed(study) or 0) if seed is None else seed,
            method=None if method is None else method.name,
            optuna_space=space,
            strategy=None if method is None else method.strategy,
            study=study,
            reference=None if reference is None else tuple(reference),
            stopped=read_stopped(study),
            names=tuple(study.metric_names or ()),
        )
