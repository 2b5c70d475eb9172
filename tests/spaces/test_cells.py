"""Cells with operations on edges and on nodes: encodings, strings, validity and repair, neighbours, equal cells."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo import Optimizer
from calibo.errors import SpaceError
from calibo.spaces import CellSpace, GraphCellSpace, ProductSpace
from calibo.testing import SpaceSuite

RNG = np.random.default_rng
NONE = {f"op{i}": "none" for i in range(6)}
STRING = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"


class TestCellSpace(SpaceSuite):
    def space(self) -> ProductSpace:
        return CellSpace()


class TestFiveNodes(SpaceSuite):
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
    ["", STRING[:-1], STRING.replace("~2", "~1"), STRING + "|none~0|", STRING.replace("+", ""), None, [STRING]],
)
def test_strings_that_are_no_cells_are_refused(text: Any) -> None:
    with pytest.raises(SpaceError, match="expected a cell of 4 nodes"):
        CellSpace().parse(text)


def test_unknown_operations_are_named() -> None:
    with pytest.raises(SpaceError, match=r"unknown operations \['conv_9x9'\]: this cell has \['none', 'skip_connect'"):
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
        ways, expected = [(0,)], set[int]()
        while ways:
            way = ways.pop()
            ways += [(*way, node) for node in range(way[-1] + 1, nodes)]
            if way[-1] == nodes - 1:
                passed = [operations[step] for step in pairwise(way)]
                before = sum(k**i for i in range(1, len(passed)))
                expected.add(before + sum(o * k**i for i, o in enumerate(passed)))
        assert set(np.flatnonzero(bits).tolist()) == expected


def test_matrices_and_indicators_hold_the_operations() -> None:
    cell = CellSpace()
    X = cell.encode([cell.parse(STRING)])
    matrix = cell.adjacency(X)[0]
    assert [cell.operations[i] for i in (matrix[0, 3], matrix[2, 3])] == ["skip_connect", "nor_conv_3x3"]
    assert (matrix[np.tril_indices(4)] == -1).all()
    assert cell.one_hot(X).shape == (1, 30) and cell.one_hot(X).sum() == 6


def test_neighbours_differ_by_one_operation() -> None:
    cell = CellSpace(zero=None)
    x = cell.sample(1, RNG(1))[0]
    others = cell.neighbours(x)
    assert others.shape == (24, 6) and len(np.unique(others, axis=0)) == 24
    assert ((np.abs(others - x) > 1e-9).sum(axis=1) == 1).all()
    cell = CellSpace()
    (x,) = cell.encode([NONE | {"op3": "skip_connect"}])
    assert len(cell.neighbours(x)) == 24 - 1, "the only edge may become another operation, but not none"


def test_a_valid_cell_connects_input_and_output() -> None:
    cell = CellSpace()
    ends = {"op0": "nor_conv_1x1", "op5": "nor_conv_1x1"}
    X = cell.encode([NONE, NONE | {"op3": "skip_connect"}, NONE | ends, NONE | ends | {"op2": "skip_connect"}])
    assert cell.valid(X).tolist() == [False, True, False, True]


@pytest.mark.parametrize("space", [CellSpace(3, ("none", "a", "b")), GraphCellSpace(4, ("a", "b"), max_edges=4)])
def test_sampling_is_uniform_over_valid_cells(space: CellSpace | GraphCellSpace) -> None:
    """Every valid cell, found by trying all, occurs about equally often (chi square; a false alarm in 1e-4 of seeds)."""
    from scipy.stats import chi2

    valid = space.enumerate()
    assert valid is not None and 10 < len(valid) < space.size  # pyright: ignore[reportOperatorIssue]
    drawn, counts = np.unique(space.sample(100 * len(valid), RNG(0)), axis=0, return_counts=True)
    np.testing.assert_array_equal(drawn, np.unique(valid, axis=0))
    assert np.square(counts - 100).sum() / 100 < chi2.ppf(1 - 1e-4, len(valid) - 1)


def test_equal_cells_have_one_class() -> None:
    cell = CellSpace()
    direct = cell.isomorphism_class(NONE | {"op3": "nor_conv_1x1"})
    through = cell.isomorphism_class(NONE | {"op0": "nor_conv_1x1", "op4": "skip_connect"})
    other = cell.isomorphism_class(NONE | {"op1": "nor_conv_1x1", "op5": "skip_connect"})
    assert direct == through == other == "nor_conv_1x1(x)"
    assert cell.isomorphism_class(NONE) == ""
    # A sum through an identity is the same sum, whatever the order.
    one = NONE | {"op0": "nor_conv_1x1", "op4": "skip_connect", "op3": "avg_pool_3x3"}
    two = NONE | {"op1": "avg_pool_3x3", "op5": "skip_connect", "op3": "nor_conv_1x1"}
    assert cell.isomorphism_class(one) == cell.isomorphism_class(two)
    assert cell.isomorphism_class(one) != cell.isomorphism_class(one | {"op3": "nor_conv_3x3"})


def test_the_number_of_classes_of_all_cells() -> None:
    """Fewer than the 6,466 strings of NAS-Bench-201, which keep zero summands and the order of sums of sums."""
    cell = CellSpace()
    every = ProductSpace(cell.parameters).enumerate()
    assert every is not None and int(cell.valid(every).sum()) == 15284
    assert len({cell.isomorphism_class(p) for p in cell.decode(every)}) == 4930


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


@pytest.mark.parametrize(("kind", "nodes"), [(CellSpace, 8), (GraphCellSpace, 9)])
def test_features_are_all_paths_up_to_a_limit(kind: type[CellSpace | GraphCellSpace], nodes: int) -> None:
    large = kind(nodes, tuple("abcdefgh"))
    X = large.sample(2, RNG(0))
    tracemalloc.start()
    features = large.features(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert features.shape == (2, 4096) and peak < 2**20, "2.4 million bits would take 38 megabytes"
    assert kind(nodes, tuple("abcdefgh"), path_bits=5000).features(X).shape == (2, 5000), "asked for, there are more"
    plain = kind()
    X = plain.sample(5, RNG(0))
    np.testing.assert_array_equal(plain.features(X), plain.path_encoding(X))
    np.testing.assert_array_equal(kind(path_bits=30).features(X), plain.path_encoding(X)[:, :30])


class TestGraphCellSpace(SpaceSuite):
    def space(self) -> ProductSpace:
        return GraphCellSpace()


def cell_of(space: GraphCellSpace, edges: set[tuple[int, int]], labels: list[str]) -> dict[str, object]:
    named: dict[str, object] = {f"e{s}_{e}": int((s, e) in edges) for s, e in space.edges}
    return named | {f"op{i}": label for i, label in enumerate(labels, start=1)}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(1, 12))
def test_repaired_graph_cells_are_valid_and_valid_ones_are_kept(seed: int, nodes: int, most: int) -> None:
    space = GraphCellSpace(nodes, max_edges=most)
    X = space.repair(RNG(seed).random((20, len(space.names))))
    assert space.valid(X).all()
    matrices = space.adjacency(X)
    assert (matrices.sum(axis=(1, 2)) <= most).all()
    # A path leads from input to output: some power of the matrix says so.
    for matrix in matrices.astype(int):
        assert any(np.linalg.matrix_power(matrix, j)[0, -1] for j in range(1, nodes))
    np.testing.assert_array_equal(space.repair(X), X)


@pytest.mark.parametrize("most", [1, 2, 36])
def test_cells_of_few_edges_are_drawn_too(most: int) -> None:
    space = GraphCellSpace(9, max_edges=most)
    X = space.sample(20, RNG(0))
    assert X.shape == (20, 43) and space.valid(X).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(1, 3))
def test_paths_of_graph_cells_are_encoded_as_the_rule_says(seed: int, nodes: int, k: int) -> None:
    """Brute force: walk every path and count its code; what is cut off is the end."""
    space = GraphCellSpace(nodes, tuple("abc"[:k]), max_edges=15)
    X = space.sample(3, RNG(seed))
    encoded = space.path_encoding(X)
    assert encoded.shape == (3, sum(k**i for i in range(nodes - 1)))
    for matrix, operations, bits in zip(space.adjacency(X), space.indices(X), encoded, strict=True):
        ways, expected = [(0,)], set[int]()
        while ways:
            way = ways.pop()
            ways += [(*way, int(node)) for node in np.flatnonzero(matrix[way[-1]])]
            if way[-1] == nodes - 1:
                passed = [int(operations[node - 1]) for node in way[1:-1]]
                expected.add(sum(k**i + o * k**i for i, o in enumerate(passed)))
        assert set(np.flatnonzero(bits).tolist()) == expected
    for cut in (1, 2, 1 + k, encoded.shape[1] + 1):
        np.testing.assert_array_equal(space.path_encoding(X, bits=cut), encoded[:, :cut])


def test_matrices_and_indicators_hold_edges_and_operations() -> None:
    space = GraphCellSpace(4, ("a", "b"))
    x = space.encode([cell_of(space, {(0, 1), (1, 3)}, ["b", "a"])])
    assert np.argwhere(space.adjacency(x)[0]).tolist() == [[0, 1], [1, 3]]
    assert space.indices(x).tolist() == [[1, 0]]
    # Edges 0->1, 0->2, 0->3, 1->2, 1->3, 2->3, then the operations of nodes 1 and 2.
    assert space.one_hot(x).tolist() == [[1, 0, 0, 0, 1, 0, 0, 1, 1, 0]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_inner_nodes_does_not_matter(seed: int) -> None:
    """Relabels the inner nodes at random, keeping edges forward, and finds the same class and the same paths."""
    space, rng = GraphCellSpace(6, ("a", "b", "c"), max_edges=15), RNG(seed)
    x = space.sample(1, rng)
    params = space.decode(x)[0]
    matrix, labels = space.adjacency(x)[0], [params[f"op{i}"] for i in range(1, 5)]
    # A random topological order of the inner nodes.
    left, order = set(range(1, 5)), []
    while left:
        free = [n for n in sorted(left) if not any(matrix[m, n] for m in left)]
        order.append(int(rng.choice(free)))
        left.remove(order[-1])
    place = {0: 0, 5: 5} | {node: i for i, node in enumerate(order, start=1)}
    edges = {(place[s], place[e]) for s, e in zip(*np.nonzero(matrix), strict=True)}
    other = cell_of(space, edges, [labels[node - 1] for node in order])
    assert space.isomorphism_class(other) == space.isomorphism_class(params)
    np.testing.assert_array_equal(space.features(space.encode([other])), space.features(x))


def test_nodes_off_every_path_do_not_matter() -> None:
    space = GraphCellSpace(5, ("a", "b"))
    one = cell_of(space, {(0, 1), (1, 4)}, ["a", "b", "b"])
    two = cell_of(space, {(0, 3), (3, 4), (0, 1), (2, 4)}, ["b", "b", "a"])
    three = cell_of(space, {(0, 3), (3, 4)}, ["b", "b", "b"])
    assert space.isomorphism_class(one) == space.isomorphism_class(two) != space.isomorphism_class(three)


def test_edges_off_every_path_go_first() -> None:
    """With too many edges those that lead nowhere are removed, and what computes something stays."""
    space = GraphCellSpace(5, ("a",), max_edges=3)
    useful = {(0, 1), (1, 2), (2, 4)}
    x = space.encode([cell_of(space, useful | {(0, 3), (1, 3)}, ["a"] * 3)])
    kept = space.adjacency(space.repair(x))[0]
    assert {(int(s), int(e)) for s, e in zip(*np.nonzero(kept), strict=True)} == useful


@pytest.mark.parametrize("space", [CellSpace, GraphCellSpace])
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"operations": "conv"}, "must be a list of names such as"),
        ({"operations": ["conv", "a|b"]}, r"contain any of \| \+ ~.* got \['a\|b'\]; rename them"),
        ({"operations": ["conv", ""]}, "must not be empty"),
        ({"operations": ["conv", "conv"]}, r"different operations, got \['conv', 'conv'\]"),
        ({"nodes": 1}, "nodes, the number of nodes of a cell, must be a whole number"),
        ({"path_bits": 0}, "path_bits, the number of bits of the path encoding to keep"),
    ],
)
def test_bad_cells_are_refused(space: type[CellSpace | GraphCellSpace], settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        space(**settings)


def test_settings_of_one_kind_of_cell() -> None:
    assert CellSpace(3, np.array(["a", "b"])).operations == ("a", "b")  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        SpaceError, match="zero must be one of the operations .*'skip_connect'.* or None .* got 'nnone'"
    ):
        CellSpace(zero="nnone")
    plain = CellSpace(3, ["conv", "pool"])
    assert plain.zero is None and plain.identity is None, "defaults that the cell lacks"
    assert CellSpace(3, ["off", "conv"], zero="off").zero == "off"
    with pytest.raises(SpaceError, match="max_edges must be a whole number of at least 1, got 0"):
        GraphCellSpace(max_edges=0)
    with pytest.raises(SpaceError, match="from 3 to 9, got 12"):
        GraphCellSpace(12)
    assert repr(CellSpace(3, ["conv", "pool"])) == "CellSpace(3 nodes, operations=['conv', 'pool'])"


def test_repaired_cells_get_any_operation_where_they_lack_one() -> None:
    """The fewest zero edges are changed; which operation they get depends on the place in the zero operation's interval."""
    cell = CellSpace(operations=["a", "none", "b", "c"])
    U = np.full((300, 6), 0.3)
    U[:, 3] = np.linspace(0.25, 0.4999, 300)
    found = cell.indices(cell.repair(U))
    assert (np.delete(found, 3, axis=1) == 1).all(), "one edge from input to output is enough"
    assert np.bincount(found[:, 3], minlength=4).tolist() == [100, 0, 100, 100]
