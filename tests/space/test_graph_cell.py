"""Cells with operations on nodes: validity and repair, neighbours, paths, classes of equal cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import SpaceError
from calibo.space import GraphCellSpace, ProductSpace
from calibo.testing import SpaceLaws

RNG = np.random.default_rng


class TestGraphCellSpace(SpaceLaws):
    """The laws of spaces for cells of seven nodes."""

    def space(self) -> ProductSpace:
        return GraphCellSpace()


def cell_of(space: GraphCellSpace, edges: set[tuple[int, int]], labels: list[str]) -> dict[str, object]:
    named = {f"e{s}_{e}": int((s, e) in edges) for s, e in space.edges}
    return named | {f"op{i}": label for i, label in enumerate(labels, start=1)}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(1, 12))
def test_what_is_snapped_is_valid_and_what_is_valid_stays(seed: int, nodes: int, most: int) -> None:
    space = GraphCellSpace(nodes, max_edges=most)
    X = space.snap(RNG(seed).random((20, len(space.names))))
    assert space.valid(X).all()
    matrices = space.matrices(X)
    assert (matrices.sum(axis=(1, 2)) <= most).all()
    # A path leads from input to output: some power of the matrix says so.
    powers = sum(np.linalg.matrix_power(m.astype(int), j) for j in range(1, nodes) for m in [matrices[0]])
    assert powers[0, -1] > 0
    np.testing.assert_array_equal(space.snap(X), X)


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
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_inner_nodes_does_not_matter(seed: int) -> None:
    """Relabels the inner nodes at random, keeping edges forward, and finds the same class and the same paths."""
    space, rng = GraphCellSpace(6, ("a", "b", "c"), max_edges=15), RNG(seed)
    x = space.sample(1, rng)
    params = space.decode(x)[0]
    matrix, labels = space.matrices(x)[0], [params[f"op{i}"] for i in range(1, 5)]
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
    kept = space.matrices(space.snap(x))[0]
    assert {(int(s), int(e)) for s, e in zip(*np.nonzero(kept), strict=True)} == useful
