"""Full conformal sets of a Gaussian process: exact, batched over points, from the roots of n quadratics each.

At a point x a candidate outcome is y = mean + total e (standardised). Its conformity among the augmented data is a score, larger
is better; the outcome is accepted against datum i where s_i <= s_new, which is a quadratic inequality in e:

    P_i e^2 + Q_i e + R_i >= 0.

Notation: p points, n data; a dual, b influence, d' augmented precision, v total, t^2 and t_i^2 noise variances of the new
measurement and of the data (Augmentation); w_i importance weights of the data, w_n that of the point, summing to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.surrogates.augmentation import Augmentation

#: A p-value this little above alpha is a tie that rounding has lifted.
_TIE = 1e-12
#: An unbounded set is cut so many standard deviations of the measurement from its mean.
REACH = 8.0
#: Ends this many standard deviations out are infinite but for rounding.
_INFINITE = 1e6


@dataclass(frozen=True, eq=False)
class Quadratics:
    """Where outcomes are accepted against each datum: P e^2 + Q e + R >= 0.

    Attributes:
        P: p x n.
        Q: p x n.
        R: p x n.
    """

    P: Array
    Q: Array
    R: Array

    def roots(self) -> tuple[Array, Array]:
        """Lower and upper roots, each p x n; infinite (+inf both) where there are none."""
        # A quadratic that has lost its square is taken for the limit of ones that accept an interval.
        P = np.where(self.P == 0.0, -np.finfo(np.float64).tiny, self.P)
        D = np.square(self.Q) - 4.0 * P * self.R
        real = D > 0.0
        # The formula without cancellation: one root from the sum of like signs, the other from the product.
        t = -0.5 * (self.Q + np.copysign(np.sqrt(np.where(real, D, 0.0)), self.Q))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, second = t / P, self.R / t
        second = np.where(t == 0.0, 0.0, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        return np.where(real, low, np.inf), np.where(real, high, np.inf)


#: How well a measurement conforms: an augmentation to its quadratics.
Score = Callable[[Augmentation], Quadratics]


def in_sample_score(augmentation: Augmentation) -> Quadratics:
    """Of the log density of each measurement, with fresh noise, under the GP of the augmented data (Stanton et al., eq. 3).

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
    """Of the log density of each measurement given all others of the augmented data: residual a'_i / d'_i, variance 1 / d'_i.

    P < 0 always, so the set is bounded whenever w_n < alpha, which in-sample scores do not guarantee.
    """
    a, b = augmentation.dual, augmentation.influence
    precision, v = augmentation.augmented_precision, augmentation.total[:, None]
    log_ratio = np.log(precision * v)
    return Quadratics(np.square(b) / precision - v, -2.0 * a * b / precision, np.square(a) / precision - log_ratio)


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """Conformal sets at p points as unions of intervals, in standardised outcomes.

    Attributes:
        low: Lower ends, p x J, increasing; the intervals that a point does not need are empty.
        high: Upper ends, p x J.
        empty: Where no outcome is accepted, p.
        unbounded: Where acceptance does not end in some direction although the point is not out of distribution, p; the
            set is cut there at ``REACH`` standard deviations.
        unseen: Where every outcome is accepted because the point's own weight reaches alpha: out of distribution, p.
    """

    low: Array
    high: Array
    empty: Array
    unbounded: Array
    unseen: Array


def conformal_sets(
    augmentation: Augmentation, score: Score, weights: Array, own_weight: Array, alpha: float, smoothing: float = 0.0
) -> ConformalSets:
    """{y: w_n + sum_i w_i 1[s_i <= s_new] > alpha + smoothing w_n}, exactly, at each of p points.

    A sweep over the sorted roots: at each the p-value rises or falls by w_i.

    Args:
        augmentation: What a measurement would change.
        score: The conformity score.
        weights: w_i, n or p x n.
        own_weight: w_n, p.
        alpha: Miscoverage.
        smoothing: In [0, 1). A uniform draw makes the set exactly valid (METHODS: smoothed version); 0 is conservative.
    """
    quadratics = score(augmentation)
    low, high = quadratics.roots()
    # Accepted inside the roots where P <= 0, outside where P > 0 (everywhere if there are none).
    step = np.where(quadratics.P > 0.0, -1.0, 1.0) * weights
    outset = own_weight + np.where(quadratics.P > 0.0, weights, 0.0).sum(axis=1)
    events = np.concatenate([low, high], axis=1)
    order = np.argsort(events, axis=1)
    events = np.take_along_axis(events, order, axis=1)
    changes = np.take_along_axis(np.concatenate([step, -step], axis=1), order, axis=1)
    value = outset[:, None] + np.concatenate([np.zeros_like(outset)[:, None], np.cumsum(changes, axis=1)], axis=1)
    # Past infinite roots nothing is left to cross; the last finite value holds on.
    accepted = value > (alpha + smoothing * own_weight)[:, None] + _TIE
    unseen = own_weight >= alpha
    return _intervals(events, accepted, augmentation, unseen)


def _intervals(events: Array, accepted: Array, augmentation: Augmentation, unseen: Array) -> ConformalSets:
    """Joins accepted segments between sorted events, p x E, (E + 1 segments) into intervals of outcomes."""
    p, sd = len(events), np.sqrt(augmentation.total)[:, None]
    # A root that far out is one at infinity, rounded.
    events = np.where(np.abs(events) * sd > _INFINITE, np.copysign(np.inf, events), events)
    # Segments that begin at infinity are none.
    accepted = accepted.copy()
    accepted[:, 1:] &= events < np.inf
    leftmost, rightmost = np.isneginf(events).sum(axis=1), (events < np.inf).sum(axis=1)
    unbounded = (accepted[np.arange(p), leftmost] | accepted[np.arange(p), rightmost]) & ~unseen
    # Sets that end by themselves are not cut: against a model that is too sure they must reach far.
    reach = np.where(unbounded[:, None], REACH / sd, np.inf)
    edges = np.concatenate([-reach, np.clip(events, -reach, reach), reach], axis=1)
    closed = np.zeros((p, 1), dtype=bool)
    padded = np.concatenate([closed, accepted, closed], axis=1)
    starts, ends = padded[:, 1:] & ~padded[:, :-1], padded[:, :-1] & ~padded[:, 1:]
    rows, at = np.nonzero(starts)
    # Both lists run over the rows in the same order, and each start has its end.
    until = np.nonzero(ends)[1]
    lower, upper = edges[rows, at], edges[rows, until]
    kept = (upper > lower) & ~unseen[rows]
    rows, lower, upper = rows[kept], lower[kept], upper[kept]
    first = np.searchsorted(rows, np.arange(p))
    rank = np.arange(len(rows)) - first[rows]
    count = np.bincount(rows, minlength=p)
    J = max(int(count.max(initial=0)), 1)
    low = np.zeros((p, J))
    high = np.zeros((p, J))
    low[rows, rank], high[rows, rank] = lower, upper
    # Unused places are empty intervals at the upper end of the last one used.
    last = np.where(count > 0, high[np.arange(p), np.maximum(count - 1, 0)], 0.0)[:, None]
    unused = np.arange(J) >= count[:, None]
    low, high = np.where(unused, last, low), np.where(unused, last, high)
    mean, v = augmentation.mean[:, None], augmentation.total[:, None]
    return ConformalSets(mean + v * low, mean + v * high, (count == 0) & ~unseen, unbounded, unseen)
