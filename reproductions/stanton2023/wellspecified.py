"""Figure 14: credible and conformal sets in one dimension, the kernel known, where data are plentiful and where sparse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rkhs import rkhs_problem
from settings import LENGTHSCALE, RKHS_NOISE, KnownGP, Size, covered, generator

from calibo.calibration import ConformalBayes, DensityRatio
from calibo.calibration.conformal_bayes import ShiftedModel
from calibo.calibration.conformal_set import ConformalSets
from calibo.data import Array, Dataset
from calibo.problems import with_noise

BASIS, ALPHA = 16, 0.2
#: Data: most of them uniform on the left, a few on the right.
DENSE, SPARSE, BORDER = 28, 2, 0.5
GRID = np.linspace(0.0, 1.0, 201)
#: Uniform points, which the queries are taken to be drawn from.
PROPOSALS = 200
#: The three kinds of conformal sets: scores, and whether the data are weighted by a learned density ratio.
KINDS = ("conformal", "conformal, weighted", "leave-one-out, weighted")


def trial(seed: int, size: Size) -> dict[str, Any]:
    """Return the sets on a grid for one target: their ends, and which outcomes they held."""
    rng = generator(seed, 14)
    problem = with_noise(rkhs_problem(1, rng, basis=BASIS, lengthscale=LENGTHSCALE, noise=RKHS_NOISE))
    X = np.concatenate([BORDER * rng.random(DENSE), BORDER + (1.0 - BORDER) * rng.random(SPARSE)])[:, None]
    data = Dataset(X=X, Y=problem(X, rng)[:, None])
    points, outcomes = GRID[:, None], problem(GRID[:, None], rng)
    low, high = KnownGP().fit(data, rng=rng).predict(points, latent=False).interval(1.0 - ALPHA)
    left = points[:, 0] <= BORDER
    result: dict[str, Any] = {
        "X": X[:, 0].tolist(),
        "y": data.Y[:, 0].tolist(),
        "truth": problem.problem(points).tolist(),
        "norm": problem.problem.norm,
        "credible": _summary(low, high, (low <= outcomes) & (outcomes <= high), np.zeros(len(points), bool), left),
    }
    for kind, sets in _sets(data, points, rng).items():
        inside = covered(sets, outcomes)
        result[kind] = _summary(sets.low.min(axis=1), sets.high.max(axis=1), inside, sets.unseen, left)
    return result


def _sets(data: Dataset, points: Array, rng: np.random.Generator) -> dict[str, ConformalSets]:
    """Return the conformal sets of each kind at the points of the grid."""
    proposals = np.linspace(0.0, 1.0, PROPOSALS)[:, None]
    plain = ConformalBayes(KnownGP(), ALPHA, "in_sample").fit(data, rng=rng)
    sets = {KINDS[0]: plain.conformal_sets(points)}
    in_sample = ConformalBayes(KnownGP(), ALPHA, "in_sample", DensityRatio())
    for kind, surrogate in ((KINDS[1], in_sample), (KINDS[2], replace(in_sample, score="loo"))):
        model = surrogate.fit(data, rng=rng)
        assert isinstance(model, ShiftedModel)
        sets[kind] = model.learned(proposals, rng=rng).conformal_sets(points)
    return sets


def _summary(low: Array, high: Array, inside: np.ndarray, unseen: np.ndarray, left: np.ndarray) -> dict[str, Any]:
    """Return the ends (the hull of a set of several intervals; NaN where it is everything) and coverage by region."""
    lower, upper = np.where(unseen, np.nan, low), np.where(unseen, np.nan, high)
    regions = {"dense": left, "sparse": ~left}
    return {
        "low": [None if np.isnan(v) else float(v) for v in lower],
        "high": [None if np.isnan(v) else float(v) for v in upper],
        "coverage": {name: float(inside[where].mean()) for name, where in regions.items()},
        "width": {name: _median((upper - lower)[where]) for name, where in regions.items()},
        "unseen": {name: float(unseen[where].mean()) for name, where in regions.items()},
    }


def _median(widths: Array) -> float | None:
    finite = widths[~np.isnan(widths)]
    return float(np.median(finite)) if len(finite) else None
