"""Distances from the data: of new points, of data from the others, and of data from those before."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.calibration.nearness import Nearness
from calibo.data import Dataset

X = np.random.default_rng(0).random((9, 2))
DATA = Dataset(X=X, Y=np.arange(9.0)[:, None])


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


def test_of_new_points() -> None:
    points = np.random.default_rng(1).random((2, 3, 2))
    expected = [[min(distance(x, other) for other in X) for x in batch] for batch in points]
    np.testing.assert_allclose(Nearness.of(DATA)(points), np.log(expected))
    assert Nearness.of(DATA)(np.empty((0, 2))).shape == (0,)


def test_of_data_from_the_others_and_from_those_before() -> None:
    nearness, rows = Nearness.of(DATA), np.array([0, 4, 8])
    others = [min(distance(X[i], X[j]) for j in range(9) if j != i) for i in rows]
    np.testing.assert_allclose(nearness.of_others(X[rows], rows), np.log(others))
    before = [min((distance(X[i], X[j]) for j in range(i)), default=1.0) for i in rows]
    np.testing.assert_allclose(nearness.of_earlier(X[rows], rows), np.log(before))


def test_the_same_point_again_is_near_and_not_minus_infinity() -> None:
    assert Nearness.of(DATA)(X[:1])[0] == pytest.approx(np.log(1e-3))


def test_choices_are_a_quarter_of_the_cube_apart() -> None:
    mixed = Dataset(X=np.array([[0.5, 0.0]]), Y=np.zeros((1, 1)), categories=(0, 3))
    np.testing.assert_allclose(Nearness.of(mixed)(np.array([[0.5, 1.0], [0.5, 2.0]])), np.log([0.25, 0.25]))


def test_of_many_data_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.calibration.nearness._MOST", 4)
    nearness = Nearness.of(DATA)
    assert len(nearness.rows) == 4 and 8 in nearness.rows, "the best outcome is one of them"
    rows = np.arange(9)
    found = nearness.of_others(X, rows)
    np.testing.assert_allclose(
        found, np.log([min(distance(X[i], X[j]) for j in nearness.rows if j != i) for i in rows])
    )
