"""An Optuna sampler that makes calibrated suggestions and keeps nothing in memory."""

from __future__ import annotations

import threading
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Suggestion
from calibo.errors import FallbackWarning, RecipeError, RepeatWarning
from calibo.optimize import Progress, Strategy, propose
from calibo.optimize.auto import log_change
from calibo.optimize.strategy import check_outcomes
from calibo.spaces import as_space
from calibo.study.attributes import has_suggestion, study_seed, write_suggestions
from calibo.study.distributions import OptunaSpace, optuna_space, parameter_of, space_of
from calibo.study.method import StudyMethod, method_for
from calibo.study.trials import completed_frozen, directions_of, study_data, trials_inside
from calibo.trials import convert_forecasts, outcome_directions


class CalibratedSampler(BaseSampler):
    """Optuna sampler that stores every suggestion with its forecast.

    It reads everything from the study's storage at every suggestion: a restarted process or a further worker continues
    exactly where the others are. Its randomness depends only on the seed and the number of the trial, so that threads
    (``n_jobs``) do not change it.

    Without ``space``, it optimizes the parameters that complete trials have suggested, in their latest ranges; trials with
    values outside of them are ignored. If not every trial has them all, those that occur together are optimized as a group
    by itself. Parameters that no complete trial has suggested, such as all of the first trial's, are drawn uniformly. Both
    give a ``FallbackWarning``, the latter not for the first trials.

    Several objectives are optimized for their hypervolume, and constraints (``trial.set_constraint``) become calibrated
    probabilities of feasibility. Noise is stored with ``calibo.study.write_sem(trial, sem)``.

    Args:
        method: Name of a method ("auto", "gp_ei", ...) or a strategy. By default the method of the study's latest
            suggestion; for a new study "auto". With ``composite`` "composite_lfbo".
        seed: Makes every suggestion reproducible. By default that of the study, drawn and stored on first use.
        space: What the objective will suggest, if that is known beforehand: a mapping of names to parameters, a space,
            or a table of rows. The first trials then spread over all of it, and ordinal parameters keep their order.
        n_initial: Number of points of the initial design; by default two per parameter, from 5 to 10.
        reference: Reference point for the hypervolume, one value per objective; inferred from the Pareto front if
            ``None``.
        composite: Known function g of a composite objective g(h(x)): it takes an `m x k` torch tensor and returns `m`
            values. The objective stores each vector it measures with ``calibo.study.write_vector(trial, vector)`` and
            returns g of it.

    Examples:
        >>> import optuna
        >>> from calibo import CalibratedSampler
        >>> from calibo.study import load_result
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", -2, 2) ** 2, n_trials=8)
        >>> study.best_value < 0.1
        True
    """

    def __init__(
        self,
        method: str | Strategy | StudyMethod | None = None,
        *,
        seed: int | None = None,
        space: Any = None,
        n_initial: int | None = None,
        reference: Sequence[float] | None = None,
        composite: Outer | None = None,
    ) -> None:
        if not isinstance(method, StudyMethod) and (method is not None or composite is not None):
            method = method_for(None, method, composite)
        # None if it depends on the study which it is.
        self._method: StudyMethod | None = method  # pyright: ignore[reportAttributeAccessIssue]
        self._seed: int | None = None if seed is None else check_seed(seed)
        self._space: OptunaSpace | None = None if space is None else optuna_space(as_space(space))
        self._n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        self._reference: Sequence[float] | None = reference
        self._announced: set[str] = set()
        # Why which parts were used, by the names of the parameters that are optimized together.
        self._why: dict[tuple[str, ...], str | None] = {}
        # Threads of one process choose one after the other, so that each respects what the others have just chosen.
        self._publishing = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_publishing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _publishing=threading.Lock())

    @property
    def strategy(self) -> Strategy | None:
        """Strategy by which it suggests; ``None`` if that is the study's own."""
        return None if self._method is None else self._method.strategy

    def __repr__(self) -> str:
        name = "the study's own method" if self._method is None else self._method.name or "a strategy"
        return f"CalibratedSampler({name}{'' if self._seed is None else f', seed={self._seed}'})"

    def reseed_rng(self) -> None:
        """Do nothing: each trial has a random generator of its own."""

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that are optimized jointly, with their distributions."""
        if self._space is not None:
            return dict(self._space.distributions)
        groups = grouped_distributions(completed_frozen(study.get_trials(deepcopy=False)))
        return {name: distribution for group in groups for name, distribution in group.items()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of the parameters that are optimized jointly, after storing them with their forecast."""
        if not search_space:
            return {}
        spaces = self._spaces(study, search_space)
        with self._publishing:
            seen, stored = self._suggest(study, trial, spaces)
            if _stored_since(study, trial, seen):
                # Another process was choosing at the same moment and has stored its point since: it is pending now.
                stored = self._suggest(study, trial, spaces)[1]
        return stored

    def _spaces(self, study: optuna.Study, search_space: dict[str, BaseDistribution]) -> list[OptunaSpace]:
        """Return the spaces to be searched: one, or one for each group of parameters if not every trial has them all."""
        if self._space is not None:
            return [self._space.restricted(search_space)]
        groups = grouped_distributions(completed_frozen(study.get_trials(deepcopy=False)))
        groups = [{name: search_space[name] for name in group if name in search_space} for group in groups]
        groups = [group for group in groups if group]
        if len(groups) > 1 and "" not in self._announced:
            self._announced.add("")
            shown = "; ".join(", ".join(group) for group in groups)
            warnings.warn(
                f"the search space changes from trial to trial, so each group of parameters that occur together is "
                f"optimized by itself: {shown}",
                FallbackWarning,
                stacklevel=3,
            )
        return [space_of(group) for group in groups]

    def _suggest(
        self, study: optuna.Study, trial: FrozenTrial, spaces: list[OptunaSpace]
    ) -> tuple[set[int], dict[str, Any]]:
        """Choose and store values for a trial; return the numbers of the trials whose points were known, and the values."""
        trials = study.get_trials(deepcopy=False)
        with warnings.catch_warnings():
            if len(spaces) > 1:
                # A group may have few values, all tried, while the parameters beside it still vary.
                warnings.simplefilter("ignore", RepeatWarning)
            chosen = [self._chosen(study, trial, trials, space) for space in spaces]
        write_suggestions(study, trial, [suggestion for suggestion, _ in chosen])
        known = {one.number for one in trials if has_suggestion(one)}
        return known, {name: value for _, stored in chosen for name, value in stored.items()}

    def _chosen(
        self, study: optuna.Study, trial: FrozenTrial, trials: list[FrozenTrial], space: OptunaSpace
    ) -> tuple[Suggestion, dict[str, Any]]:
        """Return the suggestion for the columns of one space as it is stored, and its values."""
        directions = directions_of(study)
        method = self._method or method_for(study, None, trials=[one for one in trials if one.number != trial.number])
        strategy = method.with_directions(directions)[0].strategy
        check_outcomes(strategy, len(directions))
        data, constraints = study_data(trials, space, directions, reference=self._reference, asking=trial.number)
        (suggestion,) = propose(
            data,
            space=space.space,
            strategy=strategy,
            seed=self._seed_of(study),
            number=trial.number,
            n_initial=self._n_initial,
        )
        log_change(self._why.get(space.names), suggestion.why_method)
        self._why[space.names] = suggestion.why_method or self._why.get(space.names)
        stored = space.stored(suggestion.x)
        published = replace(
            suggestion,
            params=space.internal(stored),
            forecasts=convert_forecasts(suggestion.forecasts, outcome_directions(directions, constraints)),
            method=method.name,
            constraints=constraints,
        )
        return published, stored

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value of a parameter that is not optimized jointly: uniform, the same for the same seed and trial."""
        self._announce(study, param_name, param_distribution)
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._seed_of(study), trial.number, name])
        return parameter_of(param_distribution).decode(float(rng.random()))

    def progress(self, study: optuna.Study) -> Progress | None:
        """Return the study so far, as stopping rules see it; ``None`` while no trial is complete.

        Raises:
            RecipeError: If the search space changes from trial to trial.
        """
        trials = study.get_trials(deepcopy=False)
        if not completed_frozen(trials):
            return None
        spaces = self._spaces(study, self.infer_relative_search_space(study, trials[-1]))
        if len(spaces) != 1:
            raise RecipeError(
                "the search space changes from trial to trial, so that no model has all of it and nothing can be said of the "
                "best point: stop by hand, or give CalibratedSampler a space= that all trials have"
            )
        directions = directions_of(study)
        method = self._method or method_for(study, None, trials=trials)
        strategy = method.with_directions(directions)[0].strategy
        data, _ = study_data(trials, spaces[0], directions, reference=self._reference)
        return Progress(
            trials=tuple(trials_inside(trials, spaces[0])),
            directions=directions,
            data=data,
            space=spaces[0].space,
            strategy=strategy,
            seed=self._seed_of(study),
            reference=None if self._reference is None else tuple(self._reference),
        )

    def _seed_of(self, study: optuna.Study) -> int:
        return study_seed(study) if self._seed is None else self._seed

    def _announce(self, study: optuna.Study, name: str, distribution: BaseDistribution) -> None:
        """Warn once for each parameter that it is drawn at random, and why."""
        if name in self._announced:
            return
        if self._space is not None:
            known = self._space.distributions.get(name)
            reason = "it is not in the space given" if known is None else f"the space given has another range, {known}"
        else:
            trials = completed_frozen(study.get_trials(deepcopy=False))
            if not trials:
                # Nothing can be known of the space yet, so there is nothing it could fall back from.
                return
            if any(name in trial.distributions for trial in trials):
                reason = f"its range has just become {distribution}"
            else:
                reason = "no completed trial has suggested it yet (a search space that changes)"
        self._announced.add(name)
        message = f"parameter {name!r} is drawn at random instead of being optimized: {reason}"
        warnings.warn(message, FallbackWarning, stacklevel=2)


def _stored_since(study: optuna.Study, trial: FrozenTrial, seen: set[int]) -> bool:
    """Return whether an earlier trial that is still running has stored a point that was not known before."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return any(one.number < trial.number and one.number not in seen and has_suggestion(one) for one in running)


def grouped_distributions(trials: Iterable[FrozenTrial]) -> list[dict[str, BaseDistribution]]:
    """Return the parameters of complete trials in groups that occur together, with their latest distributions.

    Two parameters are in one group if just the same trials have both. Those with a single possible value are left out:
    there is nothing to choose.
    """
    latest: dict[str, BaseDistribution] = {}
    held_by: dict[str, list[int]] = {}
    for trial in trials:
        latest |= trial.distributions
        for name in trial.distributions:
            held_by.setdefault(name, []).append(trial.number)
    groups: dict[tuple[int, ...], dict[str, BaseDistribution]] = {}
    for name in sorted(latest):
        if not latest[name].single():
            groups.setdefault(tuple(held_by[name]), {})[name] = latest[name]
    # The group that most trials have comes first.
    return sorted(groups.values(), key=lambda group: (-len(held_by[next(iter(group))]), next(iter(group))))
