"""Gates multiply what a point adds, whatever the kind of the acquisition."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import Gate, gated, log_of, multiplied

X = np.array([[0.1], [0.5], [0.9]])
NONE = np.empty((0, 1))


def chance(points: np.ndarray) -> np.ndarray:
    return 1.0 - points[:, 0]


def constant(value: float):  # noqa: ANN201
    return lambda x: np.full(len(x), value)


def behind(acquisition, floor: float = 0.0, *, logarithmic: bool = False, pending=NONE, **options):  # noqa: ANN001, ANN003, ANN201
    return gated(acquisition, [Gate(log_of(chance), floor, **options)], logarithmic=logarithmic, pending=pending)


def test_logarithms_are_added() -> None:
    acquisition = behind(lambda x: np.log(x[:, 0]), -5.0, logarithmic=True)
    np.testing.assert_allclose(np.exp(acquisition(X)), X[:, 0] * (1 - X[:, 0]))


def test_a_value_counts_by_its_gain_over_the_floor() -> None:
    acquisition = behind(constant(3.0), 1.0)
    np.testing.assert_allclose(acquisition(X), 2.0 * (1 - X[:, 0]))
    assert np.all(np.diff(acquisition(X)) < 0)


def test_below_the_floor_a_likely_failure_is_no_comfort() -> None:
    assert np.all(np.diff(behind(constant(-1.0), 1.0)(X)) < 0)


def test_a_certain_failure_is_finite() -> None:
    for logarithmic in (True, False):
        gates = [Gate(log_of(lambda p: np.zeros(len(p))))]
        assert np.isfinite(gated(constant(2.0), gates, logarithmic=logarithmic, pending=NONE)(X)).all()


def test_without_gates_nothing_changes() -> None:
    acquisition = constant(1.0)
    assert gated(acquisition, [], logarithmic=True, pending=NONE) is acquisition
    assert multiplied(acquisition, []) is acquisition


@pytest.mark.parametrize("logarithmic", [True, False])
def test_of_a_set_what_the_last_point_adds_is_multiplied(logarithmic: bool) -> None:
    """The best of a set, whose points but the last are the same: what the last one adds to it, times its chance."""

    def best(x: np.ndarray) -> np.ndarray:
        value = x.reshape(len(x), -1).max(axis=1)
        return np.log(value) if logarithmic else value

    sets = np.array([[[0.3], [0.2]], [[0.3], [0.5]], [[0.3], [0.9]]])
    values = behind(best, logarithmic=logarithmic)(sets)
    expected = np.array([0.0, 0.2 * 0.5, 0.6 * 0.1])
    np.testing.assert_allclose(np.exp(values) if logarithmic else values, expected, atol=1e-12)


def test_of_a_value_what_it_adds_to_pending_points_is_multiplied() -> None:
    pending = np.array([[0.4]])

    def best(x: np.ndarray) -> np.ndarray:
        return np.maximum(x[:, 0], 0.4)

    values = behind(best, floor=-7.0, pending=pending)(X)
    np.testing.assert_allclose(values, [0.0, 0.1 * 0.5, 0.5 * 0.1], atol=1e-12)


def test_several_gates_count_each_from_its_own_floor() -> None:
    gates = [Gate(log_of(chance), 1.0, losses_grow=False), Gate(log_of(chance), -2.0)]
    values = gated(constant(3.0), gates, logarithmic=False, pending=NONE)(X)
    first = 2.0 * (1 - X[:, 0])
    np.testing.assert_allclose(values, (first + 3.0) * (1 - X[:, 0]))


def test_multiplied_looks_at_the_last_points() -> None:
    sets = np.stack([X, X[::-1]])
    np.testing.assert_allclose(np.exp(multiplied(constant(0.0), [log_of(chance)])(sets)), [0.1, 0.9])


def test_where_losses_do_not_grow_the_floor_is_what_is_left() -> None:
    """Out of the data's reach a point is worth the floor itself, whether its own value lies above or below."""
    for value in (3.0, -3.0):
        acquisition = behind(constant(value), 1.0, losses_grow=False)
        np.testing.assert_allclose(acquisition(X), (value - 1.0) * (1 - X[:, 0]))
