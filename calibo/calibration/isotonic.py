"""Recalibration by the empirical distribution of past PITs (Kuleshov et al. 2018), and by any regressor fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.calibration.base import LevelMap, Recalibrator, Relevel
from calibo.calibration.evidence import Evidence
from calibo.calibration.monotone_play import isotonic_projection
from calibo.data import Array
from calibo.distributions import Levels
from calibo.models.scikit import seeded


@dataclass(frozen=True)
class Isotonic(Recalibrator):
    """Recalibration by the empirical distribution of PITs: level u becomes the share of past PITs at or below u.

    The recalibration set {(u_t, P(u_t))} is already monotone, so its isotonic regression interpolates it; the share is
    taken as rank / (T + 1), which leaves room for outcomes more extreme than all before.
    """

    def fit(self, evidence: Evidence) -> LevelMap:
        u, share = recalibration_set(evidence.pit)
        return Relevel(levels_through(share, u))


@dataclass(frozen=True)
class Regressor(Recalibrator):
    """Recalibration by any scikit-learn regressor of the recalibration set, made monotone (OCBO's Table 4: GP, MLP).

    Attributes:
        regressor: An unfitted scikit-learn regressor; it is cloned, and seeded.
        grid: Number of levels at which it predicts.
    """

    regressor: Any
    grid: int = 51

    def fit(self, evidence: Evidence) -> LevelMap:
        u, share = recalibration_set(evidence.pit)
        regressor = seeded(self.regressor, np.random.default_rng(0))
        # The ends belong to every level map; among the data they keep the regressor from bending away from them.
        known_u, known_share = np.concatenate([[0.0], u, [1.0]]), np.concatenate([[0.0], share, [1.0]])
        regressor.fit(known_u[:, None], known_share)
        r = np.linspace(0.0, 1.0, self.grid)[1:-1]
        p = isotonic_projection(np.asarray(regressor.predict(r[:, None]), dtype=np.float64))
        return Relevel(levels_through(p, r))


def recalibration_set(pit: Array) -> tuple[Array, Array]:
    """Return the distinct PITs, increasing, and the share of PITs at or below each: rank / (T + 1)."""
    u, counts = np.unique(pit, return_counts=True)
    return u, np.cumsum(counts) / (len(pit) + 1.0)


def levels_through(p: Array, r: Array, margin: float = 1e-9) -> Levels:
    """Return the level map through the points (p, r), r increasing, without those that would make it vertical."""
    inside = (r > margin) & (r < 1.0 - margin)
    p, r = np.clip(p[inside], margin, 1.0 - margin), r[inside]
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(p)) > margin])[: p.size]
    p, r = p[rising], r[rising]
    keep = (p > margin) & (p < 1.0 - margin)
    return Levels(np.concatenate([[0.0], p[keep], [1.0]]), np.concatenate([[0.0], r[keep], [1.0]]))
