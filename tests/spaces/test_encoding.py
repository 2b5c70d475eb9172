"""Categorical columns as indicators and as whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import DataError
from calibo.spaces.encoding import choice_numbers, codes, one_hot


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
