"""Convex functions f, each of which makes a loss whose optimum is an expected utility (Song et al. 2022, Theorem 3.4).

The theorem maximises E[u f'(s) - f*(f'(s))] over s > 0, with f* the convex conjugate: whatever the strictly convex f, the
optimum is s = E[u]. Here everything is a function of t = log s, which any real number may be: the conjugate at f'(s) is then
a plain function, and neither s nor the conjugate's own domain has to be kept in mind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, xlogy

from calibo.classifiers.labels import Labelled
from calibo.data import Array

#: Losses are followed as far as |t| = 30: beyond, powers of exp(t) would spoil all other rows of a batch.
_REACH = 30.0


class Convex(Protocol):
    """A strictly convex function f of a ratio s > 0, by what the loss needs of it; all of t = log s, elementwise."""

    def slope(self, t: Array) -> Array:
        """f'(s)."""
        ...

    def conjugate(self, t: Array) -> Array:
        """f*(f'(s)) = s f'(s) - f(s), up to a constant."""
        ...

    def steepness(self, t: Array) -> Array:
        """How fast the slope rises with t: s f''(s), above 0."""
        ...


@dataclass(frozen=True)
class JensenShannon:
    """f(s) = s log s - (1 + s) log(1 + s): weighted classification (Corollary 3.5), with t the log-odds."""

    def __call__(self, s: Array) -> Array:
        """f itself."""
        return xlogy(s, s) - xlogy(1.0 + s, 1.0 + s)

    def slope(self, t: Array) -> Array:
        return -np.logaddexp(0.0, -t)

    def conjugate(self, t: Array) -> Array:
        return np.logaddexp(0.0, t)

    def steepness(self, t: Array) -> Array:
        return expit(-t)


@dataclass(frozen=True)
class KullbackLeibler:
    """f(s) = s log s: the loss s - u log s of counts (Poisson regression); convex in t."""

    def __call__(self, s: Array) -> Array:
        """f itself."""
        return xlogy(s, s)

    def slope(self, t: Array) -> Array:
        return t + 1.0

    def conjugate(self, t: Array) -> Array:
        return np.exp(t)

    def steepness(self, t: Array) -> Array:
        return np.ones_like(t)


@dataclass(frozen=True)
class ChiSquared:
    """f(s) = (s - 1)^2: least squares of the utility. It cares most for where much is to be gained, and least for zeros."""

    def __call__(self, s: Array) -> Array:
        """f itself."""
        return np.square(s - 1.0)

    def slope(self, t: Array) -> Array:
        return 2.0 * np.expm1(t)

    def conjugate(self, t: Array) -> Array:
        return np.expm1(2.0 * t)

    def steepness(self, t: Array) -> Array:
        return 2.0 * np.exp(t)


@dataclass(frozen=True)
class SquaredHellinger:
    """f(s) = (sqrt(s) - 1)^2: the loss sqrt(s) + u / sqrt(s), convex in t. It cares most for where little is gained."""

    def __call__(self, s: Array) -> Array:
        """f itself."""
        return np.square(np.sqrt(s) - 1.0)

    def slope(self, t: Array) -> Array:
        return -np.expm1(-0.5 * t)

    def conjugate(self, t: Array) -> Array:
        return np.expm1(0.5 * t)

    def steepness(self, t: Array) -> Array:
        return 0.5 * np.exp(-0.5 * t)


def variational_loss(f: Convex, t: Array, labelled: Labelled) -> tuple[float, Array]:
    """The loss of log utilities at the rows of labelled points, N, and its slope in each of them, N.

    mean w [(1 - z) f*(f'(s)) - z f'(s)]. With the labels of ``WeightedLabels`` this is minus the objective of Theorem 3.4
    for u over its mean; with others, the best s is the weight of the positives over that of the negatives at a point.
    """
    z, w = labelled.z, labelled.weights
    losses = (1.0 - z) * f.conjugate(t) - z * f.slope(t)
    return float((w * losses).mean()), w * loss_slope(f, t, z) / len(z)


def loss_slope(f: Convex, t: Array, z: Array) -> Array:
    """The slope of one row's loss in t, for t and labels z of the same shape.

    d f*(f'(s)) / dt = s d f'(s) / dt, so that it is the steepness times (s for negatives, -1 for positives).
    """
    near = np.clip(t, -_REACH, _REACH)
    return f.steepness(near) * np.where(z > 0.0, -1.0, np.exp(near))
