"""Recalibration by one factor that widens or narrows all intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator, Relevel
from calibo.calibration.evidence import Evidence
from calibo.data import Array
from calibo.distributions import Tempered
from calibo.errors import RecipeError


@dataclass(frozen=True)
class Temperature(Recalibrator):
    """A factor on the normal scores of the forecasts, estimated from past scores z_t with weights that fade.

    factor^2 = (prior + sum_t w_t z_t^2) / (prior + sum_t w_t), w_t = memory^(age of t): the maximum likelihood scale,
    shrunk towards 1 by ``prior`` pseudo-observations. A score counts at most ``largest`` times the factor found so far,
    so that a single outlier cannot widen all intervals beyond use.

    Attributes:
        prior: Number of pseudo-observations in favour of the factor 1.
        memory: Share of a weight that is left one outcome later, in (0, 1].
        largest: Limit of a score in units of the running factor.
    """

    prior: float = 2.0
    memory: float = 0.95
    largest: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.prior <= 0.0 or not 0.0 < self.memory <= 1.0 or self.largest <= 0.0:
            raise RecipeError(
                f"Temperature needs prior > 0, memory in (0, 1] and largest > 0, got {self.prior}, {self.memory}, "
                f"{self.largest}"
            )

    def factor(self, scores: Array) -> float:
        """Return the factor after a sequence of T scores."""
        total, weight, factor = self.prior, self.prior, 1.0
        for z in np.abs(scores).tolist():
            square = min(z, self.largest * factor) ** 2
            total = self.prior + self.memory * (total - self.prior) + square
            weight = self.prior + self.memory * (weight - self.prior) + 1.0
            factor = math.sqrt(total / weight)
        return factor

    def fit(self, evidence: Evidence) -> LevelMap:
        return Relevel(Tempered(self.factor(evidence.scores)))
