"""Distances from the second nearest datum: of new points, of data from the others, and of data from those before."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from calibo.calibration.nearness import Nearness
from calibo.data import Dataset

X = np.random.default_rng(0).random((9, 2))
DATA = Dataset(X=X, Y=np.arange(9.0)[:, None])


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


def second(distances: Iterable[float]) -> float:
    """Return the second smallest of some distances, the side of the cube if there are fewer."""
    known = sorted(distances)
    return known[1] if len(known) > 1 else 1.0


def test_of_new_points() -> None:
    points = np.random.default_rng(1).random((2, 3, 2))
    expected = [[second(distance(x, other) for other in X) for x in batch] for batch in points]
    np.testing.assert_allclose(Nearness.of(DATA)(points), np.log(expected))
    assert Nearness.of(DATA)(np.empty((0, 2))).shape == (0,)


def test_of_data_from_the_others_and_from_those_before() -> None:
    nearness, rows = Nearness.of(DATA), np.array([0, 4, 8])
    others = [second(distance(X[i], X[j]) for j in range(9) if j != i) for i in rows]
    np.testing.assert_allclose(nearness.of_others(X[rows], rows), np.log(others))
    before = [second(distance(X[i], X[j]) for j in range(i)) for i in rows]
    np.testing.assert_allclose(nearness.of_earlier(X[rows], rows), np.log(before))


def test_the_same_point_again_is_near_and_not_minus_infinity() -> None:
    twice = Dataset(X=np.vstack([X, X[:1]]), Y=np.arange(10.0)[:, None])
    assert Nearness.of(twice)(X[:1])[0] == pytest.approx(np.log(1e-5))


def test_copies_are_nearer_to_the_data_than_a_point_beside_a_single_one() -> None:
    copies = np.array([[0.2], [0.2 + 1e-4], [0.2 + 2e-4], [0.7]])
    nearness = Nearness.of(Dataset(X=copies, Y=np.arange(4.0)[:, None]))
    beside, alone = nearness(np.array([[0.2 + 3e-4], [0.7 + 1e-4]]))
    assert beside == pytest.approx(np.log(2e-4))
    assert alone == pytest.approx(np.log(0.5), abs=1e-3)


def test_without_data_everything_is_as_far_as_the_side_of_the_cube() -> None:
    assert Nearness(np.empty((0, 1)), np.empty(0, dtype=np.intp), (0,))(np.array([[0.3]]))[0] == 0.0


def test_a_single_datum_is_as_none_for_new_points_and_for_data() -> None:
    two = Nearness.of(Dataset(X=np.array([[0.3], [0.4]]), Y=np.zeros((2, 1))))
    one = Nearness.of(Dataset(X=np.array([[0.3]]), Y=np.zeros((1, 1))))
    rows = np.array([0, 1])
    assert one(np.array([[0.4]]))[0] == 0.0
    np.testing.assert_array_equal(two.of_others(two.X, rows), 0.0)
    np.testing.assert_array_equal(two.of_earlier(two.X, rows), 0.0)


def test_choices_are_a_quarter_of_the_cube_apart() -> None:
    mixed = Dataset(X=np.array([[0.5, 0.0], [0.5, 0.0]]), Y=np.zeros((2, 1)), categories=(0, 3))
    np.testing.assert_allclose(Nearness.of(mixed)(np.array([[0.5, 1.0], [0.5, 2.0]])), np.log([0.25, 0.25]))


def test_of_many_data_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.calibration.nearness._MOST", 4)
    nearness = Nearness.of(DATA)
    assert len(nearness.rows) == 4 and 8 in nearness.rows, "the best outcome is one of them"
    rows = np.arange(9)
    found = nearness.of_others(X, rows)
    np.testing.assert_allclose(
        found, np.log([second(distance(X[i], X[j]) for j in nearness.rows if j != i) for i in rows])
    )
