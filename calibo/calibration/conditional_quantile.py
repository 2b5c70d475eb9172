"""Recalibration that depends on how far a forecast reaches: mean and quantiles of past errors of forecasts like this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.calibration.nearness import Nearness
from calibo.calibration.reach import OutcomeScale, Reach, Similarity
from calibo.checks import check_between, check_instance
from calibo.data import Array
from calibo.distributions import Distribution, StretchedScores, Tempered, relevel

#: Central coverages whose intervals are learned; between them normal scores are interpolated.
_COVERAGES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
_KNOTS = ndtri(0.5 + 0.5 * _COVERAGES)
#: Coverage whose interval gives the scale of latent values.
_LATENT_COVERAGE = 0.8
#: Weight of the model's own distribution in that scale: with less it jumps from one past error to the next, and a search that
#: climbs on it takes longer.
_LATENT_PRIOR = 1.0
#: Sizes of normal scores at which their distribution is computed, in logarithms.
_LOG_SIZES = np.linspace(np.log(1e-5), np.log(100.0), 72)
_LOG_STEP = float(_LOG_SIZES[1] - _LOG_SIZES[0])
#: Normal scores beyond which a probability is 0 or 1 to rounding.
_BEYOND = 8.5
#: The model's own intervals are not taken wider than this many times.
_WIDEST = 6.0
#: Points whose weights are held at a time.
_BLOCK = 2048
#: A past error counts at most this much, in standard deviations, when the median is moved by the mean of them.
_LARGEST_SHIFT = 3.0
#: Of more past forecasts, so many stand for all others where each is compared with the others.
_OTHERS = 256
#: How many times as wide the kernel of less similar forecasts is, and how many similar ones they count as together.
_WIDER_KERNEL, _LESS_SIMILAR = 3.0, 1.0
#: Distance of the grid on which the scale of latent values is computed, and how far it reaches beyond the past forecasts, in
#: bandwidths.
_STEP, _MARGIN = 1.0, 4.0
#: Products of weights that are held at a time while the grid is computed.
_CELLS = 65536
#: A grid has at most this many steps in each feature.
_MOST_STEPS = 120


@dataclass(frozen=True)
class ConditionalQuantile(Recalibrator):
    """Mean and quantiles of past errors, weighted by how alike the forecasts were, and shrunk towards the model's own.

    With z_i the normal scores of past outcomes and w_i(x) the similarity of their forecasts to that at x, in relative spread,
    in where the median lies and in the distance from the data (`Similarity`), the median is moved by

      m(x) = sum_i w_i z_i / (steady + sum_i w_i)

    standard deviations of the model: once a search has converged, a model expects too much of places far away, and errors
    there have one sign. u_i = z_i - m_i is what was left of a past error, with m_i such a mean without the outcome of z_i
    itself. The size of the error at x that is left has the distribution function

      G(a) = (F(a) + prior H(a / s) + sum_i w_i Phi((log a - log |u_i|) / smoothing)) / (1 + prior + sum_i w_i),

    and the central interval of coverage p ends T(p) = G^-1(p) standard deviations from the median, for all p at once. So
    intervals are nested, with the median inside, and quantiles increase strictly. F is the same with a kernel three times
    as wide, and without F: where few forecasts are similar, less similar ones decide. H(a) = a / sqrt(2 + a^2) is the
    distribution function of |t|, Student's with 2 degrees of freedom: without like forecasts nobody knows how wrong the
    model is, and its intervals are shown wider than it says (80 % ones 1.5 times), and the wider by
    s = 1 + small_sample d / t for d columns and t forecasts (at most 6), since the hyperparameters of a model of few data
    are uncertain, too.

    A latent value stays where it is, scaled by the 80 % quantile of |z| with the model's own normal distribution in
    place of H, with weight 1, and whatever the distance from the data: errors of measurements do not tell the shape of the
    latent distribution, acquisition functions keep their closed forms, and a search is not drawn to where nothing is known.

    Best with `StoredAndLeaveOneOut` evidence: stored forecasts are honest for the points that the search chooses,
    leave-one-out predictions for what lies between the data.

    Attributes:
        similarity: The kernel between forecasts.
        prior: Weight of the model's own distribution, in forecasts.
        smoothing: Width by which the logarithm of a past error is smoothed.
        small_sample: How much wider the model's own intervals are taken for few data.
        largest: Limit of the size of a past error, in standard deviations.
        steady: Weight of the model's own median, in forecasts; infinite if it is not to be moved.
    """

    similarity: Similarity = field(default_factory=Similarity)
    prior: float = 0.2
    smoothing: float = 0.2
    small_sample: float = 4.0
    largest: float = 8.0
    steady: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("similarity", self.similarity, Similarity, "Similarity(spread=0.35)")
        for name, value in (("prior", self.prior), ("smoothing", self.smoothing), ("largest", self.largest)):
            check_between(name, value, 0.0, np.inf)
        check_between("small_sample", self.small_sample, 0.0, np.inf, including="low")
        check_between("steady", self.steady, 0.0, np.inf, including="high")

    @property
    def kernel(self) -> Similarity:
        return self.similarity

    @property
    def learns_from_similar(self) -> bool:
        return True

    def fit(self, evidence: Evidence) -> LevelMap:
        scale = OutcomeScale(evidence.y)
        size = self._size(evidence.scores)
        wider = min(1.0 + self.small_sample * evidence.X.shape[1] / len(evidence), _WIDEST)
        weights = np.ones(len(evidence)) if evidence.weights is None else evidence.weights
        # In increasing order of the errors, for quantiles of them.
        order = np.argsort(size, kind="stable")
        past = scale.reach(evidence.distribution, evidence.log_distance)[order]
        error, weights = np.clip(evidence.scores[order], -_LARGEST_SHIFT, _LARGEST_SHIFT), weights[order]
        left = evidence.scores[order] - self._shifts(past, error, weights, evidence.outcomes[order])
        return ConditionalMap(
            self.similarity,
            scale,
            past,
            size[order],
            weights,
            error,
            self._size(left),
            self.smoothing,
            self.prior,
            self.steady,
            wider,
            evidence.nearness,
        )

    def _size(self, error: Array) -> Array:
        return np.clip(np.abs(error), np.exp(_LOG_SIZES[0]), self.largest)

    def _shifts(self, past: Reach, error: Array, weights: Array, outcome: np.ndarray) -> Array:
        """Return by how much the median of each past forecast is moved by the others, t: not by those of its own outcome."""
        if np.isinf(self.steady):
            return np.zeros(len(error))
        others = np.unique(np.linspace(0, len(error) - 1, _OTHERS).round().astype(np.intp))
        counted = weights[others] * (outcome[:, None] != outcome[others]) * self.similarity.weights(past, past[others])
        return mean_error(counted, error[others], self.steady)


@dataclass(frozen=True, eq=False)
class ConditionalMap:
    """The level map of `ConditionalQuantile`.

    Attributes:
        similarity: The kernel between forecasts.
        scale: The outcomes that forecasts are compared with.
        past: Reach of the t past forecasts, in increasing order of their errors.
        size: Sizes of their errors in standard deviations, t.
        weights: How much each of them counts, t.
        error: Their errors in standard deviations, within limits, t.
        left: Sizes of the errors that are left when the median is moved, t.
        smoothing: Width by which the logarithm of a size is smoothed.
        prior: Weight of the model's own distribution.
        steady: Weight of the model's own median.
        wider: Factor on the standard deviation of the model's own distribution.
        nearness: The data, by which points are near or far, if it is told.
    """

    similarity: Similarity
    scale: OutcomeScale
    past: Reach
    size: Array
    weights: Array
    error: Array
    left: Array
    smoothing: float
    prior: float
    steady: float
    wider: float
    nearness: Nearness | None = None

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        if distribution.measurement is not distribution:
            return relevel(distribution, Tempered(self._factors(self.scale.reach(distribution))))
        reach = self.scale.reach(distribution, None if self.nearness is None else self.nearness(X))
        return relevel(distribution, self.stretched(reach))

    def stretched(self, reach: Reach) -> StretchedScores:
        """Return how the normal scores of measurements are moved and stretched, given how far these reach, `... x q`."""
        shape, below = reach.log_spread.shape, self._below(self.left)
        shifts, sizes = list[Array](), list[Array]()
        for block in _blocks(reach.flat()):
            weights = self._weights(block)
            shifts.append(mean_error(weights, self.error, self.steady))
            sizes.append(self._sizes(block, weights, below))
        values = np.concatenate(sizes).reshape(*shape, len(_COVERAGES))
        return StretchedScores(_KNOTS, values, np.concatenate(shifts).reshape(shape))

    def _sizes(self, reach: Reach, weights: Array, below: Array) -> Array:
        """Return T at the coverages, `m x K`, of m forecasts, given weights of t past errors, and what is below these."""
        size = np.exp(_LOG_SIZES)
        unknown = _Counted(np.full((1, 1), self.prior), self._students(size))
        less = self._weights(reach, self.similarity.wider(_WIDER_KERNEL))
        backed = unknown + _Counted(np.full((1, 1), _LESS_SIMILAR), (unknown + _Counted.of(less, below)).mean)
        return inverted((backed + _Counted.of(weights, below)).mean, _COVERAGES)

    def _weights(self, reach: Reach, similarity: Similarity | None = None) -> Array:
        return self.weights * (similarity or self.similarity).weights(reach, self.past)

    def _below(self, size: Array) -> Array:
        """Return smoothed distribution functions of t errors, `t x A`: computed where they are neither 0 nor 1."""
        place = np.log(size)[:, None]
        first = np.searchsorted(_LOG_SIZES, place - _BEYOND * self.smoothing)
        some = first + np.arange(int(2.0 * _BEYOND * self.smoothing / _LOG_STEP) + 2)
        columns = np.arange(len(_LOG_SIZES))
        below = (columns >= first).astype(np.float64)
        inside = np.minimum(some, len(_LOG_SIZES) - 1)
        np.put_along_axis(below, inside, ndtr((_LOG_SIZES[inside] - place) / self.smoothing), axis=1)
        return below

    def _students(self, size: Array) -> Array:
        """Return H, the probability of an error of at most some size where nothing is known, in its shape."""
        away = size / self.wider
        return away / np.sqrt(2.0 + np.square(away))

    def _normal(self, size: Array) -> Array:
        """Return the model's own probability of an error of at most some size, in its shape."""
        return 2.0 * ndtr(size / self.wider) - 1.0

    def _factors(self, reach: Reach) -> Array:
        """Return the factors on latent standard deviations, `... x q`: from a grid, since searches ask at many points."""
        if self._table is None:
            return self.latent_factors(reach)
        spreads, ranks, table = self._table
        row, by_row = _spline(reach.log_spread, spreads)
        column, by_column = _spline(reach.rank, ranks)
        width = table.shape[1]
        around = (width * np.arange(3)[:, None] + np.arange(3)).ravel()
        values = table.take((width * row + column)[..., None] + around)
        by_node = (by_row[..., :, None] * by_column[..., None, :]).reshape(values.shape)
        return np.exp(np.einsum("...i,...i->...", values, by_node))

    def latent_factors(self, reach: Reach) -> Array:
        """Return the factors on latent standard deviations, `... x q`, without the grid."""
        own = _Counted(np.full((1, 1), _LATENT_PRIOR), self._normal(np.exp(_LOG_SIZES)))
        level, below = np.array([_LATENT_COVERAGE]), self._below(self.size)
        found = [own + _Counted.of(self._weights(block), below) for block in _blocks(reach.flat())]
        sizes = [inverted(part.mean, level) for part in found]
        return np.concatenate(sizes).reshape(reach.log_spread.shape) / ndtri(0.5 + 0.5 * _LATENT_COVERAGE)

    @cached_property
    def _table(self) -> tuple[Array, Array, Array] | None:
        """Grids of the two features, and the logarithm of the factor at their nodes; `None` if they would be too large.

        The factor is that of the quantile of the past errors without smoothing, which costs a fraction of the time. The
        first and last nodes of each feature are repeated, so that every node has two beside it.
        """
        spreads = _grid(self.past.log_spread, self.similarity.spread)
        ranks = _grid(self.past.rank, self.similarity.rank)
        if max(len(spreads), len(ranks)) > _MOST_STEPS:
            return None
        by_spread = _kernel(spreads, self.past.log_spread, self.similarity.spread) * self.weights
        by_rank = _kernel(ranks, self.past.rank, self.similarity.rank)
        # Some spreads at a time: memory of large arrays costs more than their arithmetic.
        rows = max(_CELLS // max(by_rank.size, 1), 1)
        parts = [self._log_factors(by_spread[i : i + rows], by_rank) for i in range(0, len(spreads), rows)]
        return spreads, ranks, np.pad(np.concatenate(parts), 1, mode="edge")

    def _log_factors(self, by_spread: Array, by_rank: Array) -> Array:
        """Return the logarithms of factors at the nodes, `g x h`, given weights of past errors in each feature, `. x t`."""
        # Mass up to each error, the model's own included, of which the quantile is the first that reaches the aim.
        past = np.zeros((len(by_spread), len(by_rank), len(self.size) + 1))
        np.cumsum(by_spread[:, None, :] * by_rank, axis=-1, out=past[..., 1:])
        aim = _LATENT_COVERAGE * (_LATENT_PRIOR + past[..., -1])
        size = np.concatenate([[0.0], self.size, [np.inf]])
        mass = past + _LATENT_PRIOR * self._normal(size[:-1])
        reached = (mass < aim[..., None]).sum(axis=-1)
        # Between two errors only the model's own mass grows: the quantile may lie there.
        before = np.take_along_axis(mass, reached[..., None] - 1, axis=-1)[..., 0]
        level = self._normal(size[reached - 1]) + (aim - before) / _LATENT_PRIOR
        between = self.wider * ndtri(0.5 + 0.5 * np.minimum(level, 1.0))
        factors = np.minimum(between, size[reached]) / ndtri(0.5 + 0.5 * _LATENT_COVERAGE)
        return np.log(factors)


def mean_error(weights: Array, error: Array, steady: float) -> Array:
    """Return the mean of t past errors for each of m forecasts, m, given their weights, `m x t`; shrunk towards 0."""
    return np.zeros(len(weights)) if np.isinf(steady) else (weights @ error) / (steady + weights.sum(axis=-1))


def _blocks(flat: Reach) -> Iterator[Reach]:
    """Return the reach of some forecasts at a time; one block if there are none."""
    return (flat[i : i + _BLOCK] for i in range(0, max(len(flat.rank), 1), _BLOCK))


@dataclass(frozen=True, eq=False)
class _Counted:
    """Distribution functions of the sizes of errors of m forecasts, and how much they count.

    Attributes:
        count: `m x 1`, or `1 x 1` for all forecasts alike.
        mean: Probabilities of the sizes, `m x A` or `A`.
    """

    count: Array
    mean: Array

    @classmethod
    def of(cls, weights: Array, below: Array) -> _Counted:
        """Return that of t past errors with weights, `m x t`, given their smoothed distribution functions, `t x A`."""
        count = weights.sum(axis=-1, keepdims=True)
        return cls(count, (weights @ below) / np.maximum(count, np.finfo(np.float64).tiny))

    def __add__(self, other: _Counted) -> _Counted:
        count = self.count + other.count
        return _Counted(count, (self.count * self.mean + other.count * other.mean) / count)


def inverted(cdf: Array, levels: Array) -> Array:
    """Return quantiles at K levels, `m x K`, of m increasing distribution functions given at the sizes, `m x A`.

    Between the sizes, and beyond them, their logarithms are interpolated linearly.
    """
    last = len(_LOG_SIZES) - 2
    index = np.clip((cdf[:, None, :] <= levels[:, None]).sum(axis=-1) - 1, 0, last)
    low, high = np.take_along_axis(cdf, index, axis=1), np.take_along_axis(cdf, index + 1, axis=1)
    share = (levels - low) / np.maximum(high - low, np.finfo(np.float64).tiny)
    size = np.maximum.accumulate(np.exp(_LOG_SIZES[index] + _LOG_STEP * np.clip(share, -8.0, 8.0)), axis=1)
    # Rounding must not make two levels equal.
    return np.asarray(size * (1.0 + 1e-9 * np.arange(1, len(levels) + 1)), dtype=np.float64)


def _kernel(at: Array, past: Array, bandwidth: float) -> Array:
    """Return the weights of t values at g nodes, `g x t`."""
    return np.exp(-0.5 * np.square((at[:, None] - past) / bandwidth))


def _grid(values: Array, bandwidth: float) -> Array:
    """Return nodes that cover the values and some bandwidths around them, where the weights have faded."""
    low, high = values.min() - _MARGIN * bandwidth, values.max() + _MARGIN * bandwidth
    return np.linspace(low, high, int(np.ceil((high - low) / (_STEP * bandwidth))) + 1)


def _spline(values: Array, nodes: Array) -> tuple[np.ndarray, Array]:
    """Return the node of an even grid nearest to each value, and weights of it and those beside it, `... x 3`.

    Values outside are taken to be at the ends.

    The weights are those of a quadratic spline, whose slope is continuous: where it jumps, as between straight pieces, a
    search that climbs by slopes does not settle, and took three times as many steps on Hartmann-6.
    """
    place = np.minimum(np.maximum((values - nodes[0]) / (nodes[1] - nodes[0]), 0.0), len(nodes) - 1.0)
    middle = np.rint(place)
    away = place - middle
    weights = np.empty((*place.shape, 3))
    weights[..., 0], weights[..., 1], weights[..., 2] = (
        0.5 * np.square(0.5 - away),
        0.75 - np.square(away),
        0.5 * np.square(0.5 + away),
    )
    return middle.astype(np.intp), weights
