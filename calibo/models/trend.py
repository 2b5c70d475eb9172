"""A polynomial trend with uncertain coefficients, as a term of the covariance of a Gaussian process.

Coefficients c ~ N(0, v / b I) of b basis functions B(x) add v / b B(x) B(x')' to the covariance. The sum stays positive
definite, so every closed form of the posterior holds; with few data the coefficients are drawn to 0, where
generalized least squares (universal kriging) would follow the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.checks import check_one_of
from calibo.data import Array

#: Names of trends, by the highest power of a column in them.
TRENDS = ("constant", "linear", "quadratic")
#: Prior of log v, normal, and the bounds within which it is sought (standardised outcomes).
_PRIOR = (-1.0, 1.5)
_BOUNDS = (np.log(1e-4), np.log(1e2))


@dataclass(frozen=True)
class PolynomialTrend:
    """Powers of each numeric column, without products of columns.

    The basis functions are the Legendre polynomials of the unit interval: uncorrelated, with mean 0 and variance 1 for a
    uniform point. So v is the variance of the trend over the cube, whatever the number of columns.

    Attributes:
        degree: The highest power, 1 or 2.
        categories: Number of choices of each column, 0 for a numeric one.
    """

    degree: int
    categories: tuple[int, ...]

    @classmethod
    def named(cls, name: str, categories: tuple[int, ...]) -> PolynomialTrend | None:
        """Return the trend of a name among `TRENDS`; `None` if it is constant or no column is numeric."""
        check_one_of("trend", name, TRENDS)
        return cls(TRENDS.index(name), categories) if name != "constant" and 0 in categories else None

    def basis(self, X: Array) -> Array:
        """Return the basis functions over the root of their number, at `q x d` points, `q x b`."""
        u = 2.0 * X[:, np.asarray(self.categories) == 0] - 1.0
        columns = [np.sqrt(3.0) * u]
        if self.degree == 2:
            columns.append(np.sqrt(5.0) * 0.5 * (3.0 * np.square(u) - 1.0))
        return np.hstack(columns) / np.sqrt(len(columns) * u.shape[1])

    @property
    def start(self) -> float:
        """The raw hyperparameter, log v, that is most likely a priori."""
        return _PRIOR[0]

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of log v."""
        return _BOUNDS

    def prior(self, raw: float) -> tuple[float, float]:
        """Return the negative log prior of log v, up to a constant, and its derivative."""
        deviation = (raw - _PRIOR[0]) / _PRIOR[1]
        return 0.5 * deviation**2, deviation / _PRIOR[1]
