"""What holds of every cell: names of operations, special ones, numbers of bits, drawing by rejection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.errors import SpaceError
from calibo.spaces import CellSpace, GraphCellSpace
from calibo.spaces.base import sample_valid
from calibo.spaces.cell_rules import checked_bits, operation_names, special_operation

RNG = np.random.default_rng
OPERATIONS = ("none", "skip_connect", "conv")


@pytest.mark.parametrize(
    "operations", [5, None, 1.5, "conv", b"conv", [1, 2], ["conv", None], {"conv", "pool"}, object()]
)
@pytest.mark.parametrize("make", [operation_names, lambda o: CellSpace(3, o), lambda o: GraphCellSpace(3, o)])
def test_operations_are_a_list_of_names(make: Callable[[Any], object], operations: Any) -> None:
    with pytest.raises(SpaceError, match="operations are a list of names such as"):
        make(operations)


def test_operations_may_come_from_an_array() -> None:
    assert operation_names(np.array(["a", "b"])) == ("a", "b")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["", "a|b", "a+b", "a~1"])
@pytest.mark.parametrize("space", [CellSpace, GraphCellSpace])
def test_names_that_cannot_be_read_back_are_refused(space: type[CellSpace | GraphCellSpace], name: str) -> None:
    with pytest.raises(SpaceError, match=r"none of \| \+ ~ in them.*; rename them") as caught:
        space(4, ["conv", name])
    assert repr([name]) in str(caught.value)


def test_special_operations_are_among_the_operations() -> None:
    assert special_operation("zero", "none", "none", OPERATIONS) == "none"
    assert special_operation("zero", "conv", "none", OPERATIONS) == "conv"
    assert special_operation("zero", None, "none", OPERATIONS) is None
    assert special_operation("zero", "none", "none", ("a", "b")) is None, "a default that the cell lacks"
    for wrong in ("nnone", "", "None", 5, True):
        with pytest.raises(
            SpaceError, match=r"zero is one of the operations \['none', 'skip_connect', 'conv'\], or None"
        ):
            special_operation("zero", wrong, "none", OPERATIONS)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("bits", [0, -5, 1.5, 2.0, "3", True, [4]])
@pytest.mark.parametrize("space", [CellSpace(), GraphCellSpace()], ids=lambda s: type(s).__name__)
def test_numbers_of_bits_are_whole_and_positive(space: CellSpace | GraphCellSpace, bits: Any) -> None:
    with pytest.raises(SpaceError, match="at least one bit of the path encoding is kept, .* got path_bits="):
        type(space)(path_bits=bits)
    with pytest.raises(SpaceError, match="at least one bit of the path encoding is kept, .* got bits="):
        space.path_encoding(space.sample(2, RNG(0)), bits=bits)


def test_numbers_of_bits_may_come_from_numpy() -> None:
    assert type(checked_bits("bits", np.int64(7))) is int
    assert checked_bits("bits", None) is None


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_as_many_are_drawn_as_wanted_and_all_are_valid(n: int) -> None:
    rng = RNG(0)
    found = sample_valid(n, lambda count: rng.random((count, 2)), lambda X: X[:, 0] < 0.1)
    assert found.shape == (n, 2) and (found[:, 0] < 0.1).all()


def test_where_nothing_is_valid_drawing_ends() -> None:
    with pytest.raises(SpaceError, match="fewer than 3 valid points"):
        sample_valid(3, lambda count: np.zeros((count, 2)), lambda X: np.zeros(len(X), dtype=bool))
