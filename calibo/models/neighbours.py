"""A Gaussian process for many data: predictions are conditioned on a core of them and on the nearest of the others.

Notation: g data in the core, L the Cholesky factor of their covariance with noise, v(x) = L^-1 k_core(x), w = L^-1 (y - mean)
of the core; k neighbours N of a point. Given the core, f has the covariances r(x, x') = k(x, x') - v(x)' v(x') and y the
residuals e = y - mean - v' w. p distinct points are predicted, with D features; outcomes standardized.
"""

from __future__ import annotations

import mmap
import sys
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dtrmm  # pyright: ignore[reportAttributeAccessIssue]

from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Gaussian
from calibo.distributions.gaussian import stable_cholesky
from calibo.errors import RecipeError
from calibo.models.base import Surrogate
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.gp_posterior import SMALLEST_VARIANCE, GaussianProcessModel, Posterior
from calibo.models.neighbour_search import Neighbours, NeighbourSearch
from calibo.models.predictions import correlation_matrix, distinct_points
from calibo.models.subsets import representative

#: Points whose matrices are held at a time.
_BLOCK = 64
#: Up to this many features all data are searched for neighbours, with more of them a subset: the time of a search then grows
#: with the data instead of their logarithm, while a tenth of the data has neighbours not much farther away, by a factor of
#: 10^(1 / D), or 1.12 with 20.
_FEATURES = 8
_SEARCHED = 5_000
#: Projections of data for which there is room from the start, more than a search mostly needs: room that is not used costs
#: nothing, and grows by copies.
_ROOM = 32768
#: Neighbours and size of the core up to so many features, and with more.
_FEW, _MANY = (48, 250), (32, 500)
#: Fewest neighbours of each point, and most of all points together, on which a joint prediction is conditioned.
_FEWEST_JOINT, _MOST_JOINT = 4, 512


@dataclass(frozen=True, eq=False)
class Core(Posterior):
    """A Gaussian process given a core of its data, on which many thousand points are projected."""

    def _whiten(self, cross: Array, out: Array) -> None:
        # A triangular product takes half of the operations of a full one, and differs from it by rounding.
        out[:] = dtrmm(1.0, self.inverse_cholesky, cross.T, lower=1, overwrite_b=1).T


class Projections:
    """Projections of data on the core, each computed when it is first asked for, and kept.

    Args:
        core: The process given the core.
        scaled: Scaled features of the data, `n x D`.
    """

    def __init__(self, core: Core, scaled: Array) -> None:
        self._core, self._scaled = core, scaled
        #: Where the projection of each of the data is kept, -1 if it is not; those in use, and room for more.
        self._place: Rows = np.full(len(scaled), -1)
        self._used = 0
        self._kept: Array = _room(min(len(scaled), _ROOM), len(core.y))

    def of(self, rows: Rows) -> Array:
        """Return the projections v, `... x g`, of data by their rows."""
        new = np.unique(rows[self._place[rows] < 0])
        if len(new):
            used = self._used + len(new)
            if used > len(self._kept):
                larger = _room(max(used, 2 * len(self._kept)), len(self._core.y))
                larger[: self._used] = self._kept[: self._used]
                self._kept = larger
            self._kept[self._used : used] = self._core.projected(self._scaled[new])
            self._place[new] = np.arange(self._used, used)
            self._used = used
        return self._kept[self._place[rows]]


@dataclass(frozen=True, eq=False)
class NeighbourPosterior(GaussianProcessModel):
    """A Gaussian process given a core of its data, the same for all points, and the data nearest to each point.

    Mean and standard deviation of a point do not depend on the points predicted beside it. Joint draws of a batch take their
    correlations from a posterior on neighbours that all of its points share: the nearest of each, together about as many as
    those of one point (at least 4 of each).

    Attributes:
        core_rows: Rows of the data in the core, g, increasing.
        count: Number of neighbours, k.
    """

    core_rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    count: int = 32

    @cached_property
    def core(self) -> Core:
        """The process given the core alone."""
        X, y, noise = (array[self.core_rows] for array in (self.X, self.y, self.noise))
        return Core(self.kernel, self.features, self.theta, X, y, noise, self.units)

    @cached_property
    def _search(self) -> NeighbourSearch:
        # The core is such a subset, too, and so part of a larger one.
        many = self.scaled.shape[1] > _FEATURES
        most = _SEARCHED + len(self.core_rows)
        rows = representative(self.X, self.y, most) if many else np.arange(len(self.y))
        return NeighbourSearch(self.scaled, np.setdiff1d(rows, self.core_rows, assume_unique=True), self.count)

    @cached_property
    def _projections(self) -> Projections:
        return Projections(self.core, self.scaled)

    @cached_property
    def _residual(self) -> Array:
        return self.units.forward(self.y) - self.theta.mean

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """Predict the outcome at `... x q x d` points; correlations are computed only for joint draws."""
        points, index = distinct_points(X)
        scaled = self.scale(points)
        mean, variance, nearest = self._at(scaled)
        noise = self.theta.noise

        def correlation() -> Array:
            return self._correlation(scaled, nearest, index, 0.0 if latent else noise)

        std = np.sqrt(variance if latent else variance + noise)
        return self.units.gaussian(mean[index], std[index], correlation, np.sqrt(noise) if latent else None)

    def leave_one_out(self, rows: Rows | None = None) -> Gaussian:
        """Predict measurements each from core and neighbours among the others; hyperparameters are those of all data."""
        rows = np.arange(len(self.y)) if rows is None else rows
        key = rows.tobytes()
        if key not in self._left_out:
            self._left_out.clear()
            self._left_out[key] = self._without(rows)
        return self._left_out[key]

    @cached_property
    def _left_out(self) -> dict[bytes, Gaussian]:
        """The latest leave-one-out predictions: after a fit they choose a transform of outcomes, and then calibrate."""
        return {}

    def _without(self, rows: Rows) -> Gaussian:
        """Predict measurements, by their rows, each from core and neighbours among the others."""
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        place = np.searchsorted(self.core_rows, rows)
        inside = np.append(self.core_rows, -1)[place] == rows
        mean[inside], variance[inside] = self._within_core(place[inside])
        others = rows[~inside]
        mean[~inside], variance[~inside], _ = self._at(self.scaled[others], others)
        variance[~inside] += self.noise[others]
        return self.units.gaussian(mean, np.sqrt(variance))

    def _within_core(self, place: Rows) -> tuple[Array, Array]:
        """Return mean and variance of measurements of the core, by their places in it, given all others of it.

        With A the covariance of core and neighbours they are y_i - a_i / d_i and 1 / d_i, a = A^-1 (y - mean), d = diag A^-1;
        the block of A^-1 that belongs to the core follows from its own inverse and the residual covariance of N.
        """
        own = self.core.inverse_cholesky.T[place]
        parts = [np.empty((2, 0))]
        for block in _blocks(len(place)):
            around = self._search.around(self.core.scaled[place[block]])
            cross, residual = self._solved(around, own[block], np.zeros(around.rows.shape))
            a = own[block] @ self.core.residuals + np.einsum("pk,pk->p", cross, residual)
            d = np.square(own[block]).sum(axis=1) + np.square(cross).sum(axis=1)
            parts.append(np.array([self._residual[self.core_rows[place[block]]] - a / d, 1.0 / d]))
        mean, variance = np.concatenate(parts, axis=1)
        return self.theta.mean + mean, variance

    def _at(self, scaled: Array, without: Rows | None = None) -> tuple[Array, Array, Rows]:
        """Return mean and variance of f at `p x D` scaled points, and the rows of their neighbours, nearest first.

        Args:
            scaled: Scaled features of the points.
            without: A row of the data for each point, p, that must not be among its neighbours.
        """
        count = min(self.count, len(self._search.rows))
        mean, variance, nearest = np.empty(len(scaled)), np.empty(len(scaled)), np.empty((len(scaled), count), np.intp)
        for block in _blocks(len(scaled)):
            seen = self.core.project(scaled[block])
            around = self._search.around(scaled[block], None if without is None else without[block])
            away = np.square(self.scaled[around.rows] - scaled[block, None, :]).sum(axis=-1)
            prior = self.theta.outputscale * self.kernel.correlation(away)
            cross, residual = self._solved(around, seen.projected, prior)
            mean[block] = seen.mean + np.einsum("pk,pk->p", cross, residual)
            variance[block] = seen.variance - np.square(cross).sum(axis=1)
            nearest[block] = around.rows
        return mean, np.maximum(variance, SMALLEST_VARIANCE * self.theta.outputscale), nearest

    def _solved(self, around: Neighbours, own: Array, prior: Array) -> tuple[Array, Array]:
        """Return the covariances of p points with their neighbours, and the neighbours' residuals, both solved, `p x k`.

        That is M^-1 W^1/2 (prior - V own) and M^-1 W^1/2 e, with W the weights of the neighbours, V their projections and M
        the Cholesky factor of W^1/2 r_NN W^1/2 + noise. The matrix is bordered by the two vectors, the second one in a small
        unit, so that the last two rows of one factor are all that is needed.

        Args:
            around: The neighbours.
            own: `p x g` vectors, such as the projections v of the points.
            prior: Covariances of the points with their neighbours before anything is known, `p x k`.
        """
        p, k = around.rows.shape
        # In the order of the rows: points with the same neighbours, which follow each other, share the covariances of these.
        order = np.argsort(around.rows, axis=1)
        rows = np.take_along_axis(around.rows, order, axis=1)
        weight, prior = (np.take_along_axis(array, order, axis=1) for array in (around.weight, prior))
        first = np.concatenate([[True], (np.diff(rows, axis=0) != 0).any(axis=1)])
        starts, which = np.flatnonzero(first), np.cumsum(first) - 1
        sets = rows[starts]
        seen = self._projections.of(sets)
        covariance = self._covariance(self.scaled[sets]) - seen @ np.swapaxes(seen, 1, 2)
        residual = self._residual[sets] - seen @ self.core.residuals
        scale, root, noise, each = self.theta.outputscale, np.sqrt(weight), self.noise[rows], np.arange(k)
        matrix = np.zeros((p, k + 2, k + 2))
        matrix[:, :k, :k] = covariance[which]
        matrix[:, :k, :k] *= root[:, :, None]
        matrix[:, :k, :k] *= root[:, None, :]
        matrix[:, each, each] += noise
        for one, members in enumerate(map(slice, starts, [*starts[1:], p])):
            matrix[members, k, :k] = root[members] * (prior[members] - own[members] @ seen[one].T)
        matrix[:, k + 1, :k] = root * residual[which]
        # The square of the solved residuals is at most that of the residuals over the least noise; that of the solved
        # covariances is at most the variance of f, or of the order of the inverse of the noise within the core.
        bound = np.square(matrix[:, k:, :k]).sum(axis=-1) / noise.min(axis=1, initial=np.inf)[:, None]
        unit = np.sqrt(0.5 * scale / (scale + bound))
        matrix[:, k:, :k] *= unit[:, :, None]
        matrix[:, [k, k + 1], [k, k + 1]] = 2.0 * scale
        solved = stable_cholesky(matrix)[:, k:, :k] / unit[:, :, None]
        return solved[:, 0], solved[:, 1]

    def _covariance(self, points: Array) -> Array:
        """Return the prior covariances, `u x k x k`, of u sets of k points, `u x k x D`."""
        # Around their middle, so that the distances of near ones keep their digits.
        centred = points - points[:, :1]
        square = np.square(centred).sum(axis=-1)
        away = square[:, :, None] + square[:, None, :] - 2.0 * (centred @ np.swapaxes(centred, 1, 2))
        return self.theta.outputscale * self.kernel.correlation(np.maximum(away, 0.0))

    def _correlation(self, scaled: Array, nearest: Rows, index: Rows, noise: float) -> Array:
        """Return the correlations of batches, `... x q x q`, given the core and neighbours that their points share."""
        q = index.shape[-1]
        batches = index.reshape(-1, q)
        found = np.empty((len(batches), q, q))
        for block in _blocks(len(batches), max(_BLOCK // max(q, 1), 1)):
            found[block] = self._shared(scaled[batches[block]], nearest[batches[block]], noise)
        return found.reshape(*index.shape, q)

    def _shared(self, scaled: Array, nearest: Rows, noise: float) -> Array:
        """Return the correlations, `b x q x q`, of b batches, `b x q x D`, with neighbours `b x q x k`."""
        b, q, features = scaled.shape
        rows, counts = shared_neighbours(nearest)
        j, scale = rows.shape[1], self.theta.outputscale
        own = self.core.projected(scaled.reshape(-1, features)).reshape(b, q, -1)
        seen = np.concatenate([self._projections.of(rows), own], axis=1)
        matrix = self._covariance(np.concatenate([self.scaled[rows], scaled], axis=1))
        matrix -= seen @ np.swapaxes(seen, 1, 2)
        prior = matrix[:, j:, j:].copy()
        matrix[:, :, :j] *= counts[:, None, :]
        matrix[:, :j, :] *= counts[:, :, None]
        each = np.arange(j + q)
        matrix[:, each, each] += np.concatenate([self.noise[rows], np.full((b, q), scale)], axis=1)
        solved = stable_cholesky(matrix)[:, j:, :j]
        covariance = prior - solved @ np.swapaxes(solved, 1, 2)
        variance = np.maximum(np.diagonal(covariance, axis1=1, axis2=2), SMALLEST_VARIANCE * scale)
        return correlation_matrix(covariance, np.sqrt(variance + noise))


def shared_neighbours(nearest: Rows) -> tuple[Rows, Array]:
    """Return neighbours that the points of a batch share, `b x j`, and which of them count (1) or are repetitions (0).

    Args:
        nearest: Neighbours of each of q points, nearest first, `b x q x k`.
    """
    b, q, k = nearest.shape
    same = bool((np.sort(nearest, axis=2) == np.sort(nearest[:, :1], axis=2)).all())
    each = k if same else min(max(k // q, _FEWEST_JOINT), k)
    # Of very many points every so many give theirs.
    givers = slice(0, 1) if same else slice(None, None, -(-q * each // _MOST_JOINT))
    rows = np.sort(nearest[:, givers, :each].reshape(b, -1), axis=1)
    first = np.ones((b, min(rows.shape[1], 1)), dtype=bool)
    return rows, np.concatenate([first, np.diff(rows, axis=1) > 0], axis=1).astype(np.float64)


def _room(rows: int, columns: int) -> Array:
    """Return an array, `rows x columns`, whose memory is taken as it is used.

    NumPy asks for huge pages of memory for large arrays, which a busy system takes longer to find than it takes to fill
    them; those of an anonymous map are small.
    """
    size = rows * columns
    return np.frombuffer(_own_memory(8 * max(size, 1)), count=size).reshape(rows, columns)


def _own_memory(size: int) -> mmap.mmap:
    """Return an anonymous map of some bytes that no process forked later shares."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _blocks(count: int, size: int = _BLOCK) -> list[slice]:
    """Return slices of at most ``size`` of a number of things."""
    return [slice(start, start + size) for start in range(0, count, size)]


@dataclass(frozen=True)
class NearestNeighbourGP(Surrogate):
    """A Gaussian process for thousands of data and more: given a core of them and those nearest to each point.

    Hyperparameters are fitted by maximum a posteriori to a subset of the data, the best ones and others at random; a smaller
    such subset is the core, which every prediction is conditioned on. It knows the course of the outcome over the whole
    space, the neighbours know what is particular to a place: neighbours alone (Vecchia 1988; Datta et al. 2016) had up to
    15 times the CRPS of all data, and intervals that were too narrow, where an outcome is smooth in many columns.
    The time of a prediction does not depend on the number of data, and predictions are those of `GaussianProcess` while all
    data are core or neighbours.

    With more than 8 features neighbours are far, so that the core is larger, and they are sought among 5,000 data, a quarter
    of them the best.

    Attributes:
        process: Kernel, priors and fit of the hyperparameters.
        neighbours: Number of neighbours, k; ``None`` for 48 up to 8 features and 32 with more.
        core: Number of data in the core, g; ``None`` for 250 up to 8 features and 500 with more.
    """

    process: GaussianProcess = field(default_factory=lambda: GaussianProcess(subset=300))
    neighbours: int | None = None
    core: int | None = None
    model_type: ClassVar = NeighbourPosterior

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("process", self.process, GaussianProcess, "GaussianProcess(subset=300)")
        if self.process.trend != "constant":
            raise RecipeError(
                f"NearestNeighbourGP takes a process with a constant trend, got {self.process.trend!r}: the nearest data say "
                "nothing of a trend; use GaussianProcess(trend=...) itself, up to some thousand data"
            )
        for name, value in (("neighbours", self.neighbours), ("core", self.core)):
            if value is not None:
                check_whole(name, value)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> NeighbourPosterior:
        """Fit the hyperparameters, and return the posterior; `rng` is not used."""
        # Nothing of the exact posterior is computed before it predicts.
        exact = self.process.fit(data, rng=rng)
        given = {f.name: getattr(exact, f.name) for f in fields(GaussianProcessModel)}
        neighbours, core = _FEW if len(exact.features.column) <= _FEATURES else _MANY
        rows = representative(data.X, exact.y, self.core or core)
        return NeighbourPosterior(**given, core_rows=rows, count=self.neighbours or neighbours)
