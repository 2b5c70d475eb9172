"""Cells with operations on edges: reference encodings, strings, neighbours, validity, classes of equal cells."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo import Optimizer
from calibo.errors import SpaceError
from calibo.spaces import CellSpace, ProductSpace
from calibo.testing import SpaceSuite

RNG = np.random.default_rng
STRING = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"


class TestCellSpace(SpaceSuite):
    """The distributions of spaces for cells of four nodes."""

    def space(self) -> ProductSpace:
        return CellSpace()


class TestFiveNodes(SpaceSuite):
    """The distributions for cells of five nodes and three operations."""

    def space(self) -> ProductSpace:
        return CellSpace(5, ("none", "a", "b"))


def test_path_encodings_are_the_reference_ones(golden: Callable[[str], Any]) -> None:
    reference = golden("nb201_paths")
    ours, theirs = CellSpace(operations=reference["naszilla_ops"]), CellSpace(operations=reference["naslib_ops"])
    for case in reference["cells"]:
        params = ours.parse(case["arch"])
        assert list(params.values()) == case["op_list_string_order"]
        bits = ours.path_encoding(ours.encode([params]))[0]
        assert len(bits) == case["naszilla_encoding_length"]
        assert np.flatnonzero(bits).tolist() == case["naszilla_nonzeros"]
        mixed = theirs.path_encoding(theirs.encode([params]), naslib_compat=True)[0]
        assert np.flatnonzero(mixed).tolist() == case["naslib_nonzeros"]


def test_the_string_is_read_and_written() -> None:
    cell = CellSpace()
    assert cell.string(cell.parse(STRING)) == STRING
    drawn = cell.decode(cell.sample(50, RNG(0)))
    assert [cell.parse(cell.string(p)) for p in drawn] == drawn


@pytest.mark.parametrize(
    "text",
    ["", "nor_conv_3x3", STRING[:-1], STRING.replace("~2", "~1"), STRING + "|none~0|", STRING.replace("+", "")]
    + [None, 5, b"|none~0|", [STRING]],
)
def test_strings_that_are_no_cells_are_refused(text: Any) -> None:
    with pytest.raises(SpaceError, match="expected a cell of 4 nodes"):
        CellSpace().parse(text)


def test_unknown_operations_are_named() -> None:
    with pytest.raises(SpaceError, match="conv_9x9"):
        CellSpace().parse(STRING.replace("skip_connect", "conv_9x9"))


def test_paths_and_edges_are_those_of_the_string_order() -> None:
    assert CellSpace().edges == ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
    assert CellSpace().paths == ((3,), (0, 4), (1, 5), (0, 2, 5))
    assert len(CellSpace(6, ("a", "b")).paths) == 2**4


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 5), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_paths_are_encoded_as_the_rule_says(nodes: int, k: int, seed: int) -> None:
    """Brute force: walk every path and count its code."""
    cell = CellSpace(nodes, tuple("abcdef"[:k]))
    X = cell.sample(3, RNG(seed))
    encoded = cell.path_encoding(X)
    assert encoded.shape == (3, sum(k**i for i in range(1, nodes)))
    for x, bits in zip(X, encoded, strict=True):
        operations = dict(zip(cell.edges, cell.indices(x[None])[0].tolist(), strict=True))
        expected: set[int] = set()

        def walk(node: int, passed: list[int], operations: dict = operations, expected: set[int] = expected) -> None:
            if node == nodes - 1:
                before = sum(k**i for i in range(1, len(passed)))
                expected.add(before + sum(o * k**i for i, o in enumerate(passed)))
            for following in range(node + 1, nodes):
                walk(following, [*passed, operations[node, following]])

        walk(0, [])
        assert set(np.flatnonzero(bits).tolist()) == expected


def test_truncated_paths_are_the_first_bits() -> None:
    cell = CellSpace(path_bits=30)
    X = cell.sample(5, RNG(0))
    np.testing.assert_array_equal(cell.features(X), CellSpace().path_encoding(X)[:, :30])


def test_matrices_and_indicators_hold_the_operations() -> None:
    cell = CellSpace()
    X = cell.encode([cell.parse(STRING)])
    matrix = cell.adjacency(X)[0]
    assert matrix[0, 3] == cell.operations.index("skip_connect") and matrix[2, 3] == cell.operations.index(
        "nor_conv_3x3"
    )
    assert (matrix[np.tril_indices(4)] == -1).all()
    assert cell.one_hot(X).shape == (1, 30) and cell.one_hot(X).sum() == 6


def test_neighbours_differ_by_one_operation() -> None:
    cell = CellSpace(zero=None)
    x = cell.sample(1, RNG(1))[0]
    others = cell.neighbours(x)
    assert others.shape == (24, 6) and len(np.unique(others, axis=0)) == 24
    assert ((np.abs(others - x) > 1e-9).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(cell.repair(others), others)


def test_neighbours_are_valid() -> None:
    """The only edge there is may become another operation, but not none."""
    cell = CellSpace()
    (x,) = cell.encode([{f"op{i}": "none" for i in range(6)} | {"op3": "skip_connect"}])
    others = cell.neighbours(x)
    assert cell.valid(others).all() and len(others) == 24 - 1


def test_special_operations_that_do_not_exist_are_refused() -> None:
    with pytest.raises(SpaceError, match="zero is one of the operations .*'skip_connect'.* got 'nnone'"):
        CellSpace(zero="nnone")
    with pytest.raises(SpaceError, match="identity is one of the operations .* got 'skip'"):
        CellSpace(identity="skip")
    plain = CellSpace(3, ["conv", "pool"])
    assert plain.zero is None and plain.identity is None
    assert CellSpace(3, ["off", "conv"], zero="off").zero == "off"


def test_a_valid_cell_connects_input_and_output() -> None:
    cell = CellSpace()
    none = {f"op{i}": "none" for i in range(6)}
    assert not cell.valid(cell.encode([none]))[0]
    assert cell.valid(cell.encode([none | {"op3": "skip_connect"}]))[0]
    assert not cell.valid(cell.encode([none | {"op0": "nor_conv_1x1", "op5": "nor_conv_1x1"}]))[0]
    assert cell.valid(cell.encode([none | {"op0": "nor_conv_1x1", "op2": "skip_connect", "op5": "nor_conv_1x1"}]))[0]
    assert cell.valid(cell.sample(500, RNG(0))).all()


def test_sampling_is_uniform_over_valid_cells() -> None:
    """All 1 + 2 * 2 + ... valid cells of three nodes and three operations occur about equally often (chi square at 1e-4)."""
    from scipy.stats import chi2

    cell = CellSpace(3, ("none", "a", "b"))
    every = np.stack(np.meshgrid(*[(np.arange(3) + 0.5) / 3] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    valid = int(cell.valid(every).sum())
    drawn = cell.sample(200 * valid, RNG(0))
    _, counts = np.unique(np.round(drawn, 6), axis=0, return_counts=True)
    assert len(counts) == valid and np.square(counts - 200).sum() / 200 < chi2.ppf(1 - 1e-4, valid - 1)


def test_a_cell_with_nothing_but_zero_edges_cannot_be_drawn() -> None:
    cell = CellSpace(3, ("none", "zero"))
    assert cell.valid(cell.sample(3, RNG(0))).all()
    with pytest.raises(SpaceError, match="two different operations"):
        CellSpace(3, ("none",))
    with pytest.raises(SpaceError, match="two nodes"):
        CellSpace(1)


def test_equal_cells_have_one_class() -> None:
    cell = CellSpace()
    base = {f"op{i}": "none" for i in range(6)}
    direct = cell.isomorphism_class(base | {"op3": "nor_conv_1x1"})
    through = cell.isomorphism_class(base | {"op0": "nor_conv_1x1", "op4": "skip_connect"})
    other = cell.isomorphism_class(base | {"op1": "nor_conv_1x1", "op5": "skip_connect"})
    assert direct == through == other == "nor_conv_1x1(x)"
    assert cell.isomorphism_class(base) == ""
    # A sum through an identity is the same sum, whatever the order.
    one = base | {"op0": "nor_conv_1x1", "op4": "skip_connect", "op3": "avg_pool_3x3"}
    two = base | {"op1": "avg_pool_3x3", "op5": "skip_connect", "op3": "nor_conv_1x1"}
    assert cell.isomorphism_class(one) == cell.isomorphism_class(two)
    assert cell.isomorphism_class(one) != cell.isomorphism_class(one | {"op3": "nor_conv_3x3"})


def test_the_number_of_classes_of_all_cells() -> None:
    """Fewer than the 6,466 strings of NAS-Bench-201, which keep zero summands and the order of sums of sums."""
    cell = CellSpace()
    k = len(cell.operations)
    codes = np.array(np.unravel_index(np.arange(k**6), (k,) * 6)).T
    params = cell.decode((codes + 0.5) / k)
    assert len({cell.isomorphism_class(p) for p in params}) == 4930
    assert int(cell.valid((codes + 0.5) / k).sum()) == 15284


@pytest.mark.parametrize("method", ["ocbo", "bananas", "cqr"])
def test_only_valid_cells_are_suggested(method: str) -> None:
    """Of 8 cells of three nodes 5 connect input and output, and all of these are found before one is repeated."""
    cell = CellSpace(3, ("none", "conv"))
    optimizer = Optimizer(cell, method, direction="maximize", seed=1)
    for i in range(5):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, float(i))
    X = optimizer.data().X
    assert cell.valid(X).all() and len(np.unique(X, axis=0)) == 5


def test_bits_that_are_not_wanted_are_not_made() -> None:
    deep = CellSpace(9, path_bits=30)
    assert deep.features(deep.sample(3, RNG(0))).shape == (3, 30)


def test_features_are_all_paths_up_to_a_limit() -> None:
    large = CellSpace(8, tuple("abcdefgh"))
    X = large.sample(2, RNG(0))
    tracemalloc.start()
    features = large.features(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert features.shape == (2, 4096) and peak < 2**20, "2.4 million bits would take 38 megabytes"
    assert CellSpace(8, tuple("abcdefgh"), path_bits=5000).features(X).shape == (2, 5000), "asked for, there are more"
    deep = CellSpace(6, tuple("abcdef"))
    X = deep.sample(2, RNG(0))
    assert deep.path_encoding(X).shape == (2, 6 + 6**2 + 6**3 + 6**4 + 6**5), "the encoding itself is complete"
    np.testing.assert_array_equal(deep.features(X), deep.path_encoding(X)[:, :4096])
    assert CellSpace().features(CellSpace().sample(1, RNG(0))).shape == (1, 155)
