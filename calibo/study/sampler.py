"""Calibrated suggestions for any Optuna study: a sampler that keeps nothing in memory."""

from __future__ import annotations

import threading
import warnings
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.errors import FallbackWarning, RepeatWarning
from calibo.optimize import Strategy, propose, turned
from calibo.optimize.composite import composed, default_method
from calibo.optimize.strategy import check_outcomes
from calibo.spaces import as_space
from calibo.study.attributes import Stamp, read_stamp, study_seed, write_stamps
from calibo.study.distributions import OptunaSpace, optuna_space, parameter_of, space_of
from calibo.study.trials import completed, directions_of, known_of


class CalibratedSampler(BaseSampler):
    """An Optuna sampler whose every suggestion is stored with its forecast.

    All it knows it reads from the study's storage at every suggestion: a restarted process or a further worker
    continues exactly where the others are. All its randomness comes from the seed and the number of the trial, so that
    threads (``n_jobs``) do not change it.

    Without ``space``, it optimises the parameters that completed trials have suggested, in their latest ranges; values
    outside of them are no longer looked at. If not every trial has them all, those that occur together are optimised as
    a group by itself. Parameters that no completed trial has suggested, such as all of the first trial's, are drawn
    uniformly. Both are announced by a ``FallbackWarning``, the latter not for the first trials.

    Several objectives are traded off, and constraints (``trial.set_constraint``) become calibrated probabilities.

    Args:
        method: A method's name ("ocbo", "gp_ei", ...) or a strategy; by default "ocbo", or "composite_lfbo" with
            ``composite``.
        seed: Makes every suggestion reproducible. By default that of the study, drawn and stored on first use.
        space: What the objective will suggest, if that is known beforehand: a mapping of names to parameters, a space,
            or a table of rows. The first trials then spread over all of it, and ordinal parameters keep their order.
        n_initial: Points of the initial design; by default two per parameter, from 5 to 10.
        reference: Of several objectives, the values that are just not worth having; inferred from the data if not given.
        composite: The known function g of a composite objective, of a torch tensor m x k, m values. The objective stores
            each vector it measures with ``calibo.study.write_vector(trial, vector)`` and returns g of it.
    """

    def __init__(
        self,
        method: str | Strategy | None = None,
        *,
        seed: int | None = None,
        space: Any = None,
        n_initial: int | None = None,
        reference: Sequence[float] | None = None,
        composite: Outer | None = None,
    ) -> None:
        from calibo.methods import strategy

        method = default_method(method, composite)
        self._composite: Outer | None = composite
        self._strategy: Strategy = strategy(method)
        self._method: str | None = method if isinstance(method, str) else None
        self._seed: int | None = None if seed is None else check_seed(seed)
        self._space: OptunaSpace | None = None if space is None else optuna_space(as_space(space))
        self._n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        self._reference: Sequence[float] | None = reference
        self._announced: set[str] = set()
        # Threads of one process choose one after the other, so that each respects what the others have just chosen.
        self._publishing = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_publishing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _publishing=threading.Lock())

    @property
    def strategy(self) -> Strategy:
        """The strategy by which it suggests."""
        return self._strategy

    def reseed_rng(self) -> None:
        """Nothing to do: threads cannot get in one another's way, as each trial has a generator of its own."""

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are optimised jointly, with their distributions."""
        if self._space is not None:
            return dict(self._space.distributions)
        groups = grouped_distributions(completed(study.get_trials(deepcopy=False)))
        return {name: distribution for group in groups for name, distribution in group.items()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values for the parameters optimised jointly; they are published with the trial, with their forecast."""
        if not search_space:
            return {}
        spaces = self._spaces(study, search_space)
        with self._publishing:
            seen, stored = self._published(study, trial, spaces)
            if _published_before(study, trial, seen):
                # Another process was choosing at the same moment and has published since: its point is respected now.
                stored = self._published(study, trial, spaces)[1]
        return stored

    def _spaces(self, study: optuna.Study, search_space: dict[str, BaseDistribution]) -> list[OptunaSpace]:
        """The spaces to be searched: one, or one for each group of parameters if not every trial has them all."""
        if self._space is not None:
            return [self._space.restricted(search_space)]
        groups = grouped_distributions(completed(study.get_trials(deepcopy=False)))
        groups = [{name: search_space[name] for name in group if name in search_space} for group in groups]
        groups = [group for group in groups if group]
        if len(groups) > 1 and "" not in self._announced:
            self._announced.add("")
            shown = "; ".join(", ".join(group) for group in groups)
            warnings.warn(
                f"the search space changes from trial to trial, so each group of parameters that occur together is "
                f"optimised by itself: {shown}",
                FallbackWarning,
                stacklevel=3,
            )
        return [space_of(group) for group in groups]

    def _published(
        self, study: optuna.Study, trial: FrozenTrial, spaces: list[OptunaSpace]
    ) -> tuple[set[int], dict[str, Any]]:
        """Choose values for a trial and publish them: whose points were known, and the values."""
        trials = study.get_trials(deepcopy=False)
        with warnings.catch_warnings():
            if len(spaces) > 1:
                # A group may have few values, all tried, while the parameters beside it still vary.
                warnings.simplefilter("ignore", RepeatWarning)
            chosen = [self._chosen(study, trial, trials, space) for space in spaces]
        write_stamps(study, trial, [stamp for stamp, _ in chosen])
        known = {one.number for one in trials if read_stamp(one) is not None}
        return known, {name: value for _, stored in chosen for name, value in stored.items()}

    def _chosen(
        self, study: optuna.Study, trial: FrozenTrial, trials: list[FrozenTrial], space: OptunaSpace
    ) -> tuple[Stamp, dict[str, Any]]:
        """Values for the columns of one space, and the stamp with which they are published."""
        directions = directions_of(study)
        check_outcomes(self._strategy, len(directions))
        known = known_of(trials, space, directions, reference=self._reference, asking=trial.number)
        # Which sign the function has is for the study's direction to say.
        composing, _ = composed(self._strategy, self._composite, directions)
        (suggestion,) = propose(
            known.data,
            space=space.space,
            strategy=composing,
            seed=self._seed_of(study),
            number=trial.number,
            n_initial=self._n_initial,
        )
        stored = space.stored(suggestion.x)
        stamp = Stamp(
            number=trial.number,
            params=space.internal(stored),
            forecasts=turned(suggestion.forecasts, directions, known.constraints),
            hyperparameters=suggestion.hyperparameters,
            method=self._method,
            constraints=known.constraints,
        )
        return stamp, stored

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value for a parameter that is not optimised jointly: uniform, and the same for the same seed and trial."""
        self._announce(study, param_name, param_distribution)
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._seed_of(study), trial.number, name])
        return parameter_of(param_distribution).decode(float(rng.random()))

    def _seed_of(self, study: optuna.Study) -> int:
        return study_seed(study) if self._seed is None else self._seed

    def _announce(self, study: optuna.Study, name: str, distribution: BaseDistribution) -> None:
        """Say once for each parameter that, and why, it is drawn at random."""
        if name in self._announced:
            return
        if self._space is not None:
            known = self._space.distributions.get(name)
            reason = "it is not in the space given" if known is None else f"the space given has another range, {known}"
        else:
            trials = completed(study.get_trials(deepcopy=False))
            if not trials:
                # Nothing can be known of the space yet, so there is nothing it could fall back from.
                return
            if any(name in trial.distributions for trial in trials):
                reason = f"its range has just become {distribution}"
            else:
                reason = "no completed trial has suggested it yet (a search space that changes)"
        self._announced.add(name)
        message = f"parameter {name!r} is drawn at random instead of being optimised: {reason}"
        warnings.warn(message, FallbackWarning, stacklevel=2)


def _published_before(study: optuna.Study, trial: FrozenTrial, seen: set[int]) -> bool:
    """Whether an earlier trial that is still running has published a point that was not known when one was chosen."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return any(one.number < trial.number and one.number not in seen and read_stamp(one) is not None for one in running)


def grouped_distributions(trials: Iterable[FrozenTrial]) -> list[dict[str, BaseDistribution]]:
    """The parameters of some completed trials, as the latest trial with them had them, in groups that occur together.

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
