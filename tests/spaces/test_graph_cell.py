"""Cells with operations on nodes: validity and repair, neighbours, paths, classes of equal cells."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import SpaceError
from calibo.spaces import GraphCellSpace, ProductSpace
from calibo.testing import SpaceSuite

RNG = np.random.default_rng


class TestGraphCellSpace(SpaceSuite):
    """The distributions of spaces for cells of seven nodes."""

    def space(self) -> ProductSpace:
        return GraphCellSpace()


def cell_of(space: GraphCellSpace, edges: set[tuple[int, int]], labels: list[str]) -> dict[str, object]:
    named: dict[str, object] = {f"e{s}_{e}": int((s, e) in edges) for s, e in space.edges}
    return named | {f"op{i}": label for i, label in enumerate(labels, start=1)}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(1, 12))
def test_what_is_snapped_is_valid_and_what_is_valid_stays(seed: int, nodes: int, most: int) -> None:
    space = GraphCellSpace(nodes, max_edges=most)
    X = space.repair(RNG(seed).random((20, len(space.names))))
    assert space.valid(X).all()
    matrices = space.adjacency(X)
    assert (matrices.sum(axis=(1, 2)) <= most).all()
    # A path leads from input to output: some power of the matrix says so.
    for matrix in matrices.astype(int):
        assert any(np.linalg.matrix_power(matrix, j)[0, -1] for j in range(1, nodes))
    np.testing.assert_array_equal(space.repair(X), X)


def test_sampling_is_uniform_over_valid_cells() -> None:
    """Every valid cell, found by trying all, occurs about equally often (chi square; a false alarm in 1e-4 of seeds)."""
    from scipy.stats import chi2

    space = GraphCellSpace(4, ("a", "b"), max_edges=4)
    places = [column.position(np.arange(2)) for column in space.columns]
    every = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, len(places))
    valid = every[space.valid(every)]
    assert len(every) == 2**8 and 4 * 20 < len(valid) < len(every)
    drawn, counts = np.unique(space.sample(50 * len(valid), RNG(0)), axis=0, return_counts=True)
    np.testing.assert_array_equal(drawn, np.unique(valid, axis=0))
    assert np.square(counts - 50).sum() / 50 < chi2.ppf(1 - 1e-4, len(valid) - 1)


def test_edges_of_seven_nodes_are_as_frequent_as_among_plain_draws() -> None:
    """As many cells by plain rejection; all 21 frequencies agree within 4.6 deviations (a false alarm in 1e-4 of seeds)."""
    space, rng = GraphCellSpace(), RNG(0)
    plain = ProductSpace(space.parameters).sample(40_000, rng)
    plain = plain[space.valid(plain)] >= 0.5
    drawn = space.sample(len(plain), rng) >= 0.5
    assert 0.25 < len(plain) / 40_000 < 0.31
    std = np.sqrt(2.0 * 0.25 / len(plain))
    assert (np.abs(plain[:, :21].mean(axis=0) - drawn[:, :21].mean(axis=0)) < 4.6 * std).all()


@pytest.mark.parametrize("most", [1, 2, 36])
def test_cells_of_few_edges_are_drawn_too(most: int) -> None:
    space = GraphCellSpace(9, max_edges=most)
    X = space.sample(20, RNG(0))
    assert X.shape == (20, 43) and space.valid(X).all()


def test_neighbours_are_valid_and_differ_in_one_column() -> None:
    space = GraphCellSpace()
    x = space.sample(1, RNG(3))[0]
    others = space.neighbours(x)
    assert len(others) > 10 and space.valid(others).all()
    assert ((np.abs(others - x) > 1e-9).sum(axis=1) == 1).all()


def test_paths_by_hand() -> None:
    space = GraphCellSpace(4, ("a", "b"))
    direct = cell_of(space, {(0, 3)}, ["a", "a"])
    chain = cell_of(space, {(0, 1), (1, 2), (2, 3), (1, 3)}, ["b", "a"])
    bits = space.path_encoding(space.encode([direct, chain]))
    assert bits.shape == (2, 1 + 2 + 4)
    assert np.flatnonzero(bits[0]).tolist() == [0]
    # Through node 1 alone: b; through 1 and 2: b, then a.
    assert np.flatnonzero(bits[1]).tolist() == [1 + 1, 3 + 1]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(1, 3))
def test_paths_are_encoded_as_the_rule_says(seed: int, nodes: int, k: int) -> None:
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


def test_features_are_all_paths_up_to_a_limit() -> None:
    large = GraphCellSpace(9, tuple("abcdefgh"))
    X = large.sample(2, RNG(0))
    tracemalloc.start()
    features = large.features(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert features.shape == (2, 4096) and peak < 2**20, "2.4 million bits would take 38 megabytes"
    assert GraphCellSpace(9, tuple("abcdefgh"), path_bits=5000).features(X).shape == (2, 5000)
    plain = GraphCellSpace()
    X = plain.sample(5, RNG(0))
    assert plain.features(X).shape == (5, 364)
    np.testing.assert_array_equal(GraphCellSpace(path_bits=30).features(X), plain.path_encoding(X)[:, :30])


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


def test_bad_spaces_are_refused() -> None:
    for make in (
        lambda: GraphCellSpace(2),
        lambda: GraphCellSpace(12),
        lambda: GraphCellSpace(5, ()),
        lambda: GraphCellSpace(5, ("a", "a")),
        lambda: GraphCellSpace(max_edges=0),
    ):
        with pytest.raises(SpaceError):
            make()


def test_edges_off_every_path_go_first() -> None:
    """With too many edges those that lead nowhere are removed, and what computes something stays."""
    space = GraphCellSpace(5, ("a",), max_edges=3)
    useful = {(0, 1), (1, 2), (2, 4)}
    x = space.encode([cell_of(space, useful | {(0, 3), (1, 3)}, ["a"] * 3)])
    kept = space.adjacency(space.repair(x))[0]
    assert {(int(s), int(e)) for s, e in zip(*np.nonzero(kept), strict=True)} == useful
