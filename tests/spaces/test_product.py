"""Products of parameters, and what becomes a space."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError, SpaceError
from calibo.spaces import Categorical, CellSpace, Float, Int, Ordinal, PoolSpace, ProductSpace, Space, as_space

SPACE = ProductSpace({"lr": Float(1e-4, 1, log=True), "layers": Int(1, 8), "act": Categorical(["relu", "gelu", None])})
GOOD = {"lr": 0.1, "layers": 2, "act": None}


def test_columns_follow_the_parameters() -> None:
    assert SPACE.names == ("lr", "layers", "act")
    assert SPACE.columns == (Float(1e-4, 1, log=True), Int(1, 8), Categorical(["relu", "gelu", None]))
    assert SPACE.categories == (0, 0, 3)
    X = SPACE.encode([{"act": None, "layers": 1, "lr": 0.01}])
    np.testing.assert_allclose(X, [[0.5, 1 / 16, 5 / 6]])
    [point] = SPACE.decode(X)
    assert list(point) == ["lr", "layers", "act"] and point["lr"] == pytest.approx(0.01)


def test_size_counts_points() -> None:
    assert SPACE.size is None
    assert ProductSpace({"a": Int(1, 10**12), "b": Categorical(["x", "y"])}).size == 2 * 10**12
    assert ProductSpace({"a": Float(0, 1, step=0.1), "b": Ordinal([1, 2, 3])}).size == 33


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ([{"lr": 0.1, "layers": 2}], r"parameters 0: missing \['act'\]"),
        ([{"lr": 0.1, "layers": 2, "act": None, "bs": 1}], r"unknown \['bs'\]; give exactly \['lr', 'layers', 'act'\]"),
        ([{"lr": 0.1, "layer": 2, "act": None}], r"unknown \['layer'\] and missing \['layers'\]"),
        ([GOOD, {**GOOD, "lr": 7}], "parameters 1, 'lr': 7 lies outside"),
        (GOOD, r"write \[params\]"),
    ],
)
def test_wrong_parameters_are_named(params: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        SPACE.encode(params)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "at least one parameter"),
        ({"x": (0, 1)}, r"'x': \(0, 1\) could be whole numbers or any between; write Int\(0, 1\) or Float\(0, 1\)"),
        ({"x": {"type": "float"}}, "space_from_dict"),
        ({3: Float(0, 1)}, "the name of a parameter must be text, got 3"),
        ([Float(0, 1)], "mapping of names to parameters, got list"),
    ],
)
def test_bad_parameters_are_refused(parameters: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        ProductSpace(parameters)


def test_some_columns_only() -> None:
    assert SPACE.subspace({"act", "lr"}) == ProductSpace({"lr": SPACE.parameters["lr"], "act": SPACE.parameters["act"]})
    with pytest.raises(SpaceError, match="columns of a CellSpace cannot be fixed one by one"):
        CellSpace(3).subspace(["op0"])


def test_neighbours_of_fine_columns_are_near_and_far() -> None:
    space = ProductSpace({"n": Int(0, 999), "x": Float(0, 1)})
    found = space.decode(space.neighbours(space.encode([{"n": 10, "x": 0.5}])[0]))
    assert [point["n"] - 10 for point in found] == [-8, -4, -2, -1, *(2**k for k in range(10))]
    assert {point["x"] for point in found} == {0.5}


def test_points_are_checked() -> None:
    with pytest.raises(DataError, match=r"shape \(points, 3\), got \(3,\)"):
        SPACE.decode(np.zeros(3))
    with pytest.raises(DataError, match="NaN in row 1"):
        SPACE.repair([[0, 0, 0], [0, np.nan, 0]])


def test_finite_columns_are_drawn_evenly() -> None:
    X = ProductSpace({"a": Int(0, 3), "b": Categorical(["x", "y", "z"])}).sample(12_000, np.random.default_rng(0))
    for column in X.T:
        _, counts = np.unique(column, return_counts=True)
        assert np.abs(counts / counts.mean() - 1).max() < 0.1


def test_spaces_are_values_in_which_order_counts() -> None:
    a, b = Int(0, 1), Float(0, 1)
    assert ProductSpace({"a": a, "b": b}) == ProductSpace({"a": a, "b": b}) != ProductSpace({"b": b, "a": a})
    assert pickle.loads(pickle.dumps(SPACE)) == SPACE and hash(SPACE) == hash(ProductSpace(SPACE.parameters))
    given = {"a": a}
    space = ProductSpace(given)
    given["b"] = a
    assert list(space.parameters) == ["a"]


def test_many_things_are_spaces() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert as_space(SPACE) is SPACE and isinstance(SPACE, Space)
    assert as_space({"a": Int(0, 1)}) == ProductSpace({"a": Int(0, 1)})
    for pool in (as_space(rows), as_space(tuple(rows)), as_space(pd.DataFrame(rows))):
        assert isinstance(pool, PoolSpace) and isinstance(pool, Space) and pool.decode(pool.X) == rows


@pytest.mark.parametrize("obj", ["space.toml", [Float(0, 1)], {}, [], {"x": 3}, np.zeros((3, 2)), CellSpace])
def test_other_things_are_not(obj: Any) -> None:
    with pytest.raises(SpaceError):
        as_space(obj)
