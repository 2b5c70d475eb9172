"""Exact full conformal sets of a Gaussian process, batched over points, from the roots of n quadratics each.

At a point x a candidate outcome is y = mean + total e (standardized). Its conformity among the augmented data is a
score, larger is better; the outcome is accepted against datum i where s_i <= s_new, a quadratic inequality in e:

    P_i e^2 + Q_i e + R_i >= 0.

Notation: p points, n data; a dual, b influence, d' augmented precision, v total, t^2 and t_i^2 noise variances of the new
measurement and of the data (Augmentation); w_i importance weights of the data, w_n that of the point, summing to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.models.augmentation import Augmentation

#: A p-value this little above alpha is a tie that rounding has lifted.
_TIE = 1e-12
#: An unbounded set is cut at this many standard deviations of the measurement from its mean.
REACH = 8.0
#: Ends this many standard deviations out are infinite but for rounding.
_INFINITE = 1e6


@dataclass(frozen=True, eq=False)
class Quadratics:
    """The quadratics P e^2 + Q e + R, not negative where an outcome is accepted against each datum.

    Attributes:
        P: Coefficients of e^2, `p x n`.
        Q: Coefficients of e, `p x n`.
        R: Constants, `p x n`.
    """

    P: Array
    Q: Array
    R: Array

    def roots(self) -> tuple[Array, Array]:
        """Return the lower and upper roots, each `p x n`; both are +inf where there are none."""
        # A quadratic that has lost its square is taken for the limit of ones that accept an interval.
        P = self.P - np.finfo(np.float64).tiny
        D = self.Q * self.Q
        D -= 4.0 * P * self.R
        none = D <= 0.0
        # The formula without cancellation: one root from the sum of like signs, the other from the product.
        t = np.copysign(np.sqrt(np.maximum(D, 0.0)), self.Q)
        t += self.Q
        t *= -0.5
        # It is 0 only where there are no roots.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, second = t / P, self.R / t
        for root in (first, second):
            np.copyto(root, np.inf, where=none)
        return np.minimum(first, second), np.maximum(first, second)


#: A conformity score: maps an augmentation to its quadratics.
Score = Callable[[Augmentation], Quadratics]


def in_sample_score(augmentation: Augmentation) -> Quadratics:
    """Score by in-sample log densities, with fresh noise, under the GP of the augmented data (Stanton et al., eq. 3).

    Residuals t_i^2 (a_i - b_i e) and t^2 e, variances s_i^2 = t_i^2 (2 - t_i^2 d'_i) and s^2 = t^2 (2 - t^2 / v).
    """
    a, b = augmentation.dual, augmentation.influence
    own, v = augmentation.own_noise, augmentation.total[:, None]
    # Both sides are divided by t^4, so that little noise does not make all terms but the logarithm vanish.
    weight = np.square(augmentation.noise / own)
    variance = augmentation.noise * (2.0 - augmentation.noise * augmentation.augmented_precision)
    own_variance = own * (2.0 - own / v)
    ratio = weight / variance
    log_ratio = np.log(variance / own_variance) / own**2
    return Quadratics(np.square(b) * ratio - 1.0 / own_variance, -2.0 * a * b * ratio, np.square(a) * ratio + log_ratio)


def leave_one_out_score(augmentation: Augmentation) -> Quadratics:
    """Score by log densities given all other augmented data: residual a'_i / d'_i, variance 1 / d'_i.

    P < 0 always, so the set is bounded whenever w_n <= alpha, which in-sample scores do not guarantee.
    """
    a, b = augmentation.dual, augmentation.influence
    precision, v = augmentation.augmented_precision, augmentation.total[:, None]
    log_ratio = np.log(precision * v)
    ratio = b / precision
    return Quadratics(b * ratio - v, -2.0 * a * ratio, a * a / precision - log_ratio)


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """Conformal sets at p points as unions of intervals, of standardized outcomes.

    Attributes:
        low: Lower ends, `p x J`, increasing; unused intervals of a point are empty.
        high: Upper ends, `p x J`.
        empty: Where no outcome is accepted, p.
        unbounded: Where acceptance does not end in some direction although the point is not out of distribution, p; the
            set is cut there at ``REACH`` standard deviations.
        unseen: Where every outcome is accepted because the point's own weight alone exceeds the threshold: out of
            distribution, p.
    """

    low: Array
    high: Array
    empty: Array
    unbounded: Array
    unseen: Array


def conformal_sets(
    augmentation: Augmentation, score: Score, weights: Array, own_weight: Array, alpha: float, smoothing: float = 0.0
) -> ConformalSets:
    """Return the exact sets {y: w_n + sum_i w_i 1[s_i <= s_new] > alpha + smoothing w_n} at each of p points.

    Args:
        augmentation: The augmentation at the p points.
        score: The conformity score.
        weights: w_i, n or `p x n`.
        own_weight: w_n, p.
        alpha: Miscoverage.
        smoothing: In [0, 1). A uniform draw makes the set exactly valid; 0 is conservative.
    """
    quadratics = score(augmentation)
    low, high = quadratics.roots()
    outside = quadratics.P > 0.0
    threshold = alpha + smoothing * own_weight + _TIE
    equal = weights.ndim == 1 and len(own_weight) > 0 and _all_equal(weights) and _all_equal(own_weight)
    if equal and not np.count_nonzero(outside):
        needed = int(np.floor((threshold[0] - own_weight[0]) / weights[0])) + 1
        found = _where_enough(low, high, max(needed, 1))
    else:
        # Accepted inside the roots where P <= 0, outside where P > 0 (everywhere if there are none).
        outset = own_weight + np.where(outside, weights, 0.0).sum(axis=1)
        found = _where_above(low, high, np.where(outside, -weights, weights), threshold - outset)
    return _intervals(*found, augmentation, own_weight > threshold)


def _all_equal(a: Array) -> bool:
    return np.count_nonzero(a == a[0]) == len(a)


def _where_enough(low: Array, high: Array, needed: int) -> tuple[np.ndarray, Array, Array]:
    """Return rows, lower and upper ends of where at least `needed` of the n intervals [low, high], `p x n`, contain e.

    With both ends sorted, m intervals lie below e where H_m < e < H_(m+1), and enough begin before it where e > L_(m+needed):
    two sorts instead of one of twice the length with its weights.
    """
    p, n = low.shape
    if needed > n:
        nothing = np.empty(0)
        return nothing.astype(np.intp), nothing, nothing
    L, H = np.sort(low, axis=1)[:, needed - 1 :], np.sort(high, axis=1)[:, : n - needed + 1]
    parted = np.ones((p, n - needed + 2), dtype=bool)
    np.greater(L[:, 1:], H[:, :-1], out=parted[:, 1:-1])
    some = L < H
    starts, ends = ((sides & some).ravel().nonzero()[0] for sides in (parted[:, :-1], parted[:, 1:]))
    return starts // L.shape[1], L.ravel()[starts], H.ravel()[ends]


def _where_above(low: Array, high: Array, step: Array, threshold: Array) -> tuple[np.ndarray, Array, Array]:
    """Return rows and ends of where the sum of `step` over intervals [low, high] that contain e exceeds `threshold`, p.

    A sweep over the sorted ends: at each the sum rises or falls.
    """
    p, n = low.shape
    events = np.concatenate([low, high], axis=1)
    step = np.broadcast_to(step, low.shape)
    order = np.argsort(events, axis=1)
    value = np.cumsum(np.take_along_axis(np.concatenate([step, -step], axis=1), order, axis=1), axis=1)
    # Before the first event, after each, and nothing beyond.
    accepted = np.zeros((p, 2 * n + 3), dtype=bool)
    accepted[:, 1] = threshold < 0.0
    np.greater(value, threshold[:, None], out=accepted[:, 2:-1])
    rows, at = np.nonzero(accepted[:, 1:] != accepted[:, :-1])
    inner = np.clip(at - 1, 0, 2 * n - 1)
    place = np.where(at == 0, -np.inf, np.where(at > 2 * n, np.inf, events[rows, order[rows, inner]]))
    # Acceptance begins and ends in turn.
    return rows[::2], place[::2], place[1::2]


def _intervals(
    rows: np.ndarray, lower: Array, upper: Array, augmentation: Augmentation, unseen: np.ndarray
) -> ConformalSets:
    """Return intervals of outcomes from intervals of e, given by sorted rows and ends, K each; `unseen` rows have none."""
    p, std = len(unseen), np.sqrt(augmentation.total)[rows]
    unbounded = np.zeros(p, dtype=bool)
    unbounded[rows[(upper > lower) & (np.maximum(-lower, upper) * std > _INFINITE)]] = True
    unbounded &= ~unseen
    # Sets that end by themselves are not cut: where the model is overconfident they must reach far.
    reach = np.where(unbounded[rows], REACH / std, np.inf)
    lower, upper = np.clip(lower, -reach, reach), np.clip(upper, -reach, reach)
    kept = (upper > lower) & ~unseen[rows]
    rows, lower, upper = rows[kept], lower[kept], upper[kept]
    count = np.bincount(rows, minlength=p)
    J = max(int(count.max(initial=0)), 1)
    # Unused places are empty intervals at the upper end of the last one used.
    last = np.zeros(p)
    last[rows] = upper
    low = np.repeat(last[:, None], J, axis=1)
    high = low.copy()
    rank = np.arange(len(rows)) - (np.cumsum(count) - count)[rows]
    low[rows, rank], high[rows, rank] = lower, upper
    mean, v = augmentation.mean[:, None], augmentation.total[:, None]
    return ConformalSets(mean + v * low, mean + v * high, (count == 0) & ~(unseen | unbounded), unbounded, unseen)
