"""From outcomes to labels and weights, such that the odds of a classifier are an expected utility.

1. ``merits``: all outcomes of a point become one number (several objectives, constraints).
2. A utility of that number above a threshold, whose expectation is the acquisition function.
3. A rule that turns utilities into labels and weights of LFBO or BORE.

Notation: n points, m objectives, y one number for each point, larger is better; tau the threshold; u the utility; s1
positives and s0 negatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from calibo.arguments import check_fields, checked
from calibo.checks import check_between, shown
from calibo.data import Activity, Array, Dataset
from calibo.errors import DataError, RecipeError
from calibo.scalarization import Tchebycheff

#: A utility is any function of outcomes y, `n`, and a threshold tau that returns `n` values, none of them negative. Only
#: ratios between the values matter, because the weights made of them have mean 1.
Utility = Callable[[Array, float], Array]


#: Outcomes of this size are taken in units of it.
_LARGE = 1e250


@dataclass(frozen=True)
class Improvement:
    """u = max(y - tau, 0): the classifier learns the expected improvement (Song et al. 2022, section 3.3).

    >>> Improvement()(np.array([1.0, 3.0]), 2.0).tolist()
    [0.0, 1.0]
    """

    def __call__(self, y: Array, tau: float) -> Array:
        if float(np.max(np.abs(y), initial=abs(tau))) > _LARGE:
            # Only ratios of weights matter: in smaller units neither differences nor sums overflow.
            y, tau = y / _LARGE, tau / _LARGE
        return np.maximum(y - tau, 0.0)


@dataclass(frozen=True)
class Probability:
    """u = 1 where y > tau: the classifier learns the probability of improvement.

    This is the form of Song et al. (2022), in which points above the threshold are negatives as well; that of BORE is
    ``BoreLabels``.
    """

    def __call__(self, y: Array, tau: float) -> Array:
        return (y > tau).astype(np.float64)


@dataclass(frozen=True)
class Power:
    """u = max(y - tau, 0)^exponent: between the probability of improvement (0) and improvement (1), and beyond.

    Attributes:
        exponent: The paper's lambda, from 0 on.
    """

    exponent: float

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("the exponent of a utility", self.exponent, 0.0, np.inf, including="low")

    def __call__(self, y: Array, tau: float) -> Array:
        gain = Improvement()(y, tau)
        # Relative to the largest, so that no power overflows.
        largest = float(gain.max(initial=0.0)) or 1.0
        return np.where(gain > 0.0, (gain / largest) ** self.exponent, 0.0)


def checked_utilities(utility: Utility, y: Array, tau: float) -> Array:
    """Evaluate a utility at outcomes, `n`, and check its values.

    Raises:
        DataError: If there is not one finite value from 0 on for each outcome.
    """
    values = np.asarray(utility(y, tau), dtype=np.float64)
    if values.shape != y.shape:
        raise DataError(f"a utility of {len(y)} outcomes must give {len(y)} values, got shape {values.shape}")
    wrong = ~np.isfinite(values) | (values < 0.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"a utility must be finite and not negative, got {values[at]} for the outcome {y[at]} at the threshold {tau} "
            "(outcomes are maximized here; those of a minimized objective have the opposite sign)"
        )
    return values


@dataclass(frozen=True, eq=False)
class Labelled:
    """Training data of a classifier.

    Attributes:
        X: Points, `N x d`; a point may occur twice, as a positive and as a negative.
        z: Labels, `N`: 1 for positives, 0 for negatives.
        weights: Weights of the rows, `N`, of mean 1.
        threshold: The outcome above which points are positives.
        activity: Which columns are active at a point; ``None`` if all always are. Values of inactive ones are missing.
    """

    X: Array
    z: Array
    weights: Array
    threshold: float
    activity: Activity | None = None

    def __len__(self) -> int:
        return len(self.z)

    def with_negatives(self, X: Array) -> Labelled:
        """Add negatives, `k x d`, each of the mean weight of the present ones."""
        if not len(X):
            return self
        usual = float(self.weights[self.z == 0.0].mean())
        weights = np.concatenate([self.weights, np.full(len(X), usual)])
        return replace(
            self,
            X=np.vstack([self.X, X]),
            z=np.concatenate([self.z, np.zeros(len(X))]),
            weights=weights / weights.mean(),
        )

    def resampled(self, rng: np.random.Generator) -> Labelled:
        """Draw from the Bayesian bootstrap (Rubin 1981): multiply every weight by an exponential variable.

        Unlike a draw of rows it never leaves a class empty.
        """
        weights = self.weights * rng.standard_exponential(len(self))
        return replace(self, weights=weights / weights.mean())


class LabelRule(ABC):
    """A rule that labels points by their outcomes."""

    @abstractmethod
    def label(self, X: Array, y: Array) -> Labelled | None:
        """Label points, `n x d`, by their outcomes, `n`; ``None`` if nothing can be learned from them."""


@dataclass(frozen=True)
class WeightedLabels(LabelRule):
    """Labels of LFBO (Song et al. 2022, Corollary 3.5): positives weighted by utility, and *all* points as negatives.

    1. tau is the quantile of the outcomes at 1 - gamma, interpolated linearly.
    2. Points with a positive utility are positives, of weight u / mean(u) (s1 + s0) / (2 s1).
    3. All points, including these, are negatives, of weight (s1 + s0) / (2 s0).

    Both classes then have the same weight, and the mean weight is 1. The best classifier has the odds
    C / (1 - C) = E[u | x] / mean(u), the mean over all points, so that the most probable positive has the largest expected
    utility.

    If no outcome exceeds the quantile, because the best one occurs more often than gamma, tau is the next worse
    outcome, and all of the best are positives. If all outcomes are equal, nothing can be learned.

    Attributes:
        utility: Utility of an outcome above the threshold.
        gamma: Share of the points above the threshold, in (0, 1).
    """

    utility: Utility = field(default_factory=Improvement)
    gamma: float = 1.0 / 3.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("gamma, the share of points above the threshold,", self.gamma, 0.0, 1.0)
        if not callable(self.utility):
            raise RecipeError(f"a utility is a function of outcomes and a threshold, got {shown(self.utility)}")

    def label(self, X: Array, y: Array) -> Labelled | None:
        tau = threshold(y, self.gamma)
        if tau is None:
            return None
        u = checked_utilities(self.utility, y, tau)
        u = u / (u.max() or 1.0)
        positive = u > 0.0
        s1, s0 = int(positive.sum()), len(y)
        if not s1:
            return None
        gained = u[positive] / u[positive].mean() * ((s1 + s0) / (2 * s1))
        return Labelled(
            X=np.vstack([X[positive], X]),
            z=np.repeat([1.0, 0.0], [s1, s0]),
            weights=np.concatenate([gained, np.full(s0, (s1 + s0) / (2 * s0))]),
            threshold=tau,
        )


@dataclass(frozen=True)
class BoreLabels(LabelRule):
    """Labels of BORE (Tiao et al. 2021): each point once, positive above the threshold and negative else, unweighted.

    The odds are monotone in the probability of improvement, not in the expected improvement: how far an outcome is above
    the threshold does not matter. The threshold is that of ``WeightedLabels``.

    Attributes:
        gamma: Share of the points above the threshold, in (0, 1).
    """

    gamma: float = 1.0 / 3.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("gamma, the share of points above the threshold,", self.gamma, 0.0, 1.0)

    def label(self, X: Array, y: Array) -> Labelled | None:
        tau = threshold(y, self.gamma)
        if tau is None:
            return None
        return Labelled(X=X, z=(y > tau).astype(np.float64), weights=np.ones(len(y)), threshold=tau)


def threshold(y: Array, gamma: float) -> float | None:
    """Return the threshold that a share gamma of the outcomes, `n`, exceeds; ``None`` if they are all equal.

    >>> threshold(np.arange(5.0), 0.25)
    3.0
    """
    if not len(y) or y.min() == y.max():
        return None
    tau = float(np.quantile(y, 1.0 - gamma))
    return tau if tau < y.max() else float(y[y < y.max()].max())


@checked
def merits(data: Dataset, tradeoff: Tchebycheff, *, rng: np.random.Generator) -> Array:
    """Combine all outcomes of each point into the number by which it is labelled, `n`, larger is better.

    1. A single objective is taken as it is, several are scalarized.
    2. Infeasible points are all equal, and worse than the worst feasible one: they are never above a threshold.
    3. If no point is feasible, it is the sum of the constraint violations, each relative to the largest.

    Args:
        data: Observed points.
        tradeoff: Scalarization of several objectives.
        rng: Source of the weights of the scalarization.
    """
    goals = data.Y[:, : data.objectives]
    if not data.constraints:
        return goals[:, 0] if data.objectives == 1 else tradeoff.scalarize(goals, data.reference, rng=rng)
    feasible = data.feasible
    if not feasible.any():
        lacking = np.minimum(data.Y[:, data.objectives :], 0.0)
        most = np.maximum(-lacking.min(axis=0), np.finfo(np.float64).tiny)
        return (lacking / most).sum(axis=1)
    among = goals[feasible]
    of_feasible = among[:, 0] if data.objectives == 1 else tradeoff.scalarize(among, data.reference, rng=rng)
    lowest, highest = float(of_feasible.min()), float(of_feasible.max())
    below = (highest - lowest) or abs(lowest) or 1.0
    y = np.full(len(data), lowest - below)
    y[feasible] = of_feasible
    return y
