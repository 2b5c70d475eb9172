"""Where candidates come from: a search space, a pool whose rows are all in memory, or a source of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array, Suggestion
from calibo.errors import RecipeError
from calibo.search import EpsilonGreedy, Langevin, Plan, Search, TrustRegion
from calibo.search.base import coincides
from calibo.spaces import Space

if TYPE_CHECKING:
    from calibo.optimize.strategy import Strategy

#: Rows of a pool from which a plan learns where the search goes: all untried ones, or this many drawn at random.
_SAMPLE = 2048


@dataclass(frozen=True, eq=False)
class Chosen:
    """The points that were chosen.

    Attributes:
        X: Encoded points, `q x d`.
        params: The same points in the user's units, `q` mappings.
        plan: The plan by which they were chosen, with all that was learned while searching.
        rows: The same points as rows of a table, if the source is a table; else ``None``.
        rest: The best of the candidates that were not chosen, from which a further batch can be chosen without another
            pass over the source; ``None`` if the source does not keep them.
    """

    X: Array
    params: tuple[Mapping[str, Any], ...]
    plan: Plan
    rows: Any = None
    rest: CandidateSource | None = None

    def suggestions(self) -> list[Suggestion]:
        """Return the points with their forecasts, in the internal sign."""
        forecaster = self.plan.forecaster
        forecasts = (None,) * len(self.X) if forecaster is None else forecaster(self.X)
        return [
            Suggestion(
                params=params,
                x=x,
                forecasts=forecast,
                hyperparameters=self.plan.hyperparameters,
                why_method=self.plan.why,
            )
            for params, x, forecast in zip(self.params, self.X, forecasts, strict=True)
        ]


class CandidateSource(ABC):
    """A source of candidates."""

    @abstractmethod
    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        """Choose the next points.

        Args:
            plan: What to maximize, and the instructions for it.
            strategy: Where the plan comes from; knows the search that suits a space (``searcher``).
            q: Number of points.
            rng: The only source of randomness.
        """


@dataclass(frozen=True, eq=False)
class SpaceSource(CandidateSource):
    """A search space: the strategy's search explores and maximizes as the plan says.

    Attributes:
        space: The search space.
        search: The search to use; by default the strategy's own.
    """

    space: Space
    search: Search | None = None

    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        search = self.search or strategy.searcher(self.space)
        if plan.learn is not None and not search.explores:
            if self.search is not None:
                raise RecipeError(
                    f"the plan of {strategy.name} learns while the search explores, which {search!r} does not: use "
                    "search=Langevin(then=...)"
                )
            # Not every surrogate can tell before a fit that its models learn.
            search = Langevin(then=search)
        search = instructed(search, plan)
        plan = search.explore(plan, self.space, rng=rng)
        X = plan.repeats[self.space.valid(plan.repeats)][:q]
        if len(X) < q:
            new = -(-(q - len(X)) // plan.replicates)
            found = found_by(search, plan, self.space, new, rng=rng)
            X = np.vstack([X, np.repeat(found, plan.replicates, axis=0)])[:q]
        return Chosen(X, tuple(self.space.decode(X)), plan)


@dataclass(frozen=True, eq=False)
class PoolSource(CandidateSource):
    """A pool of which no row is suggested twice, and from whose untried rows the plan learns.

    A plan that learns where the search goes (CBO) learns from the untried rows themselves, without exploration (Stanton
    et al. 2023, C.3): from all of them up to 2048, else from a random choice.

    Attributes:
        space: The pool.
        tried: Rows that must not be suggested, `t x d`.
    """

    space: Space
    tried: Array

    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        if plan.replicates > 1 or len(plan.repeats):
            raise RecipeError("each row of this pool can be chosen once only: use a method without replicates")
        plan = replace(plan, avoid=self.tried)
        if plan.learn is not None:
            rows = self.space.enumerate()
            if rows is None:
                raise RecipeError(
                    f"a pool is a finite space, got a {type(self.space).__name__} with infinitely many points"
                )
            free = np.flatnonzero(~coincides(rows, self.tried))
            sample = free if len(free) <= _SAMPLE else rng.choice(free, _SAMPLE, replace=False)
            plan = plan.learned(rows[sample], rng=rng)
        X = found_by(instructed(strategy.searcher(self.space), plan), plan, self.space, q, rng=rng)
        return Chosen(X, tuple(self.space.decode(X)), plan)


def instructed(search: Search, plan: Plan) -> Search:
    """Return the search that follows the plan's own instructions: points at random, and a trust region."""
    if plan.at_random:
        search = EpsilonGreedy(search)
    return search if plan.region is None else TrustRegion(search)


def found_by(search: Search, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
    """Return the points that a search finds, `q x d`, as valid points of the space.

    Raises:
        RecipeError: If the search returns an array of another shape.
    """
    found = np.asarray(search.maximize(plan, space, q, rng=rng), dtype=np.float64)
    if found.shape != (q, space.dimension):
        raise RecipeError(
            f"maximize of a search must return q x d points, here {q} x {space.dimension}, got an array of shape "
            f"{found.shape} from {search!r}"
        )
    return space.repair(found)


def as_source(source: Space | CandidateSource) -> CandidateSource:
    """Return the source as it is, or that of a space."""
    return source if isinstance(source, CandidateSource) else SpaceSource(source)
