"""The flat-set distribution: uniform on a set, the model's own distribution outside it (CBO and LOCBO).

In units of the measurement's standard deviation around its mean a measurement is Y, standard normal to the model, and the
modelled value is V = rho^2 Y + rho r E with E standard normal: rho^2 is the gain of a measurement, r^2 = 1 - rho^2 the
share of noise in its variance. V is the latent value f (its standard deviation is rho), or for rho = 1 the measurement.

Notation: intervals [l_j, u_j], ``... x q x J``, sorted and disjoint, empty ones with l_j = u_j; t a threshold of V,
``... x q``; h = t / rho. The complement of the set consists of J + 1 pieces (p_k, q_k), some of them empty.

The file goes from the distribution (``FlatSet``) to its two parts, which are exact everywhere (``FlatPart``, ``TailPart``),
the expected improvement in one pass, the quantiles, and the numerical tools they use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, owens_t, roots_genlaguerre

from calibo.data import Array
from calibo.distributions.base import Distribution
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.normal import (
    density,
    log_density,
    log_first_integral,
    log_mean_cdf,
    log_mean_first_integral,
    upper_orthant,
)
from calibo.errors import RecipeError

_SQRT_2PI = np.sqrt(2.0 * np.pi)
_EPS = np.finfo(np.float64).eps
_TINY = np.finfo(np.float64).tiny
#: Y lies above a set for certain, to all digits, where V > t means that it does so by this many std of Y given V.
_CERTAIN = 9.0
#: With less than this outside the set, differences of probabilities lose digits and integrals over outcomes do not.
_LITTLE_MASS = 1e-6


# --- the distribution -------------------------------------------------------------------------------------------------

#: With less than this outside the set, all of the mass goes to the flat part.
_LEAST_OUTSIDE = 1e-12
#: Over intervals this short (in std of f given a measurement) a density is constant, and differences lose digits.
_NARROW = 1e-5
#: Samples of weight 0 keep a finite logarithm.
_LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class FlatSet(Distribution):
    """Distribution of a measurement Y that is uniform on a set with probability ``inside`` and else the model's outside it.

    The value V is the measurement, or the latent value f behind it: f given Y = y is N(mean + a (y - mean), s^2) with the
    gain a = std^2 / v, s^2 = std^2 noise_std^2 / v and v = std^2 + noise_std^2, so no samples and no grid of outcomes are
    needed (Stanton et al. 2023, Definition B.1; Kim et al. 2025, Lemma 3 corrected). All is exact but for thresholds beyond
    4 std, where differences of probabilities give way to quadrature.

    Where the set is empty the distribution is the model's own; where nothing is left outside it, the flat part has all the
    mass. Joint samples are the model's, weighted at each point by the ratio of this distribution's density to the model's.

    Attributes:
        base: The model's distribution of V at q points, ``... x q``; its ``noise_std`` is 0 if V is a measurement.
        low: Lower ends of the set's intervals, in measurements, ``... x q x J``, increasing.
        high: Upper ends; an empty interval has equal ends. Intervals are disjoint.
        inside: Probability of the set, a number or ``... x q``.
        above: Whether only measurements above the model's mean are possible (the optimism of conformal UCB).
    """

    base: Gaussian
    low: Array
    high: Array
    inside: Array | float
    above: bool = False

    @classmethod
    def central(cls, base: Gaussian, threshold: Array, alpha: float) -> FlatSet:
        """Return the distribution that is flat on the model's central interval.

        Args:
            base: The model's distribution.
            threshold: The interval lies between the quantiles at levels threshold / 2 and 1 - threshold / 2, ``... x q``.
            alpha: Mass outside the interval.
        """
        std = base.measurement.std
        # A set of no length has no flat density; its limit is that of all mass at the mean.
        half = _EPS * (1.0 + np.abs(base.mean) / std) - ndtri(0.5 * np.minimum(threshold, 1.0))
        width = half * std
        distribution = cls(base, (base.mean - width)[..., None], (base.mean + width)[..., None], 1.0 - alpha)
        # Known already, and exact; else they would be found by subtracting the mean again.
        vars(distribution).update(_std=std, _ends=(-half[..., None], half[..., None]))
        return distribution

    @property
    def measurement(self) -> FlatSet:
        if not np.any(self.base.noise_std):
            return self
        distribution = replace(self, base=self.base.measurement)
        vars(distribution).update(_std=self._std, _ends=self._ends)
        return distribution

    @cached_property
    def _std(self) -> Array:
        """sqrt(v): standard deviation of a measurement under the model, ``... x q``."""
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
        # By halves: the difference of two large outcomes need not be a float.
        half_mean, half_std = 0.5 * self.base.mean[..., None], 0.5 * self._std[..., None]
        low, high = ((0.5 * end - half_mean) / half_std for end in (self.low, self.high))
        return (np.maximum(low, 0.0), np.maximum(high, 0.0)) if self.above else (low, high)

    @cached_property
    def _rho(self) -> tuple[Array, Array]:
        return self.base.std / self._std, self.base.noise_std / self._std

    @cached_property
    def flat(self) -> FlatPart:
        """The part on the set, standardized."""
        return FlatPart(*self._ends, *self._rho)

    @cached_property
    def tail(self) -> TailPart:
        """The part outside the set, standardized."""
        low, high = self._ends
        edge = np.zeros((*low.shape[:-1], 1))
        start = np.concatenate([edge if self.above else edge - np.inf, high], axis=-1)
        end = np.concatenate([low, edge + np.inf], axis=-1)
        return TailPart(start, end, *self._rho)

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        """Probability of the flat part, and that of the tail over the model's mass there, each ``... x q``."""
        outside = self.tail.mass
        inside = np.where(self.flat.length > 0.0, self.inside, 0.0)
        inside = np.where(outside < _LEAST_OUTSIDE, 1.0, inside)
        return inside, (1.0 - inside) / np.maximum(outside, _LEAST_OUTSIDE)

    @cached_property
    def _log_masses(self) -> tuple[Array, Array]:
        """Logarithms of ``_masses``."""
        inside, outside = self._masses
        with np.errstate(divide="ignore"):
            return np.log(inside), np.log(outside)

    def _mixed(self, flat: Array, tail: Array) -> Array:
        """Return the log of the mixture of two quantities given by their logarithms."""
        log_inside, log_outside = self._log_masses
        return np.logaddexp(log_inside + flat, log_outside + tail)

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (V - c)_+, ``... x q``, stable far out: in one pass where that is exact, else by parts."""
        t = self._standard(c)
        if self.above or not self._noisy:
            return np.log(self._std) + self._log_gain(t)
        value, safe = _log_improvement(*self._as_list(t))
        value, safe = value.reshape(t.shape), safe.reshape(t.shape)
        if np.count_nonzero(safe) < safe.size:
            rest = ~safe
            value[rest] = self._rows(rest)._log_gain(t[rest])
        return value + np.log(self._std)

    def _as_list(self, t: Array) -> tuple[Array, Array, Array, Array, Array, Array | float]:
        """Return t, low, high, rho, r and inside of standardized thresholds as one list of m points."""
        points, ends, shape = (t, *self._rho, self.inside), self._ends, t.shape
        if len(shape) == 1 and shape == self._std.shape:
            return points[0], *ends, *points[1:]
        t, rho, r, inside = (np.broadcast_to(a, shape).ravel() for a in points)
        low, high = (np.broadcast_to(e, (*shape, e.shape[-1])).reshape(-1, e.shape[-1]) for e in ends)
        return t, low, high, rho, r, inside

    def _log_gain(self, t: Array) -> Array:
        """Return log E (V - t)_+ in units of the measurement's standard deviation, ``... x q``."""
        return self._mixed(self.flat.log_gain(t), self.tail.log_gain(t))

    def _rows(self, rows: np.ndarray) -> FlatSet:
        """Return the marginal distributions where ``rows``, ``... x q``, holds, as one list of points."""
        of_points = self.base.mean, self.base.std, self.base.noise_std, self.inside
        mean, std, noise, inside = (np.broadcast_to(a, rows.shape)[rows] for a in of_points)
        low, high = (np.broadcast_to(a, (*rows.shape, a.shape[-1]))[rows] for a in (self.low, self.high))
        return FlatSet(Gaussian(mean, std, noise_std=noise), low, high, inside, self.above)

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        t = self._standard(c)
        return np.minimum(self._mixed(self.flat.log_chance(t), self.tail.log_chance(t)), 0.0)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def cdf(self, y: Array | float) -> Array:
        return -np.expm1(self.log_probability_of_improvement(y))

    def logpdf(self, y: Array | float) -> Array:
        """Return the log density at ``y``, ``... x q``."""
        return self._log_ratio(y) + self.base.logpdf(y)

    def pdf(self, y: Array | float) -> Array:
        """Return the density at ``y``, ``... x q``."""
        return np.exp(self.logpdf(y))

    def _log_ratio(self, y: Array | float) -> Array:
        """Return the log of this distribution's density over the model's, ``... x q``."""
        t, rho = self._standard(y), self._rho[0]
        model = log_density(t / rho) - np.log(rho)
        with np.errstate(divide="ignore"):
            return self._mixed(self.flat.log_density(t) - model, np.log(self.tail.share(t)))

    @property
    def quantiles_are_quick(self) -> bool:
        return not np.any(self.base.noise_std)

    def icdf(self, u: Array | float) -> Array:
        """Return quantiles at level ``u``: of a measurement piece by piece, of f by Newton's method within a bracket."""
        u = np.asarray(u, dtype=np.float64)
        if np.any(self.base.noise_std):
            return self.base.mean + self._std * _latent_quantile(u, self.flat, self.tail, *self._log_masses)
        return self.base.mean + self._std * _measured_quantile(u, self.flat, self.tail, *self._masses)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance of the standardized V, each ``... x q``, through those of Y."""
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
        """Return ``_log_ratio`` at samples of the model, which are never so far out that logarithms are needed on the way."""
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
        low, high = self.low[..., None, :, :], self.high[..., None, :, :]
        distribution = FlatSet(self.base.over_samples(), low, high, inside, self.above)
        ends = self._ends[0][..., None, :, :], self._ends[1][..., None, :, :]
        vars(distribution).update(_std=self._std[..., None, :], _ends=ends)
        return distribution

    def negated(self) -> Distribution:
        if self.above:
            raise RecipeError("an optimistic distribution cannot be negated: negate it before calling optimistic()")
        return replace(self, base=self.base.negated(), low=-self.high[..., ::-1], high=-self.low[..., ::-1])

    def optimistic(self) -> FlatSet:
        """Return the distribution given a measurement above the model's mean, both parts renormalized (conformal UCB)."""
        return replace(self, above=True)


# --- the two parts ----------------------------------------------------------------------------------------------------

#: Stands for no noise at all: its square vanishes beside 1, its inverse does not overflow.
_LEAST_NOISE = 1e-9
#: Beyond this threshold (in std of V) differences of bivariate probabilities lose digits and quadrature does not.
_FAR = 4.0
#: Stands for infinity where densities are: they are 0 from here on.
_NOWHERE = 40.0


@dataclass(frozen=True, eq=False)
class FlatPart:
    """The distribution of V when Y is uniform on the set.

    Attributes:
        low: l_j, ``... x q x J``.
        high: u_j, ``... x q x J``.
        rho: ``... x q``, in (0, 1].
        noise: r, ``... x q``.
    """

    low: Array
    high: Array
    rho: Array
    noise: Array

    def mirrored(self, where: np.ndarray) -> FlatPart:
        """Return the part of -V where ``where``, ``... x q``, holds, of V elsewhere."""
        turned = where[..., None]
        low = np.where(turned, -self.high[..., ::-1], self.low)
        return FlatPart(low, np.where(turned, -self.low[..., ::-1], self.high), self.rho, self.noise)

    @cached_property
    def length(self) -> Array:
        """Total length of the set, ``... x q``."""
        return (self.high - self.low).sum(axis=-1)

    @cached_property
    def _log_share(self) -> Array:
        """Log of each interval's share of the set, ``... x q x J``."""
        length = np.where(self.length > 0.0, self.length, 1.0)
        with np.errstate(divide="ignore"):
            return np.log((self.high - self.low) / length[..., None])

    @cached_property
    def _measured(self) -> bool:
        """Whether V is the measurement itself, at every point."""
        return not np.any(self.noise > 0.0)

    @cached_property
    def _r(self) -> Array:
        return np.maximum(self.noise, _LEAST_NOISE)

    def _ends(self, t: Array) -> tuple[Array, Array]:
        """Return z(l_j) and z(u_j) with z(y) = (rho y - h) / r, each ``... x q x J``."""
        rho, r, h = self.rho[..., None], self._r[..., None], (t / self.rho)[..., None]
        return (rho * self.low - h) / r, (rho * self.high - h) / r

    def log_gain(self, t: Array) -> Array:
        """Return log E (V - t)_+, ``... x q``: (s^2 / a) sum_j [G(z(u_j)) - G(z(l_j))] / length, as divided differences."""
        if self._measured:
            above, length = self._above(t), np.where(self.length > 0.0, self.length, 1.0)
            return _log((above * (0.5 * above + np.maximum(self.low - t[..., None], 0.0))).sum(axis=-1) / length)
        return np.log(self.rho * self._r) + self._joined(log_mean_first_integral(*self._ends(t)))

    def log_chance(self, t: Array) -> Array:
        """Return log P(V > t), ``... x q``."""
        if self._measured:
            return _log(self._above(t).sum(axis=-1) / np.where(self.length > 0.0, self.length, 1.0))
        return self._joined(log_mean_cdf(*self._ends(t)))

    def _above(self, t: Array) -> Array:
        """Return the length of each interval above t, ``... x q x J``."""
        return np.maximum(self.high - np.maximum(self.low, t[..., None]), 0.0)

    def _joined(self, log_values: Array) -> Array:
        """Return the log of the mean over the intervals by their share, ``... x q x J`` to ``... x q``."""
        if log_values.shape[-1] == 1:
            return log_values[..., 0]
        return np.logaddexp.reduce(self._log_share + log_values, axis=-1)

    def log_density(self, t: Array) -> Array:
        """Return the log density of V, ``... x q``."""
        if self._measured:
            inside = ((self.low <= t[..., None]) & (t[..., None] <= self.high)).any(axis=-1) & (self.length > 0.0)
            return np.where(inside, -_log(self.length), -np.inf)
        low, high = self._ends(t)
        middle, width = 0.5 * (low + high), high - low
        # The difference of two upper tails is more exact than that of two lower ones where both ends are positive.
        turned = np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        # Rounding may put it below 0 where the interval is narrow, and the other form is used.
        turned = np.maximum(turned, 0.0)
        with np.errstate(divide="ignore"):
            apart = np.log(turned) - np.log(np.where(width > 0.0, width, 1.0))
        near = log_density(middle) + np.log1p(np.square(np.minimum(width, 1.0)) * (np.square(middle) - 1.0) / 24.0)
        narrow = width * np.maximum(1.0, np.abs(middle)) < 1e-3
        return self._joined(np.where(narrow, near, apart)) - np.log(self.rho * self._r)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """E Y and E Y^2, each ``... x q``; 0 where the set is empty."""
        share = (self.high - self.low) / np.where(self.length > 0.0, self.length, 1.0)[..., None]
        square = (np.square(self.low) + self.low * self.high + np.square(self.high)) / 3.0
        return (share * 0.5 * (self.low + self.high)).sum(axis=-1), (share * square).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class TailPart:
    """The distribution of V when Y is standard normal outside the set, not divided by the probability of being outside.

    Attributes:
        start: p_k, ``... x q x (J + 1)``, may be -inf.
        end: q_k, ``... x q x (J + 1)``, may be inf.
        rho: ``... x q``, in (0, 1].
        noise: r, ``... x q``; 0 throughout for the distribution of a measurement.
    """

    start: Array
    end: Array
    rho: Array
    noise: Array

    def mirrored(self, where: np.ndarray) -> TailPart:
        """Return the part of -V where ``where``, ``... x q``, holds, of V elsewhere."""
        turned = where[..., None]
        start = np.where(turned, -self.end[..., ::-1], self.start)
        return TailPart(start, np.where(turned, -self.start[..., ::-1], self.end), self.rho, self.noise)

    @cached_property
    def _measured(self) -> bool:
        return not np.any(self.noise > 0.0)

    @cached_property
    def mass(self) -> Array:
        """P(Y outside the set) under the model, ``... x q``, exact also where it is small."""
        return self._masses.sum(axis=-1)

    @cached_property
    def _masses(self) -> Array:
        """P(Y in each piece), ``... x q x (J + 1)``."""
        return _between(self.start, self.end)

    def log_gain(self, t: Array) -> Array:
        """Return log E (V - t)_+ 1{Y outside}, ``... x q``."""
        if self._measured:
            return self._measured_gain(t)
        return self._by_pieces(t, power=1) + np.log(self.rho)

    def log_chance(self, t: Array) -> Array:
        """Return log P(V > t, Y outside), ``... x q``."""
        if self._measured:
            inside = np.maximum(self.start, t[..., None])
            return _log(_between(inside, np.maximum(self.end, inside)).sum(axis=-1))
        return self._by_pieces(t, power=0)

    def share(self, t: Array) -> Array:
        """Return P(Y outside | V = t), ``... x q``."""
        if self._measured:
            return np.where(((self.start <= t[..., None]) & (t[..., None] < self.end)).any(axis=-1), 1.0, 0.0)
        r = np.maximum(self.noise, _LEAST_NOISE)[..., None]
        return _between((self.start - t[..., None]) / r, (self.end - t[..., None]) / r).sum(axis=-1)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """E Y 1{outside} and E Y^2 1{outside}, each ``... x q``."""
        start, end = (np.minimum(np.maximum(a, -_NOWHERE), _NOWHERE) for a in (self.start, self.end))
        density_start, density_end = density(start), density(end)
        second = self._masses + start * density_start - end * density_end
        return (density_start - density_end).sum(axis=-1), second.sum(axis=-1)

    def _measured_gain(self, t: Array) -> Array:
        """Return the gain by pieces: the integral of (y - t) phi(y) from a to b is D(a) - D(b), D(x) = phi(x) - t Phi(-x)."""
        t = t[..., None]
        inside = np.maximum(self.start, t)
        end = np.maximum(self.end, inside)
        gain = density(inside) - density(end) - t * _between(inside, end)
        # Above the whole set it is the model's own improvement, which has a stable logarithm.
        beyond = t[..., 0] >= self.start[..., -1]
        return np.where(beyond, log_first_integral(-t[..., 0]), _log(gain.sum(axis=-1)))

    @cached_property
    def _open(self) -> tuple[bool, bool]:
        """Whether the first piece begins at -inf, and whether the last ends at inf, at every point."""
        return bool((self.start[..., 0] == -np.inf).all()), bool((self.end[..., -1] == np.inf).all())

    @cached_property
    def _edges(self) -> tuple[Array, Array, Array, Array]:
        """Finite edges of the pieces, ``... x q x K``; +1 for starts and -1 for ends, ``K``; their densities and upper tails.

        The outermost ones are left out where they are infinite: nothing lies above inf, and everything above -inf.
        """
        left, right = self._open
        starts = self.start[..., 1:] if left else self.start
        ends = self.end[..., :-1] if right else self.end
        edges = np.concatenate([starts, ends], axis=-1)
        sign = np.repeat([1.0, -1.0], [starts.shape[-1], ends.shape[-1]])
        return edges, sign, density(edges), ndtr(-edges)

    def _by_pieces(self, t: Array, power: int) -> Array:
        """Return the log of the sum over pieces of A(p_k) - A(q_k), or by quadrature where t is far out.

        A(k) = E (X - h)_+^power 1{Y > k} for standard normals X, Y of correlation rho: everything for k = -inf, nothing for
        k = inf; for power 1 in the form of the right tail, which is free of cancellation.
        """
        h = t / self.rho
        near = np.minimum(h, _FAR)[..., None]
        edges, sign, density_k, above_k = self._edges
        rho, r = self.rho[..., None], np.maximum(self.noise, _LEAST_NOISE)[..., None]
        above_h, density_h = ndtr(-near), density(near)
        above, whole = upper_orthant(near, edges, rho, r, above_h, above_k), above_h
        if power:
            left = density_h * ndtr((rho * near - edges) / r)
            above = left + rho * density_k * ndtr((rho * edges - near) / r) - near * above
            whole = density_h - near * above_h
        total = above @ sign
        value = _log(total + whole[..., 0] if self._open[0] else total)
        far = h > _FAR
        small = (self.mass < _LITTLE_MASS) & ~far
        if small.any() and all(self._open):
            small = np.broadcast_to(small, value.shape)
            value[small] = self._by_outcomes(np.broadcast_to(h, value.shape)[small], small, power)
        if far.any():
            far = np.broadcast_to(far, value.shape)
            value[far] = _far_tail(np.broadcast_to(h, value.shape)[far], *self._chosen(far), power)
        return value

    def _by_outcomes(self, h: Array, rows: np.ndarray, power: int) -> Array:
        """Return the same by integrals over outcomes, by pieces: where little lies outside, differences would lose it."""
        start, end, rho, r = self._chosen(rows)
        slope, turn = rho / r, (h / rho)[:, None]

        def value(y: Array, at: np.ndarray | slice = slice(None)) -> Array:
            z = slope[at, None] * (y - turn[at])
            return r[at, None] * np.exp(log_first_integral(z)) if power else ndtr(z)

        right = ndtr(-start[:, -1]) * _tail_mean(value, start[:, -1], turn, 1.0 / slope, 0)
        left = ndtr(end[:, 0]) * _tail_mean(lambda w, *at: value(-w, *at), -end[:, 0], -turn, 1.0 / slope, 0)
        y, weights = _panel_nodes(start[:, 1:-1], end[:, :-1][:, 1:])
        return _log(left + right + (weights * density(y) * value(y)).sum(axis=1))

    def _chosen(self, rows: np.ndarray) -> tuple[Array, Array, Array, Array]:
        """Return starts, ends, rho and r of some rows, ``m x (J + 1)`` and ``m``."""
        start, end, rho, noise = (
            np.broadcast_to(a, (*rows.shape, *a.shape[rows.ndim :]))[rows]
            for a in (self.start, self.end, self.rho, self.noise)
        )
        return start, end, rho, np.maximum(noise, _LEAST_NOISE)


def _far_tail(h: Array, start: Array, end: Array, rho: Array, r: Array, power: int) -> Array:
    """Return the log of the integral of (x - h)^power phi(x) P(Y in a piece | V = rho x) over x > h, ``m``, for h > 0.

    It is the model's own tail times the mean of the probability over that tail, which is 1 where V > t puts Y above the
    set for certain, and else found by quadrature.
    """
    value = log_first_integral(-h) if power else log_ndtr(-h)
    rest = np.flatnonzero((rho * h - start[:, -1] < _CERTAIN * r) | (end[:, -1] < np.inf))
    if len(rest):
        h, start, end, rho, r = h[rest], start[rest], end[rest], rho[rest], r[rest]
        turns = np.concatenate([start[:, 1:], end[:, :-1]], axis=1) / rho[:, None]

        def outside(x: Array, rows: np.ndarray | slice = slice(None)) -> Array:
            V = rho[rows, None] * x
            return _probability(V, start[rows], end[rows], r[rows])

        value[rest] += _log(_tail_mean(outside, h, turns, r / rho, power))
    return value


def _probability(V: Array, start: Array, end: Array, r: Array) -> Array:
    """Return P(Y in a piece | V), ``m x N``, for pieces ``m x (J + 1)``."""
    total = np.zeros_like(V)
    # A handful of pieces: adding one at a time needs less memory, and no sums over short axes.
    for p, q in zip(start.T, end.T, strict=True):
        if np.all(q == np.inf):
            total += ndtr((V - p[:, None]) / r[:, None])
        elif np.all(p == -np.inf):
            total += ndtr((q[:, None] - V) / r[:, None])
        else:
            total += _between((p[:, None] - V) / r[:, None], (q[:, None] - V) / r[:, None])
    return total


def _between(a: Array, b: Array) -> Array:
    """Return P(a < Y < b) of a standard normal, exact in both tails."""
    turned = a > 0.0
    return np.maximum(ndtr(np.where(turned, -a, b)) - ndtr(np.where(turned, -b, a)), 0.0)


def _log(x: Array) -> Array:
    return np.log(np.maximum(x, _TINY))


# --- expected improvement in one pass ---------------------------------------------------------------------------------

#: Of smaller improvements (in std of the measurement) G would lose digits, by cancellation of its two terms.
_SMALLEST = 1e-45
#: Thresholds up to so many std of V are not far out.
_NEAR_THRESHOLD = 5.0
#: Narrower intervals (in z) need more care.
_LEAST_WIDTH = 0.05
#: Moves zeros, and nothing else, so that ratios have a limit.
_OFF_ZERO = 1e-200


def _log_improvement(
    t: Array, low: Array, high: Array, rho: Array, r: Array, inside: Array | float
) -> tuple[Array, np.ndarray]:
    """Return log E (V - t)_+ of m points in one pass, and where it is exact to about ten digits.

    The same formulas as ``FlatPart`` and ``TailPart``, which share their terms here, with logarithms taken only where
    thresholds are far out: this makes small batches quick. Takes standardized thresholds ``t`` and ends ``m x J``; inside,
    arrays of ends are ``2 x J x m``, lower ends first. Where the flag is false digits could be lost: the parts are needed.
    """
    h = t / rho
    k = np.empty((2, low.shape[1], len(h)))
    k[0], k[1] = low.T, high.T
    far = h > _NEAR_THRESHOLD
    if not np.count_nonzero(far):
        return _one_pass(h, k, rho, r, inside)
    top = k[1, -1]
    beyond = far & (rho * h - top > r * np.hypot(_CERTAIN, top))
    value, safe = np.empty(len(h)), np.empty(len(h), dtype=bool)
    inside = inside + np.zeros(len(h))
    for rows, found in ((beyond.nonzero()[0], _beyond), ((~beyond).nonzero()[0], _one_pass)):
        if len(rows):
            chosen = (a.take(rows) for a in (rho, r, inside))
            value[rows], safe[rows] = found(h.take(rows), k.take(rows, axis=2), *chosen)
    return value, safe


def _beyond(h: Array, k: Array, rho: Array, r: Array, inside: Array) -> tuple[Array, np.ndarray]:
    """Return the same where V > t puts Y above the set for certain: the model's own, scaled as its mass there was.

    The flat part is phi(z(u)) / phi(h) < exp(-_CERTAIN^2 / 2) of it, but for the parts' masses, and is left out:
    z(u)^2 - h^2 = (rho h - u)^2 / r^2 - u^2. So is r, which then does not matter.
    """
    above = ndtr(-k)
    mass = 1.0 + _total(above[1] - above[0])
    outside = 1.0 - inside * (_total(k[1] - k[0]) > _TINY)
    share = np.maximum(outside, _LITTLE_MASS) / np.maximum(mass, _LITTLE_MASS)
    return np.log(share * rho) + log_first_integral(-h), (mass > _LITTLE_MASS) & (outside > _LITTLE_MASS)


def _one_pass(h: Array, k: Array, rho: Array, r: Array, inside: Array | float) -> tuple[Array, np.ndarray]:
    """Return the same by both parts at once, for ends ``2 x J x m``."""
    length = k[1] - k[0]
    total = _total(length)
    inverse_r = 1.0 / r
    slope = rho * inverse_r
    wide = slope * length >= _LEAST_WIDTH
    ordinary = np.count_nonzero(wide) == wide.size
    if not ordinary:
        # Empty intervals do no harm, short ones do.
        wide |= length <= 0.0
        some = total > _TINY
        inside, total = np.where(some, inside, 0.0), np.where(some, total, 1.0)
    z = slope * k - h * inverse_r
    above_k = ndtr(-k)
    mass = np.maximum(1.0 + _total(above_k[1] - above_k[0]), _LITTLE_MASS)
    below_z, minus_half_square = ndtr(z), -0.5 * (z * z)
    # G(z) = [(z^2 + 1) Phi(z) + z phi(z)] / 2.
    G = (0.5 - minus_half_square) * below_z + (0.5 / _SQRT_2PI) * (z * np.exp(minus_half_square))
    # (rho r) sum_j [G(z(u_j)) - G(z(l_j))] / (z(u_j) - z(l_j)) times j's share of the length.
    flat = r * r * _total(G[1] - G[0]) / total
    tail = _tail(np.minimum(h, _NEAR_THRESHOLD), k, rho, inverse_r, below_z, above_k)
    far = (h > _NEAR_THRESHOLD).nonzero()[0]
    if len(far):
        tail[far] = rho[far] * np.exp(_far_tail(h[far], *_pieces(k[:, :, far]), rho[far], r[far], power=1))
    value = inside * flat + (1.0 - inside) / mass * tail
    # What is too small for this is left to logarithms.
    safe = (value > _SMALLEST) & (mass > _LITTLE_MASS)
    if not ordinary:
        safe &= wide.all(axis=0)
    return np.log(np.maximum(value, _SMALLEST)), safe


def _total(a: Array) -> Array:
    """Return the sum over the intervals, ``J x m`` to ``m``, without the cost of a sum where there is one interval only."""
    return a[0] if len(a) == 1 else a.sum(axis=0)


def _tail(h: Array, k: Array, rho: Array, inverse_r: Array, below_z: Array, above_k: Array) -> Array:
    """Return E (V - t)_+ 1{Y outside the intervals}, ``m``: the whole expectation less that within them.

    P(X > h, Y > k) by Owen's T function, without the terms that do not depend on k: those of both ends cancel.
    """
    h, k = h + _OFF_ZERO, k + _OFF_ZERO
    k_r, slope = k * inverse_r, rho * inverse_r
    density_h = np.exp(-0.5 * (h * h)) / _SQRT_2PI
    turned = owens_t(h, k_r / h - slope) + owens_t(k, h * inverse_r / k - slope)
    orthant = 0.5 * above_k - turned + np.copysign(0.25, h * k)
    gain = density_h * ndtr(slope * h - k_r) - h * orthant
    gain += (rho / _SQRT_2PI) * np.exp(-0.5 * (k * k)) * below_z
    return rho * (density_h - h * ndtr(-h) + _total(gain[1] - gain[0]))


def _pieces(k: Array) -> tuple[Array, Array]:
    """Return starts and ends of the complement's pieces, each ``m x (J + 1)``, from ends ``2 x J x m``."""
    infinite = np.full((1, k.shape[2]), np.inf)
    return np.concatenate([-infinite, k[1]]).T, np.concatenate([k[0], infinite]).T


# --- quantiles --------------------------------------------------------------------------------------------------------

#: Limit of steps for functions whose slope is of no use: bisection halves the bracket every time.
_STEPS = 120
#: A Newton step this short, in units of the scale, is followed by an error of about its square.
_LAST_STEP = 1e-8
_SHORTEST_BRACKET = 1e-14
#: Values of the function from which a last step is taken.
_NEAR_ROOT = 1e-3


def _measured_quantile(u: Array, flat: FlatPart, tail: TailPart, inside: Array, outside: Array) -> Array:
    """Return standardized quantiles of a measurement at levels ``u``, ``... x q``, exact; masses as in ``_masses``."""
    start, end = _interleaved(tail.start, flat.low), _interleaved(tail.end, flat.high)
    length = np.where(flat.length > 0.0, flat.length, 1.0)
    slope = np.broadcast_to((inside / length)[..., None], flat.low.shape)
    below = outside[..., None] * (ndtr(tail.end) - ndtr(tail.start))
    mass = _interleaved(below, slope * (flat.high - flat.low))
    mass = mass / mass.sum(axis=-1, keepdims=True)
    top = np.cumsum(mass, axis=-1)
    # Probabilities below and above each segment; of the outermost ones exactly 0, so that neither tail loses digits.
    under = np.concatenate([np.zeros_like(top[..., :1]), top[..., :-1]], axis=-1)
    over = np.concatenate([np.cumsum(mass[..., :0:-1], axis=-1)[..., ::-1], np.zeros_like(top[..., :1])], axis=-1)
    shape = np.broadcast_shapes(u.shape, top.shape[:-1])
    levels = np.broadcast_to(u, shape)[..., None]
    top = np.broadcast_to(top, (*shape, top.shape[-1]))
    # The first segment that reaches the level; empty ones never do before the one behind them.
    k = np.minimum((top < levels).sum(axis=-1, keepdims=True), top.shape[-1] - 1)

    def chosen(a: Array) -> Array:
        return np.take_along_axis(np.broadcast_to(a, (*shape, a.shape[-1])), k, axis=-1)[..., 0]

    a, b, width = chosen(start), chosen(end), chosen(mass)
    whole = np.where(width > 0.0, width, 1.0)
    share = np.clip(levels[..., 0] - chosen(under), 0.0, width) / whole
    rest = np.clip(1.0 - levels[..., 0] - chosen(over), 0.0, width) / whole
    with np.errstate(invalid="ignore"):
        linear = a + share * (b - a)
    on_set = k[..., 0] % 2 == 1
    # From the nearer side, so that neither tail loses digits.
    upper = a > 0.0
    inner = ndtr(np.where(upper, -b, a)) + np.where(upper, rest, share) * (
        ndtr(np.where(upper, -a, b)) - ndtr(np.where(upper, -b, a))
    )
    # At a segment's very end rounding may reach beyond it, even to infinity.
    normal = np.clip(np.where(upper, -ndtri(inner), ndtri(inner)), a, b)
    return np.where(on_set, linear, normal)


def _latent_quantile(u: Array, flat: FlatPart, tail: TailPart, log_inside: Array, log_outside: Array) -> Array:
    """Return standardized quantiles of a latent value at levels ``u``: roots in the logarithm of the smaller tail.

    Where u is below one half the distribution of -V is used, so that both tails keep their digits.
    """
    shape = np.broadcast_shapes(u.shape, flat.length.shape)
    u = np.broadcast_to(u, shape)
    lower = u < 0.5
    flat, tail = flat.mirrored(lower), tail.mirrored(lower)
    log_level = np.log(np.where(lower, u, 1.0 - u))
    inside, outside = np.exp(log_inside), np.exp(log_outside)
    first, second = (inside * f + outside * t for f, t in zip(flat.moments, tail.moments, strict=True))
    rho2 = np.square(flat.rho)
    std = np.sqrt(np.maximum(rho2**2 * (second - np.square(first)) + rho2 * np.square(flat.noise), 0.0))

    def log_above(t: Array) -> Array:
        return np.logaddexp(log_inside + flat.log_chance(t), log_outside + tail.log_chance(t))

    def slope(t: Array, excess: Array) -> Array:
        model = log_density(t / flat.rho) - np.log(flat.rho)
        with np.errstate(divide="ignore"):
            outer = log_outside + model + np.log(tail.share(t))
        return np.exp(np.logaddexp(log_inside + flat.log_density(t), outer) - (log_level - excess))

    # Nothing lies beyond 40 std of the model, nor far beyond the set.
    reach = 40.0 + np.broadcast_to(np.abs(np.stack([flat.low, flat.high])).max(axis=(0, -1)), shape)
    start = rho2 * first - std * ndtri(np.exp(log_level))
    t = _increasing_root(lambda t: log_level - log_above(t), slope, -reach, reach, np.broadcast_to(start, shape), std)
    return np.where(lower, -t, t)


def _interleaved(outer: Array, inner: Array) -> Array:
    """Return o_0, i_1, o_1, ..., i_J, o_J along the last axis."""
    joined = np.empty((*outer.shape[:-1], outer.shape[-1] + inner.shape[-1]))
    joined[..., ::2], joined[..., 1::2] = outer, inner
    return joined


def _increasing_root(
    function: Callable[[Array], Array],
    slope: Callable[[Array, Array], Array],
    low: Array,
    high: Array,
    start: Array,
    scale: Array,
) -> Array:
    """Return the roots of many increasing functions at once, to about rounding error, by Newton's method in a bracket.

    The derivative gets y and the function's value there; where it is 0 or not finite a bisection is made. The function is
    negative at ``low``, positive at ``high``, and changes much over ``scale``.
    """
    low, high, y = low.copy(), high.copy(), np.clip(start, low, high)
    for _ in range(_STEPS):
        value = function(y)
        below = value < 0.0
        low, high = np.where(below, y, low), np.where(below, high, y)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = slope(y, value)
            step = y - value / rate
        usable = np.isfinite(rate) & np.isfinite(step) & (step >= low) & (step <= high)
        # A step that hardly moves although the root is not near comes from a slope that cannot be trusted.
        usable &= (np.abs(step - y) > _LAST_STEP * scale) | (np.abs(value) < _NEAR_ROOT)
        following = np.where(usable, step, 0.5 * (low + high))
        moved = np.abs(following - y)
        y = following
        if np.all((usable & (moved <= _LAST_STEP * scale)) | (high - low <= _SHORTEST_BRACKET * scale)):
            break
    return y


# --- means over far upper tails ---------------------------------------------------------------------------------------

#: Panel ends in units of the tail's width 1 / h, and around each quick change in units of its own width.
_TAIL_PANELS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 24.0, 38.0)
_TURN_PANELS = (-7.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 7.0)
#: Functions that change within this many widths of the tail, or more slowly, are smooth to Gauss-Laguerre (error 1e-9).
_SMOOTH = 1.2


def _tail_mean(function: Callable[..., Array], h: Array, turns: Array, width: Array, power: int) -> Array:
    """Return the mean of a function of x over x > h > 0 with density proportional to (x - h)^power phi(x), ``m``.

    By Gauss-Laguerre where the function is smooth, by panels where it changes quickly: around the ``turns``, ``m x T``,
    within distances ``width``. The function gets x, ``m x N``, and the rows it belongs to.
    """
    y, weights = _laguerre(power)
    weight = weights * np.exp(-0.5 * np.square(y / h[:, None]))
    mean = (weight * function(h[:, None] + y / h[:, None])).sum(axis=1) / weight.sum(axis=1)
    quick = np.flatnonzero(width * h < _SMOOTH)
    if len(quick):
        x, weight = _tail_nodes(h[quick], turns[quick], width[quick])
        weight = weight * (x - h[quick, None]) ** power
        mean[quick] = (weight * function(x, quick)).sum(axis=1) / weight.sum(axis=1)
    return mean


@lru_cache(maxsize=2)
def _laguerre(power: int) -> tuple[Array, Array]:
    """Return nodes and weights for y^power exp(-y) over y > 0, without those of negligible weight."""
    y, weights = roots_genlaguerre(48, float(power))
    kept = weights > 1e-20
    return y[kept], weights[kept]


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(10)


def _panel_nodes(start: Array, end: Array) -> tuple[Array, Array]:
    """Return nodes in intervals [start, end], ``m x K``, and weights of integrals over all K, each ``m x N``."""
    # Eight panels resolve any normal density over an interval of little mass.
    x, weights = _panels(start[..., None] + (end - start)[..., None] * np.linspace(0.0, 1.0, 9))
    return x.reshape(len(x), -1), weights.reshape(len(x), -1)


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return nodes and weights, ``... x K x 10``, of integrals over the K panels between edges, ``... x (K + 1)``."""
    nodes, weights = _gauss_legendre()
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    return 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None] + half * nodes, half * weights


def _tail_nodes(h: Array, turns: Array, width: Array) -> tuple[Array, Array]:
    """Return nodes x > h and weights, ``m x N``, with sum_i w_i F(x_i) = the integral of F(x) phi(x) / phi(h) over x > h.

    F changes quickly at the ``turns``, ``m x T`` (infinite ones are left out), within distances ``width``.
    """
    length = _TAIL_PANELS[-1] / h
    inside = np.where(np.isfinite(turns), turns, 0.0) - h[:, None]
    around = inside[:, :, None] + width[:, None, None] * np.asarray(_TURN_PANELS)
    tail = np.asarray(_TAIL_PANELS) / h[:, None]
    edges = np.clip(np.sort(np.concatenate([tail, around.reshape(len(h), -1)], axis=1), axis=1), 0.0, length[:, None])
    offset, weights = (a.reshape(len(h), -1) for a in _panels(edges))
    # phi(h + o) / phi(h), which neither under- nor overflows for positive h.
    return h[:, None] + offset, weights * np.exp(-offset * (h[:, None] + 0.5 * offset))
