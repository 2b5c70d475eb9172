"""Stationary kernels of a scaled squared distance, with the derivative the likelihood gradient needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from calibo.data import Array


def squared_distances(A: Array, B: Array) -> Array:
    """Return squared distances, `a x b`, of `a x D` and `b x D` points; exact for near ones, unlike |a|^2 + |b|^2 - 2ab."""
    return np.asarray(cdist(A, B, "sqeuclidean"), dtype=np.float64)


class Kernel(ABC):
    """A correlation function of s = sum_j (x_j - x'_j)^2 / l_j^2; subclasses are frozen dataclasses."""

    @abstractmethod
    def correlation(self, s: Array) -> Array:
        """Return k(s), with k(0) = 1; any shape."""

    @abstractmethod
    def with_derivative(self, s: Array) -> tuple[Array, Array]:
        """Return k(s) and -2 dk/ds, so that dk / d log l_j = -2 dk/ds (x_j - x'_j)^2 / l_j^2."""


@dataclass(frozen=True)
class Matern52(Kernel):
    """The Matern kernel with smoothness 5/2: k = (1 + r + r^2 / 3) exp(-r), r = sqrt(5 s).

    Computed in place: memory for intermediate results costs more than the arithmetic.
    """

    def correlation(self, s: Array) -> Array:
        r, decay = _decay(s)
        r += 1.0
        r += (5.0 / 3.0) * s
        r *= decay
        return r

    def with_derivative(self, s: Array) -> tuple[Array, Array]:
        slope, decay = _decay(s)
        slope += 1.0
        slope *= decay
        decay *= s
        decay *= 5.0 / 3.0
        decay += slope
        slope *= 5.0 / 3.0
        return decay, slope


def _decay(s: Array) -> tuple[Array, Array]:
    """Return r = sqrt(5 s) and exp(-r) as new arrays, which may be overwritten."""
    r, decay = np.empty_like(s), np.empty_like(s)
    np.sqrt(np.multiply(5.0, s, out=r), out=r)
    return r, np.exp(np.negative(r, out=decay), out=decay)


@dataclass(frozen=True)
class RBF(Kernel):
    """The squared exponential kernel: k = exp(-s / 2)."""

    def correlation(self, s: Array) -> Array:
        return np.exp(-0.5 * s)

    def with_derivative(self, s: Array) -> tuple[Array, Array]:
        decay = np.exp(-0.5 * s)
        return decay, decay


@dataclass(frozen=True)
class Matern32(Kernel):
    """The Matern kernel with smoothness 3/2, for functions with one derivative: k = (1 + r) exp(-r), r = sqrt(3 s)."""

    def correlation(self, s: Array) -> Array:
        r = np.sqrt(3.0 * s)
        return (1.0 + r) * np.exp(-r)

    def with_derivative(self, s: Array) -> tuple[Array, Array]:
        r = np.sqrt(3.0 * s)
        decay = np.exp(-r)
        return (1.0 + r) * decay, 3.0 * decay
