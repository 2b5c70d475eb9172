"""Langevin exploration: chains sample what they should, stay in the space, and teach the acquisition as promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest

from calibo.errors import RecipeError
from calibo.search import Langevin, MultiStart, Plan, Pool
from calibo.search.base import coincides
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace
from calibo.testing.randomness import global_state

RNG = np.random.default_rng
MIXED = ProductSpace(
    {
        "lr": Float(1e-4, 1, log=True),
        "n": Int(1, 300, log=True),
        "k": Int(2, 20, step=3),
        "c": Categorical(["a", "b", "c"]),
        "o": Ordinal([1, 2, 4, 8]),
    }
)


@dataclass(frozen=True)
class Crowded:
    """An acquisition function that learns: height minus a share of nearby proposals."""

    height: Callable[[np.ndarray], np.ndarray]
    aversion: float = 0.0
    history: tuple[np.ndarray, ...] = field(default=(), repr=False)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        values = self.height(X)
        if not self.history or not self.aversion:
            return values
        near = np.square(X[:, None, :] - self.history[-1]).sum(axis=-1) < 0.04
        return values - self.aversion * near.mean(axis=1)

    def plan(self, anchors: np.ndarray) -> Plan:
        return Plan(self, anchors, anchors[:0], learn=learn)


def learn(plan: Plan, proposals: np.ndarray, rng: np.random.Generator) -> Plan:
    assert isinstance(plan.acquisition, Crowded)
    return replace(plan, acquisition=replace(plan.acquisition, history=(*plan.acquisition.history, proposals)))


def cube(d: int) -> ProductSpace:
    return ProductSpace({f"x{i}": Float(0, 1) for i in range(d)})


def none(space: ProductSpace) -> np.ndarray:
    return np.empty((0, len(space.columns)))


def bowl(centre: float = 0.3, unit: float = 1.0) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: -unit * np.square(X - centre).sum(axis=-1)


def explored(search: Langevin, acquisition: Crowded, space: ProductSpace, seed: int = 0) -> tuple[Crowded, np.ndarray]:
    found = search.explore(acquisition.plan(none(space)), space, rng=RNG(seed))
    assert isinstance(found.acquisition, Crowded)
    return found.acquisition, found.anchors


@pytest.mark.parametrize("friction", [0.3, 1.0])
def test_chains_sample_from_the_energy_distribution(friction: float) -> None:
    """For a bowl, exp(a / T) is a normal distribution of variance T / 2 a coordinate, up to the reflected tails."""
    search = Langevin(
        chains=200, steps=400, burn_in=100, step_size=0.02, temperature=0.02, friction=friction, standardized=False
    )
    visited = explored(search, Crowded(bowl(0.5)), cube(2))[0].history[-1]
    T = 0.02 / 2**0.5
    np.testing.assert_allclose(visited.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(visited.var(axis=0), T / 2, rtol=0.1)


def test_finite_columns_are_sampled_in_proportion_and_flat_ones_uniformly() -> None:
    """Reflection leaves the uniform distribution as it is; penalties at the bounds would not."""
    space = ProductSpace({"c": Categorical(["a", "b", "c"]), "x": Float(0, 1)})
    log_weights = np.log([0.6, 0.3, 0.1])

    def acquisition(X: np.ndarray) -> np.ndarray:
        return log_weights[space.columns[0].cell(X[:, 0])]

    search = Langevin(chains=200, steps=100, burn_in=40, step_size=0.05, temperature=2**0.5, standardized=False)
    visited = explored(search, Crowded(acquisition), space)[0].history[-1]
    shares = np.bincount(space.columns[0].cell(visited[:, 0]), minlength=3) / len(visited)
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.03)
    np.testing.assert_allclose(np.histogram(visited[:, 1], bins=5, range=(0, 1))[0] / len(visited), 0.2, atol=0.03)


def test_the_temperature_has_no_units() -> None:
    plain = explored(Langevin(), Crowded(bowl()), cube(3))
    scaled = explored(Langevin(), Crowded(lambda X: 7.0 + 1e3 * bowl()(X)), cube(3))
    np.testing.assert_allclose(scaled[1], plain[1], atol=1e-5)
    cold, hot = (explored(Langevin(temperature=t), Crowded(bowl()), cube(3))[0].history[-1] for t in (0.02, 1.0))
    assert bowl()(cold).mean() > bowl()(hot).mean()


def test_proposals_and_points_belong_to_the_space() -> None:
    found, points = explored(Langevin(), Crowded(bowl()), MIXED)
    for X in (*found.history, points):
        np.testing.assert_array_equal(MIXED.repair(X), X)
    # Every column moves.
    assert (np.ptp(found.history[-1], axis=0) > 0.0).all()


@pytest.mark.parametrize(("updates", "counts"), [(1, [45]), (3, [15, 30, 45]), (2, [23, 45]), (45, [*range(1, 46)])])
def test_the_acquisition_learns_from_all_that_was_visited(updates: int, counts: list[int]) -> None:
    history = explored(Langevin(updates=updates), Crowded(bowl()), cube(2))[0].history
    assert [len(X) for X in history] == [5 * k for k in counts]
    for earlier, later in pairwise(history):
        np.testing.assert_array_equal(later[: len(earlier)], earlier)


def test_chains_go_on_under_what_was_learned() -> None:
    """Where the first visits cost value, later chains go elsewhere; the first part of the way is the same."""
    calm, averse = (explored(Langevin(), Crowded(bowl(), a), cube(2))[0].history for a in (0.0, 5.0))
    np.testing.assert_array_equal(averse[0], calm[0])
    away = [np.linalg.norm(X[-1][len(X[0]) :] - X[0].mean(axis=0), axis=1).mean() for X in (calm, averse)]
    assert away[1] > away[0]


def test_the_best_points_are_by_what_was_learned_in_the_end() -> None:
    found, points = explored(Langevin(), Crowded(bowl(), 2.0), cube(2))
    visited = found.history[-1].reshape(45, 5, 2)
    values = found(visited.reshape(-1, 2)).reshape(45, 5)
    np.testing.assert_allclose(found(points), np.sort(values.max(axis=0))[::-1])


@pytest.mark.parametrize("d", [1, 20])
def test_the_way_leads_uphill(d: int) -> None:
    found, points = explored(Langevin(), Crowded(bowl()), cube(d))
    likely, best = np.quantile(bowl()(RNG(0).random((500, d))), [0.85, 0.99])
    assert bowl()(found.history[-1]).mean() > likely and bowl()(points).max() > best


def test_anchors_are_where_chains_may_start() -> None:
    """A narrow peak that random points miss is found from an anchor beside it."""
    space, peak = cube(6), np.full(6, 0.62)

    def acquisition(X: np.ndarray) -> np.ndarray:
        return np.exp(-np.square(X - peak).sum(axis=-1) / 0.01)

    found = Langevin().explore(Crowded(acquisition).plan(peak[None, :] + 0.03), space, rng=RNG(0))
    assert acquisition(found.anchors[:-1]).max() > 0.8


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("space", [cube(2), MIXED], ids=["cube", "mixed"])
def test_values_that_are_not_finite_do_no_harm(bad: float, space: ProductSpace) -> None:
    def acquisition(X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 0] > 0.5, bad, bowl()(X))

    points = explored(Langevin(), Crowded(acquisition), space)[1]
    assert np.isfinite(acquisition(points)).any()
    everywhere = explored(Langevin(), Crowded(lambda X: np.full(len(X), bad)), space)[1]
    assert everywhere.shape == (5, len(space.columns)) and ((everywhere >= 0) & (everywhere <= 1)).all()


def test_cliffs_do_not_throw_chains_about() -> None:
    def acquisition(X: np.ndarray) -> np.ndarray:
        return -1e12 * np.abs(X - 0.4).sum(axis=-1) ** 0.5

    search = Langevin(chains=1, friction=1.0, standardized=False)
    visited = explored(search, Crowded(acquisition), cube(2))[0].history[-1]
    assert np.linalg.norm(np.diff(visited, axis=0), axis=1).max() < 0.3


def test_on_a_pool_rows_are_the_proposals() -> None:
    rows = [{"x": float(i), "y": float(i * i % 17)} for i in range(700)]
    space = PoolSpace(rows)
    found = Langevin().explore(Crowded(bowl()).plan(space.X[:2]), space, rng=RNG(0))
    assert isinstance(found.acquisition, Crowded)
    (proposals,) = found.acquisition.history
    assert (
        proposals.shape == (512, 2) and coincides(proposals, space.X).all() and len(np.unique(proposals, axis=0)) == 512
    )
    np.testing.assert_allclose(bowl()(found.anchors[:5]), np.sort(bowl()(proposals))[::-1][:5])
    small = Langevin().explore(Crowded(bowl()).plan(space.X[:0]), PoolSpace(rows[:3]), rng=RNG(0))
    assert small.anchors.shape == (3, 2)


def test_the_search_afterwards_suits_the_space_or_is_the_one_given() -> None:
    plan, pool = Plan(bowl(), none(cube(2)), none(cube(2))), PoolSpace([{"x": i, "y": -i} for i in range(20)])
    assert Langevin().explore(plan, cube(2), rng=RNG(0)) is plan  # it does not learn
    for search, same, space in (
        (Langevin(), MultiStart(), cube(2)),
        (Langevin(then=MultiStart(scored=9)), MultiStart(scored=9), cube(2)),
        (Langevin(), Pool(), pool),
    ):
        one, other = (s.maximize(plan, space, 1, rng=RNG(3)) for s in (search, same))
        np.testing.assert_array_equal(one, other)


def test_from_the_generator_alone_and_the_acquisition_given_is_left_as_it_was() -> None:
    before, acquisition = global_state(), Crowded(bowl())
    one, same, other = (explored(Langevin(), acquisition, MIXED, seed)[1] for seed in (0, 0, 1))
    assert global_state() == before and acquisition.history == ()
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_the_settings_of_the_paper_and_of_its_code() -> None:
    paper, code = Langevin.paper(), Langevin.repository()
    assert (paper.chains, paper.steps, paper.burn_in, paper.step_size, paper.temperature) == (5, 100, 25, 1e-3, 1e-3)
    assert paper.updates == 75 and paper.friction == 1.0 and not paper.standardized
    assert (code.steps, code.burn_in, code.step_size, code.temperature, code.friction) == (512, 32, 2e-2, 4e-3, 0.1)
    assert [len(X) for X in explored(paper, Crowded(bowl()), cube(2))[0].history[-2:]] == [370, 375]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"chains": 0}, "at least one chain"),
        ({"burn_in": 60}, "burn-in shorter"),
        ({"updates": 46}, "1 to 45 times"),
        ({"step_size": 0.0}, "step_size"),
        ({"temperature": np.nan}, "temperature"),
        ({"friction": 0.0}, "friction"),
        ({"then": "multistart"}, r"then must be .* such as MultiStart\(\)"),
    ],
)
def test_impossible_settings_are_rejected(options: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Langevin(**options)  # type: ignore[arg-type]


def test_the_budget_of_evaluations() -> None:
    """A conformal acquisition function takes about 25 microseconds a point, so this is a tenth of a second."""
    counted = [0]

    def acquisition(X: np.ndarray) -> np.ndarray:
        counted[0] += len(X)
        return bowl()(X)

    Langevin().explore(Crowded(acquisition).plan(RNG(0).random((5, 6))), cube(6), rng=RNG(0))
    assert counted[0] < 4500
