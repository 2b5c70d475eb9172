"""Scores and PITs of evidence."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm

from calibo.calibration import Evidence
from calibo.data import STORED_LEVELS, Marginal
from calibo.distributions import from_marginals


def test_scores_and_pits() -> None:
    scores = ndtri(np.array(STORED_LEVELS))
    forecasts = from_marginals((Marginal(2.0, 0.5), Marginal(0.0, 1.0, tuple(np.exp(scores)))))
    evidence = Evidence(np.zeros((2, 1)), np.array([2.5, np.exp(scores[24])]), forecasts)
    assert len(evidence) == 2
    np.testing.assert_allclose(evidence.scores, [1.0, scores[24]], atol=1e-9)
    np.testing.assert_allclose(evidence.pit, [norm.cdf(1.0), STORED_LEVELS[24]], atol=1e-9)
