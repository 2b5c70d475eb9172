"""Density ratios of the points a search visits over the data, and the importance weights that follow.

Conformal sets hold for points drawn like the data. A search goes where its acquisition is large, so each datum counts
with weight r(x) = p'(x) / p(x), proposals p' over data p (Stanton et al. 2023, section 4.3). The ratio is learned by
classification: a classifier's odds are the ratio of the densities (their eq. 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, log

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.errors import DataError, RecipeError

#: Ratios below and above these say nothing that a finite sample could have shown.
LEAST_RATIO, LARGEST_RATIO = 1e-6, 1e6
#: Newton stops when its step would lower the loss by less than this share of the weight of one class.
_TOLERANCE = 1e-5
#: Never reached in practice: the loss is convex, and each step lowers it.
_ITERATIONS = 50


#: A density ratio of proposals over data: maps `... x d` points to r(x) in [1e-6, 1e6].
Ratio = Callable[[Array], Array]


class RatioEstimator(ABC):
    """A recipe for a density ratio; subclasses are frozen dataclasses."""

    @abstractmethod
    def fit(self, data: Array, proposals: Array, *, previous: Ratio | None, rng: np.random.Generator) -> Ratio:
        """Estimate the density of the proposals over that of the data; 1 everywhere without proposals.

        Args:
            data: `n x d` points that were measured.
            proposals: `p x d` points: all that the search has visited so far.
            previous: The ratio of an earlier fit to start from; `None` for the first.
            rng: Source of all randomness.
        """


@dataclass(frozen=True)
class Unshifted:
    """The ratio 1 everywhere: no covariate shift."""

    def __call__(self, X: Array) -> Array:
        return np.ones(X.shape[:-1])


@dataclass(frozen=True)
class DensityRatio(RatioEstimator):
    """A density ratio by logistic regression on random Fourier features: convex, and warm-started.

    The log ratio is b + beta'z(x), z holding ``features`` cosines (Rahimi and Recht 2007; a Gaussian kernel) and d
    linear terms, each part with a kernel of about 1 at every point. Steps of a fit:

    1. Each datum weighs 1 and each proposal n / p, so that the odds need no correction for the prior ratio in eq. (8),
       and a long chain of dependent proposals does not count as as many independent ones.
    2. Newton's method on the weighted logistic loss + penalty / 2 |beta|^2, b free. The penalty replaces the
       paper's averaging of weights: it keeps the ratio from changing too rapidly between updates.
    3. b is shifted so that the mean ratio over the data is 1, as E_p r = 1. Importance weights do not depend on it.

    Attributes:
        features: Number of cosines, drawn at the first fit and kept as long as `previous` is passed on.
        length_scale: Of the kernel, in units of sqrt(d) on the unit cube (distances there grow like sqrt(d)).
        penalty: On the squared coefficients; the log ratio's prior variance at a point is about 2 / penalty.
    """

    features: int = 64
    length_scale: float = 0.2
    penalty: float = 0.6

    def __post_init__(self) -> None:
        check_fields(self)
        if self.features < 1:
            raise RecipeError(f"a density ratio needs at least one feature, got {self.features}; 64 is usual")
        for name, value in (("length_scale", self.length_scale), ("penalty", self.penalty)):
            if not (isfinite(value) and value > 0.0):
                raise RecipeError(f"a density ratio's {name} must be positive and finite, got {value}")

    def fit(self, data: Array, proposals: Array, *, previous: Ratio | None, rng: np.random.Generator) -> Ratio:
        n, p = checked_counts(data, proposals)
        if not n or not p:
            return Unshifted()
        basis, start = self._start(data.shape[-1], previous, rng)
        Z = basis(np.concatenate([data, proposals]))
        labels = np.repeat([0.0, 1.0], [n, p])
        weights = np.repeat([1.0, n / p], [n, p])
        coefficients = _logistic_regression(Z, labels, weights, self.penalty, start)
        logits = Z[:n] @ coefficients
        # The last column of the basis is constant, so its coefficient is the intercept.
        coefficients[-1] -= float(logits.max() + np.log(np.mean(np.exp(logits - logits.max()))))
        return LogisticRatio(basis, coefficients)

    def _start(self, d: int, previous: Ratio | None, rng: np.random.Generator) -> tuple[FourierBasis, Array]:
        """Return the basis and the initial coefficients: those of `previous` if its basis fits, else drawn, and zeros."""
        scale = self.length_scale * d**0.5
        if isinstance(previous, LogisticRatio):
            known = previous.basis
            if known.frequencies.shape == (d, self.features) and known.length_scale == scale:
                return known, previous.coefficients
        frequencies = rng.standard_normal((d, self.features)) / scale
        basis = FourierBasis(frequencies, rng.uniform(0.0, 2.0 * np.pi, self.features), scale)
        return basis, np.zeros(self.features + d + 1)


@dataclass(frozen=True, eq=False)
class FourierBasis:
    """Random cosines, linear terms and a constant.

    Attributes:
        frequencies: Frequencies of the cosines, `d x F`.
        phases: Phases of the cosines, F.
        length_scale: Length scale of the kernel that the cosines approximate.
    """

    frequencies: Array
    phases: Array
    length_scale: float

    def __call__(self, X: Array) -> Array:
        """Return the features of `... x d` points, `... x (F + d + 1)`."""
        waves, slope = self._sizes
        return np.concatenate([waves * self._cosines(X), slope * (X - 0.5), np.ones((*X.shape[:-1], 1))], axis=-1)

    def combined(self, X: Array, coefficients: Array) -> Array:
        """Return the features of `... x d` points times F + d + 1 coefficients, without storing the features."""
        waves, slope = self._sizes
        of_waves, of_slopes = np.split(coefficients[:-1], [len(self.phases)])
        return self._cosines(X) @ (waves * of_waves) + (X - 0.5) @ (slope * of_slopes) + coefficients[-1]

    def _cosines(self, X: Array) -> Array:
        angles = X @ self.frequencies
        angles += self.phases
        return np.cos(angles, out=angles)

    @property
    def _sizes(self) -> tuple[float, float]:
        """Factors that give the cosines, and the linear terms at points uniform on the cube, an average squared norm of 1."""
        d, count = self.frequencies.shape
        return (2.0 / count) ** 0.5, (12.0 / d) ** 0.5


@dataclass(frozen=True, eq=False)
class LogisticRatio:
    """A fitted log-linear ratio.

    Attributes:
        basis: The features.
        coefficients: Coefficients of the log ratio, F + d + 1, the intercept last.
    """

    basis: FourierBasis
    coefficients: Array

    def __call__(self, X: Array) -> Array:
        return np.exp(np.clip(self.basis.combined(X, self.coefficients), log(LEAST_RATIO), log(LARGEST_RATIO)))


def importance_weights(ratio_data: Array, ratio_point: Array) -> tuple[Array, Array]:
    """Return the weights of the data and of a query point, which sum to 1 for each point (Algorithm 4).

    Each point of a batch is weighted against the n data alone, not against the other points.

    Args:
        ratio_data: Ratios at the data, n.
        ratio_point: Ratios at query points, ...

    Returns:
        w_i of the data, `... x n`, and w_n of the query points, `...`.
    """
    point = np.asarray(ratio_point, dtype=np.float64)
    total = ratio_data.sum() + point
    return ratio_data / total[..., None], point / total


def effective_sample_size(weights: Array) -> float:
    """Return (sum w)^2 / sum w^2 of n weights: the number of equally weighted data with as much information; 0 of none."""
    if not len(weights):
        return 0.0
    # Relative to the largest, so that weights of any size can be squared.
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / np.square(shares).sum())


def checked_counts(data: Array, proposals: Array) -> tuple[int, int]:
    """Return the numbers of data and of proposals.

    Raises:
        DataError: If they are not points of the same dimension.
    """
    if data.ndim != 2 or proposals.ndim != 2 or data.shape[1] != proposals.shape[1]:
        raise DataError(
            "a density ratio compares data, n x d, with proposals, p x d, of the same d; "
            f"got arrays of shapes {data.shape} and {proposals.shape}"
        )
    return len(data), len(proposals)


def _logistic_regression(Z: Array, labels: Array, weights: Array, penalty: float, start: Array) -> Array:
    """Minimize the weighted logistic loss + penalty / 2 |beta|^2 (without the last coefficient, of a constant feature).

    Newton's method with the step halved until the loss falls; the loss is convex, so it ends at the minimum.
    """
    ridge = np.full(Z.shape[1], penalty)
    ridge[-1] = 1e-9  # the intercept is free, but the system must stay solvable where all rows are certain
    enough = _TOLERANCE * float(weights[labels == 0.0].sum())

    def loss_at(beta: Array, logits: Array) -> float:
        return float(weights @ (np.logaddexp(0.0, logits) - labels * logits) + 0.5 * ridge @ np.square(beta))

    beta, logits = start.copy(), Z @ start
    loss = loss_at(beta, logits)
    for _ in range(_ITERATIONS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * logits))
        gradient = Z.T @ (weights * (chance - labels)) + ridge * beta
        root = Z * np.sqrt(weights * chance * (1.0 - chance))[:, None]
        hessian = root.T @ root
        hessian.flat[:: len(beta) + 1] += ridge
        step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        fall = float(gradient @ step)
        if fall < enough:
            return beta - step
        ahead, size = Z @ step, 1.0
        while (lower := loss_at(beta - size * step, logits - size * ahead)) > loss - 1e-4 * size * fall and size > 1e-6:
            size *= 0.5
        beta, logits, loss = beta - size * step, logits - size * ahead, lower
    return beta
