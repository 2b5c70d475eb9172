"""Sources of candidates follow the instructions of a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.optimize import CandidateSource, Chosen, Plan, PoolSource, SpaceSource, Strategy, choose, suggest
from calibo.search import Box, MultiStart, Pool, Search
from calibo.spaces import Float, PoolSpace, ProductSpace, Space

RNG = np.random.default_rng
SPACE = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
POOL = PoolSpace([{"x": float(i), "y": float(i % 7)} for i in range(30)])
NONE = np.empty((0, 2))
DATA = Dataset(X=np.full((1, 2), 0.5), Y=np.zeros((1, 1)))


@dataclass(frozen=True, eq=False)
class Fixed(Strategy):
    """A strategy with a plan of its own."""

    fixed: Plan

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        return self.fixed

    def searcher(self, space: Space) -> Search:
        return Pool() if space.is_pool else MultiStart()


def corner(X: Array) -> Array:
    """Largest at (1, 1); batches are valued by their last point."""
    return (X if X.ndim == 2 else X[:, -1]).sum(axis=-1)


def chosen(source: Space | CandidateSource, q: int = 1, seed: int = 0, **instructions: object) -> Array:
    plan = Plan(corner, NONE, NONE, **instructions)  # type: ignore[arg-type]
    return choose(DATA, source=source, strategy=Fixed(plan), q=q, rng=RNG(seed)).X


def test_a_space_is_searched_as_the_plan_says() -> None:
    np.testing.assert_allclose(chosen(SPACE), [[1.0, 1.0]], atol=1e-6)
    box = Box(np.array([0.3, 0.4]), np.array([0.1, 0.1]))
    np.testing.assert_allclose(chosen(SPACE, region=box), [[0.4, 0.5]], atol=1e-6)
    random = [chosen(SPACE, at_random=True, seed=seed)[0] for seed in range(20)]
    assert 0.2 < np.mean(random) < 0.8


def test_repeats_come_first_and_new_points_are_replicated() -> None:
    repeats = np.array([[0.1, 0.2], [0.1, 0.2]])
    X = chosen(SPACE, 6, repeats=repeats, replicates=3)
    np.testing.assert_array_equal(X[:2], repeats)
    np.testing.assert_array_equal(X[2:5], X[[2, 2, 2]])
    assert (X[5] != X[2]).any()
    np.testing.assert_array_equal(chosen(SPACE, 1, repeats=repeats, replicates=3), repeats[:1])


def test_the_search_of_a_source_comes_before_that_of_the_strategy() -> None:
    @dataclass(frozen=True)
    class Centre(Search):
        def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
            return np.full((q, 2), 0.5)

    np.testing.assert_array_equal(chosen(SpaceSource(SPACE, Centre())), [[0.5, 0.5]])


@dataclass(frozen=True)
class Constant(Search):
    """A search that always finds the same."""

    found: tuple[tuple[float, ...], ...]

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        return np.array(self.found)


def test_what_a_search_finds_is_made_valid_and_has_the_right_shape() -> None:
    np.testing.assert_array_equal(chosen(SpaceSource(SPACE, Constant(((1.5, -0.2),)))), [[1.0, 0.0]])
    for wrong in (Constant(((0.5, 0.5),) * 3), Constant(((0.5,),))):
        with pytest.raises(RecipeError, match="q x d points, here 1 x 2"):
            chosen(SpaceSource(SPACE, wrong))

    class Wrong(Fixed):
        def searcher(self, space: Space) -> Search:
            return Constant(((0.5, 0.5),) * 3)

    with pytest.raises(RecipeError, match="q x d points, here 1 x 2"):
        choose(DATA, source=PoolSource(POOL, NONE), strategy=Wrong(Plan(corner, NONE, NONE)), q=1, rng=RNG(0))


def test_a_pool_is_searched_as_the_plan_says() -> None:
    pool = PoolSource(POOL, tried=NONE)
    box = Box(POOL.X[10], np.full(2, 0.2))
    assert box.contains(chosen(pool, 3, region=box)).all() and not box.contains(chosen(pool, 1)).any()
    assert len({tuple(chosen(pool, at_random=True, seed=seed)[0]) for seed in range(6)}) > 1


def test_a_pool_source_learns_from_untried_rows_and_repeats_none() -> None:
    seen: list[Array] = []

    def learn(plan: Plan, proposals: Array, rng: np.random.Generator) -> Plan:
        seen.append(proposals)
        return plan

    X = chosen(PoolSource(POOL, tried=POOL.X[-5:]), 3, learn=learn)
    np.testing.assert_array_equal(seen[0], POOL.X[:-5])
    assert len(np.unique(np.vstack([X, POOL.X[-5:]]), axis=0)) == 8
    with pytest.raises(RecipeError, match="without replicates"):
        chosen(PoolSource(POOL, tried=POOL.X[:1]), replicates=2)


def test_a_source_of_ones_own() -> None:
    class Two(CandidateSource):
        def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
            X = np.array([[0.1, 0.1], [0.9, 0.2]])
            return Chosen(X[[np.argmax(plan.acquisition(X))]], ({"row": 1},), plan)

    plan = Plan(corner, NONE, NONE, hyperparameters=((1.0,),))
    (found,) = suggest(DATA, source=Two(), strategy=Fixed(plan), q=1, rng=RNG(0))
    assert found.params == {"row": 1} and found.forecasts is None and found.hyperparameters == ((1.0,),)
