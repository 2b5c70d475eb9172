"""The distribution read back from stored marginals: one marginal per point, as saved beside the trials of a study.

Notation: q points, L stored levels with normal scores z_1 < ... < z_L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.arguments import checked
from calibo.data import BEYOND, STORED_LEVELS, Array, Marginal
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import pick

_SCORES = ndtri(np.asarray(STORED_LEVELS))


@checked
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
    def _rising(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First and last pair of quantiles that differ, and whether there is any, each ``... x q``."""
        rising = np.diff(self.quantiles, axis=-1) > 0.0
        last = rising.shape[-1] - 1 - rising[..., ::-1].argmax(axis=-1)
        return rising.argmax(axis=-1), last, self.quantiles[..., -1] > self.quantiles[..., 0]

    def normal_scores(self, y: Array | float) -> Array:
        # An atom is a stretch of equal quantiles: scores come from its left end and go on from its right end.
        values, last = self.quantiles, self.quantiles.shape[-1] - 1
        first_rise, last_rise, spread_out = self._rising
        y = np.asarray(y, dtype=np.float64)
        at = (values <= y[..., None]).sum(axis=-1) - 1
        segment = np.where(at < 0, first_rise, np.where(at < last, at, last_rise))
        anchor = np.maximum(at, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (y - pick(values, anchor)) / (pick(values, segment + 1) - pick(values, segment))
            between = _SCORES[anchor] + (_SCORES[segment + 1] - _SCORES[segment]) * share
            plain = (y - self.mean) / self.std
        at_mass = np.where(y == values[..., -1], _SCORES[-1], np.sign(y - values[..., -1]) * BEYOND)
        return np.where(self.gaussian, plain, np.where(spread_out, between, at_mass))

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
        anchor = np.maximum(np.searchsorted(scores, z, side="right") - 1, 0)
        i = np.minimum(anchor, scores.size - 2)
        rise = pick(values, i + 1) - pick(values, i)
        between = pick(values, anchor) + rise * ((z - scores[anchor]) / (scores[i + 1] - scores[i]))
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
