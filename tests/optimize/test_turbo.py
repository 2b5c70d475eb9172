"""The trust region: its state against sequences worked by hand, and that suggestions stay inside it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, ConformalBayes, DensityRatio, OnlineQuantile
from calibo.data import Dataset
from calibo.distributions import Distribution
from calibo.errors import RecipeError
from calibo.models import Capability, GaussianProcess, Model, ModelWrapper, SurrogateWrapper
from calibo.optimize import Optimizer, suggest
from calibo.optimize.turbo import RegionState, Schedule, TuRBO, distance_to_nearest, region_state
from calibo.problems import problem
from calibo.search import Dynamic, EpsilonGreedy, MultiStart
from calibo.spaces import Categorical, Float, Int, PoolSpace, ProductSpace

RNG = np.random.default_rng
GP = GaussianProcess()
SHORT = Schedule(failure_tolerance=2, success_tolerance=3)


def state(y: list[float], schedule: Schedule = SHORT, n_initial: int = 2, batch_size: int = 1) -> RegionState:
    return region_state(np.array(y, dtype=np.float64), schedule, n_initial=n_initial, batch_size=batch_size)


def test_before_the_design_is_complete_and_around_a_negative_best() -> None:
    assert state([]) == state([5.0]) == RegionState(0, -np.inf, 0.8)
    assert state([5.0, 1.0]) == RegionState(0, 5.0, 0.8)
    # The smallest improvement that counts is relative to the size of the best.
    assert state([-5.0, -9.0, -4.996]).failures == 1 and state([-5.0, -9.0, -4.994]).successes == 1


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([1.0], RegionState(0, 5.0, 0.8, 0, 1)),
        ([1.0, 2.0], RegionState(0, 5.0, 0.4, 0, 0)),
        ([1.0, 2.0, 3.0], RegionState(0, 5.0, 0.4, 0, 1)),
        ([6.0], RegionState(0, 6.0, 0.8, 1, 0)),
        ([1.0, 6.0, 1.0], RegionState(0, 6.0, 0.8, 0, 1)),
        ([6.0, 7.0, 8.0], RegionState(0, 8.0, 1.6, 0, 0)),
        ([6.0, 7.0, 8.0, 9.0, 10.0, 11.0], RegionState(0, 11.0, 1.6, 0, 0)),
        ([6.0, 7.0, 1.0, 8.0], RegionState(0, 8.0, 0.8, 1, 0)),
        # An improvement by a thousandth is none, but it is remembered as the best.
        ([5.005], RegionState(0, 5.005, 0.8, 0, 1)),
        ([5.006], RegionState(0, 5.006, 0.8, 1, 0)),
    ],
)
def test_sequences_worked_by_hand(outcomes: list[float], expected: RegionState) -> None:
    assert state([5.0, 1.0, *outcomes]) == expected


def test_batches_are_judged_as_one_and_wait_until_they_are_complete() -> None:
    assert state([5.0, 1.0, 9.0, 0.0], batch_size=3) == RegionState(0, 5.0, 0.8)
    assert state([5.0, 1.0, 9.0, 0.0, 0.0], batch_size=3) == RegionState(0, 9.0, 0.8, 1, 0)
    assert state([5.0, 1.0, *[0.0] * 6], batch_size=3) == RegionState(0, 5.0, 0.4)


def test_a_region_that_is_too_short_starts_anew() -> None:
    # 0.8 / 2^6 = 0.0125 is still long enough, 0.8 / 2^7 < 0.5^7 is not.
    lost = [0.0] * 12
    assert state([5.0, 1.0, *lost]) == RegionState(0, 5.0, 0.8 / 64)
    assert state([5.0, 1.0, *lost, 0.0]).failures == 1
    assert state([5.0, 1.0, *lost, 0.0, 0.0]) == RegionState(16, -np.inf, 0.8, restarts=1)
    assert state([5.0, 1.0, *lost, 0.0, 0.0, 2.0]) == RegionState(16, -np.inf, 0.8, restarts=1)
    # The best from before is forgotten: 2.5 is an improvement on the new design.
    assert state([5.0, 1.0, *lost, 0.0, 0.0, 2.0, 1.0, 2.5]) == RegionState(16, 2.5, 0.8, 1, 0, 1)


@settings(max_examples=50)
@given(st.lists(st.floats(-10, 10), max_size=80), st.integers(1, 6), st.integers(1, 4), st.integers(1, 5))
def test_an_outcome_changes_the_state_by_one_step(
    y: list[float], n_initial: int, batch_size: int, tolerance: int
) -> None:
    """A further outcome changes the state only as one batch, one design or one restart can."""
    schedule = Schedule(failure_tolerance=tolerance, success_tolerance=2)
    states = [state(y[:n], schedule, n_initial, batch_size) for n in range(len(y) + 1)]
    for before, after in pairwise(states):
        assert schedule.shortest <= after.length <= schedule.longest
        assert after.successes < 2 and after.failures < tolerance and min(after.successes, after.failures) == 0
        if after.restarts == before.restarts:
            assert after.start == before.start and after.best >= before.best
            assert after.length / before.length in (0.5, 1.0, 2.0)
        else:
            assert after == RegionState(after.start, -np.inf, 0.8, restarts=before.restarts + 1)
            assert before.length / 2 < schedule.shortest


def data(n: int = 12, **options: object) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=-np.square(X - [0.3, 0.6]).sum(axis=1)[:, None], **options)  # type: ignore[arg-type]


def shrunk(halvings: int, **options: object) -> Dataset:
    """Data whose region has been halved: after a good design only worse outcomes, 4 for each halving in 2 columns."""
    X = RNG(0).random((5 + 4 * halvings, 2))
    X[3] = [0.3, 0.6]
    return Dataset(X=X, Y=-np.square(X - [0.3, 0.6]).sum(axis=1)[:, None], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("d", "q", "tolerance"), [(2, 1, 4), (2, 3, 2), (20, 3, 7), (6, 8, 1)])
def test_the_tolerance_of_failures(d: int, q: int, tolerance: int) -> None:
    strategy = TuRBO(GP, ExpectedImprovement(), batch_size=q, n_initial=2)
    y = np.array([5.0, 1.0, *[0.0] * (q * tolerance)])[:, None]
    X = RNG(0).random((len(y), d))
    assert strategy.region(Dataset(X=X, Y=y)).length == 0.4
    assert strategy.region(Dataset(X=X[:-1], Y=y[:-1])).length == 0.8


def test_the_region_is_around_the_best_point_and_as_long_as_its_state_says() -> None:
    known = shrunk(2)
    strategy = TuRBO(GP, UpperQuantile(0.9))
    assert strategy.region(known) == RegionState(0, 0.0, 0.2)
    region = strategy.plan(known, rng=RNG(0)).region
    assert region is not None
    np.testing.assert_array_equal(region.centre, [0.3, 0.6])
    np.testing.assert_allclose(np.prod(2.0 * region.reach), 0.2**2)


def test_columns_that_matter_less_are_longer() -> None:
    X = RNG(0).random((30, 2))
    known = Dataset(X=X, Y=np.sin(9 * X[:, :1]) + 0.1 * X[:, 1:])
    box = TuRBO(GP, ExpectedImprovement(), n_initial=30).plan(known, rng=RNG(0)).region  # type: ignore[attr-defined]
    theta = np.clip(GP.fit(known, rng=RNG(0)).theta.lengthscales, 0.005, 4.0)
    assert theta[1] > 3 * theta[0]
    np.testing.assert_allclose(box.reach, 0.4 * theta / np.sqrt(np.prod(theta)))


RULES: list[AcquisitionRule] = [UpperQuantile(0.9), ExpectedImprovement(), ThompsonSampling()]


@pytest.mark.parametrize("rule", RULES, ids=["ucb", "ei", "ts"])
@pytest.mark.parametrize("q", [1, 3])
def test_suggestions_lie_in_the_region_with_forecasts(rule: AcquisitionRule, q: int) -> None:
    busy, bad = np.array([[0.31, 0.6], [0.9, 0.9]]), np.array([[0.28, 0.62]])
    known = shrunk(3, X_pending=busy, X_failed=bad)
    strategy = TuRBO(GP, rule)
    box = strategy.plan(known, rng=RNG(0)).region  # type: ignore[attr-defined]
    space = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
    found = suggest(known, source=space, strategy=strategy, q=q, rng=RNG(0))
    assert len(found) == q
    for suggestion in found:
        assert box.contains(suggestion.x[None, :]).all()
        assert suggestion.forecasts is not None and suggestion.forecasts[0].stage_names == ("GaussianProcess",)


def test_calibrated_surrogates_have_the_same_region_and_models_without_length_scales_a_cube() -> None:
    class Plain(SurrogateWrapper):
        def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
            return PlainModel(self.surrogate.fit(data, rng=rng))

    class PlainModel(ModelWrapper):
        hides = {Capability.LENGTHSCALES: "for the test"}  # noqa: RUF012

        def predict(self, X: np.ndarray, *, latent: bool) -> Distribution:
            return self.base.predict(X, latent=latent)

    own, calibrated, cube = (
        TuRBO(surrogate, UpperQuantile(0.9)).plan(shrunk(1), rng=RNG(0)).region
        for surrogate in (GP, Calibrated(GP, by=OnlineQuantile(0.2)), Plain(GP))
    )
    assert own is not None and calibrated is not None and cube is not None
    np.testing.assert_allclose(own.reach, calibrated.reach)
    np.testing.assert_allclose(cube.reach, 0.2)


def restarted(since: int) -> Dataset:
    """Data whose region was given up after 5 + 7 * 4 outcomes, and what came since."""
    known = shrunk(7)
    X = np.vstack([known.X, RNG(5).random((since, 2))])
    return Dataset(X=X, Y=np.vstack([known.Y, -1.0 - X[len(known) :, :1]]))


def test_a_restart_begins_with_a_design_and_knows_only_what_came_since() -> None:
    strategy = TuRBO(GP, UpperQuantile(0.9))
    assert strategy.region(restarted(0)) == RegionState(33, -np.inf, 0.8, restarts=1)
    for since in (0, 1, 4):
        plan = strategy.plan(restarted(since), rng=RNG(0))
        assert plan.region is None and not len(plan.anchors)
        assert plan.models and plan.forecaster is not None
        assert len(plan.avoid) == 33 + since
    known = restarted(5)
    plan = strategy.plan(known, rng=RNG(0))
    assert plan.region is not None
    assert {tuple(x) for x in plan.anchors} == {tuple(x) for x in known.X[33:]}
    assert {tuple(x) for x in plan.avoid} == {tuple(x) for x in known.X}
    X = RNG(1).random((4, 2))
    np.testing.assert_allclose(
        plan.models[0].predict(X, latent=True).mean,
        GP.fit(known.rows(slice(33, None)), rng=RNG(0)).predict(X, latent=True).mean,
    )
    assert not len(replace(strategy, replicate=True).plan(known, rng=RNG(0)).avoid)


@pytest.mark.parametrize(("since", "pending", "inside"), [(2, 2, False), (2, 3, True), (0, 9, False)])
def test_pending_points_count_for_the_design(since: int, pending: int, inside: bool) -> None:
    known = replace(restarted(since), X_pending=RNG(2).random((pending, 2)))
    assert (TuRBO(GP, UpperQuantile(0.9)).plan(known, rng=RNG(0)).region is not None) is inside


def test_points_of_a_design_are_far_apart() -> None:
    strategy = TuRBO(GP, UpperQuantile(0.9), n_initial=16)
    space = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
    known = data(1)
    found = suggest(known, source=space, strategy=strategy, q=15, rng=RNG(0))
    X = np.vstack([known.X, *[s.x for s in found]])
    gap = np.abs(X[:, None] - X[None])
    distance = np.sqrt(np.square(np.minimum(gap, 1 - gap)).sum(-1)) + np.eye(16)
    # A square lattice of 16 points has distance 1/4; 16 random points come as near as 0.03 or so.
    assert distance.min() > 0.13


def test_spreading_counts_sets_choices_and_opposite_faces() -> None:
    acquisition = distance_to_nearest(np.array([[0.0, 0.25]]), (0, 2))
    X = np.array([[0.5, 0.25], [0.98, 0.25], [0.0, 0.75], [0.0, 0.25]])
    np.testing.assert_allclose(acquisition(X), [0.5, 0.02, 0.5, 0.0])
    sets = np.stack([np.broadcast_to([0.5, 0.25], (4, 2)), X], axis=1)
    np.testing.assert_allclose(acquisition(sets), [0.0, 0.02, 0.5, 0.0])
    np.testing.assert_array_equal(distance_to_nearest(np.empty((0, 2)), (0, 2))(X), np.zeros(4))


def test_mixed_spaces_pools_and_failures() -> None:
    space = {"x": Float(0, 1), "i": Int(1, 30), "c": Categorical(["a", "b"])}
    quick = MultiStart(scored=48, around=16, starts=2, iterations=15)
    optimizer = Optimizer(space, TuRBO(GP, UpperQuantile(0.9), search=quick, batch_size=3), seed=1, n_initial=6)
    for _ in range(7):
        for s in optimizer.ask(3):
            if s.params["x"] > 0.8:
                optimizer.tell_failed(s)
            else:
                optimizer.tell(s, (s.params["x"] - 0.4) ** 2 + (s.params["i"] / 30 - 0.5) ** 2 + (s.params["c"] == "a"))
    assert optimizer.best[1] < 0.05 and optimizer.best[0]["c"] == "b"
    pool = PoolSpace([{"a": i, "b": j} for i in range(15) for j in range(15)])
    chooser = Optimizer(pool, TuRBO(GP, UpperQuantile(0.9)), seed=1)
    for _ in range(28):
        s = chooser.ask()
        chooser.tell(s, (s.params["a"] - 4) ** 2 + (s.params["b"] - 9) ** 2)
    assert chooser.best[1] <= 1.0


def test_branin_is_solved_and_the_region_restarted() -> None:
    branin = problem("branin")
    strategy = TuRBO(GP, ExpectedImprovement())
    optimizer = Optimizer(branin.space(), strategy, seed=0)
    for _ in range(55):
        s = optimizer.ask()
        optimizer.tell(s, branin.objective(s.params))
    assert optimizer.best[1] < branin.optimum + 1e-2
    assert strategy.region(optimizer.data()).restarts >= 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "whole number"),
        ({"n_initial": 0}, "whole number"),
        ({"success_tolerance": 1.5}, "whole number"),
        ({"surrogate": "gp"}, "must be .* such as"),
        ({"rule": ThompsonSampling}, "must be .* such as"),
        ({"search": "x"}, "search must be .* such as"),
        ({"search": EpsilonGreedy(Dynamic())}, r"Use MutatedBest\(\)"),
        ({"surrogate": ConformalBayes(GP, ratio=DensityRatio()), "search": MultiStart()}, "use search=Langevin"),
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    parts: dict[str, object] = {"surrogate": GP, "rule": UpperQuantile(0.9), **wrong}
    with pytest.raises(RecipeError, match=message):
        TuRBO(**parts)  # type: ignore[arg-type]
