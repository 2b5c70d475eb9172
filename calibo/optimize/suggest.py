"""From observations to suggestions: one pure function, used by every optimizer, study and ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from calibo.arguments import checked
from calibo.checks import check_seed, check_whole
from calibo.data import Array, Dataset, Suggestion
from calibo.errors import SpaceWarning, warn
from calibo.optimize.branches import branch_point, branches_due
from calibo.optimize.design import design_point, initial_size
from calibo.optimize.sources import CandidateSource, Chosen, as_source
from calibo.optimize.strategy import Strategy, check_contexts
from calibo.search import Plan
from calibo.spaces import Space
from calibo.threads import single_threaded

#: Most points that are suggested at once.
MOST_ASKED = 10_000
#: What `why_method` says of points of the initial design, which no part of the method chose.
_DESIGNED = "the initial design, which spreads points evenly whatever their outcomes"
#: With fewer observations no forecasts are made for points of the initial design.
_FEWEST_FOR_FORECAST = 3


@checked
def generator(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of a suggestion: the same for the same seed and number."""
    return np.random.default_rng([check_seed(seed), check_whole("number", number, least=0)])


@checked
def choose(
    data: Dataset, *, source: Space | CandidateSource, strategy: Strategy, q: int, rng: np.random.Generator
) -> Chosen:
    """Choose the next points by the strategy's plan.

    Where the acquisition function depends on where the search goes (CBO), the source explores first; the points and
    their forecasts follow the plan after that, which is part of the result.

    Args:
        data: The observations, at least one.
        source: A search space, or another source of candidates.
        strategy: Makes the plan.
        q: Number of points.
        rng: The only source of randomness.
    """
    q = check_whole("q, the number of points to ask for,", q, most=MOST_ASKED)
    plan = strategy.plan(data, rng=rng)
    return as_source(source).choose(plan, strategy, q, rng=rng)


@checked
def suggest(
    data: Dataset, *, source: Space | CandidateSource, strategy: Strategy, q: int, rng: np.random.Generator
) -> list[Suggestion]:
    """Suggest the next ``q`` points, each with its forecast; the arguments are those of ``choose``."""
    return choose(data, source=source, strategy=strategy, q=q, rng=rng).suggestions()


@dataclass(frozen=True, eq=False)
class Proposal(Sequence[Suggestion]):
    """Points that are suggested next, as a sequence, and what another choice beside further points can be made from.

    Attributes:
        suggestions: The points, in the order of their numbers.
        space: The search space, held at what is held.
        strategy: What has chosen the last of them.
        plan: The plan that the strategy's search followed; ``None`` if the points were chosen in another way.
        seed: Seed of the study.
        exact: Values that are held, as they were given.
    """

    suggestions: list[Suggestion]
    space: Space
    strategy: Strategy
    plan: Plan | None
    seed: int
    exact: Mapping[str, Any]

    @overload
    def __getitem__(self, index: int) -> Suggestion: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Suggestion]: ...

    def __getitem__(self, index: int | slice) -> Suggestion | Sequence[Suggestion]:
        return self.suggestions[index]

    def __len__(self) -> int:
        return len(self.suggestions)

    def beside(self, X: Array) -> Suggestion | None:
        """Choose a single suggestion again, beside points that have become pending since, by the models fitted before.

        Args:
            X: The points, `k x d`.

        Returns:
            The suggestion; ``None`` if a plan has to be made anew: there is none, it learns from where the search goes, or it
            has points that are due to be measured again, one of which may just have been taken.
        """
        if self.plan is None or self.plan.learn is not None or len(self.plan.repeats) or len(self.suggestions) != 1:
            return None
        number = self.suggestions[0].number
        with single_threaded():
            plan, rng = self.plan.given(list(X)), generator(self.seed, number)
            found = as_source(self.space).choose(plan, self.strategy, 1, rng=rng).suggestions()
        return _numbered(found, number, self.exact)[0]


@checked
def propose(
    data: Dataset,
    *,
    space: Space,
    strategy: Strategy,
    seed: int,
    number: int,
    q: int = 1,
    n_initial: int | None = None,
    held: Mapping[str, Any] | None = None,
) -> Proposal:
    """Suggest the next ``q`` points: those of the initial design while there are few observations, then the strategy's.

    The very first point is that of the parameters' defaults, if all of them have one.

    Args:
        data: All observations, larger is better.
        space: The search space.
        strategy: Chooses points after the initial design.
        seed: Seed of the study.
        number: How many points were suggested before; with the seed it determines all randomness.
        q: Number of points.
        n_initial: Size of the initial design, points observed otherwise included; by default it depends on the dimension.
        held: Values by the names of columns that the suggestions must have: fixed ones, and those of contexts.

    Raises:
        SpaceError: If no point of the space has the values to hold.
        RecipeError: If the strategy cannot be used in a space with contexts.
    """
    check_contexts(strategy, space.contexts)
    if held:
        space = space.holding(held)
        data = replace(data, held=space.repair)
    elif not len(data.tried):
        _announce_broken_defaults(space)
    designed, plan = designs_due(data, space, strategy, q, n_initial=n_initial), None
    # Its matrices are small; a table's candidates, which are many, are scored with all threads.
    with single_threaded():
        suggestions = _designed(data, space, strategy, seed=seed, number=number, count=designed)
        for column in [] if suggestions else branches_due(data):
            found = branch_point(data, column, space=space, strategy=strategy, seed=seed, number=number)
            if found is not None:
                suggestions = found.suggestions()
                break
        if len(suggestions) < q:
            rest, rng = q - len(suggestions), generator(seed, number + len(suggestions))
            chosen = choose(_beside(data, suggestions), source=space, strategy=strategy, q=rest, rng=rng)
            suggestions, plan = suggestions + chosen.suggestions(), chosen.plan
    return Proposal(_numbered(suggestions, number, held or {}), space, strategy, plan, seed, held or {})


def _beside(data: Dataset, suggestions: Sequence[Suggestion]) -> Dataset:
    """Return the data with points that were just suggested."""
    return data.with_pending(np.stack([one.x for one in suggestions])) if suggestions else data


def _numbered(suggestions: Sequence[Suggestion], number: int, exact: Mapping[str, Any]) -> list[Suggestion]:
    """Return suggestions with their numbers, and with values as they were given, which encoding may change a little."""
    return [
        replace(s, number=number + i, params={name: exact.get(name, value) for name, value in s.params.items()})
        for i, s in enumerate(suggestions)
    ]


def _announce_broken_defaults(space: Space) -> None:
    """Warn that the defaults are not tried first because they break constraints."""
    if broken := space.broken_by_defaults:
        warn(
            f"the defaults break {' and '.join(map(repr, broken))}, so that they are not tried first; give defaults that "
            "meet the constraints, or none",
            SpaceWarning,
        )


def designs_due(data: Dataset, space: Space, strategy: Strategy, q: int, *, n_initial: int | None = None) -> int:
    """Return how many of the next q suggestions belong to the initial design.

    It goes on until there is an outcome, and as long as the strategy says so.
    """
    if not len(data) or strategy.designs_on(data):
        return q
    enough = initial_size(data.X.shape[1]) if n_initial is None else n_initial
    return min(max(min(enough, space.size or enough) - len(data.tried), 0), q)


def _designed(
    data: Dataset, space: Space, strategy: Strategy, *, seed: int, number: int, count: int
) -> list[Suggestion]:
    """Return the next points of the initial design."""
    suggestions = list[Suggestion]()
    for i in range(count):
        suggestions.append(_design_point(data, space, strategy, seed, number + i))
        data = data.with_pending(suggestions[-1].x[None, :])
    return suggestions


def _design_point(data: Dataset, space: Space, strategy: Strategy, seed: int, number: int) -> Suggestion:
    """Return a point of the initial design, with a forecast as soon as a model can make one."""
    first = None if len(data.tried) else space.default_point
    if first is not None:
        defaults = dict(zip(space.names, (column.default for column in space.columns), strict=True))
        params = space.decode(first[None, :])[0]
        return Suggestion(params={name: defaults.get(name, value) for name, value in params.items()}, x=first)
    X = design_point(space, seed=seed, number=number, avoid=data.tried)[None, :]
    if len(data) < _FEWEST_FOR_FORECAST:
        return Suggestion(params=space.decode(X)[0], x=X[0])
    plan = strategy.plan(data, rng=generator(seed, number))
    if plan.why is not None and not strategy.designs_on(data):
        plan = replace(plan, why=_DESIGNED)
    return Chosen(X, tuple(space.decode(X)), plan).suggestions()[0]
