"""Held-out forecasts by models of parts of the data: one split, folds, and bootstrap samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibo.calibration.resampling import FEWEST_POINTS, held_out
from calibo.checks import check_between, check_whole
from calibo.data import Array, Dataset, Evidence, Marginal
from calibo.distributions import Distribution, averaged
from calibo.models.base import FitsMany, Model, Surrogate


@dataclass(frozen=True)
class Split:
    """A model of some of the points, forecasting the rest; the points are parted at random.

    The model never sees the points it is judged by, so that conformal intervals keep their promise exactly on
    exchangeable data; what it loses by that is their information.

    Attributes:
        fraction: Share of the points that is forecast.
    """

    fraction: float = 0.5

    def __post_init__(self) -> None:
        check_between("the fraction of points kept for calibration", self.fraction, 0.0, 1.0)

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        n = len(data)
        kept = min(max(round(self.fraction * n), 1), n - FEWEST_POINTS)
        if kept < 1:
            return surrogate.fit(data, rng=rng), held_out(data, [None] * n)
        order = shuffled(data, rng)
        model = surrogate.fit(data.rows(np.sort(order[kept:])), rng=rng)
        test = np.sort(order[:kept])
        distributions: list[Marginal | None] = [None] * n
        for i, distribution in zip(test, model.predict(data.X[test], latent=False).marginals(), strict=True):
            distributions[i] = distribution
        return model, held_out(data, distributions)


@dataclass(frozen=True)
class KFold:
    """Each fold forecast from the other folds, by k fits; folds are drawn at random.

    Attributes:
        k: Number of folds.
        refit: ``False``: the model is the average of the k models' quantiles (cross-conformal as in Chen 2025, and what
            CV+ needs). ``True``: it is a further fit, to all points.
    """

    k: int = 5
    refit: bool = False

    def __post_init__(self) -> None:
        check_whole("the number of folds", self.k, 2)

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        n = len(data)
        if n <= FEWEST_POINTS:
            return surrogate.fit(data, rng=rng), held_out(data, [None] * n)
        folds = np.array_split(shuffled(data, rng), min(self.k, n))
        rest = [np.setdiff1d(np.arange(n), fold) for fold in folds]
        unseen = np.zeros((n, len(folds)))
        for j, fold in enumerate(folds):
            unseen[fold, j] = 1.0
        if not self.refit:
            return _pooled(surrogate, data, rest, unseen, between=False, rng=rng)
        distributions: list[Marginal | None] = [None] * n
        for fold, model in zip(folds, fitted_to(surrogate, data, rest, rng=rng), strict=True):
            for i, distribution in zip(fold, model.predict(data.X[fold], latent=False).marginals(), strict=True):
                distributions[i] = distribution
        return surrogate.fit(data, rng=rng), held_out(data, distributions)


@dataclass(frozen=True)
class Bootstrap:
    """Models of points drawn with replacement, each point forecast by those that did not draw it (out of bag).

    With ``Conformal(plus=True)`` this is the jackknife+-after-bootstrap (Kim et al. 2020). The spread between the models is
    part of a Gaussian distribution's variance; of tables, quantiles are averaged. Points that every model drew have no forecast and
    are left out of the evidence.

    Attributes:
        samples: Number of models, B.
    """

    samples: int = 20

    def __post_init__(self) -> None:
        check_whole("the number of bootstrap samples", self.samples, 2)

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        n = len(data)
        if n <= FEWEST_POINTS:
            return surrogate.fit(data, rng=rng), held_out(data, [None] * n)
        order = in_order(data)
        drawn = [np.sort(order[rng.integers(n, size=n)]) for _ in range(self.samples)]
        unseen = np.ones((n, self.samples))
        for j, rows in enumerate(drawn):
            unseen[rows, j] = 0.0
        return _pooled(surrogate, data, drawn, unseen, between=True, rng=rng)


@dataclass(frozen=True, eq=False)
class Pooled:
    """Several models as one.

    Attributes:
        models: P of them.
        between: Whether their disagreement counts as uncertainty; else their quantiles are averaged.
        weights: Of the models, P for one pool, or P x t for t pools at once.
    """

    models: tuple[Model, ...]
    between: bool
    weights: Array

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """The distribution at X, ... x q x d: ... x q of one pool, t x ... x q of several."""
        distributions = [model.predict(X, latent=latent) for model in self.models]
        weights = (
            self.weights if self.weights.ndim == 1 else self.weights.reshape(*self.weights.shape, *[1] * (X.ndim - 1))
        )
        return averaged(distributions, list(weights), between=self.between)


def _pooled(
    surrogate: Surrogate,
    data: Dataset,
    subsets: Sequence[np.ndarray],
    unseen: Array,
    *,
    between: bool,
    rng: np.random.Generator,
) -> tuple[Pooled, Evidence]:
    """The models of subsets as one model, and each point forecast by the models that had not seen it.

    Args:
        surrogate: Fitted to each subset.
        data: n points.
        subsets: Rows of the data, P of them.
        unseen: 1 where a model has not seen a point, n x P.
        between: Whether disagreement counts as uncertainty.
        rng: For the fits.
    """
    models = fitted_to(surrogate, data, subsets, rng=rng)
    pooled = Pooled(models, between, np.full(len(models), 1.0 / len(models)))
    known = np.flatnonzero(unseen.any(axis=1))
    distributions: list[Marginal | None] = [None] * len(data)
    if not known.size:
        return pooled, held_out(data, distributions)
    weights = (unseen[known] / unseen[known].sum(axis=1, keepdims=True)).T
    at_data = [model.predict(data.X[known], latent=False) for model in models]
    for i, distribution in zip(known, averaged(at_data, list(weights), between=between).marginals(), strict=True):
        distributions[i] = distribution
    left_out = Pooled(models, between, weights)
    return pooled, replace(held_out(data, distributions), left_out=partial(left_out.predict, latent=False))


def in_order(data: Dataset) -> np.ndarray:
    """The rows in an order that does not depend on the order they came in, n: by point, then by outcome."""
    return np.lexsort((*data.Y.T, *data.X.T[::-1]))


def shuffled(data: Dataset, rng: np.random.Generator) -> np.ndarray:
    """The rows in a random order, n, the same whatever order they came in."""
    return in_order(data)[rng.permutation(len(data))]


def fitted_to(
    surrogate: Surrogate, data: Dataset, subsets: Sequence[np.ndarray], *, rng: np.random.Generator
) -> tuple[Model, ...]:
    """A model of each subset of rows, trained together where the surrogate can."""
    if isinstance(surrogate, FitsMany):
        return tuple(surrogate.fit_many(data, list(subsets), rng=rng))
    return tuple(surrogate.fit(data.rows(rows), rng=rng) for rows in subsets)
