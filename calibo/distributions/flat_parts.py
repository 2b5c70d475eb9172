"""The two parts of a flat-set distribution: flat on the set, and the model's own distribution outside it.

In units of the measurement's standard deviation around its mean a measurement is Y, standard normal to the model, and the
value believed in is V = rho^2 Y + rho r E with E standard normal: rho^2 is the gain of a measurement, r^2 = 1 - rho^2 the
share of noise in its variance. V is f itself (its standard deviation is rho), or for rho = 1 the measurement.

Notation: intervals [l_j, u_j], ... x q x J, sorted and disjoint, empty ones with l_j = u_j; t a threshold of V, ... x q;
h = t / rho. The complement of the set consists of J + 1 pieces (p_k, q_k), some of them empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from calibo.data import Array
from calibo.distributions.normal import (
    density,
    log_density,
    log_first_integral,
    log_mean_cdf,
    log_mean_first_integral,
    upper_orthant,
)
from calibo.distributions.quadrature import panel_nodes, tail_mean

#: Stands for no noise at all: its square vanishes beside 1, its inverse does not overflow.
_LEAST_NOISE = 1e-9
#: Beyond this threshold (in std of V) differences of bivariate probabilities lose digits and quadrature does not.
_FAR = 4.0
#: Y lies above a set for certain, to all digits, where V > t means that it does so by this many std of Y given V.
CERTAIN = 9.0
#: With less than this outside the set, differences of probabilities lose digits and integrals over outcomes do not.
_LITTLE_MASS = 1e-6
#: Stands for infinity where densities are: there is none from here on.
_NOWHERE = 40.0
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class FlatPart:
    """V when Y is uniform on the set.

    Attributes:
        low: l_j, ... x q x J.
        high: u_j, ... x q x J.
        rho: ... x q, in (0, 1].
        noise: r, ... x q.
    """

    low: Array
    high: Array
    rho: Array
    noise: Array

    def mirrored(self, where: np.ndarray) -> FlatPart:
        """The part of -V where ``where``, ... x q, holds, of V elsewhere."""
        turned = where[..., None]
        low = np.where(turned, -self.high[..., ::-1], self.low)
        return FlatPart(low, np.where(turned, -self.low[..., ::-1], self.high), self.rho, self.noise)

    @cached_property
    def length(self) -> Array:
        """Total length of the set, ... x q."""
        return (self.high - self.low).sum(axis=-1)

    @cached_property
    def _log_share(self) -> Array:
        """log of each interval's share of the set, ... x q x J."""
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
        """z(l_j) and z(u_j) with z(y) = (rho y - h) / r, each ... x q x J."""
        rho, r, h = self.rho[..., None], self._r[..., None], (t / self.rho)[..., None]
        return (rho * self.low - h) / r, (rho * self.high - h) / r

    def log_gain(self, t: Array) -> Array:
        """log E (V - t)_+, ... x q: (s^2 / a) sum_j [G(z(u_j)) - G(z(l_j))] / length, as divided differences."""
        if self._measured:
            above, length = self._above(t), np.where(self.length > 0.0, self.length, 1.0)
            return _log((above * (0.5 * above + np.maximum(self.low - t[..., None], 0.0))).sum(axis=-1) / length)
        return np.log(self.rho * self._r) + self._joined(log_mean_first_integral(*self._ends(t)))

    def log_chance(self, t: Array) -> Array:
        """log P(V > t), ... x q."""
        if self._measured:
            return _log(self._above(t).sum(axis=-1) / np.where(self.length > 0.0, self.length, 1.0))
        return self._joined(log_mean_cdf(*self._ends(t)))

    def _above(self, t: Array) -> Array:
        """Length of each interval above t, ... x q x J."""
        return np.maximum(self.high - np.maximum(self.low, t[..., None]), 0.0)

    def _joined(self, log_values: Array) -> Array:
        """log of the mean over the intervals by their share, ... x q x J -> ... x q."""
        return (
            log_values[..., 0]
            if log_values.shape[-1] == 1
            else np.logaddexp.reduce(self._log_share + log_values, axis=-1)
        )

    def log_density(self, t: Array) -> Array:
        """log density of V, ... x q."""
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
        """E Y and E Y^2, each ... x q; 0 where the set is empty."""
        share = (self.high - self.low) / np.where(self.length > 0.0, self.length, 1.0)[..., None]
        square = (np.square(self.low) + self.low * self.high + np.square(self.high)) / 3.0
        return (share * 0.5 * (self.low + self.high)).sum(axis=-1), (share * square).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class TailPart:
    """V when Y is standard normal outside the set; probabilities are not divided by that of being outside.

    Attributes:
        start: p_k, ... x q x (J + 1), may be -inf.
        end: q_k, ... x q x (J + 1), may be inf.
        rho: ... x q, in (0, 1].
        noise: r, ... x q; 0 throughout for the distribution of a measurement.
    """

    start: Array
    end: Array
    rho: Array
    noise: Array

    def mirrored(self, where: np.ndarray) -> TailPart:
        """The part of -V where ``where``, ... x q, holds, of V elsewhere."""
        turned = where[..., None]
        start, end = (
            np.where(turned, -flipped[..., ::-1], kept)
            for flipped, kept in ((self.end, self.start), (self.start, self.end))
        )
        return TailPart(start, end, self.rho, self.noise)

    @cached_property
    def _measured(self) -> bool:
        return not np.any(self.noise > 0.0)

    @cached_property
    def mass(self) -> Array:
        """P(Y outside the set) under the model, ... x q, exact also where it is small."""
        return self._masses.sum(axis=-1)

    @cached_property
    def _masses(self) -> Array:
        """P(Y in each piece), ... x q x (J + 1)."""
        return _between(self.start, self.end)

    def log_gain(self, t: Array) -> Array:
        """log E (V - t)_+ 1{Y outside}, ... x q."""
        if self._measured:
            return self._measured_gain(t)
        return self._by_pieces(t, power=1) + np.log(self.rho)

    def log_chance(self, t: Array) -> Array:
        """log P(V > t, Y outside), ... x q."""
        if self._measured:
            inside = np.maximum(self.start, t[..., None])
            return _log(_between(inside, np.maximum(self.end, inside)).sum(axis=-1))
        return self._by_pieces(t, power=0)

    def share(self, t: Array) -> Array:
        """P(Y outside | V = t), ... x q."""
        if self._measured:
            return np.where(((self.start <= t[..., None]) & (t[..., None] < self.end)).any(axis=-1), 1.0, 0.0)
        r = np.maximum(self.noise, _LEAST_NOISE)[..., None]
        return _between((self.start - t[..., None]) / r, (self.end - t[..., None]) / r).sum(axis=-1)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """E Y 1{outside} and E Y^2 1{outside}, each ... x q."""
        start, end = (np.minimum(np.maximum(a, -_NOWHERE), _NOWHERE) for a in (self.start, self.end))
        density_start, density_end = density(start), density(end)
        second = self._masses + start * density_start - end * density_end
        return (density_start - density_end).sum(axis=-1), second.sum(axis=-1)

    def _measured_gain(self, t: Array) -> Array:
        """By pieces: the integral of (y - t) phi(y) from max(p, t) to q is D(max(p, t)) - D(q), D(x) = phi(x) - t Phi(-x)."""
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
        """The finite edges of the pieces, ... x q x K; +1 for starts and -1 for ends, K; their densities and upper tails.

        The outermost ones are left out where they are infinite: nothing lies above inf, and everything above -inf.
        """
        left, right = self._open
        starts = self.start[..., 1:] if left else self.start
        ends = self.end[..., :-1] if right else self.end
        edges = np.concatenate([starts, ends], axis=-1)
        sign = np.repeat([1.0, -1.0], [starts.shape[-1], ends.shape[-1]])
        return edges, sign, density(edges), ndtr(-edges)

    def _by_pieces(self, t: Array, power: int) -> Array:
        """log of the sum over pieces of A(p_k) - A(q_k), or by quadrature where t is far out.

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
            value[far] = self._far(np.broadcast_to(h, value.shape)[far], far, power)
        return value

    def _far(self, h: Array, rows: np.ndarray, power: int) -> Array:
        """log of the integral of (x - h)^power phi(x) P(Y outside | V = rho x) over x > h, for chosen rows only."""
        return far_tail(h, *self._chosen(rows), power)

    def _by_outcomes(self, h: Array, rows: np.ndarray, power: int) -> Array:
        """The same by integrals over outcomes, piece by piece: where little lies outside, differences would lose it."""
        start, end, rho, r = self._chosen(rows)
        slope, turn = rho / r, (h / rho)[:, None]

        def value(y: Array, at: np.ndarray | slice = slice(None)) -> Array:
            z = slope[at, None] * (y - turn[at])
            return r[at, None] * np.exp(log_first_integral(z)) if power else ndtr(z)

        right = ndtr(-start[:, -1]) * tail_mean(value, start[:, -1], turn, 1.0 / slope, 0)
        left = ndtr(end[:, 0]) * tail_mean(lambda w, *at: value(-w, *at), -end[:, 0], -turn, 1.0 / slope, 0)
        y, weights = panel_nodes(start[:, 1:-1], end[:, :-1][:, 1:])
        return _log(left + right + (weights * density(y) * value(y)).sum(axis=1))

    def _chosen(self, rows: np.ndarray) -> tuple[Array, Array, Array, Array]:
        """Starts, ends, rho and r of chosen rows only, m x (J + 1) and m."""
        start, end, rho, noise = (
            np.broadcast_to(a, (*rows.shape, *a.shape[rows.ndim :]))[rows]
            for a in (self.start, self.end, self.rho, self.noise)
        )
        return start, end, rho, np.maximum(noise, _LEAST_NOISE)


def far_tail(h: Array, start: Array, end: Array, rho: Array, r: Array, power: int) -> Array:
    """log of the integral of (x - h)^power phi(x) P(Y in a piece | V = rho x) over x > h, m, for h > 0.

    It is the model's own tail times the mean of the probability over that tail, which is 1 where V > t puts Y above the
    set for certain, and else found by quadrature.
    """
    value = log_first_integral(-h) if power else log_ndtr(-h)
    rest = np.flatnonzero((rho * h - start[:, -1] < CERTAIN * r) | (end[:, -1] < np.inf))
    if len(rest):
        h, start, end, rho, r = h[rest], start[rest], end[rest], rho[rest], r[rest]
        turns = np.concatenate([start[:, 1:], end[:, :-1]], axis=1) / rho[:, None]

        def outside(x: Array, rows: np.ndarray | slice = slice(None)) -> Array:
            V = rho[rows, None] * x
            return _probability(V, start[rows], end[rows], r[rows])

        value[rest] += _log(tail_mean(outside, h, turns, r / rho, power))
    return value


def _probability(V: Array, start: Array, end: Array, r: Array) -> Array:
    """P(Y in a piece | V), m x N, for pieces m x (J + 1)."""
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
    """P(a < Y < b) of a standard normal, exact in both tails."""
    turned = a > 0.0
    return np.maximum(ndtr(np.where(turned, -a, b)) - ndtr(np.where(turned, -b, a)), 0.0)


def _log(x: Array) -> Array:
    return np.log(np.maximum(x, _TINY))
