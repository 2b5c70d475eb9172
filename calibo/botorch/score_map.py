"""Level maps in torch, as differentiable maps of normal scores.

A level map R acts on a Gaussian distribution through normal scores alone: Y = m + s T(Z) with T(z) = Phi^-1(R(Phi(z)))
and Z standard normal, so T, its density and its two moments are all that a posterior needs.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibo.calibration import Relevel, identity
from calibo.distributions import Levels, Tempered
from calibo.errors import RecipeError

#: Beyond this score the normal tail underflows in float64.
_LARGEST_SCORE = 37.0
_LEVEL_RANGE = (1e-300, 1.0 - 1e-16)
_BY_POINT = "this level map changes from point to point and cannot be used in torch: use one shared map"


class ScoreMap(ABC):
    """The map T = Phi^-1 R Phi of normal scores, and the distribution of T(Z) for Z standard normal."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """E T(Z), in closed form."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Var T(Z), in closed form."""

    @abstractmethod
    def __call__(self, z: Tensor) -> Tensor:
        """Return T(z), any shape, differentiable, in double precision."""

    @abstractmethod
    def density(self, h: Tensor) -> Tensor:
        """Return the density of T(Z) at ``h``, any shape, without atoms."""

    @abstractmethod
    def negated(self) -> ScoreMap:
        """Return the map for minus the outcome: -T(-z)."""


@singledispatch
def score_map(level_map: Any) -> ScoreMap:
    """Return the score map of a level map: a recalibrator's ``Relevel``, ``Levels``, ``Tempered`` or ``identity``.

    Other level functions can be registered: ``score_map.register(MyLevels, my_function)``.

    Raises:
        RecipeError: If the map is of another type, or changes from point to point.
    """
    if level_map is identity:
        return TemperedScores(1.0)
    raise RecipeError(
        f"a level map of type {type(level_map).__name__} is not available in torch: pass what a recalibrator's fit() "
        "returns (a Relevel of Levels or Tempered), or calibo.calibration.identity; maps that change from point to point "
        "are not supported"
    )


@score_map.register
def _(level_map: Relevel) -> ScoreMap:
    return score_map(level_map.levels)


@score_map.register
def _(level_map: Tempered) -> ScoreMap:
    if np.ndim(level_map.factor):
        raise RecipeError(_BY_POINT)
    return TemperedScores(float(level_map.factor))


@score_map.register
def _(level_map: Levels) -> ScoreMap:
    if not level_map.shared:
        raise RecipeError(_BY_POINT)
    return LevelledScores(level_map)


@dataclass(frozen=True)
class TemperedScores(ScoreMap):
    """T(z) = factor z."""

    factor: float

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return self.factor**2

    def __call__(self, z: Tensor) -> Tensor:
        return self.factor * z.double()

    def density(self, h: Tensor) -> Tensor:
        return _density(h.double() / self.factor) / self.factor

    def negated(self) -> TemperedScores:
        return self


@dataclass(frozen=True, eq=False)
class LevelledScores(ScoreMap):
    """The score map of a piecewise linear level map.

    The upper half is computed from the upper tail, by the map of minus the outcome, because floating point resolves
    levels close to 0 but not levels close to 1.
    """

    levels: Levels

    @property
    def mean(self) -> float:
        return float(self.levels.first_moment_above[0])

    @property
    def variance(self) -> float:
        return max(float(self.levels.second_moment) - self.mean**2, 0.0)

    def __call__(self, z: Tensor) -> Tensor:
        z = z.double()
        # torch.special.ndtr is 0 below -8.3; erfc keeps its digits.
        tail = 0.5 * torch.erfc(z.abs().clamp_max(_LARGEST_SCORE) / math.sqrt(2.0))
        lower = torch.special.ndtri(_interpolated(tail, self.levels.p, self.levels.r).clamp(*_LEVEL_RANGE))
        mirrored = self.levels.negated()
        upper = torch.special.ndtri(_interpolated(tail, mirrored.p, mirrored.r).clamp(*_LEVEL_RANGE))
        return torch.where(z <= 0.0, lower, -upper)

    def density(self, h: Tensor) -> Tensor:
        h = h.double()
        level = torch.special.ndtr(h.detach())
        segment = torch.from_numpy(self.levels.segment(level.cpu().numpy()))
        return torch.from_numpy(self.levels.slope)[segment].to(h) * _density(h)

    def negated(self) -> LevelledScores:
        return LevelledScores(self.levels.negated())


def _interpolated(x: Tensor, xp: np.ndarray, fp: np.ndarray) -> Tensor:
    """Return the piecewise linear function through (xp, fp) at ``x``, with the gradient of the segment that holds x."""
    knots = torch.tensor(xp, device=x.device)
    values = torch.tensor(fp, device=x.device)
    slopes = values.diff() / knots.diff()
    # searchsorted warns about inputs that are not contiguous.
    j = (torch.searchsorted(knots, x.detach().contiguous()) - 1).clamp(0, len(slopes) - 1)
    return values[j] + slopes[j] * (x - knots[j])


def _density(z: Tensor) -> Tensor:
    return torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
