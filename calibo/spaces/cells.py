"""Cells of neural architectures: small graphs with operations on their edges or on their nodes.

``CellSpace`` has an operation on every edge (as NAS-Bench-201), ``GraphCellSpace`` on the nodes (as NAS-Bench-101).

Notation: n nodes, E = n (n - 1) / 2 possible edges, k operations, d columns, P bits of a path encoding.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.checks import check_whole, is_text, read_items, shown
from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.base import sample_valid
from calibo.spaces.constraints import LinearConstraint
from calibo.spaces.encoding import as_points, choice_numbers, one_hot
from calibo.spaces.parameters import Categorical, Int, Parameter
from calibo.spaces.predicates import Where
from calibo.spaces.product import ProductSpace

NAS_BENCH_101_OPERATIONS: tuple[str, ...] = ("conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3")
NAS_BENCH_201_OPERATIONS: tuple[str, ...] = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")

#: Bits of a path encoding that are features unless a space says how many. Their number grows exponentially with the nodes,
#: while a random cell hardly has one of the long paths at the end: the truncated encoding is as good (White et al. 2021).
PATH_BITS = 4096
#: Characters that separate the names of operations in a cell's string.
_SEPARATORS = "|+~"
#: Comparing all orders of more inner nodes than this takes too long.
_MOST_NODES = 9
#: A cell of more nodes than this has more than two thousand edges, each a parameter.
_MOST_EDGE_NODES = 64


class _Cells(ProductSpace):
    """What both kinds of cells share: models of features see the paths of a cell."""

    nodes: int
    operations: Sequence[str]
    path_bits: int | None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nodes} nodes, operations={list(self.operations)})"

    @property
    def features(self) -> Callable[[Array], Array]:
        """The path encoding of points, m x d -> m x P, P at most 4096 without ``path_bits``."""
        return self._paths_of

    def _paths_of(self, X: Array) -> Array:
        return self.path_encoding(X, bits=self.path_bits or PATH_BITS)

    @abstractmethod
    def path_encoding(self, X: Array, *, bits: int | None = None) -> Array:
        """Encode points, m x d, as one bit for each sequence of operations along a path, m x P."""

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        ProductSpace.__post_init__(self)


@dataclass(frozen=True, repr=False)
class CellSpace(_Cells):
    """All cells of ``nodes`` nodes with an operation on each edge: a product of categorical parameters op0, op1, ...

    Edges are ordered by end, then by start: 0->1, 0->2, 1->2, 0->3, ... A cell is valid if a path without the zero
    operation leads from input to output; d = E.

    Attributes:
        nodes: Number of nodes, the first the input, the last the output.
        operations: The operations an edge may have, k; names without ``|``, ``+`` and ``~``.
        zero: The operation that means no connection, or ``None`` if there is none. The default is ``None`` if the cell has
            no operation of this name.
        identity: The operation that changes nothing, or ``None``; the default likewise.
        path_bits: Number of bits of the path encoding that are features, shortest paths first; ``None`` for all, up to 4096.
    """

    nodes: int = 4
    operations: Sequence[str] = NAS_BENCH_201_OPERATIONS
    _: KW_ONLY
    zero: str | None = "none"
    identity: str | None = "skip_connect"
    path_bits: int | None = None
    parameters: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)
    constraints: Sequence[str | LinearConstraint] = field(init=False, default=(), repr=False)
    where: Where | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        what = "nodes, the number of nodes of a cell,"
        nodes = check_whole(what, self.nodes, least=2, most=_MOST_EDGE_NODES, error=SpaceError)
        names = _operation_names(self.operations, least=2)
        self._set(
            nodes=nodes,
            operations=names,
            zero=_special_operation("zero", self.zero, "none", names),
            identity=_special_operation("identity", self.identity, "skip_connect", names),
            path_bits=_checked_bits("path_bits", self.path_bits),
            parameters={f"op{i}": Categorical(names) for i in range(nodes * (nodes - 1) // 2)},
        )

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Start and end of every edge, E, in the order of the parameters."""
        return tuple((start, end) for end in range(1, self.nodes) for start in range(end))

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The edges of every path from input to output, shortest paths first."""
        number = {edge: i for i, edge in enumerate(self.edges)}
        inner = range(1, self.nodes - 1)
        stops = [(0, *some, self.nodes - 1) for r in range(self.nodes - 1) for some in combinations(inner, r)]
        return tuple(tuple(number[step] for step in pairwise(path)) for path in stops)

    def indices(self, X: Array) -> np.ndarray:
        """Return the numbers of the edges' operations, counted from 0, m x E, of points, m x E."""
        return choice_numbers(X, len(self.operations))

    def one_hot(self, X: Array) -> Array:
        """Encode points, m x E, as an indicator of each edge's operation, m x (E k)."""
        return one_hot(X, self.categories)

    def adjacency(self, X: Array) -> np.ndarray:
        """Return the adjacency matrices of points, m x E, m x n x n.

        An entry is the number of the operation from the row's node to the column's, or -1 where no edge is possible.
        """
        matrices = np.full((len(X), self.nodes, self.nodes), -1)
        start, end = np.array(self.edges).T
        matrices[:, start, end] = self.indices(X)
        return matrices

    def path_encoding(self, X: Array, *, bits: int | None = None, naslib_compat: bool = False) -> Array:
        """Encode points, m x E, as one bit for each sequence of operations along a path, m x P (White et al. 2021).

        A path of length l with operations o_1 ... o_l sets bit k + k^2 + ... + k^(l-1) + o_1 + k o_2 + ... + k^(l-1) o_l.
        Paths through the zero operation are encoded too, and paths of one length share their bits.

        Args:
            X: Encoded cells.
            bits: Compute only the first so many bits, at least 1.
            naslib_compat: Read the operations in the order 0->1, 0->2, 0->3, 1->2, ... while the paths are those of the
                string order: what NASLib and the published code of Chen 2025 do (edges are mixed up; for comparison only).
        """
        k, operations = len(self.operations), self.indices(X)
        if naslib_compat:
            operations = operations[:, sorted(range(len(self.edges)), key=lambda i: self.edges[i])]
        total = sum(k**length for length in range(1, self.nodes))
        kept = min(_checked_bits("bits", bits) or total, total)
        encoded = np.zeros((len(X), kept))
        for path in self.paths:
            before = sum(k**length for length in range(1, len(path)))
            if before >= kept:
                break
            code = before + operations[:, path] @ (k ** np.arange(len(path)))
            rows = np.flatnonzero(code < kept)
            encoded[rows, code[rows]] = 1.0
        return encoded

    def valid(self, X: Array) -> np.ndarray:
        if self.zero is None:
            return np.ones(len(X), dtype=bool)
        connected = self.indices(X) != self.operations.index(self.zero)
        return np.any([connected[:, path].all(axis=1) for path in self.paths], axis=0)

    def repair(self, U: npt.ArrayLike) -> Array:
        """Return valid cells near points of the cube, m x E.

        A cell without a connection gets operations on the zero edges of the path that has the fewest of them. Which
        operation follows from where in the zero operation's interval the coordinate lies: all are equally near.
        """
        points = np.clip(as_points(U, self.dimension), 0.0, 1.0)
        cells = self._round(points)
        zero, k = self.operations.index(self.zero) if self.zero is not None else 0, len(self.operations)
        for i in np.flatnonzero(~self.valid(cells)):
            missing = self.indices(cells[[i]])[0] == zero
            path = np.array(min(self.paths, key=lambda edges: int(missing[list(edges)].sum())))
            added = path[missing[path]]
            other = choice_numbers(points[i, added] * k - zero, k - 1)
            cells[i, added] = (other + (other >= zero) + 0.5) / k
        return cells

    def string(self, params: Mapping[str, str]) -> str:
        """Write a cell as a string: ``|op0~0|+|op1~0|op2~1|+|op3~0|op4~1|op5~2|``."""
        self.encode([params])
        operations, ends = iter(params[name] for name in self.names), range(1, self.nodes)
        return "+".join(f"|{'|'.join(f'{next(operations)}~{start}' for start in range(end))}|" for end in ends)

    def parse(self, text: str) -> Params:
        """Read the parameters of a cell from a string.

        Raises:
            SpaceError: If it is not a cell of this space.
        """
        parts = re.findall(r"\|([^|+~]+)~\d+(?=\|)", text) if isinstance(text, str) else []
        if unknown := [operation for operation in parts if operation not in self.operations]:
            raise SpaceError(f"unknown operations {unknown}: this cell has {list(self.operations)}")
        found: Params = dict(zip(self.names, parts, strict=False))
        if len(parts) != len(self.edges) or self.string(found) != text:
            example = self.string(dict.fromkeys(self.names, self.operations[-1]))
            raise SpaceError(f"expected a cell of {self.nodes} nodes such as {example!r}, got {text!r}")
        return found

    def isomorphism_class(self, params: Mapping[str, str]) -> str:
        """Return a name that two cells share if they compute the same, zero edges left out and identities passed through.

        An output is the sum of its inputs, so that neither the order of the summands nor that of the nodes matters.
        """
        self.encode([params])
        summands: list[list[str]] = [["x"], *([] for _ in range(1, self.nodes))]
        for (start, end), name in zip(self.edges, self.names, strict=True):
            # Edges are ordered by end: all summands of the start are there.
            summands[end] += self._terms(params[name], sorted(summands[start]))
        return "+".join(sorted(summands[-1]))

    def _terms(self, operation: str, of: list[str]) -> list[str]:
        """Return what an operation adds to a sum, given the summands it is applied to."""
        if not of or operation == self.zero:
            return []
        return of if operation == self.identity else [f"{operation}({'+'.join(of)})"]


@dataclass(frozen=True, repr=False)
class GraphCellSpace(_Cells):
    """All cells of up to ``nodes`` nodes: which edges there are (e0_1, e0_2, ...: 0 or 1) and what inner nodes do (op1, ...).

    The first node is the input, the last the output; edges are ordered by start, then by end; d = E + n - 2. A cell is
    valid if a path leads from input to output and there are at most ``max_edges`` edges. To repair a cell, an edge from
    input to output is added where there is no path, and then edges are removed, those off every path first, until there
    are few enough.

    Attributes:
        nodes: Largest number of nodes, n.
        operations: What an inner node may do, k; names without ``|``, ``+`` and ``~``.
        max_edges: Largest number of edges.
        path_bits: Number of bits of the path encoding that are features, shortest paths first; ``None`` for all, up to 4096.
    """

    nodes: int = 7
    operations: Sequence[str] = NAS_BENCH_101_OPERATIONS
    _: KW_ONLY
    max_edges: int = 9
    path_bits: int | None = None
    parameters: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)
    constraints: Sequence[str | LinearConstraint] = field(init=False, default=(), repr=False)
    where: Where | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        what = "nodes, the number of nodes of a cell,"
        nodes = check_whole(what, self.nodes, least=3, most=_MOST_NODES, error=SpaceError)
        names = _operation_names(self.operations, least=1)
        edges = {f"e{start}_{end}": Int(0, 1) for start, end in combinations(range(nodes), 2)}
        self._set(
            nodes=nodes,
            operations=names,
            max_edges=check_whole("max_edges", self.max_edges, error=SpaceError),
            path_bits=_checked_bits("path_bits", self.path_bits),
            parameters=edges | {f"op{node}": Categorical(names) for node in range(1, nodes - 1)},
        )

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Start and end of every possible edge, E, in the order of the parameters."""
        return tuple(combinations(range(self.nodes), 2))

    def adjacency(self, X: Array) -> np.ndarray:
        """Return the adjacency matrices of points, m x d, m x n x n: whether an edge leads from row's to column's node."""
        matrices = np.zeros((len(X), self.nodes, self.nodes), dtype=bool)
        start, end = np.array(self.edges).T
        matrices[:, start, end] = X[:, : len(self.edges)] >= 0.5
        return matrices

    def indices(self, X: Array) -> np.ndarray:
        """Return the numbers of the inner nodes' operations, counted from 0, m x (n - 2), of points, m x d."""
        return choice_numbers(X[:, len(self.edges) :], len(self.operations))

    def one_hot(self, X: Array) -> Array:
        """Encode points, m x d, as an indicator of each edge and of each inner node's operation, m x (E + (n - 2) k)."""
        edges = len(self.edges)
        present = (X[:, :edges] >= 0.5).astype(np.float64)
        return np.hstack([present, one_hot(X[:, edges:], self.categories[edges:])])

    def valid(self, X: Array) -> np.ndarray:
        matrices = self.adjacency(X)
        return _reachable(matrices)[:, 0, -1] & (matrices.sum(axis=(1, 2)) <= self.max_edges)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return sample_valid(n, lambda count: self._sparse(count, rng), self.valid)

    def _sparse(self, count: int, rng: np.random.Generator) -> Array:
        """Draw points, count x d, uniformly from those with few enough edges, but not none; not all have a path.

        Of plain draws hardly any has few edges where there are many nodes: one of two million in 7 nodes and 1 edge.
        """
        edges = len(self.edges)
        sizes = np.arange(1, min(self.max_edges, edges) + 1)
        ways = np.array([math.comb(edges, size) for size in sizes], dtype=np.float64)
        size = rng.choice(sizes, size=count, p=ways / ways.sum())
        U = rng.random((count, self.dimension))
        rank = U[:, :edges].argsort(axis=1).argsort(axis=1)
        U[:, :edges] = self.columns[0].position((rank < size[:, None]).astype(np.int64))
        return self._round(U)

    def repair(self, U: npt.ArrayLike) -> Array:
        points = self._round(as_points(U, self.dimension))
        for i in np.flatnonzero(~self.valid(points)):
            points[i, : len(self.edges)] = self._repaired(self.adjacency(points[[i]])[0])
        return points

    def _repaired(self, matrix: np.ndarray) -> Array:
        """Return the edges, E, of a valid cell near an adjacency matrix, encoded."""
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
        if matrix.sum() > self.max_edges:  # what is left is one path, and too long
            matrix[:] = False
            matrix[0, -1] = True
        return self.columns[0].position(np.array([matrix[edge] for edge in self.edges], dtype=np.int64))

    def path_encoding(self, X: Array, *, bits: int | None = None) -> Array:
        """Encode points, m x d, as one bit for each sequence of operations along a path, m x P.

        A path through nodes with operations o_1 ... o_l sets bit 1 + k + ... + k^(l-1) + o_1 + k o_2 + ... + k^(l-1) o_l; bit
        0 is an edge from input to output. If complete, P = 1 + k + k^2 + ...

        Args:
            X: Encoded cells.
            bits: Compute only the first so many bits, at least 1.
        """
        k, inner = len(self.operations), self.nodes - 2
        total = sum(k**length for length in range(inner + 1))
        before, last = _steps(k, inner, min(_checked_bits("bits", bits) or total, total))
        matrices, operations = self.adjacency(X), self.indices(X)
        # For every node but the output the bits of all paths that arrive there, m x P.
        arrived = np.zeros((self.nodes - 1, len(X), len(before)), dtype=bool)
        arrived[0, :, 0] = True
        for node in range(1, self.nodes - 1):
            coming = np.any(arrived[:node] & matrices[:, :node, node].T[:, :, None], axis=0)
            arrived[node] = coming[:, before] & (last == operations[:, [node - 1]])
        return np.any(arrived & matrices[:, :-1, -1].T[:, :, None], axis=0).astype(np.float64)

    def isomorphism_class(self, params: Mapping[str, object]) -> str:
        """Return a name that two valid cells share if one is the other with its inner nodes in another order.

        Nodes that are on no path from input to output are left out. The name is the smallest of those under all orders.
        """
        x = self.encode([params])
        matrix, labels = self.adjacency(x)[0], self.indices(x)[0]
        kept = np.flatnonzero(_on_a_path(matrix).any(axis=0) | (np.arange(self.nodes) == 0))
        inner = [node for node in kept if 0 < node < self.nodes - 1]
        names = (
            "".join(self.operations[int(labels[node - 1])] + ";" for node in order)
            + "".join(str(int(matrix[a, b])) for a in (0, *order) for b in (*order, self.nodes - 1))
            for order in permutations(inner)
        )
        return min(names)


def _operation_names(operations: Sequence[str], least: int) -> tuple[str, ...]:
    """Return a user's operations, checked to be different names that can be read from a cell's string."""
    names = read_items(operations)
    if names is None or not all(is_text(name) for name in names):
        raise SpaceError(f"operations must be a list of names such as ['none', 'conv'], got {shown(operations)}")
    odd = [str(name) for name in names if not name or any(sign in name for sign in _SEPARATORS)]
    if odd:
        signs = f"any of {' '.join(_SEPARATORS)}, which separate them in a cell's string"
        raise SpaceError(f"names of operations must not be empty or contain {signs}, got {odd}; rename them")
    if not least <= len(names) == len(set(names)):
        raise SpaceError(f"a cell needs at least {least} different operations, got {names}")
    return tuple(str(name) for name in names)


def _special_operation(role: str, name: str | None, usual: str, operations: tuple[str, ...]) -> str | None:
    """Return the operation with a role, or ``None`` if the cell has none: not even the usual one, which is the default."""
    if name is not None and not is_text(name):
        raise SpaceError(f"{role} must be one of the operations {list(operations)}, or None, got {shown(name)}")
    if name is None or name in operations:
        return name
    if name == usual:
        return None
    raise SpaceError(
        f"{role} must be one of the operations {list(operations)}, or None if none of them is, got {name!r}"
    )


def _checked_bits(setting: str, bits: int | None) -> int | None:
    what = f"{setting}, the number of bits of the path encoding to keep (None for all),"
    return None if bits is None else check_whole(what, bits, error=SpaceError)


def _steps(k: int, inner: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each bit of a path encoding that of the path without its last node, and its operation (-1 for bit 0)."""
    before, last = np.zeros(bits, dtype=np.int64), np.full(bits, -1)
    start, shorter = 1, 0
    for length in range(1, inner + 1):
        # The paths of this length, as far as kept, begin at bit start and those one shorter at bit shorter.
        code = np.arange(min(k**length, bits - start))
        if not len(code):
            break
        last[start : start + len(code)], rest = np.divmod(code, k ** (length - 1))
        before[start : start + len(code)] = shorter + rest
        start, shorter = start + k**length, start
    return before, last


def _reachable(matrices: np.ndarray) -> np.ndarray:
    """Return whether a path of one edge or more leads from a node to another, m x n x n."""
    found = matrices.copy()
    for middle in range(matrices.shape[1]):
        found |= found[:, :, [middle]] & found[:, [middle], :]
    return found


def _on_a_path(matrix: np.ndarray) -> np.ndarray:
    """Return the edges of a matrix, n x n, that are on a path from the first node to the last, n x n."""
    found = _reachable(matrix[None])[0] | np.eye(len(matrix), dtype=bool)
    return matrix & (found[0][:, None] & found[:, -1][None, :])
