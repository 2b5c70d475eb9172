"""Several outcomes as one number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.classifiers import Tchebycheff, WeightedLabels, merits
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.pareto import pareto_mask


def data(Y: object, constraints: int = 0) -> Dataset:
    outcomes = np.array(Y, dtype=np.float64)
    return Dataset(X=np.random.default_rng(0).random((len(outcomes), 2)), Y=outcomes, constraints=constraints)


def of(known: Dataset, seed: int = 0) -> np.ndarray:
    return merits(known, Tchebycheff(), rng=np.random.default_rng(seed))


def test_one_objective_is_taken_as_it_is() -> None:
    np.testing.assert_array_equal(of(data([[1.0], [3.0]])), [1.0, 3.0])


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=2, max_size=12), st.integers(0, 5))
def test_the_best_trade_off_is_on_the_front(outcomes: list[tuple[float, float]], seed: int) -> None:
    known = data(outcomes)
    y = of(known, seed)
    assert np.isfinite(y).all()
    assert pareto_mask(known.Y)[y >= y.max() - 1e-12].any()


def test_other_weights_prefer_other_points() -> None:
    front = data([[np.cos(t), np.sin(t)] for t in np.linspace(0, np.pi / 2, 15)])
    assert len({int(np.argmax(of(front, seed))) for seed in range(40)}) > 7


def test_units_do_not_matter_and_huge_ones_are_finite() -> None:
    Y = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(of(data(Y)), of(data(Y * [1e-5, 1e7, 3.0] + [2.0, 5.0, 0.0])), rtol=1e-6)
    assert np.isfinite(of(data(Y * 1e300))).all() and np.isfinite(of(data(np.ones((4, 2))))).all()


def test_what_breaks_a_constraint_is_never_a_positive() -> None:
    rng = np.random.default_rng(0)
    for objectives in (1, 2):
        for share in (0.1, 0.4, 0.9):
            Y = rng.normal(size=(40, objectives + 1))
            Y[:, -1] = rng.random(40) - 1.0 + share
            known = data(Y, constraints=1)
            labelled = WeightedLabels().label(known.X, of(known))
            assert labelled is not None
            met = {tuple(x) for x in known.X[known.feasible]}
            assert {tuple(x) for x in labelled.X[labelled.z == 1]} <= met


def test_a_single_feasible_point_is_the_positive() -> None:
    known = data([[5.0, -1.0], [1.0, 0.0], [9.0, -3.0]], constraints=1)
    labelled = WeightedLabels().label(known.X, of(known))
    assert labelled is not None
    np.testing.assert_array_equal(labelled.X[labelled.z == 1], known.X[[1]])


def test_as_long_as_no_point_is_feasible_the_least_lacking_is_best() -> None:
    y = of(data([[9.0, -4.0, 1.0], [0.0, -1.0, -0.1], [5.0, -2.0, -3.0]], constraints=2))
    assert np.argmax(y) == 1 and np.argmin(y) == 2


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match="rho"):
        Tchebycheff(-1.0)
