"""Several models' laws at the same points as one law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.predictive.base import Predictive
from calibo.predictive.gaussian import Gaussian
from calibo.predictive.quantile_table import QuantileTable


def averaged(laws: Sequence[Predictive], weights: Sequence[Array | float], *, between: bool = False) -> Predictive:
    """The law with the average of the laws' quantiles (Vincent's average): all Gaussian, or tables on the levels they share.

    Args:
        laws: P of them, each ... x q.
        weights: One for each law, of sum 1: a number, or an array that ... x q broadcasts with, so that t pools of
            the same laws are made at once by weights of t x 1 x ... x 1.
        between: Count the variance between the means of Gaussian laws as well, as a mixture does. Of several pools, one
            with a single law gets the others' average variance, for it shows none.
    """
    if all(isinstance(law, Gaussian) for law in laws):
        return _gaussian([law for law in laws if isinstance(law, Gaussian)], weights, between)
    tables = [law for law in laws if isinstance(law, QuantileTable)]
    common = set.intersection(*(set(t.levels.tolist()) for t in tables)) if len(tables) == len(laws) else set[float]()
    if min(common, default=1.0) < 0.5 < max(common, default=0.0):
        levels = np.array(sorted(common))
        spread = [np.asarray(w)[..., None] for w in weights]
        shared = [t.values[..., np.isin(t.levels, levels)] for t in tables]
        values = sum(w * own for w, own in zip(spread, shared, strict=True))
        low, high = max(t.backed[0] for t in tables), min(t.backed[1] for t in tables)
        return QuantileTable(levels, np.maximum.accumulate(values, axis=-1), (low, high))
    raise RecipeError(
        f"laws of {sorted({type(law).__name__ for law in laws})} cannot be averaged: the models of folds and samples "
        "need Gaussian laws or tables with common levels; use KFold(refit=True) or Split() with others"
    )


def _gaussian(laws: Sequence[Gaussian], weights: Sequence[Array | float], between: bool) -> Gaussian:
    def average(values: Sequence[Array]) -> Array:
        return np.asarray(sum(w * value for w, value in zip(weights, values, strict=True)))

    mean = average([law.mean for law in laws])
    away = [law.mean - mean if between else np.zeros_like(mean) for law in laws]
    # In units of the largest, whose square need not be a float.
    unit = np.max([np.max(np.maximum(law.sd, np.abs(off)), initial=0.0) for law, off in zip(laws, away, strict=True)])
    unit = float(unit) or 1.0
    if between:
        spread = _filled(average([np.square(off / unit) for off in away]), weights)
        sd = unit * np.sqrt(average([np.square(law.sd / unit) for law in laws]) + spread)
    else:
        sd = average([law.sd for law in laws])

    def correlation() -> Array:
        covariance = np.zeros((*mean.shape, mean.shape[-1]))
        for w, law, off in zip(weights, laws, away, strict=True):
            own = np.eye(mean.shape[-1]) if law.correlation is None else law.correlation()
            s, o = law.sd / unit, off / unit
            joint = own * (s[..., :, None] * s[..., None, :]) + o[..., :, None] * o[..., None, :]
            covariance = covariance + np.asarray(w)[..., None] * joint
        deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        return covariance / (deviation[..., :, None] * deviation[..., None, :])

    noise = average([np.asarray(law.noise_sd) for law in laws])
    return Gaussian(mean, sd, correlation, noise if noise.ndim else float(noise))


def _filled(spread: Array, weights: Sequence[Array | float]) -> Array:
    """Variances between laws, t x ..., those of pools with a single law replaced by the mean of the others."""
    laws = np.sum([np.asarray(w) > 0.0 for w in weights], axis=0)
    if not np.ndim(laws) or not (laws == 1).any() or (laws == 1).all():
        return spread
    others = spread[laws.reshape(len(laws), -1)[:, 0] > 1].mean(axis=0)
    return np.where(laws == 1, others, spread)
