"""Search within a box around a point: the trust region of a local method, whatever search is used inside it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import Acquisition, CandidateSearch, is_taken
from calibo.spaces import Categorical, Float, Int, PoolSpace, ProductSpace, Space
from calibo.spaces.parameters import Parameter

#: In more columns than this a random candidate differs from the centre in about so many of them only.
_PERTURBED = 20
#: Float dust on a place that lies on the border of a box.
_DUST = 1e-12


@dataclass(frozen=True, eq=False)
class Box:
    """The part of the unit cube that lies near a point.

    Attributes:
        centre: d.
        reach: How far the box goes from the centre in each column, d; infinite where it has no limit.
    """

    centre: Array
    reach: Array

    @classmethod
    def around(cls, centre: Array, weights: Array, length: float, categories: tuple[int, ...]) -> Box:
        """The box with sides ``length`` times the weights of the numeric columns, whose geometric mean is made 1.

        Args:
            centre: d.
            weights: How far each column may go compared with the others, d, positive: length scales.
            length: Side of the box if all weights were equal.
            categories: Number of choices of each categorical column, 0 for a numeric one, d.
        """
        numeric = np.asarray(categories) == 0
        logs = np.log(weights[numeric])
        reach = np.full(centre.shape, np.inf)
        reach[numeric] = 0.5 * length * np.exp(logs - logs.mean()) if logs.size else np.inf
        return cls(centre, reach)

    @property
    def lower(self) -> Array:
        """Least place in each column, d."""
        return np.maximum(self.centre - self.reach, 0.0)

    @property
    def upper(self) -> Array:
        """Greatest place in each column, d."""
        return np.minimum(self.centre + self.reach, 1.0)

    @property
    def is_everything(self) -> bool:
        """Whether the box is the whole cube."""
        return bool((self.lower <= 0.0).all() and (self.upper >= 1.0).all())

    def holds(self, X: Array) -> np.ndarray:
        """Which points, m x d, lie in the box, m."""
        return _between(X, self.lower, self.upper)

    def widened(self) -> Box:
        """The box that goes twice as far."""
        return replace(self, reach=2.0 * self.reach)


@dataclass(frozen=True, eq=False)
class Within:
    """An acquisition function that is to be maximised within a box only; ``TrustRegion`` sees to it.

    Attributes:
        acquisition: Of points, m x d, or sets, m x q x d.
        box: Where.
    """

    acquisition: Acquisition
    box: Box

    def __call__(self, X: Array) -> Array:
        return self.acquisition(X)


@dataclass(frozen=True)
class TrustRegion:
    """Lets a search see only the box of an acquisition that is ``Within`` one, and passes others on as they are.

    The search is given a space of its own, the box stretched to the unit cube: its steps, its draws and its points near
    anchors are then as fine as the box is small. Finite numeric columns keep the values that lie in the box (at least
    the centre's), categorical ones keep all. A box that has not enough points left to try is doubled until it has.

    In more than 20 columns a random point of the box differs from its centre in each column with probability 20 / d
    only, and in one at least (Eriksson et al. 2019, their section on candidates).

    Attributes:
        search: What searches the box.
    """

    search: CandidateSearch

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        if not isinstance(acquisition, Within):
            return self.search.maximize(acquisition, space, q, anchors=anchors, taken=taken, rng=rng)
        of_points, box = acquisition.acquisition, acquisition.box
        if isinstance(space, PoolSpace):
            rows = _rows_within(space, box, q, taken)
            return self.search.maximize(of_points, rows, q, anchors=anchors, taken=taken, rng=rng)
        if not isinstance(space, ProductSpace):
            raise RecipeError(f"TrustRegion searches a product of parameters or a pool, got a {type(space).__name__}")
        view = _View.of(space, box)
        while not view.is_everything and view.left(taken) < q:
            box = box.widened()
            view = _View.of(space, box)
        nearby = np.vstack([box.centre, anchors.reshape(-1, len(space.columns))])
        found = self.search.maximize(
            lambda X: of_points(view.outward(X)),
            view.space,
            q,
            anchors=view.inward(nearby),
            taken=view.inward(taken),
            rng=rng,
        )
        return space.repair(view.outward(found))


def _rows_within(space: PoolSpace, box: Box, q: int, taken: Array) -> PoolSpace:
    """The rows of a pool in the box, doubled until q of them are left; for searching only, not for decoding."""
    free = np.unique(space.X[~is_taken(space.X, taken)], axis=0)
    while not box.is_everything and int(box.holds(free).sum()) < q:
        box = box.widened()
    part = copy.copy(space)
    # A view on a frozen space: what it has derived from its rows so far must not be taken over.
    part.__dict__.update(X=space.X[box.holds(space.X)])
    for derived in ("_first", "_tree"):
        part.__dict__.pop(derived, None)
    return part


@dataclass(frozen=True)
class _Local(ProductSpace):
    """A box stretched to the unit cube, whose random points leave most of many columns at the centre."""

    centre: tuple[float, ...] = field(kw_only=True)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        points, d = super().sample(n, rng), len(self.columns)
        if d <= _PERTURBED:
            return points
        moved = rng.random((n, d)) < _PERTURBED / d
        moved[np.arange(n), rng.integers(d, size=n)] = True
        return np.where(moved, points, self.centre)


@dataclass(frozen=True, eq=False)
class _View:
    """A box of a product space and the same box as a space of its own; the two differ by an affine map.

    Attributes:
        space: The box as a space.
        start: Where the local column's 0 stands on the unit interval, d.
        width: How much of the unit interval the local column covers, d; 0 for a column with one value left.
        low: Least place of the box in each column, d.
        high: Greatest place, d.
        is_everything: Whether the box is the whole space.
    """

    space: ProductSpace
    start: Array
    width: Array
    low: Array
    high: Array
    is_everything: bool

    @classmethod
    def of(cls, space: ProductSpace, box: Box) -> _View:
        local = [_restricted(c, *ends) for c, *ends in zip(space.columns, box.lower, box.upper, strict=True)]
        columns, low, high, start, width = zip(*local, strict=True)
        frame = [np.array(values) for values in (start, width, low, high)]
        centre = _inward(space.repair(box.centre[None, :]), frame[0], frame[1])[0]
        named = dict(zip(space.names, columns, strict=True))
        # Column by column the local space has as many values as there are cells in the box.
        whole = all(a.cells == b.cells for a, b in zip(columns, space.columns, strict=True))
        continuous = np.array([c.cells is None for c in space.columns])
        covered = (frame[1][continuous] >= 1.0).all()
        return cls(
            _Local(named, centre=tuple(centre)),
            *frame,
            is_everything=whole and bool(covered),
        )

    def outward(self, X: Array) -> Array:
        """Points of the box as the local space sees them, ... x d, as points of the space."""
        return self.start + X * self.width

    def inward(self, X: Array) -> Array:
        """Those points of the space, m x d, that lie in the box, as the local space sees them, k x d."""
        X = X.reshape(-1, len(self.low))
        return self.space.repair(_inward(X[_between(X, self.low, self.high)], self.start, self.width))

    def left(self, taken: Array) -> float:
        """How many points of the box are not taken."""
        if self.space.size is None:
            return float("inf")
        return self.space.size - len(np.unique(self.inward(taken).round(9), axis=0))


def _between(X: Array, low: Array, high: Array) -> np.ndarray:
    """Which points, m x d, lie between two corners, m."""
    return np.asarray(((low - _DUST <= X) & (high + _DUST >= X)).all(axis=1))


def _inward(X: Array, start: Array, width: Array) -> Array:
    return np.where(width > 0.0, (X - start) / np.where(width > 0.0, width, 1.0), 0.5)


def _restricted(column: Parameter, lower: float, upper: float) -> tuple[Parameter, float, float, float, float]:
    """The part of a column between two places: as a column, its least and greatest place, where it starts, its width."""
    if column.categories:
        return column, 0.0, 1.0, 0.0, 1.0
    if column.cells is None:
        return Float(0.0, 1.0), lower, upper, lower, upper - lower
    first, last = (int(cell) for cell in column.cell(np.array([lower, upper])))
    low, high = (float(place) for place in column.position(np.array([first, last])))
    if first == last:
        return Categorical(["only"]), low, high, low, 0.0
    local: Parameter = Int(0, last - first)
    if isinstance(column, Int) and column.log:
        # Its values stand unevenly; the same values on a log scale of their own stand alike, up to an affine map.
        local = Int(column.decode(low), column.decode(high), log=True, step=column.step)
    own_low, own_high = (float(place) for place in local.position(np.array([0, last - first])))
    width = (high - low) / (own_high - own_low)
    return local, low, high, low - own_low * width, width
