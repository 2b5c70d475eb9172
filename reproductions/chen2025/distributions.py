"""Table 3.1: how well quantiles of a sample, with straight lines between them, describe a left-skewed distribution.

Notation: n sample size, q the thesis's number of quantiles, x a grid.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from settings import thesis_levels

from calibo.data import Array
from calibo.distributions import QuantileTable

SIZES = tuple(range(50, 501, 50))
#: Skewness parameter of the skewed normal distribution.
SKEW = -10.0
MEAN = SKEW / np.sqrt(1.0 + SKEW**2) * np.sqrt(2.0 / np.pi)
SD = np.sqrt(1.0 - MEAN**2)
GAUSSIAN, TEN, TWENTY = "Gaussian", "quantiles, q = 10", "quantiles, q = 20"
ESTIMATORS = (GAUSSIAN, TEN, TWENTY)
#: Mean, standard deviation and KL divergence in the thesis, for each size and estimator.
THESIS: dict[int, tuple[tuple[float, float, float], ...]] = {
    50: ((-0.7985, 0.6005, 0.5727), (-0.7481, 0.5503, 0.1646), (-0.7440, 0.5536, 0.2928)),
    100: ((-0.7989, 0.6145, 0.6181), (-0.7744, 0.5941, 0.0953), (-0.7654, 0.5798, 0.1297)),
    150: ((-0.7986, 0.6100, 0.5977), (-0.7860, 0.6133, 0.0811), (-0.7791, 0.5950, 0.0948)),
    200: ((-0.7969, 0.6162, 0.6227), (-0.7948, 0.6347, 0.0625), (-0.7833, 0.6050, 0.0676)),
    250: ((-0.7921, 0.6127, 0.6166), (-0.7936, 0.6384, 0.0526), (-0.7815, 0.6084, 0.0576)),
    300: ((-0.7940, 0.6140, 0.6168), (-0.8002, 0.6521, 0.0540), (-0.7876, 0.6153, 0.0482)),
    350: ((-0.7919, 0.6131, 0.6176), (-0.8002, 0.6570, 0.0507), (-0.7866, 0.6188, 0.0432)),
    400: ((-0.7919, 0.6131, 0.6174), (-0.8041, 0.6650, 0.0491), (-0.7871, 0.6215, 0.0388)),
    450: ((-0.7908, 0.6114, 0.6121), (-0.8054, 0.6668, 0.0468), (-0.7888, 0.6240, 0.0357)),
    500: ((-0.7922, 0.6081, 0.5956), (-0.8070, 0.6657, 0.0459), (-0.7912, 0.6219, 0.0328)),
}
#: Where the thesis integrates, and where (nearly) all of the true distribution lies.
_GRID = np.linspace(MEAN - 3.0 * SD, MEAN + 3.0 * SD, 1000)
_WIDE = np.linspace(-8.0, 1.0, 9001)


@cache
def _true(wide: bool) -> Array:
    """Log density of the truth at either grid."""
    return log_truth(_WIDE if wide else _GRID)


@cache
def table(trials: int) -> list[dict[str, Any]]:
    """Return a row for each size and estimator: means over the trials of mean, sd and divergence, the thesis's beside."""
    rows = []
    for n in SIZES:
        samples = [sample(n, seed) for seed in range(trials)]
        for estimator, thesis in zip(ESTIMATORS, THESIS[n], strict=True):
            found = np.mean([measured(estimator, one) for one in samples], axis=0)
            names = ("mean", "sd", "kl", "kl_of_truth")
            rows.append({"n": n, "estimator": estimator, **dict(zip(names, found.round(4).tolist(), strict=True))})
            rows[-1]["thesis"] = list(thesis)
    return rows


def sample(n: int, seed: int) -> Array:
    """Draws of the truth, n, with the thesis's own seeds."""
    from scipy.stats import skewnorm

    return np.asarray(skewnorm.rvs(SKEW, size=n, random_state=seed), dtype=np.float64)


def estimated(y: Array, q: int) -> QuantileTable:
    """Return the distribution between a sample's quantiles at the thesis's levels; their ranks are rounded up, as there."""
    levels, n = np.array(thesis_levels(q)), len(y)
    ranks = np.minimum(np.ceil((n + 1) * levels) / n, 1.0)
    return QuantileTable(levels, np.quantile(y, ranks))


def log_density(distribution: QuantileTable, x: Array) -> Array:
    """Return the density of a quantile table at `m` points: the slope of its cdf, or a tail's exponential."""
    p, v = distribution.levels, distribution.values
    slopes = np.log(np.diff(p) / np.diff(v))
    inner = slopes[np.clip(np.searchsorted(v, x) - 1, 0, len(slopes) - 1)]
    # The scale of a tail is the mean distance beyond the last quantile.
    upper = float(distribution.expected_improvement(v[-1])) / (1.0 - p[-1])
    lower = float(distribution.negated().expected_improvement(-v[0])) / p[0]
    below = np.log(p[0] / lower) - (v[0] - x) / lower
    above = np.log((1.0 - p[-1]) / upper) - (x - v[-1]) / upper
    return np.where(x < v[0], below, np.where(x > v[-1], above, inner))


def log_truth(x: Array) -> Array:
    """Log density of the skewed normal distribution at x, m."""
    return np.log(2.0) - 0.5 * x**2 - 0.5 * np.log(2.0 * np.pi) + log_ndtr(SKEW * x)


def divergence(of: Array, from_: Array, x: Array) -> float:
    """KL divergence, by the trapezoidal rule, of the distribution with the first log density from that with the second."""
    return float(np.trapezoid(np.exp(of) * (of - from_), x))


def measured(estimator: str, y: Array) -> tuple[float, float, float, float]:
    """Mean, sd, KL(estimate, truth) where the thesis integrates, and KL(truth, estimate)."""
    if estimator == GAUSSIAN:
        mean, sd = float(y.mean()), float(y.std())
        on_grid, wide = (-0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi) for x in (_GRID, _WIDE))
    else:
        distribution = estimated(y, 10 if estimator == TEN else 20)
        mean, sd = float(distribution.mean), float(distribution.std)
        on_grid, wide = log_density(distribution, _GRID), log_density(distribution, _WIDE)
    return mean, sd, divergence(on_grid, _true(False), _GRID), divergence(_true(True), wide, _WIDE)
