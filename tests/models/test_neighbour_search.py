"""Neighbours against all distances, also of points close to each other, and weights that fade to the border."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.models.neighbour_search import NeighbourSearch

RNG = np.random.default_rng


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 12), count=st.integers(1, 20), step=st.sampled_from([1e-6, 3e-3, 1.0])
)
def test_they_are_the_nearest(seed: int, d: int, count: int, step: float) -> None:
    """Points in steps of any length: those that follow another closely need no search of their own."""
    rng = RNG(seed)
    data, rows = rng.random((300, d)), np.sort(rng.choice(300, 200, replace=False))
    at = rng.random(d) + step * rng.standard_normal((12, d)).cumsum(axis=0)
    found = NeighbourSearch(data, rows, count).around(at)
    away = np.square(data[rows][None] - at[:, None]).sum(axis=-1)
    expected = np.sort(away, axis=1)[:, :count]
    np.testing.assert_allclose(np.square(data[found.rows] - at[:, None]).sum(axis=-1), expected, rtol=1e-12)
    assert np.isin(found.rows, rows).all()


def test_a_row_may_be_left_out() -> None:
    data = RNG(0).random((60, 2))
    found = NeighbourSearch(data, np.arange(60), 5).around(data, np.arange(60))
    assert not (found.rows == np.arange(60)[:, None]).any()


def test_weights_fade_towards_the_next_one_and_are_full_near_the_point() -> None:
    data = np.arange(10.0)[:, None]
    found = NeighbourSearch(data, np.arange(10), 4).around(np.array([[-1.0]]))
    assert found.rows.tolist() == [[0, 1, 2, 3]]
    # Squared distances 1, 4, 9, 16, the next 25; full up to the second.
    np.testing.assert_allclose(found.weight, [[1.0, 1.0, 16.0 / 21.0, 9.0 / 21.0]])


@pytest.mark.parametrize("size", [0, 3])
def test_fewer_data_than_neighbours_count_in_full(size: int) -> None:
    found = NeighbourSearch(RNG(0).random((5, 2)), np.arange(size), 4).around(RNG(1).random((2, 2)))
    assert found.rows.shape == found.weight.shape == (2, size) and (found.weight == 1.0).all()
