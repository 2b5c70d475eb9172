"""Pools: encoding of tables, rows decoded again, tables that are refused."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import DataError, SpaceError
from calibo.spaces import PoolSpace

ROWS = [
    {"name": "water", "mass": 18.0, "charge": 0, "polar": True},
    {"name": "salt", "mass": 58.5, "charge": 2, "polar": False},
    {"name": "acid", "mass": 98.0, "charge": 1, "polar": True},
]


@pytest.fixture(params=[list, pd.DataFrame], ids=["list", "frame"])
def pool(request: pytest.FixtureRequest) -> PoolSpace:
    return PoolSpace(request.param(ROWS))


def test_columns_are_scaled_or_sorted(pool: PoolSpace) -> None:
    assert pool.names == ("name", "mass", "charge", "polar")
    assert pool.categories == (3, 0, 0, 2) and pool.size == 3
    np.testing.assert_allclose(pool.X, [[5 / 6, 0, 0, 0.75], [0.5, 40.5 / 80, 1, 0.25], [1 / 6, 1, 0.5, 0.75]])


def test_numbers_over_orders_of_magnitude_are_compared_by_ratios() -> None:
    rows = [{"size": 4**i, "x": i} for i in range(6)]
    pool = PoolSpace(rows)
    np.testing.assert_allclose(pool.X[:, 0], np.linspace(0.0, 1.0, 6))
    np.testing.assert_array_equal(pool.encode(rows), pool.X)
    assert pool.decode(pool.X) == rows


def test_rows_are_decoded_as_python_values(pool: PoolSpace) -> None:
    back = pool.decode(pool.encode(ROWS))
    assert back == ROWS
    assert [type(value) for value in back[0].values()] == [str, float, int, bool]
    assert pickle.loads(pickle.dumps(pool)).decode(pool.X) == ROWS


def test_points_are_repaired_to_rows(pool: PoolSpace) -> None:
    U = np.clip(pool.X[[2, 0]] + 0.1, 0, 1)
    np.testing.assert_array_equal(pool.repair(U), pool.X[[2, 0]])
    assert pool.decode(U) == [ROWS[2], ROWS[0]]
    assert pool.is_pool and not pool.constrained and pool.features is None
    np.testing.assert_array_equal(pool.enumerate(), pool.X)
    assert PoolSpace([{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 1}]).neighbours(np.zeros(2)).tolist() == [
        [0.0, 1.0]
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"name": "water", "mass": 58.5, "charge": 0, "polar": True}, "no row of the table is"),
        ({"name": "fire", "mass": 18, "charge": 0, "polar": True}, "'fire' is not a choice"),
        ({"name": "water", "mass": 1e9, "charge": 0, "polar": True}, "lies outside Float"),
        ({"name": "water", "mass": "18", "charge": 0, "polar": True}, "not a number"),
        ({"name": "water", "mass": 18, "charge": 0}, r"parameters 0: missing \['polar'\]"),
        ({"name": "water", "mass": 18, "charge": 0, "polar": True, "x": 1}, r"unknown \['x'\]"),
    ],
)
def test_rows_that_are_not_there_are_refused(pool: PoolSpace, row: dict[str, Any], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        pool.encode([row])


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([], "no rows"),
        ([{}], "at least one column"),
        ({"a": [1, 2]}, "list of dicts, got dict"),
        ([{"a": 1}, 2], "row 1 of the table must be a dict"),
        ([{"a": 1}, {"b": 1}], "row 1 and row 0 must have the same columns, but only one has 'a', 'b'"),
        ([{"a": 1}, {"a": None}], "row 1, column 'a': the value is missing"),
        ([{"a": "x"}, {"a": float("nan")}], "row 1, column 'a': the value is missing"),
        (pd.DataFrame({"a": [1, 2], "b": [1.0, np.nan]}), "row 1, column 'b': the value is missing"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "row 1, column 'a': the value is missing"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None])}), "row 1, column 'a': the value is missing"),
        (pd.DataFrame({"a": [0, np.inf]}), "row 1, column 'a': expected a finite number, got inf"),
        ([{"a": 1e308}, {"a": -1e308}], "rescale"),
        ([{"a": [1]}, {"a": [2]}], "not hashable"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "several columns named"),
        (pd.DataFrame([[1, 2]]), "named by strings, got 0"),
    ],
)
def test_bad_tables_are_refused(table: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        PoolSpace(table)


@pytest.mark.parametrize("features", ["mass", ["weight"], ["mass", "mass"], []])
def test_bad_features_are_refused(features: Any) -> None:
    with pytest.raises(SpaceError):
        PoolSpace(ROWS, features)


def test_other_columns_are_kept() -> None:
    rows = [{**row, "outcome": outcome} for row, outcome in zip(ROWS, [None, 2.0, None], strict=True)]
    pool = PoolSpace(rows, features=["charge", "mass"])
    assert pool.names == ("charge", "mass") and pool.X.shape == (3, 2)
    X = pool.encode([{"mass": 98, "charge": 1}])
    assert pool.decode(X) == [rows[2]]
    np.testing.assert_array_equal(pool.encode([rows[2]]), X)


def test_equal_rows_are_one_point() -> None:
    rows = [{"id": i, "a": a} for i, a in enumerate([3, 1, 3, 2, 1])]
    pool = PoolSpace(rows, features=["a"])
    assert pool.X.shape == (5, 1) and pool.size == 3
    assert [row["id"] for row in pool.decode(pool.X)] == [0, 1, 0, 3, 1]
    assert len(np.unique(pool.sample(3, np.random.default_rng(0)))) == 3


def test_constant_columns_are_in_the_middle() -> None:
    pool = PoolSpace([{"a": 5, "b": "x", "c": i} for i in range(3)])
    np.testing.assert_array_equal(pool.X, [[0.5, 0.5, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 1]])
    with pytest.raises(SpaceError, match="6 is not a choice"):
        pool.encode([{"a": 6, "b": "x", "c": 0}])


def test_every_kind_of_pandas_column_is_understood() -> None:
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, 2], dtype="Int64"),
            "narrow": np.array([0.1, 0.2], dtype=np.float32),
            "nominal": pd.Categorical([10, 5]),
            "day": pd.to_datetime(["2020-01-02", "2020-01-01"]),
            "text": pd.array(["x", "y"], dtype="string"),
            "mixed": np.array(["x", 1], dtype=object),
        },
        index=[7, 7],
    )
    pool = PoolSpace(frame)
    assert pool.categories == (0, 0, 2, 2, 2, 2)
    np.testing.assert_array_equal(pool.X[:, 2:], [[0.75, 0.75, 0.25, 0.25], [0.25, 0.25, 0.75, 0.75]])
    rows = pool.decode(pool.X)
    assert rows[0]["day"] == datetime.datetime(2020, 1, 2) and type(rows[0]["narrow"]) is float
    np.testing.assert_array_equal(pool.encode(rows), pool.X)


def test_the_table_may_change_afterwards() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    pool = PoolSpace(frame)
    frame.loc[0, "a"] = 99.0
    assert pool.decode(pool.X) == [{"a": 1.0}, {"a": 2.0}]
    with pytest.raises(ValueError, match="read-only"):
        pool.X[0, 0] = 0.5


def test_samples_repeat_only_when_they_must() -> None:
    pool = PoolSpace([{"a": i} for i in range(10)])
    _, counts = np.unique(pool.sample(25, np.random.default_rng(0)), return_counts=True)
    assert sorted(counts) == [2] * 5 + [3] * 5
    assert len(np.unique(pool.sample(10, np.random.default_rng(0)))) == 10


def test_points_are_checked(pool: PoolSpace) -> None:
    with pytest.raises(DataError, match="shape"):
        pool.decode(np.zeros((2, 3)))
    with pytest.raises(DataError, match="NaN"):
        pool.repair(np.full((1, 4), np.nan))
    with pytest.raises(SpaceError, match=r"write encode\(\[row\]\)"):
        pool.encode(ROWS[0])  # pyright: ignore[reportArgumentType]


def test_large_pools_are_quick() -> None:
    rng = np.random.default_rng(0)
    pool = PoolSpace(pd.DataFrame(rng.integers(0, 20, (100_000, 6)), columns=list("abcdef")))
    U = rng.random((50, 6))
    nearest = np.array([((pool.X - u) ** 2).sum(axis=1).min() for u in U])
    np.testing.assert_allclose(((pool.repair(U) - U) ** 2).sum(axis=1), nearest, atol=1e-12)


cells = st.one_of(st.integers(-5, 5), st.floats(-1e6, 1e6), st.booleans(), st.text(max_size=2))


row = st.fixed_dictionaries({"a": cells, "b": st.integers(), "c": st.sampled_from("xyz")})


@settings(deadline=None)  # the first example imports SciPy
@given(st.lists(row, min_size=1, max_size=8))
def test_any_table_is_decoded_again(rows: list[dict[str, Any]]) -> None:
    pool = PoolSpace(rows)
    X = pool.encode(rows)
    assert X.min() >= 0 and X.max() <= 1
    np.testing.assert_array_equal(X, pool.X)
    np.testing.assert_array_equal(pool.encode(pool.decode(X)), X)
