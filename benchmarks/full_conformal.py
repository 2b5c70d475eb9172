"""Coverage of 80 % full conformal sets whose hyperparameters are fitted to all data, or to the older half of them.

Data and queries are drawn from one distribution, so that exact sets hold 80 % of the outcomes; ties are broken at random. Run
with ``python -m benchmarks.full_conformal``; 100 data sets of each size take about 10 seconds of CPU.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from calibo.calibration import ConformalBayes
from calibo.data import Array, Dataset
from calibo.errors import FallbackWarning
from calibo.models import GaussianProcess

ALPHA, NOISE, QUERIES = 0.2, 0.3, 20
SIZES = (10, 20, 40)
SHARES = {"all data": None, "the older half": 0.5}


def outcomes(X: Array, shape: Array, rng: np.random.Generator) -> Array:
    """Measure a random smooth function of two variables at `m x 2` points."""
    f = np.sin(6.0 * X[:, 0] + shape[0]) + np.cos(5.0 * shape[1] * X[:, 1]) + X[:, 0] * X[:, 1]
    return f + NOISE * rng.standard_normal(len(X))


def one(surrogate: ConformalBayes, n: int, seed: int) -> tuple[float, float]:
    """Return the share of the outcomes at new points that are in their sets, and the median width, for one data set."""
    rng = np.random.default_rng([seed, n])
    X, shape = rng.random((n + QUERIES, 2)), 3.0 * rng.random(2)
    y = outcomes(X, shape, rng)
    sets = surrogate.fit(Dataset(X=X[:n], Y=y[:n, None]), rng=rng).conformal_sets(X[n:])
    new = y[n:, None]
    inside = np.logical_or(sets.unseen, ((sets.low <= new) & (new <= sets.high)).any(axis=1))
    widths = np.where(sets.unseen, np.inf, (sets.high - sets.low).sum(axis=1))
    return float(inside.mean()), float(np.median(widths))


def main() -> None:
    """Print coverage, its standard error and the median width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100, help="data sets of each size")
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", FallbackWarning)
    print(
        "| hyperparameters fitted to | score | results | coverage of 80 % sets | median width |\n|---|---|---|---|---|"
    )
    for score in ("loo", "in_sample"):
        for name, share in SHARES.items():
            surrogate = ConformalBayes(GaussianProcess(), ALPHA, score=score, randomized=True, fitted_on=share)
            for n in SIZES:
                found = np.array([one(surrogate, n, seed) for seed in range(repeats)])
                error = found[:, 0].std(ddof=1) / np.sqrt(repeats)
                print(
                    f"| {name} | {score} | {n} | {found[:, 0].mean():.3f} +- {error:.3f} | {np.median(found[:, 1]):.2f} |"
                )


if __name__ == "__main__":
    main()
