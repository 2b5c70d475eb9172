"""Categorical columns as indicators and as whole numbers; numbers on a logarithmic scale."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import DataError
from calibo.spaces.encoding import choice_numbers, codes, log_places, one_hot, spaced_by_ratios


def test_categorical_columns_become_indicators() -> None:
    H = one_hot([[0.1, 1 / 6, 0.5], [0.9, 5 / 6, 0.5]], (0, 3, 1))
    np.testing.assert_array_equal(H, [[0.1, 1, 0, 0, 1], [0.9, 0, 0, 1, 1]])
    assert one_hot(np.empty((0, 3)), (0, 3, 1)).shape == (0, 5)
    np.testing.assert_array_equal(one_hot([[0.0], [1.0]], (2,)), [[1, 0], [0, 1]])


def test_no_categories_means_numbers_only() -> None:
    X = np.random.default_rng(0).random((4, 2))
    for categories in ((), (0, 0)):
        np.testing.assert_array_equal(one_hot(X, categories), X)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        one_hot(np.zeros((2, 3)), (0, 2))
    with pytest.raises(DataError, match="shape"):
        one_hot(np.zeros(3), ())


def test_choices_are_numbered_and_the_ends_belong_to_the_outer_ones() -> None:
    places = np.array([-0.1, 0.0, 0.33, 0.34, 0.99, 1.0, 1.2])
    numbers = choice_numbers(places, 3)
    assert numbers.tolist() == [0, 0, 0, 1, 2, 2, 2] and numbers.dtype == np.int64
    assert choice_numbers(np.full((2, 3), 0.6), np.array([1, 2, 5])).tolist() == [[0, 1, 3]] * 2


def test_codes() -> None:
    X = np.array([[0.25, 0.5 / 3, 0.75], [1.0, 2.5 / 3, 0.25]])
    np.testing.assert_array_equal(codes(X, (0, 3, 2)), [[0.25, 0, 1], [1.0, 2, 0]])


@pytest.mark.parametrize(
    ("values", "by_ratios"),
    [
        ([1.0, 4.0, 16.0, 64.0, 256.0], True),
        ([5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 1e-1], True),
        ([1.0, 4.0, 16.0, 64.0], False),  # not two orders of magnitude
        ([0.0, 1.0, 10.0, 1000.0], False),
        (list(np.arange(1.0, 301.0)), False),  # even as they are
        ([1.0, 1000.0], False),  # as even either way
        ([1.0, 3e4, 1e9 - 1e-3, 1e9], False),  # logarithms of the last two differ by rounding
        ([7.0], False),
    ],
)
def test_numbers_are_spaced_by_ratios_if_their_logarithms_are_more_even(values: list[float], by_ratios: bool) -> None:
    assert spaced_by_ratios(np.array(values[::-1])) is by_ratios


def test_places_on_a_logarithmic_scale() -> None:
    np.testing.assert_allclose(log_places(np.array([1e-3, 1e-1, 10.0]), 1e-3, 10.0), [0.0, 0.5, 1.0])
