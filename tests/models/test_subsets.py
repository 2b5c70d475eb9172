"""Which data stand for all of them."""

from __future__ import annotations

import numpy as np

from calibo.models.subsets import left_out_rows, point_keys, representative


def test_a_subset_has_the_best_and_does_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 3)), rng.standard_normal(500)
    rows = representative(X, y, 80)
    assert len(rows) == 80 and (np.diff(rows) > 0).all()
    assert np.isin(np.argsort(-y)[:20], rows).all()
    order = rng.permutation(500)
    np.testing.assert_array_equal(np.sort(order[representative(X[order], y[order], 80)]), rows)


def test_a_subset_hardly_changes_with_one_more() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((500, 3)), rng.standard_normal(500)
    before, after = representative(X[:-1], y[:-1], 80), representative(X, y, 80)
    assert len(np.setdiff1d(before, after)) <= 2


def test_few_data_stand_for_themselves() -> None:
    X = np.random.default_rng(2).random((10, 2))
    np.testing.assert_array_equal(representative(X, X[:, 0], 10), np.arange(10))


def test_the_rest_is_spread_like_the_data() -> None:
    X = np.random.default_rng(3).random((4000, 2))
    rows = representative(X, np.zeros(4000), 400)
    # 400 of 4000 uniform points: the mean has a standard error of 0.014, 5 of which are exceeded once in a million.
    assert np.abs(X[rows].mean(axis=0) - 0.5).max() < 0.07


def test_keys_depend_on_every_coordinate() -> None:
    X = np.array([[0.1, 0.2], [0.2, 0.1], [0.1, 0.2], [0.0, 0.0], [-0.0, 0.0]])
    keys = point_keys(X)
    assert keys[0] == keys[2] and keys[3] == keys[4] and len(np.unique(keys)) == 3
    assert (point_keys(np.asfortranarray(X)) == keys).all()


def test_all_are_left_out_up_to_a_thousand() -> None:
    np.testing.assert_array_equal(left_out_rows(1000), np.arange(1000))
    rows = left_out_rows(50_000)
    assert len(np.unique(rows)) == 200 and rows[0] == 0 and rows[-1] == 49_999
