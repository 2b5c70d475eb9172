"""The distribution read back from stored marginals: one marginal per point, as saved beside the trials of a study.

Notation: q points, L stored levels with normal scores z_1 < ... < z_L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.data import STORED_LEVELS, Array, Marginal
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import pick

_SCORES = ndtri(np.asarray(STORED_LEVELS))
#: Normal score of a value outside a point mass, whose tail probability is 0 in float64.
_BEYOND = 40.0


def from_marginals(marginals: Sequence[Marginal]) -> Distribution:
    """Return the distribution of q stored marginals, one per point: the numbers of ``Marginal``, vectorized.

    Args:
        marginals: The q stored marginals.

    Returns:
        A ``Gaussian`` if all of them are Gaussian, else a ``StoredDistribution``.
    """
    mean = np.array([m.mean for m in marginals], dtype=np.float64)
    std = np.array([m.std for m in marginals], dtype=np.float64)
    gaussian = np.array([m.quantiles is None for m in marginals], dtype=np.bool_)
    backed = np.array([(0.0, 1.0) if m.backed is None else m.backed for m in marginals]).reshape(-1, 2)
    if gaussian.all() and np.all(backed == (0.0, 1.0)):
        return Gaussian(mean, std)
    # A Gaussian marginal has no stored quantiles; its own keep the array rectangular.
    with np.errstate(over="ignore"):
        own = mean[:, None] + std[:, None] * _SCORES
    for i, m in enumerate(marginals):
        if m.quantiles is not None:
            own[i] = m.quantiles
    return StoredDistribution(mean, std, own, gaussian, backed)


@dataclass(frozen=True, eq=False, repr=False)
class StoredDistribution(Distribution):
    """Distributions at q points whose normal scores are linear between stored quantiles, and beyond them with the last slope.

    Attributes:
        mean: Expected values, ``... x q``.
        std: Standard deviations, ``... x q``.
        quantiles: Values at ``STORED_LEVELS``, non-decreasing, ``... x q x L``.
        gaussian: Points whose distribution is Gaussian, ``... x q``; there only ``mean`` and ``std`` are used.
        backed_levels: Lowest and highest level supported by data at each point, ``... x q x 2``; quantiles beyond are
            infinite.
    """

    mean: Array = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    std: Array = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    quantiles: Array = field()
    gaussian: np.ndarray = field()
    backed_levels: Array = field()

    @cached_property
    def _knots(self) -> tuple[Array, Array, np.ndarray]:
        """Distinct quantiles and their normal scores, each ``... x q x L`` (padded), and how many there are, ``... x q``.

        Of equal quantiles the one with the highest level is kept, so that the cdf is right-continuous.
        """
        q = self.quantiles
        kept = np.concatenate([np.diff(q, axis=-1) > 0.0, np.ones((*q.shape[:-1], 1), dtype=bool)], axis=-1)
        order = np.argsort(~kept, axis=-1, kind="stable")
        values = np.where(np.sort(~kept, axis=-1), np.inf, np.take_along_axis(q, order, axis=-1))
        return values, _SCORES[order], kept.sum(axis=-1)

    def normal_scores(self, y: Array | float) -> Array:
        values, scores, count = self._knots
        y = np.asarray(y, dtype=np.float64)
        below = (values < y[..., None]).sum(axis=-1)
        i = np.clip(below - 1, 0, np.maximum(count - 2, 0))
        x0, x1 = pick(values, i), pick(values, i + 1)
        z0, z1 = pick(scores, i), pick(scores, i + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            between = z0 + (z1 - z0) * ((y - x0) / (x1 - x0))
            plain = (y - self.mean) / self.std
        at_mass = np.where(y == x0, z0, np.sign(y - x0) * _BEYOND)
        return np.where(self.gaussian, plain, np.where(count == 1, at_mass, between))

    def cdf(self, y: Array | float) -> Array:
        return ndtr(self.normal_scores(y))

    def probability_of_improvement(self, c: Array | float) -> Array:
        return ndtr(-self.normal_scores(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        return log_ndtr(-self.normal_scores(c))

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.at_levels(u), u, (self.backed_levels[..., 0], self.backed_levels[..., 1]))

    def at_levels(self, u: Array | float) -> Array:
        z = np.asarray(ndtri(u))
        scores, values = _SCORES, self.quantiles
        i = np.clip(np.searchsorted(scores, z) - 1, 0, scores.size - 2)
        v0, v1 = pick(values, i), pick(values, i + 1)
        between = v0 + (v1 - v0) * ((z - scores[i]) / (scores[i + 1] - scores[i]))
        return np.where(self.gaussian, self.mean + self.std * z, between)

    @property
    def backed(self) -> tuple[float, float]:
        low, high = self.backed_levels[..., 0], self.backed_levels[..., 1]
        return float(np.max(low, initial=0.0)), float(np.min(high, initial=1.0))

    def over_samples(self) -> StoredDistribution:
        mean, std, gaussian = (a[..., None, :] for a in (self.mean, self.std, self.gaussian))
        quantiles, backed = (a[..., None, :, :] for a in (self.quantiles, self.backed_levels))
        return StoredDistribution(mean, std, quantiles, gaussian, backed)

    def negated(self) -> StoredDistribution:
        flipped, backed = -self.quantiles[..., ::-1], 1.0 - self.backed_levels[..., ::-1]
        return StoredDistribution(-self.mean, self.std, flipped, self.gaussian, backed)

    def marginals(self) -> tuple[Marginal, ...]:
        tables = [None if plain else tuple(q.tolist()) for plain, q in zip(self.gaussian, self.quantiles, strict=True)]
        backed = [None if low_high == [0.0, 1.0] else tuple(low_high) for low_high in self.backed_levels.tolist()]
        return tuple(map(Marginal, self.mean.tolist(), self.std.tolist(), tables, backed))
