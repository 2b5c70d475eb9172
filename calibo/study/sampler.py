"""An Optuna sampler that makes calibrated suggestions from what is stored: what it keeps in memory only saves time."""

from __future__ import annotations

import contextlib
import threading
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from calibo.arguments import checked
from calibo.checks import check_between, check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Array, Suggestion
from calibo.errors import FallbackWarning, RepeatWarning, SpaceError, SpaceWarning, warn
from calibo.optimize import Progress, Strategy, propose
from calibo.optimize.auto import log_change
from calibo.optimize.strategy import check_outcomes
from calibo.spaces import Space, as_space
from calibo.spaces.base import announce_broken
from calibo.spaces.conditional import pinned
from calibo.study.attributes import published, read_context, read_suggestion, study_seed, write_suggestion
from calibo.study.distributions import OptunaSpace, optuna_space, parameter_of
from calibo.study.holding import ContextSource, checked_fixed, held_in
from calibo.study.inference import inferred_space, unexplored
from calibo.study.leased import LeasedStorage, begin_trial, end_trial
from calibo.study.leases import LEASE_SECONDS
from calibo.study.method import StudyMethod, method_for
from calibo.study.optuna_private import part
from calibo.study.trials import TrialMemory, completed_frozen, directions_of, study_data, trials_inside
from calibo.trials import convert_forecasts, outcome_directions

#: Two points are near each other if no coordinate on the unit cube differs by more.
NEARBY = 0.1


@dataclass(frozen=True)
class _Chosen:
    """What was chosen for a trial.

    Attributes:
        suggestion: The suggestion as it is stored.
        stored: Values of the parameters, as the trial stores them.
        known: Numbers of the trials whose points were known.
        again: Chooses again beside further points, `k x d`, without a new fit; returns ``None`` if that is not possible.
    """

    suggestion: Suggestion
    stored: dict[str, Any]
    known: set[int]
    again: Callable[[Array], _Chosen | None]


class CalibratedSampler(BaseSampler):
    """Optuna sampler that stores every suggestion with its forecast.

    It reads everything from the study's storage at every suggestion: a restarted process or a further worker continues
    exactly where the others are. Its randomness depends only on the seed and the number of the trial, so that threads
    (``n_jobs``) do not change it.

    Without ``space``, it optimizes the parameters that complete trials have suggested, in their latest ranges; trials with
    values outside of them are ignored. If not every trial has them all, it learns from the trials with which choices and
    integers each occurs, and has one model of all branches. Of the first trial, and of the first one in a branch, nothing
    can be known: its parameters are drawn uniformly, and choices that no trial has had are tried first where others depend
    on the parameter. Whatever else is drawn at random gives a ``FallbackWarning``.

    Several objectives are optimized for their hypervolume, and constraints (``trial.set_constraint``) become calibrated
    probabilities of feasibility. Noise is stored with ``calibo.study.write_sem(trial, sem)``.

    Args:
        method: Name of a method ("auto", "gp_ei", ...) or a strategy. By default the method of the study's latest
            suggestion; for a new study "auto". With ``composite`` "composite_lfbo".
        seed: Makes every suggestion reproducible. By default that of the study, drawn and stored on first use.
        space: What the objective will suggest, if that is known beforehand: a mapping of names to parameters, a space,
            or a table of rows. The first trials then spread over all of it, and ordinal parameters keep their order.
        n_initial: Number of points of the initial design; by default two per parameter, from 5 to 10.
        reference: Reference point for the hypervolume, one value per objective; inferred from the outcomes if
            ``None``.
        composite: Known function g of a composite objective g(h(x)): it takes an `m x k` torch tensor and returns `m`
            values. The objective stores each vector it measures with ``calibo.study.write_vector(trial, vector)`` and
            returns g of it.
        fixed: Values of parameters that all suggestions must have, by name, as the trial stores them. Trials that were
            enqueued with some of the parameters (``study.enqueue_trial({"material": "steel"})``) get the others suggested
            for these values in any case.
        context: Values of the space's contexts: a mapping by name, or a function without arguments that returns one, called
            for every trial. What was observed otherwise is stored with ``calibo.study.write_context(trial, {...})``; the
            contexts of an enqueued trial are its own.
        lease: Seconds without a sign of life after which another worker may run a trial of this one again. Only for
            storages that were not opened by ``open_storage``, which have a lease of their own.
        takes_all: Whether every trial takes all parameters of ``space``, so that they can be stored together with their
            forecast.

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

    @checked
    def __init__(
        self,
        method: str | Strategy | StudyMethod | None = None,
        *,
        seed: int | None = None,
        space: Any = None,
        n_initial: int | None = None,
        reference: Sequence[float] | None = None,
        composite: Outer | None = None,
        fixed: Mapping[str, Any] | None = None,
        context: ContextSource = None,
        lease: float = LEASE_SECONDS,
        takes_all: bool = False,
    ) -> None:
        if not isinstance(method, StudyMethod) and (method is not None or composite is not None):
            method = method_for(None, method, composite)
        # None if it depends on the study which it is.
        self._method: StudyMethod | None = method  # pyright: ignore[reportAttributeAccessIssue]
        self._seed: int | None = None if seed is None else check_seed(seed)
        self._space: OptunaSpace | None = None if space is None else optuna_space(as_space(space))
        self._n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        self._reference: Sequence[float] | None = reference
        self._fixed: dict[str, Any] = checked_fixed(self._space, fixed)
        self._context: ContextSource = context
        check_between("lease", lease, 0.0, np.inf)
        self._lease: float = lease
        self._takes_all: bool = takes_all and self._space is not None
        self._announced: set[str] = set()
        # Why which parts were used.
        self._why: str | None = None
        # Threads of one process choose one after the other, so that each respects what the others have just chosen.
        self._publishing = threading.Lock()
        self._memory = TrialMemory()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_publishing", "_memory")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _publishing=threading.Lock(), _memory=TrialMemory())

    @property
    def strategy(self) -> Strategy | None:
        """Strategy by which it suggests; ``None`` if that is the study's own."""
        return None if self._method is None else self._method.strategy

    def __repr__(self) -> str:
        name = "the study's own method" if self._method is None else self._method.name or "a strategy"
        return f"CalibratedSampler({name}{'' if self._seed is None else f', seed={self._seed}'})"

    def reseed_rng(self) -> None:
        """Do nothing: each trial has a random generator of its own."""

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Give a trial its lease, in a storage that does not do so itself, and look for trials whose workers are gone."""
        begin_trial(study, trial, self._lease)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Renew the lease of a trial no more, and warn if it lacks parameters, or breaks constraints as enqueued ones may."""
        end_trial(study, trial)
        space = self._space
        if space is None:
            return
        if state is TrialState.COMPLETE:
            self._announce_missing(space, trial)
        if space.space.constrained:
            with contextlib.suppress(SpaceError):  # values out of their ranges are left out of the data
                announce_broken(space.space, space.encode([trial.params])[0], f"trial {trial.number}")

    def _announce_missing(self, space: OptunaSpace, trial: FrozenTrial) -> None:
        """Warn, once for each of them, if a trial lacks parameters of the space given: nothing can be learned from it."""
        stored = {**trial.params, **read_context(trial)}
        missing = [name for name in space.names if name not in stored and f"missing {name}" not in self._announced]
        taken = [name for name in space.names if name in stored]
        if not missing or not taken:
            return  # an outcome may be told of a trial that suggested nothing
        if len(space.coordinates(stored)) < len(taken):
            return  # values out of their ranges, as enqueued ones may be, are another matter
        try:
            space.encode([stored])  # what is inactive may be missing
        except SpaceError as error:
            self._announced.update(f"missing {name}" for name in missing)
            why = str(error).removeprefix("parameters 0").lstrip(",: ").partition(";")[0]
            warn(
                f"nothing is learned from trial {trial.number} and those like it, as it is not in the space given: {why}. "
                "Suggest every parameter of the space in the objective, leave out of the space what is not suggested, or say "
                "with when= where it counts",
                FallbackWarning,
            )

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return all parameters that are optimized jointly, with their distributions; a trial may get only some of them."""
        space = self._known_space(study)
        return {} if space is None else dict(space.distributions)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of those parameters that are active, after storing them with their forecast.

        It is called before the first parameter is suggested, so that all that a branch has are chosen with it.
        """
        space = self._known_space(study) if search_space else None
        if space is None:
            return {}
        before = _suggested_before(trial, search_space)
        if before is not None:
            return before
        if space.space.activity is None:
            space = space.restricted(search_space)
        held = held_in(space, trial, self._fixed, self._context)
        with self._publishing:
            chosen = self._choose(study, trial, space, held)
            if not self._store(study, trial, space, chosen, chosen.known):
                # Another process was choosing at the same moment and has stored its point since: it is pending now.
                new = _stored_since(study, space, chosen)
                if _is_near(chosen.suggestion.x, new):
                    chosen = chosen.again(new) or self._choose(study, trial, space, held)
                self._store(study, trial, space, chosen)
            stored = chosen.stored
        return {name: value for name, value in stored.items() if name in search_space}

    def _known_space(self, study: optuna.Study) -> OptunaSpace | None:
        """Return the space given, or the one that complete trials show; ``None`` if there is none yet."""
        if self._space is not None:
            return self._space
        space = inferred_space(completed_frozen(study.get_trials(deepcopy=False)))
        new = [] if space is None else [name for name in space.irregular if f"irregular {name}" not in self._announced]
        if new:
            self._announced.update(f"irregular {name}" for name in new)
            warn(
                f"some trials have {', '.join(map(repr, new))} and others do not, which their other parameters do not "
                "explain (only choices and integers that were suggested before are looked at): the latest trial is taken as "
                "the rule, the middle of the range stands for a value that is missing; give CalibratedSampler a space= "
                "with when= to be exact",
                FallbackWarning,
            )
        return space

    def _choose(self, study: optuna.Study, trial: FrozenTrial, space: OptunaSpace, held: Mapping[str, Any]) -> _Chosen:
        """Choose values for a trial."""
        trials = study.get_trials(deepcopy=False)
        directions = directions_of(study)
        method = self._method or method_for(study, None, trials=[one for one in trials if one.number != trial.number])
        strategy = method.with_directions(directions)[0].strategy
        check_outcomes(strategy, len(directions))
        data, constraints = study_data(
            trials, space, directions, reference=self._reference, asking=trial.number, memory=self._memory
        )
        searched, left = self._searched(space, trial, trials, held)
        with warnings.catch_warnings():
            if set(held) >= set(space.names):
                # A trial that was enqueued with all values is what the user wants.
                warnings.simplefilter("ignore", RepeatWarning)
            found = propose(
                data,
                space=searched,
                strategy=strategy,
                seed=self._seed_of(study),
                number=trial.number,
                n_initial=self._n_initial,
                held=left,
            )
        (suggestion,) = found
        log_change(self._why, suggestion.why_method)
        self._why = suggestion.why_method or self._why
        known = published(trials)

        def whole(suggestion: Suggestion) -> _Chosen:
            stored = _stored(suggestion, space, held)
            forecasts = convert_forecasts(suggestion.forecasts, outcome_directions(directions, constraints))
            complete = replace(
                suggestion,
                params=space.internal(stored),
                forecasts=forecasts,
                method=method.name,
                constraints=constraints,
                columns=() if len(stored) == len(space.names) else space.names,
            )
            return _Chosen(complete, stored, known, again)

        def again(X: Array) -> _Chosen | None:
            other = found.beside(X)
            return None if other is None else whole(other)

        return whole(suggestion)

    def _store(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        space: OptunaSpace,
        chosen: _Chosen,
        known: Collection[int] | None = None,
    ) -> bool:
        """Store what was chosen for a trial; return ``False`` if that should be chosen again (``write_suggestion``)."""
        storage = part(study, "_storage")
        if self._takes_all and isinstance(storage, LeasedStorage):
            for name, value in chosen.stored.items():
                distribution = space.distributions[name]
                internal = distribution.to_internal_repr(value)
                storage.set_trial_param(part(trial, "_trial_id"), name, internal, distribution)
        return write_suggestion(study, trial, chosen.suggestion, known)

    def _searched(
        self, space: OptunaSpace, trial: FrozenTrial, trials: Sequence[FrozenTrial], held: Mapping[str, Any]
    ) -> tuple[Space, Mapping[str, Any]]:
        """Return the part of the space that a trial's point is sought in, and the values that are still to be held in it.

        In a conditional space, that is where parameters have the values that the trial is enqueued with, as the others
        depend on them; or where a choice that no trial has had may show parameters that nothing is known of.
        """
        if space.space.activity is None:
            return space.space, _possible(space.space, held, trial)
        if held and space.space.constrained:
            kept = _possible(space.space, _active_in(space.space, held), trial)
            if kept:
                return space.space, kept
        if held:
            places = {space.names.index(name): value for name, value in held.items()}
            return pinned(space.space, {j: space.space.columns[j].encode(v) for j, v in places.items()}), {}
        new = None if self._space is not None else unexplored(space, trials)
        return (space.space if new is None else new), {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value of a parameter that is not optimized jointly: uniform, the same for the same seed and trial."""
        if param_name in self._fixed and self._space is None:
            with contextlib.suppress(SpaceError):
                parameter_of(param_distribution).encode(self._fixed[param_name])
                return self._fixed[param_name]
        self._announce(study, param_name, param_distribution)
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._seed_of(study), trial.number, name])
        return parameter_of(param_distribution).decode(float(rng.random()))

    def progress(self, study: optuna.Study) -> Progress | None:
        """Return the study so far, as stopping rules see it; ``None`` while no trial is complete."""
        trials = study.get_trials(deepcopy=False)
        if not completed_frozen(trials):
            return None
        space = self._known_space(study)
        if space is None:
            return None
        directions = directions_of(study)
        method = self._method or method_for(study, None, trials=trials)
        strategy = method.with_directions(directions)[0].strategy
        data, _ = study_data(trials, space, directions, reference=self._reference)
        return Progress(
            trials=tuple(trials_inside(trials, space)),
            directions=directions,
            data=data,
            space=space.space,
            strategy=strategy,
            seed=self._seed_of(study),
            reference=None if self._reference is None else tuple(self._reference),
            n_initial=self._n_initial,
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
            finished = [one for one in study.get_trials(deepcopy=False) if one.state.is_finished()]
            having = [one for one in finished if name in one.distributions]
            if not having or not completed_frozen(finished):
                # Nothing can be known of it yet, so there is nothing it could fall back from.
                return
            if not completed_frozen(having):
                reason = "no trial that has suggested it was completed yet"
            elif having[-1].distributions[name] != distribution:
                reason = f"its range has just become {distribution}"
            else:
                reason = "it was not expected at these values of the other parameters, by what trials before had"
        self._announced.add(name)
        message = f"parameter {name!r} is drawn at random instead of being optimized: {reason}"
        warn(message, FallbackWarning)


def _active_in(space: Space, held: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the values to hold that are active whatever the parameters that are free are."""
    activity, cells, kept = space.activity, dict[int, int](), dict[str, Any]()
    assert activity is not None
    for j in activity.order:
        name, column = space.names[j], space.columns[j]
        if name in held and activity.is_active(j, cells):
            kept[name] = held[name]
            if column.cells is not None:
                cells[j] = int(column.cell(column.encode(held[name])))
    return kept


def _possible(space: Space, held: Mapping[str, Any], trial: FrozenTrial) -> Mapping[str, Any]:
    """Return the values to hold for a trial; none, with a warning, if constraints leave no point with them."""
    if not space.constrained:
        return held
    if set(held) >= set(space.names):
        return {}  # the trial has all its values, whatever is suggested beside them
    try:
        space.holding(held)
    except SpaceError as error:
        warn(
            f"trial {trial.number} was enqueued with {dict(held)}, and its other parameters are suggested as if these were "
            f"free: {error}",
            SpaceWarning,
        )
        return {}
    return held


def _suggested_before(trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> dict[str, Any] | None:
    """Return what was suggested for a trial that is run again after its worker was killed; ``None`` if nothing was."""
    suggestion = read_suggestion(trial)
    if suggestion is None or not suggestion.params or set(suggestion.columns or suggestion.params) != set(search_space):
        return None
    try:
        return {name: search_space[name].to_external_repr(value) for name, value in suggestion.params.items()}
    except (IndexError, ValueError):
        return None  # a choice that there is no longer


def _stored(suggestion: Suggestion, space: OptunaSpace, held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters, as the trial stores them."""
    # The parameters of products are their columns, and may be defaults.
    exact = {name: value for name, value in held.items() if name in suggestion.params or space.space.activity is None}
    given = suggestion.params if set(suggestion.params) == set(space.names) else exact
    return space.stored(suggestion.x, given)


def _stored_since(study: optuna.Study, space: OptunaSpace, chosen: _Chosen) -> Array:
    """Return the points of running trials that one was chosen without knowing, `k x d`."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    new = [one for one in running if one.number not in chosen.known and one.number != chosen.suggestion.number]
    return np.array([one.x for one in trials_inside(new, space)]).reshape(-1, space.space.dimension)


def _is_near(x: Array, X: Array) -> bool:
    """Return whether one of `k x d` points is near another one, `d`.

    Others hardly change where the acquisition function is large.
    """
    return bool(len(X)) and float(np.abs(X - x).max(axis=1).min()) < NEARBY
