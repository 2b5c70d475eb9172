"""Held columns: the same coordinates, only points with the values, in every kind of space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import SpaceError
from calibo.spaces import Categorical, CellSpace, Float, GraphCellSpace, Int, Ordinal, PoolSpace, ProductSpace, Space
from calibo.testing import SpaceSuite

MIXED = ProductSpace(
    {
        "x": Float(0, 1),
        "n": Int(1, 40),
        "k": Categorical(["a", "b", "c"]),
        "o": Ordinal([1, 2]),
        "lr": Float(1e-3, 1, log=True),
    }
)


class TestHeldProduct(SpaceSuite):
    def space(self) -> Space:
        return MIXED.holding({"k": "b", "lr": 0.1})


class TestHeldCell(SpaceSuite):
    def space(self) -> Space:
        cell = CellSpace(4, ["none", "skip", "conv"])
        return cell.holding({cell.names[0]: "none"})


def test_the_values_are_kept_and_the_others_free() -> None:
    held = MIXED.holding({"n": 7, "k": "c"})
    found = held.decode(held.sample(200, np.random.default_rng(0)))
    assert {p["n"] for p in found} == {7} and {p["k"] for p in found} == {"c"}
    assert {p["o"] for p in found} == {1, 2} and len({p["x"] for p in found}) > 100
    assert held.size is None and MIXED.holding({"x": 0.5, "lr": 0.1}).size == 40 * 3 * 2
    assert [c.cells for c in held.columns] == [None, 1, 1, 2, None]
    more = held.holding({"o": 2})
    assert more.decode(more.sample(1, np.random.default_rng(0)))[0]["k"] == "c"


def test_all_columns_may_be_held() -> None:
    point = {"x": 0.25, "n": 3, "k": "a", "o": 1, "lr": 0.5}
    held = MIXED.holding(point)
    every = held.enumerate()
    assert every is not None and len(every) == held.size == 1
    np.testing.assert_allclose(every, MIXED.encode([point]))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"y": 1}, "there is no parameter 'y' to hold: the space has"),
        ({"n": 41}, "parameter 'n' cannot be held: 41 lies outside"),
        ({"k": "z"}, "'z' is not a choice"),
        ([("n", 1)], "values to hold are a dict by name"),
    ],
)
def test_what_cannot_be_held_is_refused(values: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        MIXED.holding(values)


def test_a_cell_that_would_have_no_connection_is_refused() -> None:
    cell = GraphCellSpace(3, ["conv"], max_edges=3)
    edges = {name: 0 for name in cell.names if name.startswith("e")}
    assert len(edges) == 3
    with pytest.raises(SpaceError, match="no valid point of the space has"):
        cell.holding(edges)


def test_rows_of_a_pool_that_match_in_any_column() -> None:
    rows = [{"id": i, "metal": m, "mass": float(i)} for i, m in enumerate(["iron", "zinc", "iron", "lead"])]
    pool = PoolSpace(rows, features=["metal", "mass"])
    held = pool.holding({"metal": "iron"})
    np.testing.assert_array_equal(held.X, pool.X[[0, 2]])
    assert held.size == 2 and held.columns == pool.columns and pool.size == 4
    assert held.decode(held.repair(pool.X[[3]])) == [rows[2]]
    assert pool.holding({"id": 3}).decode([[0.5, 0.5]]) == [rows[3]]
    with pytest.raises(SpaceError, match="no row of the table has {'metal': 'gold'}"):
        pool.holding({"metal": "gold"})
    with pytest.raises(SpaceError, match="no column 'colour'"):
        pool.holding({"colour": "red"})


@given(
    names=st.sets(st.sampled_from(MIXED.names), min_size=1),
    u=st.lists(st.floats(0, 1), min_size=5, max_size=5),
    seed=st.integers(0, 9),
)
@settings(max_examples=40, deadline=None)
def test_any_columns_of_any_point(names: set[str], u: list[float], seed: int) -> None:
    x = MIXED.repair([u])[0]
    values = {name: value for name, value in MIXED.values(x[None])[0].items() if name in names}
    held, columns = MIXED.holding(values), [MIXED.names.index(name) for name in names]
    rng = np.random.default_rng(seed)
    for X in (held.sample(4, rng), held.repair(rng.random((4, 5))), held.neighbours(held.repair([u])[0])):
        np.testing.assert_allclose(X[:, columns], np.broadcast_to(x[columns], X[:, columns].shape), atol=1e-9)
        np.testing.assert_allclose(MIXED.encode(MIXED.decode(X)), X, atol=1e-9)
