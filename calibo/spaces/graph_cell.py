"""Cells of neural architectures with operations on the nodes of a small graph (as in NAS-Bench-101).

Notation: n nodes, E = n (n - 1) / 2 possible edges by start, then by end; k operations; d = E + n - 2 columns; P bits of a
path encoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import SpaceError
from calibo.spaces.base import sample_valid
from calibo.spaces.cell_rules import PATH_BITS, checked_bits, operation_names
from calibo.spaces.encoding import as_points, choice_numbers, one_hot
from calibo.spaces.parameters import Categorical, Int, Parameter
from calibo.spaces.product import ProductSpace

NAS_BENCH_101_OPERATIONS: tuple[str, ...] = ("conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3")
#: Relabelling more inner nodes than this in all ways takes too long.
_MOST_NODES = 9


@dataclass(frozen=True)
class GraphCellSpace(ProductSpace):
    """All cells of up to ``nodes`` nodes: which edges there are (e0_1, e0_2, ...: 0 or 1) and what inner nodes do (op1, ...).

    The first node is the input, the last the output. A cell is valid if a path leads from one to the other and there are
    at most ``max_edges`` edges. Every point that is drawn or snapped is valid. Cells are drawn uniformly; to snap, an edge
    from input to output is added where no path is, and then edges are removed, those off every path first, until there
    are few enough.

    Attributes:
        nodes: Largest number of nodes, n.
        operations: What an inner node may do, k; names without ``|``, ``+`` and ``~``.
        max_edges: Largest number of edges.
        path_bits: How many bits of the path encoding are features, shortest paths first; ``None`` for all, up to 4096.
    """

    nodes: int = 7
    operations: tuple[str, ...] = NAS_BENCH_101_OPERATIONS
    max_edges: int = 9
    path_bits: int | None = None
    parameters: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)

    def __init__(
        self,
        nodes: int = 7,
        operations: Sequence[str] = NAS_BENCH_101_OPERATIONS,
        *,
        max_edges: int = 9,
        path_bits: int | None = None,
    ) -> None:
        chosen = operation_names(operations)
        if not (isinstance(nodes, int) and isinstance(max_edges, int)):
            raise SpaceError(f"nodes and max_edges are whole numbers, got {nodes!r} and {max_edges!r}")
        if not 3 <= nodes <= _MOST_NODES or not 1 <= len(chosen) == len(set(chosen)) or max_edges < 1:
            raise SpaceError(
                f"a cell has 3 to {_MOST_NODES} nodes, different operations and an edge, got {nodes}, {chosen}, {max_edges}"
            )
        set_ = object.__setattr__
        set_(self, "nodes", nodes)
        set_(self, "operations", chosen)
        set_(self, "max_edges", max_edges)
        set_(self, "path_bits", checked_bits("path_bits", path_bits))
        edges = {f"e{start}_{end}": Int(0, 1) for start, end in _edges(nodes)}
        labels = {f"op{node}": Categorical(chosen) for node in range(1, nodes - 1)}
        set_(self, "parameters", {**edges, **labels})
        self.__post_init__()

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Start and end of every possible edge, E, in the order of the parameters."""
        return _edges(self.nodes)

    def adjacency(self, X: Array) -> np.ndarray:
        """The adjacency matrices of points, m x d, m x n x n: whether an edge leads from the row's node to the column's."""
        found = np.zeros((len(X), self.nodes, self.nodes), dtype=bool)
        start, end = np.array(self.edges).T
        found[:, start, end] = X[:, : len(self.edges)] >= 0.5
        return found

    def indices(self, X: Array) -> np.ndarray:
        """Points, m x d, as places of the inner nodes' operations among all operations, m x (n - 2)."""
        return choice_numbers(X[:, len(self.edges) :], len(self.operations))

    def one_hot(self, X: Array) -> Array:
        """Points, m x d, as an indicator of each edge and of each inner node's operation, m x (E + (n - 2) k)."""
        edges = len(self.edges)
        present = (X[:, :edges] >= 0.5).astype(np.float64)
        return np.hstack([present, one_hot(X[:, edges:], self.categories[edges:])])

    def valid(self, X: Array) -> np.ndarray:
        """Which points, m x d, are cells with a path from input to output and not too many edges, m."""
        matrices = self.adjacency(X)
        return _reachable(matrices)[:, 0, -1] & (matrices.sum(axis=(1, 2)) <= self.max_edges)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Valid cells, n x d, drawn uniformly."""
        return sample_valid(n, lambda count: self._sparse(count, rng), self.valid)

    def _sparse(self, count: int, rng: np.random.Generator) -> Array:
        """Points, count x d, drawn uniformly from those with few enough edges, but not none; not all have a path.

        Of plain draws hardly any has few edges where there are many nodes: one of two million in 7 nodes and 1 edge.
        """
        edges = len(self.edges)
        sizes = np.arange(1, min(self.max_edges, edges) + 1)
        ways = np.array([math.comb(edges, size) for size in sizes], dtype=np.float64)
        size = rng.choice(sizes, size=count, p=ways / ways.sum())
        U = rng.random((count, len(self.names)))
        rank = U[:, :edges].argsort(axis=1).argsort(axis=1)
        U[:, :edges] = self.columns[0].position((rank < size[:, None]).astype(np.int64))
        return self._round(U)

    def repair(self, U: npt.ArrayLike) -> Array:
        """Return valid cells near points of the cube, m x d."""
        points = self._round(as_points(U, self.dimension))
        for i in np.flatnonzero(~self.valid(points)):
            points[i, : len(self.edges)] = self._repaired(self.adjacency(points[[i]])[0])
        return points

    def _repaired(self, matrix: np.ndarray) -> Array:
        """The edges, E, of a valid cell near an adjacency matrix, as positions."""
        matrix = matrix.copy()
        matrix[0, -1] |= not _reachable(matrix[None])[0, 0, -1]
        if matrix.sum() > self.max_edges:
            matrix &= _on_a_path(matrix)
        for start, end in reversed(self.edges):
            if matrix.sum() <= self.max_edges:
                break
            matrix[start, end] = False
            if not _reachable(matrix[None])[0, 0, -1]:
                matrix[start, end] = True
        if matrix.sum() > self.max_edges:
            # What is left is one path, and too long.
            matrix[:] = False
            matrix[0, -1] = True
        positions = self.columns[0].position(np.array([0, 1]))
        return np.array([positions[int(matrix[edge])] for edge in self.edges])

    def path_encoding(self, X: Array, *, bits: int | None = None) -> Array:
        """Points, m x d, as a bit for every sequence of operations along a path, m x P, P = 1 + k + k^2 + ... if complete.

        A path through nodes with operations o_1 ... o_l sets bit 1 + k + ... + k^(l-1) + o_1 + k o_2 + ... + k^(l-1) o_l; bit
        0 is an edge from input to output.

        Args:
            X: Encoded cells.
            bits: Only the first so many, at least 1; the others are not computed.
        """
        k, inner = len(self.operations), self.nodes - 2
        total = sum(k**length for length in range(inner + 1))
        before, last = _steps(k, inner, min(checked_bits("bits", bits) or total, total))
        matrices, operations = self.adjacency(X), self.indices(X)
        # For every node but the output the bits of all paths that arrive there, m x P.
        arrived = np.zeros((self.nodes - 1, len(X), len(before)), dtype=bool)
        arrived[0, :, 0] = True
        for node in range(1, self.nodes - 1):
            coming = _along(arrived[:node], matrices[:, :node, node])
            arrived[node] = coming[:, before] & (last == operations[:, [node - 1]])
        return _along(arrived, matrices[:, :-1, -1]).astype(np.float64)

    @property
    def features(self) -> Callable[[Array], Array]:
        """The path encoding of points, m x d -> m x P, P at most 4096 without ``path_bits``."""
        return self._paths_of

    def _paths_of(self, X: Array) -> Array:
        return self.path_encoding(X, bits=self.path_bits or PATH_BITS)

    def isomorphism_class(self, params: Mapping[str, object]) -> str:
        """A name that two valid cells share if one is the other with its inner nodes in another order.

        Nodes that are on no path from input to output are left out. The name is the smallest of those under all orders.
        """
        x = self.encode([params])
        matrix, labels = self.adjacency(x)[0], self.indices(x)[0]
        kept = np.flatnonzero(_on_a_path(matrix).any(axis=0) | (np.arange(self.nodes) == 0))
        inner = [node for node in kept if 0 < node < self.nodes - 1]
        names = (
            "".join(self.operations[labels[node - 1]] + ";" for node in order)
            + "".join(str(int(matrix[a, b])) for a in (0, *order) for b in (*order, self.nodes - 1))
            for order in permutations(inner)
        )
        return min(names)


def _edges(nodes: int) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start in range(nodes) for end in range(start + 1, nodes))


def _steps(k: int, inner: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of the first bits of a path encoding the bit of the path but for its last node, and that one's operation.

    The empty path, bit 0, has no last node: its operation is -1.
    """
    before, last = np.zeros(bits, dtype=np.int64), np.full(bits, -1)
    start, shorter = 1, 0
    for length in range(1, inner + 1):
        # The paths of this length, as far as wanted, begin at bit start and those one shorter at bit shorter.
        code = np.arange(min(k**length, bits - start))
        if not len(code):
            break
        last[start : start + len(code)], rest = np.divmod(code, k ** (length - 1))
        before[start : start + len(code)] = shorter + rest
        start, shorter = start + k**length, start
    return before, last


def _along(arrived: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bits of paths, r x m x P, that come along edges from their r nodes, m x r, to a further one, m x P."""
    return np.any(arrived & edges.T[:, :, None], axis=0)


def _reachable(matrices: np.ndarray) -> np.ndarray:
    """Whether a path of one edge or more leads from a node to another, m x n x n."""
    found = matrices.copy()
    for middle in range(matrices.shape[1]):
        found |= found[:, :, [middle]] & found[:, [middle], :]
    return found


def _on_a_path(matrix: np.ndarray) -> np.ndarray:
    """The edges of a matrix, n x n, that are on a path from the first node to the last, n x n."""
    found = _reachable(matrix[None])[0] | np.eye(len(matrix), dtype=bool)
    return matrix & (found[0][:, None] & found[:, -1][None, :])
