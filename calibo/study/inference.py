"""The search space of a study whose objective decides, while it runs, which parameters to suggest.

Nothing but the trials tells which parameters there are and when. A parameter that every complete trial has is always active;
of any other one it is learned with which values of which categorical and integer parameters it occurs, as a decision tree
does: the trials are divided by the values of the parameter that tells most, and the parts again, until all trials of a part
have the parameter or none has. Where nothing tells, the latest trial of a part decides. A value that no trial has had yet
may have parameters of its own, of which nothing can be known: such values are tried first (``unexplored``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Array
from calibo.spaces import Parameter, ProductSpace, Space
from calibo.spaces.conditional import MOST_VALUES, pinned
from calibo.study.attributes import read_suggestion
from calibo.study.distributions import OptunaSpace, parameter_of

#: Of a parameter with more choices than this, values that were never tried are left to the acquisition function.
_MOST_EXPLORED = 20
#: Least information, in nats per trial, that a parameter must give on whether another one occurs.
_LEAST_GAIN = 1e-9

#: Values of other parameters, by name, with which one is active.
Condition = dict[str, list[Any]]


@dataclass(frozen=True)
class InferredSpace(OptunaSpace):
    """A space that was inferred from trials, which need not all fit it.

    Attributes:
        irregular: Parameters that some trials have, and others do not, for no reason that their other parameters tell.
    """

    irregular: tuple[str, ...] = ()

    def encode(self, stored: Sequence[Mapping[str, Any]]) -> Array:
        """Encode what trials store as points, n x d.

        Where a trial lacks an active parameter, the middle of its range stands for it; inactive ones are left out.
        """
        return super().encode([self._regular(one) for one in stored])

    def _regular(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        activity, cells, regular = self.space.activity, dict[int, int](), dict[str, Any]()
        for j in range(len(self.names)) if activity is None else activity.order:
            name, column = self.names[j], self.space.columns[j]
            if activity is not None and not activity.is_active(j, cells):
                continue
            regular[name] = stored.get(name, self._middle[name])
            if activity is not None and j in activity.parents:
                cells[j] = int(column.cell(column.encode(regular[name])))
        return regular

    @cached_property
    def _middle(self) -> dict[str, Any]:
        """The value in the middle of the range of each column."""
        return {name: column.decode(0.5) for name, column in zip(self.names, self.space.columns, strict=True)}


def inferred_space(trials: Iterable[FrozenTrial], *, whole: bool = False) -> InferredSpace | None:
    """Return the space of complete trials, in the order of their completion; ``None`` if they vary nothing.

    Its columns are the parameters that trials have, in their latest ranges, sorted by name. Those with a single possible
    value are left out: there is nothing to choose.

    Args:
        trials: The trials.
        whole: Whether ranges are to hold those of all trials, for looking back, instead of being the latest.
    """
    done = list(trials)
    latest: dict[str, BaseDistribution] = {}
    for trial in done:
        for name, one in trial.distributions.items():
            latest[name] = _holding_both(latest[name], one) if whole and name in latest else one
    names = [name for name in sorted(latest) if not latest[name].single()]
    if not names:
        return None
    occurrences = _Occurrences(done, latest)
    found = {name: occurrences.conditions(name) for name in names}
    parameters = {
        name: replace(parameter_of(latest[name]), when=None if found[name] == [{}] else found[name]) for name in names
    }
    # Parameters that decide on each other, in an order that depends on a third one, are taken to be always there.
    for name in circular(parameters):
        parameters[name] = replace(parameters[name], when=None)
        occurrences.irregular.add(name)
    irregular = tuple(sorted(occurrences.irregular))
    return InferredSpace(ProductSpace(parameters), {name: latest[name] for name in names}, {}, irregular)


def _holding_both(old: BaseDistribution, new: BaseDistribution) -> BaseDistribution:
    """Return a range that holds two ranges of one parameter; the later one if only one of them is of choices."""
    if old == new:
        return new
    if isinstance(old, CategoricalDistribution) and isinstance(new, CategoricalDistribution):
        return CategoricalDistribution(tuple(dict.fromkeys((*old.choices, *new.choices))))
    if not (
        isinstance(old, IntDistribution | FloatDistribution) and isinstance(new, IntDistribution | FloatDistribution)
    ):
        return new
    low, high = min(old.low, new.low), max(old.high, new.high)
    log = new.log and low > 0
    if isinstance(old, IntDistribution) and isinstance(new, IntDistribution):
        one_grid = old.step == new.step and (old.low - new.low) % new.step == 0
        return IntDistribution(int(low), int(high), log=log, step=new.step if one_grid else 1)
    one_grid = type(old) is type(new) and new.step and old.step == new.step and (old.low - new.low) % new.step == 0
    return FloatDistribution(low, high, log=log, step=new.step if one_grid else None)


def circular(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the parameters whose conditions go in circles, or depend on such."""
    parents = {name: {p for way in one.when or () for p in way} for name, one in parameters.items()}
    while ready := [name for name in parents if not parents[name] & parents.keys()]:
        for name in ready:
            del parents[name]
    return list(parents)


class _Occurrences:
    """Which trials have which parameters with which values."""

    def __init__(self, trials: Sequence[FrozenTrial], latest: Mapping[str, BaseDistribution]) -> None:
        self._params: list[dict[str, Any]] = [trial.params for trial in trials]
        self._latest: Mapping[str, BaseDistribution] = latest
        #: Parameters whose occurrence could not be told.
        self.irregular: set[str] = set()

    def conditions(self, name: str) -> list[Condition]:
        """Return with which values of others a parameter occurs, in each way; ``[{}]`` if it always does."""
        return self._divided(name, list(range(len(self._params)))) or [{}]

    def _divided(self, name: str, trials: list[int]) -> list[Condition]:
        """Return the ways in which a parameter occurs among some trials, by their places; none if it does not."""
        has = [name in self._params[i] for i in trials]
        if all(has) or not any(has):
            return [{}] if all(has) else []
        parent, parts = self._best_division(name, trials)
        if parent is None:
            self.irregular.add(name)
            return [{}] if has[-1] else []
        ways = list[tuple[list[Any], list[Condition]]]()
        for values, members in parts:
            inside = self._divided(name, members)
            same = next((own for own, other in ways if other == inside), None)
            ways.append((values, inside)) if same is None else same.extend(values)
        return [{parent: values, **way} for values, inside in ways for way in inside]

    def _best_division(self, name: str, trials: list[int]) -> tuple[str | None, list[tuple[list[Any], list[int]]]]:
        """Return the parameter that tells most about the occurrence of another one, and the trials divided by its values."""
        best: tuple[tuple[float, bool, int], str, list[tuple[list[Any], list[int]]]] | None = None
        order = list(next(params for i in trials if name in (params := self._params[i])))
        # Only a parameter that was suggested before can have decided.
        for place, parent in enumerate(order[: order.index(name)]):
            if not all(parent in self._params[i] for i in trials):
                continue
            for parts in self._divisions(parent, trials):
                gain = self._gain(name, [members for _, members in parts])
                # Of equals a categorical one, then the one suggested last before, as its branch is likely to follow.
                merit = (round(gain, 9), isinstance(self._latest[parent], CategoricalDistribution), place)
                if gain > _LEAST_GAIN and (best is None or merit > best[0]):
                    best = merit, parent, parts
        return (None, []) if best is None else best[1:]

    def _divisions(self, parent: str, trials: list[int]) -> list[list[tuple[list[Any], list[int]]]]:
        """Return the ways in which a parameter divides trials: by its choices, or by whole numbers below and above."""
        distribution, members = self._latest[parent], defaultdict[Any, list[int]](list)
        for i in trials:
            members[self._params[i][parent]].append(i)
        if isinstance(distribution, CategoricalDistribution):
            return [[([value], own) for value, own in members.items()]]
        if not isinstance(distribution, IntDistribution) or distribution.high - distribution.low >= MOST_VALUES:
            return []
        found, seen = list[list[tuple[list[Any], list[int]]]](), sorted(members)
        every = range(distribution.low, distribution.high + 1, distribution.step)
        for below, above in pairwise(seen):
            sides = [value for value in seen if value <= below], [value for value in seen if value >= above]
            values = [v for v in every if 2 * v <= below + above], [v for v in every if 2 * v > below + above]
            if all(values):
                found.append([(v, [i for one in s for i in members[one]]) for v, s in zip(values, sides, strict=True)])
        return [[(values, sorted(own)) for values, own in division] for division in found]

    def _gain(self, name: str, parts: Sequence[Sequence[int]]) -> float:
        """Return by how much a division lowers the entropy of the occurrence of a parameter."""
        shares = [np.mean([name in self._params[i] for i in part]) for part in parts]
        sizes = np.array([len(part) for part in parts]) / sum(map(len, parts))
        return float(_entropy(sizes @ shares) - sizes @ [_entropy(share) for share in shares])


def _entropy(share: Any) -> float:
    return float(-sum(p * np.log(p) for p in (share, 1.0 - share) if p > 0.0))


def unexplored(space: OptunaSpace, trials: Iterable[FrozenTrial]) -> Space | None:
    """Return the part of a space in which a parameter that decides on others has a choice that no trial has had yet.

    Args:
        space: The space that was inferred from the trials.
        trials: All trials, also failed and running ones: whoever tried a value, it need not be tried for its own sake again.

    Returns:
        A space with the same coordinates; ``None`` if there is no such value.
    """
    activity = space.space.activity
    if activity is None:
        return None
    tried = [_tried(trial, space) for trial in trials]
    for j in activity.parents:
        column = space.space.columns[j]
        if not column.categories or column.categories > _MOST_EXPLORED:
            continue
        had = {int(column.cell(one[j])) for one in tried if j in one}
        new = [cell for cell in range(column.categories) if cell not in had]
        if new:
            return _part(space.space, j, new[0])
    return None


def _tried(trial: FrozenTrial, space: OptunaSpace) -> dict[int, float]:
    """Return the coordinates of the values that a trial has, or will have, by column."""
    suggestion = read_suggestion(trial) if trial.state is TrialState.RUNNING else None
    return space.coordinates(trial.params if suggestion is None else space.external(suggestion.params) | trial.params)


def _part(space: Space, j: int, cell: int) -> Space:
    """Return the part of a space in which column j is active and has one value."""
    assert space.activity is not None
    cells = {p: min(own) for p, own in space.activity.ways(j)[0].items()} | {j: cell}
    return pinned(space, {p: float(space.columns[p].position(own)) for p, own in cells.items()})
