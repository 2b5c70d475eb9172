"""The average of several models' distributions at the same points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibo.arguments import checked
from calibo.data import STORED_LEVELS, Array
from calibo.distributions.base import Distribution
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.quantile_table import QuantileTable
from calibo.distributions.transformed import Transformed
from calibo.errors import RecipeError


@checked
def averaged(
    distributions: Sequence[Distribution], weights: Sequence[Array | float], *, between: bool = False
) -> Distribution:
    """Return the distribution whose quantiles are the averages of the distributions' quantiles (Vincent's average).

    Args:
        distributions: P distributions, each ``... x q``: all Gaussian, or all quantile tables with common levels, or Gaussian
            ones some of which are of transformed outcomes (averaged as tables of their quantiles at ``STORED_LEVELS``).
        weights: One per distribution, of sum 1: a number, or an array that broadcasts with ``... x q``, so that weights of
            ``t x 1 x ... x 1`` average the same distributions in t ways at once.
        between: Whether to add the variance between the means of Gaussian distributions, as a mixture does. Of several
            averages, one of a single distribution, which shows no such variance, gets the mean variance of the others.

    Raises:
        RecipeError: If the distributions cannot be averaged.
    """
    if not len(distributions) or len(distributions) != len(weights):
        raise RecipeError(
            f"give a weight for each of one or more distributions, got {len(distributions)} and {len(weights)}"
        )
    gaussians = [d for d in distributions if isinstance(d, Gaussian)]
    if len(gaussians) == len(distributions):
        return _gaussian(gaussians, weights, between)
    if all(isinstance(d.base if isinstance(d, Transformed) else d, Gaussian) for d in distributions):
        return averaged([_tabulated(d) for d in distributions], weights)
    tables = [d for d in distributions if isinstance(d, QuantileTable)]
    complete = len(tables) == len(distributions)
    common = set.intersection(*(set(t.levels.tolist()) for t in tables)) if complete else set[float]()
    if min(common, default=1.0) < 0.5 < max(common, default=0.0):
        levels = np.array(sorted(common))
        shared = [t.values[..., np.isin(t.levels, levels)] for t in tables]
        values = sum(np.asarray(w)[..., None] * own for w, own in zip(weights, shared, strict=True))
        low, high = max(t.backed[0] for t in tables), min(t.backed[1] for t in tables)
        return QuantileTable(levels, np.maximum.accumulate(values, axis=-1), (low, high))
    raise RecipeError(
        f"distributions of type {', '.join(sorted({type(d).__name__ for d in distributions}))} cannot be averaged: models of "
        "folds need Gaussian distributions or quantile tables with common levels; use KFold(refit=True) or Split() instead"
    )


def _tabulated(distribution: Distribution) -> QuantileTable:
    """Return the table of a distribution's quantiles at ``STORED_LEVELS``."""
    levels = np.asarray(STORED_LEVELS)
    return QuantileTable(levels, np.moveaxis(distribution.over_samples().at_levels(levels[:, None]), -2, -1))


def _gaussian(distributions: Sequence[Gaussian], weights: Sequence[Array | float], between: bool) -> Gaussian:
    def average(values: Sequence[Array]) -> Array:
        return np.asarray(sum(w * value for w, value in zip(weights, values, strict=True)))

    mean = average([d.mean for d in distributions])
    away = [d.mean - mean if between else np.zeros_like(mean) for d in distributions]
    # In units of the largest, whose square need not be a float.
    largest = [np.max(np.maximum(d.std, np.abs(off)), initial=0.0) for d, off in zip(distributions, away, strict=True)]
    unit = float(np.max(largest)) or 1.0
    if between:
        spread = _filled(average([np.square(off / unit) for off in away]), weights)
        std = unit * np.sqrt(average([np.square(d.std / unit) for d in distributions]) + spread)
    else:
        std = average([d.std for d in distributions])

    def correlation() -> Array:
        covariance = np.zeros((*mean.shape, mean.shape[-1]))
        for w, d, off in zip(weights, distributions, away, strict=True):
            own = np.eye(mean.shape[-1]) if d.correlation is None else d.correlation()
            s, o = d.std / unit, off / unit
            joint = own * (s[..., :, None] * s[..., None, :]) + o[..., :, None] * o[..., None, :]
            covariance = covariance + np.asarray(w)[..., None] * joint
        deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        return covariance / (deviation[..., :, None] * deviation[..., None, :])

    noise = average([np.asarray(d.noise_std) for d in distributions])
    return Gaussian(mean, std, correlation, noise if noise.ndim else float(noise))


def _filled(spread: Array, weights: Sequence[Array | float]) -> Array:
    """Return variances between distributions, ``t x ...``, those of single distributions replaced by the others' mean."""
    count = np.sum([np.asarray(w) > 0.0 for w in weights], axis=0)
    if not np.ndim(count) or not (count == 1).any() or (count == 1).all():
        return spread
    others = spread[count.reshape(len(count), -1)[:, 0] > 1].mean(axis=0)
    return np.where(count == 1, others, spread)
