"""Conformal sets contain what they promise on exchangeable data, exactly with randomisation and at least without.

Hyper-parameters are fixed, wrong on purpose, so that the scores are symmetric in the data and coverage owes nothing to the
model being right.
"""

from __future__ import annotations

import numpy as np
import pytest

from calibo.calibration.conformal_bayes import ConformalModel
from calibo.calibration.conformal_set import Score, in_sample_score, leave_one_out_score
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization

N, STREAMS = 15, 4000
#: Four standard errors of a share over 4,000 streams: exceeded by chance in 1 of 16,000 seeded tests of a share.
SLACK = 4.0


def share_covered(score: Score, alpha: float, noise: float, *, randomized: bool, weighted: bool = False) -> float:
    """How often a fresh measurement lies in the set made from N others, points and noise drawn alike."""
    rng = np.random.default_rng([N, int(100 * alpha), int(100 * noise), randomized, weighted])
    theta = Hyperparameters(np.full(2, 0.3), 1.0, noise)
    units = Standardization(1.0, 0.0, 1.0)
    hits = 0
    for _ in range(STREAMS):
        X = rng.random((N + 1, 2))
        y = np.sin(6.0 * X[:, 0]) + 2.0 * X[:, 1] + (0.1 + 0.4 * X[:, 0]) * rng.standard_t(4, N + 1)
        which = N
        weights = None
        if weighted:
            # The last point is drawn with a chance proportional to r(x): a shift of the points that the weights undo.
            ratio = np.exp(1.5 * X[:, 0])
            which = int(rng.choice(N + 1, p=ratio / ratio.sum()))
            rest = np.delete(ratio, which)
            total = ratio.sum()
            weights = lambda self, points, n, w=rest / total, own=ratio[which] / total: (w, np.array([own]))
        kept = np.delete(np.arange(N + 1), which)
        base = Posterior(Matern52(), Features((0, 0)), theta, X[kept], y[kept], np.full(N, noise), units)
        smoothing = float(rng.random()) if randomized else 0.0
        model = ConformalModel if weights is None else type("Weighted", (ConformalModel,), {"_weights": weights})
        sets = model(base, alpha, score, smoothing).conformal_sets(X[[which]])
        inside = ((sets.low <= y[which]) & (y[which] <= sets.high)).any()
        # A set without an end is cut far out; what lies beyond is in the set all the same.
        hits += bool(inside or sets.unseen[0] or (sets.unbounded[0] and beyond(sets.low[0], sets.high[0], y[which])))
    return hits / STREAMS


def beyond(low: np.ndarray, high: np.ndarray, y: float) -> bool:
    return bool(y < low.min() or y > high.max())


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.37])
@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_randomised_sets_cover_exactly(alpha: float, noise: float) -> None:
    """Within four standard errors, of leave-one-out sets, which always have ends; false alarm 1 in 16,000 each."""
    error = SLACK * np.sqrt(alpha * (1 - alpha) / STREAMS)
    assert share_covered(leave_one_out_score, alpha, noise, randomized=True) == pytest.approx(1 - alpha, abs=error)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.37])
@pytest.mark.parametrize("score", [in_sample_score, leave_one_out_score])
def test_conservative_sets_cover_at_least_that(alpha: float, score: Score) -> None:
    """At least 1 - alpha and at most 1 / (n + 1) more, up to four standard errors; false alarm 1 in 16,000 each."""
    error = SLACK * np.sqrt(alpha * (1 - alpha) / STREAMS)
    share = share_covered(score, alpha, 0.5, randomized=False)
    assert 1 - alpha - error <= share <= 1 - alpha + 1 / (N + 1) + error


@pytest.mark.slow
def test_weights_undo_a_known_shift() -> None:
    """Points drawn by a known density ratio: at least 1 - alpha up to four standard errors; false alarm 1 in 30,000."""
    alpha = 0.3
    error = SLACK * np.sqrt(alpha * (1 - alpha) / STREAMS)
    assert share_covered(leave_one_out_score, alpha, 0.2, randomized=False, weighted=True) >= 1 - alpha - error
    exact = share_covered(leave_one_out_score, alpha, 0.2, randomized=True, weighted=True)
    # Where the point's own weight reaches alpha everything is accepted, so that this one is at least exact as well.
    assert exact >= 1 - alpha - error
