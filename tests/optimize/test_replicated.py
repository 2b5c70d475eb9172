"""Every point several times: which are due, in which order, and what comes after them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.acquisition import PenalizedEI, RiskAverseUCB, UpperQuantile
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, HeteroscedasticGP
from calibo.optimize import ModelBased, Optimizer, suggest
from calibo.optimize.replicated import Replicated, points_to_repeat
from calibo.optimize.turbo import TuRBO
from calibo.spaces import Float, ProductSpace

RNG = np.random.default_rng
SPACE = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
PLAIN = ModelBased(GaussianProcess(), UpperQuantile(0.9))
POINTS = SPACE.sample(5, RNG(0))


def observed(which: list[int], pending: list[int] | None = None, failed: list[int] | None = None) -> Dataset:
    Y = np.sin(7 * POINTS[which].sum(axis=1, keepdims=True)) + 0.01 * np.arange(len(which))[:, None]
    return Dataset(X=POINTS[which], Y=Y, X_pending=POINTS[pending or []], X_failed=POINTS[failed or []])


@pytest.mark.parametrize(
    ("which", "pending", "failed", "expected"),
    [
        ([0], [], [], [0, 0]),
        ([0, 0, 0], [], [], []),
        ([0, 1, 0, 0], [], [], [1, 1]),
        ([1, 0], [], [], [1, 1, 0, 0]),
        ([0], [0], [], [0]),
        ([0], [0, 0, 2], [], [2, 2]),
        ([0, 0], [], [0], []),
        ([0, 0, 0], [], [3], []),
        ([0, 0, 0, 0], [], [], []),
    ],
)
def test_which_points_are_due(which: list[int], pending: list[int], failed: list[int], expected: list[int]) -> None:
    np.testing.assert_array_equal(points_to_repeat(observed(which, pending, failed), 3), POINTS[expected])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=15), st.lists(st.integers(0, 4), max_size=5), st.integers(1, 4))
def test_what_is_due_makes_every_point_complete(which: list[int], pending: list[int], times: int) -> None:
    due = points_to_repeat(observed(which, pending), times)
    after = Counter(map(tuple, np.vstack([POINTS[which], POINTS[pending], due])))
    assert all(count >= times for count in after.values())
    assert len(due) == sum(max(0, times - c) for c in Counter([*which, *pending]).values())


def found(data: Dataset, q: int, times: int = 3) -> np.ndarray:
    got = suggest(data, source=SPACE, strategy=Replicated(PLAIN, times), q=q, rng=RNG(0))
    assert all(s.forecasts is not None for s in got)
    return np.stack([s.x for s in got])


def test_points_to_repeat_come_before_new_ones() -> None:
    data = observed([0, 0, 1, 1, 1])
    np.testing.assert_array_equal(found(data, 1), POINTS[[0]])
    batch = found(data, 6)
    np.testing.assert_array_equal(batch[0], POINTS[0])
    np.testing.assert_array_equal(batch[1:4], batch[[1, 1, 1]])
    np.testing.assert_array_equal(batch[4:], batch[[4, 4]])
    assert len(np.unique(batch, axis=0)) == 3


def test_new_points_are_the_strategys_own() -> None:
    data = observed([0, 1, 2])
    own = suggest(data, source=SPACE, strategy=PLAIN, q=2, rng=RNG(0))
    np.testing.assert_array_equal(found(data, 2, times=1), np.stack([s.x for s in own]))


def test_a_run_measures_every_point_as_often_as_set() -> None:
    for inner in (PLAIN, TuRBO(GaussianProcess(), UpperQuantile(0.9), n_initial=9)):
        optimizer, rng, seen = Optimizer(SPACE, Replicated(inner, 3), seed=0, n_initial=3), RNG(0), []
        for _ in range(15):
            s = optimizer.ask()
            seen.append(tuple(s.x))
            optimizer.tell(s, s.params["x"] + 0.1 * rng.standard_normal())
        assert len(set(seen[:3])) == 3 and Counter(seen) == dict.fromkeys(seen, 3)
        # After the design each new point three times in a row.
        assert [len(set(seen[i : i + 3])) for i in (9, 12)] == [1, 1]


@pytest.mark.filterwarnings("ignore:no point was measured twice")
@pytest.mark.parametrize("rule", [RiskAverseUCB(aversion=1.0), PenalizedEI(1.0)], ids=["ucb", "ei"])
def test_the_quiet_one_of_two_hills_is_found(rule: object) -> None:
    strategy = Replicated(ModelBased(HeteroscedasticGP(), rule), 3)  # type: ignore[arg-type]
    optimizer = Optimizer({"x": Float(0, 1)}, strategy, seed=0, direction="maximize", n_initial=5)
    rng = RNG(0)
    for _ in range(45):
        s = optimizer.ask()
        x = s.params["x"]
        f = np.exp(-40 * (x - 0.25) ** 2) + 1.05 * np.exp(-40 * (x - 0.75) ** 2)
        optimizer.tell(s, f + (0.8 if x > 0.5 else 0.02) * rng.standard_normal())
    tried = optimizer.data().X[15:, 0]
    assert np.mean(tried < 0.5) > 0.5
    assert np.min(np.abs(tried - 0.25)) < 0.03


@pytest.mark.parametrize("times", [0, 1.5])
def test_times_from_one_on(times: object) -> None:
    with pytest.raises(RecipeError, match="whole number"):
        Replicated(PLAIN, times)  # type: ignore[arg-type]
