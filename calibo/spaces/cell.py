"""Cells of neural architectures: an operation on every edge of a small dense graph (as in NAS-Bench-201).

Notation: n nodes, E = n (n - 1) / 2 edges in the order of the string form (by end, then by start: 0->1, 0->2, 1->2, 0->3),
k operations, P bits of a path encoding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.cell_rules import PATH_BITS, checked_bits, operation_names, special_operation
from calibo.spaces.encoding import as_points, choice_numbers, one_hot
from calibo.spaces.parameters import Categorical, Parameter
from calibo.spaces.product import ProductSpace

NAS_BENCH_201_OPERATIONS: tuple[str, ...] = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


@dataclass(frozen=True)
class CellSpace(ProductSpace):
    """All cells of ``nodes`` nodes with an operation on each edge: a product of categorical parameters op0, op1, ...

    Models that look at features see a cell's paths (``features``); to all others it is an ordinary product of choices.

    Attributes:
        nodes: Number of nodes, the first the input, the last the output.
        operations: The operations an edge may have, k; names without ``|``, ``+`` and ``~``.
        zero: The operation that is no connection, or ``None`` if there is none; the default is ``None`` if the cell has
            no operation of this name.
        identity: The operation that changes nothing, or ``None``; the same holds of the default.
        path_bits: How many bits of the path encoding are features, shortest paths first; ``None`` for all, up to 4096.
    """

    nodes: int = 4
    operations: tuple[str, ...] = NAS_BENCH_201_OPERATIONS
    zero: str | None = "none"
    identity: str | None = "skip_connect"
    path_bits: int | None = None
    parameters: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)

    def __init__(
        self,
        nodes: int = 4,
        operations: Sequence[str] = NAS_BENCH_201_OPERATIONS,
        *,
        zero: str | None = "none",
        identity: str | None = "skip_connect",
        path_bits: int | None = None,
    ) -> None:
        chosen = operation_names(operations)
        if not isinstance(nodes, int) or nodes < 2 or not 2 <= len(chosen) == len(set(chosen)):
            raise SpaceError(
                f"a cell has two nodes or more and two different operations or more, got {nodes!r}, {chosen}"
            )
        set_ = object.__setattr__
        set_(self, "nodes", nodes)
        set_(self, "operations", chosen)
        set_(self, "zero", special_operation("zero", zero, "none", chosen))
        set_(self, "identity", special_operation("identity", identity, "skip_connect", chosen))
        set_(self, "path_bits", checked_bits("path_bits", path_bits))
        set_(self, "parameters", {f"op{i}": Categorical(chosen) for i in range(nodes * (nodes - 1) // 2)})
        self.__post_init__()

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Start and end of every edge, E, in the order of the parameters."""
        return tuple((start, end) for end in range(1, self.nodes) for start in range(end))

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The edges of every path from input to output, shortest paths first."""
        place = {edge: i for i, edge in enumerate(self.edges)}
        inner = range(1, self.nodes - 1)
        stops = [(0, *some, self.nodes - 1) for r in range(self.nodes - 1) for some in combinations(inner, r)]
        return tuple(tuple(place[step] for step in pairwise(way)) for way in stops)

    def indices(self, X: Array) -> np.ndarray:
        """Points, m x E, as places of the edges' operations among all operations, m x E."""
        return choice_numbers(X, len(self.operations))

    def one_hot(self, X: Array) -> Array:
        """Points, m x E, as an indicator of each edge's operation, m x (E k)."""
        return one_hot(X, self.categories)

    def adjacency(self, X: Array) -> np.ndarray:
        """The adjacency matrices of points, m x E, m x n x n: the operation's place from the row's node to the column's.

        Where no edge is possible it is -1.
        """
        found = np.full((len(X), self.nodes, self.nodes), -1)
        start, end = np.array(self.edges).T
        found[:, start, end] = self.indices(X)
        return found

    def path_encoding(self, X: Array, *, bits: int | None = None, naslib_compat: bool = False) -> Array:
        """Points, m x E, as a bit for every sequence of operations along a path, m x P (White et al. 2021).

        A path of length l with operations o_1 ... o_l sets bit k + k^2 + ... + k^(l-1) + o_1 + k o_2 + ... + k^(l-1) o_l.
        Paths through the zero operation are encoded too, and paths of one length share their bits.

        Args:
            X: Encoded cells.
            bits: Only the first so many, at least 1; the others are not computed.
            naslib_compat: Read the operations in the order 0->1, 0->2, 0->3, 1->2, ... while the paths are those of the
                string order: what NASLib and the published code of Chen 2025 do (edges are mixed up; for comparison only).
        """
        k, operations = len(self.operations), self.indices(X)
        if naslib_compat:
            by_start = sorted(range(len(self.edges)), key=lambda i: self.edges[i])
            operations = operations[:, by_start]
        total = sum(k**length for length in range(1, self.nodes))
        kept = min(checked_bits("bits", bits) or total, total)
        encoded = np.zeros((len(X), kept))
        for path in self.paths:
            before = sum(k**length for length in range(1, len(path)))
            if before >= kept:
                break
            code = before + operations[:, path] @ (k ** np.arange(len(path)))
            rows = np.flatnonzero(code < kept)
            encoded[rows, code[rows]] = 1.0
        return encoded

    @property
    def features(self) -> Callable[[Array], Array]:
        """The path encoding of points, m x E -> m x P, P at most 4096 without ``path_bits``."""
        return self._paths_of

    def _paths_of(self, X: Array) -> Array:
        return self.path_encoding(X, bits=self.path_bits or PATH_BITS)

    def valid(self, X: Array) -> np.ndarray:
        """Which cells, m x E, connect input and output by a path without the zero operation, m."""
        if self.zero is None:
            return np.ones(len(X), dtype=bool)
        live = self.indices(X) != self.operations.index(self.zero)
        return np.any([live[:, path].all(axis=1) for path in self.paths], axis=0)

    def repair(self, U: npt.ArrayLike) -> Array:
        """Return valid cells near points of the cube, m x E.

        A cell without a connection gets operations on the zero edges of the path that has the fewest of them. Which
        operation is told by where in the zero operation's interval the coordinate lies: all are equally near.
        """
        points = np.clip(as_points(U, self.dimension), 0.0, 1.0)
        cells = super()._round(points)
        zero, k = self.operations.index(self.zero) if self.zero is not None else 0, len(self.operations)
        for i in np.flatnonzero(~self.valid(cells)):
            lacking = self.indices(cells[[i]])[0] == zero
            path = np.array(min(self.paths, key=lambda edges: int(lacking[list(edges)].sum())))
            opened = path[lacking[path]]
            among_others = choice_numbers(points[i, opened] * k - zero, k - 1)
            cells[i, opened] = (among_others + (among_others >= zero) + 0.5) / k
        return cells

    def string(self, params: Mapping[str, str]) -> str:
        """A cell as a string: ``|op0~0|+|op1~0|op2~1|+|op3~0|op4~1|op5~2|``."""
        self.encode([params])
        parts = [[f"{params[f'op{i}']}~{s}" for i, (s, e) in enumerate(self.edges) if e == end] for end in self._ends]
        return "+".join(f"|{'|'.join(part)}|" for part in parts)

    def parse(self, text: str) -> Params:
        """The parameters of a cell given as a string."""
        parts = re.findall(r"\|([^|+~]+)~(\d+)(?=\|)", text) if isinstance(text, str) else []
        starts = [int(start) for _, start in parts]
        if starts != [start for start, _ in self.edges] or self.string(found := self._named(parts)) != text:
            raise SpaceError(f"expected a cell of {self.nodes} nodes such as {self._example()!r}, got {text!r}")
        return found

    def isomorphism_class(self, params: Mapping[str, str]) -> str:
        """A name that two cells share if they compute the same: zero edges are left out, identities passed through.

        An output is the sum of what arrives, so that neither the order of the summands nor that of the nodes matters.
        """
        self.encode([params])
        summands: dict[int, list[str]] = {0: ["x"]}
        for end in self._ends:
            terms = (self._terms(params[f"op{i}"], summands[s]) for i, (s, e) in enumerate(self.edges) if e == end)
            summands[end] = sorted(term for some in terms for term in some)
        return "+".join(summands[self.nodes - 1])

    def _terms(self, operation: str, of: list[str]) -> list[str]:
        """What an operation adds to a sum, given the summands it is applied to."""
        if not of or operation == self.zero:
            return []
        return of if operation == self.identity else [f"{operation}({'+'.join(of)})"]

    @property
    def _ends(self) -> range:
        return range(1, self.nodes)

    def _named(self, parts: Sequence[tuple[str, str]]) -> Params:
        unknown = [operation for operation, _ in parts if operation not in self.operations]
        if unknown:
            raise SpaceError(f"unknown operations {unknown}: this cell has {list(self.operations)}")
        return {f"op{i}": operation for i, (operation, _) in enumerate(parts)}

    def _example(self) -> str:
        return self.string({f"op{i}": self.operations[-1] for i in range(len(self.edges))})
