"""Outcomes -> labels and weights, such that a classifier's odds are an expected utility.

Notation: n points, larger outcomes y are better; tau the threshold; u the utility; s1 positives and s0 negatives.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from calibo.classifiers.utilities import Improvement, Utility, checked_utilities
from calibo.data import Array
from calibo.errors import RecipeError


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a classifier is trained on.

    Attributes:
        X: Points, N x d; one may be there twice, as a positive and as a negative.
        z: Labels, N: 1 for positives, 0 for negatives.
        weights: Of the rows, N; their mean is 1.
        threshold: The outcome above which points are positives.
    """

    X: Array
    z: Array
    weights: Array
    threshold: float

    def __len__(self) -> int:
        return len(self.z)

    def with_negatives(self, X: Array) -> Labelled:
        """The same with further negatives, k x d, each as heavy as those there are."""
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
        """A draw of the Bayesian bootstrap (Rubin 1981): every row's weight times an exponential variable.

        Unlike a draw of rows it never leaves a class empty.
        """
        weights = self.weights * rng.standard_exponential(len(self))
        return replace(self, weights=weights / weights.mean())


class LabelRule(Protocol):
    """A way to label points by their outcomes."""

    def label(self, X: Array, y: Array) -> Labelled | None:
        """Points, n x d, labelled by their outcomes, n; ``None`` if there is nothing to be learned."""
        ...


@dataclass(frozen=True)
class WeightedLabels:
    """LFBO (Song et al. 2022, Corollary 3.5): positives weighted by their utility, and *all* points as negatives.

    1. tau is the quantile of the outcomes at 1 - gamma, interpolated linearly.
    2. Points with a positive utility are positives, of weight u / mean(u) (s1 + s0) / (2 s1).
    3. All points, those once more, are negatives, of weight (s1 + s0) / (2 s0).

    Both classes then weigh the same and the mean weight is 1. The best classifier has the odds
    C / (1 - C) = E[u | x] / mean(u), the mean over all points, so that the most probable positive has the largest expected
    utility.

    Where no outcome is above the quantile, because the best one occurs more often than gamma, tau is the next worse
    outcome, and all of the best are positives. If all outcomes are equal nothing can be learned.

    Attributes:
        utility: Of an outcome over the threshold.
        gamma: Share of the points above the threshold, in (0, 1).
    """

    utility: Utility = field(default_factory=Improvement)
    gamma: float = 1.0 / 3.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        if not callable(self.utility):
            raise RecipeError(f"a utility is a callable of outcomes and a threshold, got {self.utility!r}")

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
class BoreLabels:
    """BORE (Tiao et al. 2021): every point once, positive above the threshold and negative at or below it, unweighted.

    Its odds are monotone in the probability of improvement; those who take it for the expected improvement are misled by
    how far above the threshold an outcome is. The threshold is as in ``WeightedLabels``.

    Attributes:
        gamma: Share of the points above the threshold, in (0, 1).
    """

    gamma: float = 1.0 / 3.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def label(self, X: Array, y: Array) -> Labelled | None:
        tau = threshold(y, self.gamma)
        if tau is None:
            return None
        return Labelled(X=X, z=(y > tau).astype(np.float64), weights=np.ones(len(y)), threshold=tau)


def threshold(y: Array, gamma: float) -> float | None:
    """The threshold of outcomes, n, that a share gamma of them is above; ``None`` if they are all equal."""
    if not len(y) or y.min() == y.max():
        return None
    tau = float(np.quantile(y, 1.0 - gamma))
    return tau if tau < y.max() else float(y[y < y.max()].max())


def _check_gamma(gamma: float) -> None:
    if not 0.0 < gamma < 1.0:
        raise RecipeError(f"gamma is the share of points above the threshold, in (0, 1), got {gamma}")
