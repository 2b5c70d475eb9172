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

from calibo.data import Array, Dataset, Params
from calibo.errors import StudyError
from calibo.optimize import Direction, Strategy, checked_outcome, makes_forecasts, meets, predict_table
from calibo.pareto import hypervolumes, inferred_reference, pareto_mask
from calibo.spaces import Space, as_space
from calibo.study.attributes import read_description, read_seed, read_stamp
from calibo.study.description import rebuilt
from calibo.study.distributions import OptunaSpace, optuna_space, space_of
from calibo.study.history import history_table
from calibo.study.opening import load_study, storage_errors
from calibo.study.sampler import grouped_distributions
from calibo.study.storage import open_storage
from calibo.study.trials import Entry, Known, completed, completed_in_order, directions_of, entries, known_of

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable, FeasibilityTable
    from calibo.report import ReportData


@dataclass(frozen=True, eq=False)
class Result:
    """A study as it was when it was looked at; nothing in it changes if the study goes on.

    Attributes:
        study_name: Name of the study.
        directions: Whether small or large values are wanted, one per objective.
        trials: Its trials, as Optuna keeps them.
        seed: The seed of its suggestions.
        method: Name of the method, or ``None`` if it has none.
        optuna_space: The space as Optuna sees it; ``None`` if it is not known.
        strategy: The method itself; ``None`` if it is not known.
        study: The Optuna study, for all that Optuna can do with it.
        reference: Of several objectives, the values that are just not worth having; ``None`` if not given.
    """

    study_name: str
    directions: tuple[Direction, ...]
    trials: tuple[FrozenTrial, ...]
    seed: int
    method: str | None
    optuna_space: OptunaSpace | None
    strategy: Strategy | None
    study: optuna.Study
    reference: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        done = sum(entry.values is not None for entry in self.entries)
        best = ""
        if len(self.directions) > 1:
            best = f", {len(self._front)} on the Pareto front" if done else ""
        elif any(entry.feasible for entry in self.entries):
            best = f", best_value={self.best_value!r}, best_params={self.best_params!r}"
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
    def space(self) -> Space | None:
        """What may be tried; ``None`` if that is not known."""
        return None if self.optuna_space is None else self.optuna_space.space

    @property
    def best_params(self) -> Params:
        """The parameters with the best value so far, as the objective took them."""
        return self._params(self._best)

    def best_params_of(self, objective: int) -> Params:
        """The parameters with the best value of one objective so far, of the trials that meet all constraints."""
        checked_outcome(objective, len(self.directions), ())
        sign = self.directions[objective].value
        return self._params(max(self._reached(), key=lambda entry: sign * (entry.values or ())[objective]))

    def _params(self, entry: Entry) -> Params:
        """The parameters of a trial, as the objective took them."""
        if self.optuna_space is None:
            return dict(entry.params)
        return self.optuna_space.params(next(trial for trial in self.trials if trial.number == entry.number).params)

    @property
    def best_value(self) -> float:
        """The best value so far, of the trials that meet all constraints."""
        assert self._best.value is not None
        return self._best.value

    @cached_property
    def _best(self) -> Entry:
        if len(self.directions) > 1:
            raise StudyError(
                f"study {self.study_name!r} has {len(self.directions)} objectives, so there is no single best trial; "
                "ask for pareto_front"
            )
        return max(self._reached(), key=lambda entry: self.directions[0].value * (entry.value or 0.0))

    def _reached(self) -> list[Entry]:
        """The completed trials that meet all constraints, in the order of their outcomes."""
        done = completed_in_order(self.entries)
        met = [entry for entry in done if entry.feasible]
        if not met:
            why = f"none of {len(done)} completed trials meets all constraints" if done else "no trial is complete"
            raise StudyError(f"in study {self.study_name!r} {why} yet, so there is no best one; run more trials")
        return met

    @cached_property
    def _front(self) -> list[Entry]:
        """The trials that no other dominates, of those that meet all constraints, in the order of their outcomes."""
        met = [entry for entry in completed_in_order(self.entries) if entry.feasible]
        return [met[i] for i in np.flatnonzero(pareto_mask(self._outcomes(met)))] if met else []

    def _outcomes(self, entries: Sequence[Entry]) -> Array:
        """The objectives of complete trials, n x m, larger is better."""
        values = np.array([entry.values for entry in entries], dtype=np.float64)
        return values.reshape(-1, len(self.directions)) * [direction.value for direction in self.directions]

    @property
    def pareto_front(self) -> pd.DataFrame:
        """The trials that no other dominates, of those that meet all constraints: one row each, as in ``history``."""
        numbers = [entry.number for entry in self._front]
        return self.history.loc[self.history["number"].isin(numbers), :].reset_index(drop=True)

    def hypervolume(self) -> pd.Series:
        """The hypervolume above the reference point after each completed trial, in the order of their outcomes.

        Trials that do not meet all constraints add nothing. Without a reference point it is inferred from the front.
        """
        import pandas as pd

        done = completed_in_order(self.entries)
        met = self._outcomes(self._reached())
        reference = inferred_reference(met) if self.reference is None else self._sign() * np.array(self.reference)
        counted = [y if entry.feasible else reference for entry, y in zip(done, self._outcomes(done), strict=True)]
        numbers = pd.Index([entry.number for entry in done], name="number")
        return pd.Series(hypervolumes(np.array(counted), reference), index=numbers, name="hypervolume")

    def _sign(self) -> Array:
        return np.array([direction.value for direction in self.directions])

    @cached_property
    def history(self) -> pd.DataFrame:
        """One row per trial, by number.

        Columns: ``number``, ``state``, ``value``, ``params_<name>`` for each parameter, then of the forecast made
        before the measurement ``forecast_mean``, ``forecast_std`` and ``forecast_q2.5`` to ``forecast_q97.5``, the same
        as ``raw_...`` before calibration, and ``started``, ``finished``, ``error``. Missing where there is none.

        Of several objectives the columns are ``value_0``, ``forecast_0_mean`` and so on; a constraint has
        ``constraint_<name>`` and ``forecast_constraint_<name>_mean``.
        """
        return history_table(self.entries, len(self.directions))

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
            directions=self.directions,
            constraints=self._so_far().constraints,
            rng=np.random.default_rng(self.seed),
        )

    def calibration(self, outcome: int | str = 0) -> CalibrationTable:
        """How the forecasts of an objective, by its place, or of a constraint, by its name, came out."""
        from calibo.diagnostics import forecast_table

        checked_outcome(outcome, len(self.directions), self.constraints)
        pairs = [pair for entry in completed_in_order(self.entries) if (pair := entry.judged(outcome)) is not None]
        forecasts, values = [forecast for forecast, _ in pairs], [value for _, value in pairs]
        return forecast_table(forecasts, values, forecasting=makes_forecasts(self.strategy))

    def feasibility(self) -> FeasibilityTable:
        """How often trials that were called feasible with some probability turned out to be."""
        from calibo.diagnostics import feasibility_table

        judged = [e for e in completed_in_order(self.entries) if e.forecasts is not None and e.forecast_constraints]
        stated = [e.forecasts[len(self.directions) :] for e in judged if e.forecasts is not None]
        return feasibility_table(stated, [meets(entry.constraints, entry.forecast_constraints) for entry in judged])

    @property
    def constraints(self) -> tuple[str, ...]:
        """The names of the constraints of its trials, sorted."""
        return tuple(sorted({name for entry in self.entries for name in entry.constraints}))

    def data(self) -> Dataset:
        """All that is known, as strategies see it: larger is better, points on the unit cube."""
        return self._so_far().data

    def _so_far(self) -> Known:
        return known_of(self.trials, self._known()[0], self.directions, reference=self.reference)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the study's report, one HTML file that needs nothing else; where it is."""
        from calibo.report import write_report

        return write_report(self.report_data(), path)

    def report_data(self) -> ReportData:
        """Collect what a report shows of the study: finished trials in the order in which their results arrived."""
        from calibo.study.report import report_data

        return report_data(self)

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
    reference: Sequence[float] | None = None,
) -> Result:
    """The result of a study that is in a storage; nothing is written to it.

    Args:
        storage: See ``open_storage``.
        study_name: Name of the study; not needed if there is only one.
        space: The space. Only needed for predictions, and then only for a pool, for choices that are not plain
            values, for a kind of space of your own, or for a study that calibo did not make.
        method: The method; by default the one the study was made with.
        reference: Of several objectives, the values that are just not worth having; by default as the study
            was made with, or inferred from the data.
    """
    study = load_study(open_storage(storage, create=False), study_name)
    with storage_errors():
        description = read_description(study) or {}
    if space is None:
        space = rebuilt(description.get("space", {}))
    seen = _seen_by_trials(study, description) if space is None else optuna_space(as_space(space))
    known = method or _latest_method(study, description)
    reference = description.get("reference") if reference is None else reference
    return result_of(study, space=seen, method=known, seed=None, reference=reference)


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
    study: optuna.Study,
    *,
    space: OptunaSpace | None,
    method: str | Strategy | None,
    seed: int | None,
    reference: Sequence[float] | None = None,
) -> Result:
    """A study as it is now."""
    from calibo.methods import strategy

    with storage_errors():
        return Result(
            study_name=study.study_name,
            directions=directions_of(study),
            trials=tuple(study.get_trials(deepcopy=False)),
            # To predict needs a seed, though it hardly matters which; a study that is only read gets none written.
            seed=(read_seed(study) or 0) if seed is None else seed,
            method=method_name(method),
            optuna_space=space,
            strategy=None if method is None else strategy(method),
            study=study,
            reference=None if reference is None else tuple(reference),
        )


def method_name(method: str | Strategy | None) -> str | None:
    """The name by which a method can be had again, ``None`` if it has none."""
    return method if isinstance(method, str) else None
