"""Kernel logistic regression: a Gaussian process classifier for few points.

Notation: n different points, a and b the weights of positives and negatives at each, f0 = log(sum a / sum b) the log-odds
without data nearby, f the log-odds minus f0, K the kernel matrix, p = 1 / (1 + exp(-f - f0)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, ndtri

from calibo.arguments import check_fields
from calibo.checks import check_between, check_whole
from calibo.classifiers.base import Classifier, LogOdds
from calibo.classifiers.labels import Labelled
from calibo.data import Array
from calibo.errors import FallbackWarning, warn
from calibo.spaces.encoding import one_hot

#: Candidate length scales, as multiples of the median distance between points, and candidate variances of f.
_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
_VARIANCES = (1.0, 4.0, 16.0)
_NEWTON_STEPS = 50
_ENOUGH = 1e-8


@dataclass(frozen=True)
class KernelLogistic(Classifier):
    """Log-odds of a Gaussian process classifier by Laplace's approximation, with weights.

    1. Rows at the same point are summed: a and b, n.
    2. The kernel is Matern 5/2 in the distance between points, with different choices at distance 1. Of 15 pairs of a
       length scale and a variance the one with the largest evidence (Laplace approximation, Rasmussen and Williams 2006,
       eq. 3.32) is taken.
    3. f maximizes sum a log p + b log(1 - p) - f' K^-1 f / 2 (Algorithm 3.1 there, with weights, and with shorter steps
       where a full one would decrease the objective).
    4. At x the log-odds are Gaussian, of mean f0 + k(x, X) (a - (a + b) p) and a variance that grows with the distance to
       the points (eqs. 3.21 and 3.24 there). Their quantile at ``level`` is returned, so that unlike point classifiers this
       one explores where the expected utility is uncertain.

    The time grows with the cube of n. Beyond ``limit`` different points the positives and a random part of the
    negatives, with larger weights, are used, with a warning.

    Attributes:
        limit: Largest number of different points used.
        level: Level of the quantile, in (0, 1); 1/2 for the most probable log-odds, which search too close to the best
            points (measured in docs/likelihood_free.md).
    """

    limit: int = 400
    level: float = 0.95
    smooth = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("limit", self.limit, 2)
        check_between("level", self.level, 0.0, 1.0)

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        X, a, b = _merged(labelled)
        if len(X) > self.limit:
            warn(
                f"kernel logistic regression uses {self.limit} of {len(X)} points, because its time grows with the cube of "
                "their number; raise its limit, or use a classifier of trees",
                FallbackWarning,
            )
            X, a, b = _thinned(X, a, b, self.limit, rng)
        # Two choices differ in two indicators; for a distance of 1 the square of each is a half.
        width = np.concatenate([np.full(max(1, k), np.sqrt(0.5) if k else 1.0) for k in categories])
        activity = labelled.activity
        width = np.append(width, np.ones(0 if activity is None else len(activity.groups)))
        points = one_hot(X, categories, activity) * width
        gaps = _distances(points, points)
        apart = gaps[np.triu_indices(len(points), 1)]
        usual = float(np.median(apart[apart > 0.0])) if (apart > 0.0).any() else 1.0
        best: tuple[_Mode, float, float] | None = None
        for length in (scale * usual for scale in _SCALES):
            shape = _matern(gaps / length)
            for variance in _VARIANCES:
                mode = _mode(variance * shape, a, b)
                if best is None or mode.evidence > best[0].evidence:
                    best = mode, length, variance
        assert best is not None
        mode, length, variance = best
        score = float(ndtri(self.level))

        def predict(at: Array) -> Array:
            reach = variance * _matern(_distances(one_hot(at, categories, activity) * width, points) / length)
            explained = solve_triangular(mode.factor, (reach * mode.root).T, lower=True, check_finite=False)
            left = np.maximum(variance - np.square(explained).sum(axis=0), 0.0)
            return _prior(a, b) + reach @ mode.slope + score * np.sqrt(left)

        return predict


def _merged(labelled: Labelled) -> tuple[Array, Array, Array]:
    """Return the different points, `n x d`, and the weights of the positives and of the negatives at each, `n`."""
    X, place = np.unique(labelled.X, axis=0, return_inverse=True)
    place = place.ravel()
    a, b = np.zeros(len(X)), np.zeros(len(X))
    np.add.at(a, place, labelled.weights * labelled.z)
    np.add.at(b, place, labelled.weights * (1.0 - labelled.z))
    return X, a, b


def _thinned(X: Array, a: Array, b: Array, limit: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Keep the positives, at most half of the limit, and a random part of the rest, with the same total weights."""
    positive = np.flatnonzero(a > 0.0)
    kept_positive = rng.permutation(positive)[: max(limit // 2, limit - (len(X) - len(positive)))]
    rest = rng.permutation(np.flatnonzero(a == 0.0))[: limit - len(kept_positive)]
    kept = np.sort(np.concatenate([kept_positive, rest]))
    return X[kept], a[kept] * (a.sum() / a[kept].sum()), b[kept] * (b.sum() / b[kept].sum())


def _prior(a: Array, b: Array) -> float:
    return float(np.log(a.sum() / b.sum()))


def _distances(P: Array, Q: Array) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(P, Q), dtype=np.float64)


def _matern(r: Array) -> Array:
    s = np.sqrt(5.0) * r
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


@dataclass(frozen=True, eq=False)
class _Mode:
    """The most probable f, and the Gaussian approximation around it (Laplace)."""

    evidence: float  # approximate log marginal likelihood
    slope: Array  # K^-1 f = a - (a + b) p, n
    root: Array  # square root of W = (a + b) p (1 - p), n
    factor: Array  # Cholesky factor of I + W^1/2 K W^1/2, n x n, lower


def _mode(K: Array, a: Array, b: Array) -> _Mode:
    """Find the most probable f under a kernel matrix, `n x n`, by Newton's method."""
    total, f0 = a + b, _prior(a, b)

    def objective(alpha: Array, f: Array) -> float:
        return float(-0.5 * alpha @ f - a @ np.logaddexp(0.0, -f - f0) - b @ np.logaddexp(0.0, f + f0))

    alpha, f = np.zeros(len(K)), np.zeros(len(K))
    value = objective(alpha, f)
    for _ in range(_NEWTON_STEPS):
        p = expit(f + f0)
        root, factor = _factor(K, total, p)
        newton = root * root * f + a - total * p
        whole = newton - root * cho_solve((factor, True), root * (K @ newton))
        step, gain, moved, of_moved = 1.0, -np.inf, alpha, f
        while step > 1e-6 and gain < 0.0:
            moved = alpha + step * (whole - alpha)
            of_moved = K @ moved
            gain = objective(moved, of_moved) - value
            step *= 0.5
        if gain < 0.0:
            break
        alpha, f, value = moved, of_moved, value + gain
        if gain < _ENOUGH:
            break
    p = expit(f + f0)
    root, factor = _factor(K, total, p)
    return _Mode(value - float(np.log(np.diag(factor)).sum()), a - total * p, root, factor)


def _factor(K: Array, total: Array, p: Array) -> tuple[Array, Array]:
    """Return W^1/2, `n`, and the Cholesky factor of I + W^1/2 K W^1/2, `n x n`."""
    root = np.sqrt(total * p * (1.0 - p))
    return root, cholesky(np.eye(len(K)) + root[:, None] * K * root[None, :], lower=True, check_finite=False)
