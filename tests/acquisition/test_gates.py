"""The probability of success multiplies the acquisition, whatever its kind."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import gated

X = np.array([[0.1], [0.5], [0.9]])


def chance(points: np.ndarray) -> np.ndarray:
    return 1.0 - points[:, 0]


def test_logarithms_are_added() -> None:
    acquisition = gated(lambda x: np.log(x[..., 0].reshape(len(x), -1)[:, -1]), chance, logarithmic=True, floor=-5.0)
    np.testing.assert_allclose(np.exp(acquisition(X)), X[:, 0] * (1 - X[:, 0]))


def test_a_value_counts_by_its_gain_over_the_floor() -> None:
    acquisition = gated(lambda x: np.array([3.0, 3.0, 3.0]), chance, logarithmic=False, floor=1.0)
    np.testing.assert_allclose(acquisition(X), 2.0 * (1 - X[:, 0]))
    assert np.all(np.diff(acquisition(X)) < 0)


def test_below_the_floor_a_likely_failure_is_no_comfort() -> None:
    acquisition = gated(lambda x: np.array([-1.0, -1.0, -1.0]), chance, logarithmic=False, floor=1.0)
    assert np.all(np.diff(acquisition(X)) < 0)


def test_a_certain_failure_is_finite() -> None:
    for logarithmic in (True, False):
        values = gated(lambda x: np.full(len(x), 2.0), lambda p: np.zeros(len(p)), logarithmic=logarithmic, floor=0.0)(
            X
        )
        assert np.isfinite(values).all()


@pytest.mark.parametrize("logarithmic", [True, False])
def test_of_a_set_the_last_point_is_the_new_one(logarithmic: bool) -> None:
    sets = np.stack([X, X[::-1]])
    acquisition = gated(lambda x: np.full(len(x), 1.0), chance, logarithmic=logarithmic, floor=0.0)
    expected = np.array([0.1, 0.9])
    np.testing.assert_allclose(acquisition(sets), 1 + np.log(expected) if logarithmic else expected)


def test_where_losses_do_not_grow_the_floor_is_what_is_left() -> None:
    """Out of the data's reach a point is worth the floor itself, whether its own value lies above or below."""
    for value in (3.0, -3.0):
        acquisition = gated(
            lambda x, v=value: np.full(len(x), v), chance, logarithmic=False, floor=1.0, losses_grow=False
        )
        np.testing.assert_allclose(acquisition(X), (value - 1.0) * (1 - X[:, 0]))
    certain = gated(
        lambda x: np.full(len(x), -3.0), lambda p: np.zeros(len(p)), logarithmic=False, floor=1.0, losses_grow=False
    )
    np.testing.assert_allclose(certain(X), 0.0, atol=1e-300)


def test_losses_make_no_difference_to_logarithms() -> None:
    plain, shrinking = (
        gated(lambda x: -x[:, 0], chance, logarithmic=True, floor=0.0, losses_grow=grow) for grow in (True, False)
    )
    np.testing.assert_array_equal(plain(X), shrinking(X))
