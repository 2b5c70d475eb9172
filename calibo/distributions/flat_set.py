"""The flat-set distribution: flat on a set, the model's own distribution outside it (what CBO and LOCBO believe)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.data import Array
from calibo.distributions.base import Distribution
from calibo.distributions.flat_improvement import log_improvement
from calibo.distributions.flat_parts import FlatPart, TailPart
from calibo.distributions.flat_quantile import latent_quantile, measured_quantile
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.normal import density, log_density
from calibo.errors import RecipeError

_EPS = np.finfo(np.float64).eps
#: With less than this outside the set, all of the mass goes to the flat part.
_LEAST_OUTSIDE = 1e-12
#: Over intervals this short (in std of f given a measurement) a density is even, and differences of probabilities lose digits.
_NARROW = 1e-5
#: Draws that count for nothing keep a finite logarithm.
_LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class FlatSet(Distribution):
    """A measurement Y is uniform on a set with probability ``inside``, else the model's distribution outside the set; V follows Y.

    V is the measurement, or the latent value f behind it: f given Y = y is N(mean + a (y - mean), s^2) with the gain
    a = std^2 / v, s^2 = std^2 noise_std^2 / v and v = std^2 + noise_std^2, so no draws and no grid of outcomes are needed
    (Stanton et al. 2023, Definition B.1; Kim et al. 2025, Lemma 3 corrected). All is exact but for thresholds beyond 4 std,
    where differences of probabilities give way to quadrature.

    Where the set is empty the distribution is the model's own; where nothing is left outside it, the flat part has all the mass.

    For joint draws the model's are weighted: at each point by the ratio of this distribution's density to the model's.

    Attributes:
        base: The model's distribution of V at q points, ... x q; its ``noise_std`` is 0 if V is a measurement.
        low: Lower ends of the set's intervals, in measurements, ... x q x J, increasing.
        high: Upper ends; an empty interval has equal ends. Intervals are disjoint.
        inside: Probability of the set, a number or ... x q.
        above: Whether only measurements above the model's mean are thought possible (conformal UCB's optimism).
    """

    base: Gaussian
    low: Array
    high: Array
    inside: Array | float
    above: bool = False

    @classmethod
    def central(cls, base: Gaussian, threshold: Array, alpha: float) -> FlatSet:
        """Flat between the model's quantiles at levels threshold / 2 and 1 - threshold / 2, ... x q, of mass 1 - alpha."""
        std = np.hypot(base.std, base.noise_std)
        # A set of no length has no flat density; its limit is that of all mass at the mean.
        half = _EPS * (1.0 + np.abs(base.mean) / std) - ndtri(0.5 * np.minimum(threshold, 1.0))
        width = half * std
        distribution = cls(base, (base.mean - width)[..., None], (base.mean + width)[..., None], 1.0 - alpha)
        # Known already, and exact: what else would be found by subtracting the mean again.
        vars(distribution).update(_std=std, _ends=(-half[..., None], half[..., None]))
        return distribution

    @cached_property
    def _std(self) -> Array:
        """sqrt(v): standard deviation of a measurement under the model, ... x q."""
        return np.hypot(self.base.std, self.base.noise_std)

    @property
    def _noisy(self) -> bool:
        """Whether V is not the measurement, at every point."""
        noise = self.base.noise_std
        return noise > 0.0 if isinstance(noise, float) else bool(np.all(noise))

    def _standard(self, y: Array | float) -> Array:
        return np.asarray((y - self.base.mean) / self._std)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        low, high = ((end - self.base.mean[..., None]) / self._std[..., None] for end in (self.low, self.high))
        return (np.maximum(low, 0.0), np.maximum(high, 0.0)) if self.above else (low, high)

    @cached_property
    def _rho(self) -> tuple[Array, Array]:
        return self.base.std / self._std, self.base.noise_std / self._std

    @cached_property
    def flat(self) -> FlatPart:
        """The part on the set, standardised."""
        return FlatPart(*self._ends, *self._rho)

    @cached_property
    def tail(self) -> TailPart:
        """The part outside the set, standardised."""
        low, high = self._ends
        edge = np.zeros((*low.shape[:-1], 1))
        start = np.concatenate([edge if self.above else edge - np.inf, high], axis=-1)
        end = np.concatenate([low, edge + np.inf], axis=-1)
        return TailPart(start, end, *self._rho)

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        """The flat part's probability, and that of the tail over the model's mass there, each ... x q."""
        outside = self.tail.mass
        inside = np.where(self.flat.length > 0.0, self.inside, 0.0)
        inside = np.where(outside < _LEAST_OUTSIDE, 1.0, inside)
        return inside, (1.0 - inside) / np.maximum(outside, _LEAST_OUTSIDE)

    @cached_property
    def _log_masses(self) -> tuple[Array, Array]:
        """Their logarithms, each ... x q."""
        inside, outside = self._masses
        with np.errstate(divide="ignore"):
            return np.log(inside), np.log(outside)

    def _mixed(self, flat: Array, tail: Array) -> Array:
        """log of the mixture of two quantities given by their logarithms."""
        log_inside, log_outside = self._log_masses
        return np.logaddexp(log_inside + flat, log_outside + tail)

    def log_expected_improvement(self, c: Array | float) -> Array:
        """log E (V - c)_+, ... x q, stable however far out c lies: in one pass where that is exact, else by the parts."""
        t = self._standard(c)
        if self.above or not self._noisy:
            return np.log(self._std) + self._log_gain(t)
        value, safe = log_improvement(*self._as_list(t))
        value, safe = value.reshape(t.shape), safe.reshape(t.shape)
        if np.count_nonzero(safe) < safe.size:
            rest = ~safe
            value[rest] = self._rows(rest)._log_gain(t[rest])
        return value + np.log(self._std)

    def _as_list(self, t: Array) -> tuple[Array, Array, Array, Array, Array, Array | float]:
        """Standardised thresholds and what belongs to them as one list of m points: t, low, high, rho, r, inside."""
        points, ends, shape = (t, *self._rho, self.inside), self._ends, t.shape
        if len(shape) == 1 and shape == self._std.shape:
            return points[0], *ends, *points[1:]
        t, rho, r, inside = (np.broadcast_to(a, shape).ravel() for a in points)
        low, high = (np.broadcast_to(e, (*shape, e.shape[-1])).reshape(-1, e.shape[-1]) for e in ends)
        return t, low, high, rho, r, inside

    def _log_gain(self, t: Array) -> Array:
        """log E (V - t)_+ in units of the measurement's standard deviation, ... x q."""
        return self._mixed(self.flat.log_gain(t), self.tail.log_gain(t))

    def _rows(self, rows: np.ndarray) -> FlatSet:
        """The distributions where ``rows``, ... x q, holds, as one list of points (marginally)."""
        shape = rows.shape
        base = self.base
        mean, std, noise, inside = (
            np.broadcast_to(a, shape)[rows] for a in (base.mean, base.std, base.noise_std, self.inside)
        )
        low, high = (np.broadcast_to(a, (*shape, a.shape[-1]))[rows] for a in (self.low, self.high))
        return FlatSet(Gaussian(mean, std, noise_std=noise), low, high, inside, self.above)

    def expected_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_expected_improvement(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        t = self._standard(c)
        return np.minimum(self._mixed(self.flat.log_chance(t), self.tail.log_chance(t)), 0.0)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def cdf(self, y: Array | float) -> Array:
        return -np.expm1(self.log_probability_of_improvement(y))

    def logpdf(self, y: Array | float) -> Array:
        """Log density at ``y``, ... x q."""
        return self._log_ratio(y) + self.base.logpdf(y)

    def pdf(self, y: Array | float) -> Array:
        """Density at ``y``, ... x q."""
        return np.exp(self.logpdf(y))

    def _log_ratio(self, y: Array | float) -> Array:
        """log of this distribution's density over the model's, ... x q."""
        t, rho = self._standard(y), self._rho[0]
        model = log_density(t / rho) - np.log(rho)
        with np.errstate(divide="ignore"):
            return self._mixed(self.flat.log_density(t) - model, np.log(self.tail.share(t)))

    def icdf(self, u: Array | float) -> Array:
        """Quantile at level ``u``, ... x q: of a measurement piece by piece, of f by Newton's method within a bracket."""
        u = np.asarray(u, dtype=np.float64)
        if np.any(self.base.noise_std):
            return self.base.mean + self._std * latent_quantile(u, self.flat, self.tail, *self._log_masses)
        return self.base.mean + self._std * measured_quantile(u, self.flat, self.tail, *self._masses)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance of the standardised V, each ... x q, through those of Y."""
        inside, outside = self._masses
        first, second = (inside * f + outside * t for f, t in zip(self.flat.moments, self.tail.moments, strict=True))
        rho, r = self._rho
        return np.square(rho) * first, rho**4 * (second - np.square(first)) + np.square(rho * r)

    @property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.mean + self._std * self._moments[0]

    @property
    def std(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._std * np.sqrt(self._moments[1])

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    def samples(self, base: Array) -> tuple[Array, Array]:
        f = self.base.draws(base)
        over = self.over_samples()
        return f, over._log_weights(f) if self._noisy else over._log_ratio(f)

    def _log_weights(self, f: Array) -> Array:
        """``_log_ratio`` at draws of the model, which are never so far out that logarithms are needed on the way."""
        rho, r = (a[..., None] for a in self._rho)
        low, high = self._ends
        V = self._standard(f)[..., None]
        x = V / rho
        on_set = ndtr((rho * high - x) / r) - ndtr((rho * low - x) / r)
        width = rho * (high - low) / r
        narrow = width < _NARROW
        if narrow.any():
            on_set = np.where(narrow, width * density((0.5 * rho * (low + high) - x) / r), on_set)
        within = ndtr((high - V) / r) - ndtr((low - V) / r)
        whole = ndtr(V / r)[..., 0] if self.above else 1.0
        inside, outside = self._masses
        length = np.where(self.flat.length > 0.0, self.flat.length, 1.0)
        flat = inside * on_set.sum(axis=-1) / (length * self._rho[0] * density(x[..., 0]))
        return np.log(np.maximum(flat + outside * (whole - within.sum(axis=-1)), _LEAST_WEIGHT))

    def over_samples(self) -> FlatSet:
        inside = self.inside if np.ndim(self.inside) == 0 else np.asarray(self.inside)[..., None, :]
        return FlatSet(
            self.base.over_samples(), self.low[..., None, :, :], self.high[..., None, :, :], inside, self.above
        )

    def negated(self) -> Distribution:
        if self.above:
            raise RecipeError(
                "an optimistic distribution has no mirror image: negate the distribution before it becomes optimistic"
            )
        return replace(self, base=self.base.negated(), low=-self.high[..., ::-1], high=-self.low[..., ::-1])

    def optimistic(self) -> FlatSet:
        """The distribution given a measurement above the model's mean, both parts renormalised together (METHODS: CUCB)."""
        return replace(self, above=True)
