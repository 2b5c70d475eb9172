"""Level maps in torch: which score of the model stands behind a calibrated one, with gradients.

A level map R acts on a Gaussian distribution through the scores alone: Y = m + s T(Z) with T(z) = Phi^-1(R(Phi(z))) and Z
standard normal, so T, its density and its two moments are all that a posterior needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from calibo.calibration import Relevel, identity
from calibo.distributions import Levels, Tempered
from calibo.errors import RecipeError

#: Beyond this score the normal tail underflows in float64.
_LARGEST_SCORE = 37.0
_LEVEL_RANGE = (1e-300, 1.0 - 1e-16)


class ScoreMap(Protocol):
    """T = Phi^-1 R Phi and the distribution of T(Z), Z standard normal."""

    @property
    def mean(self) -> float:
        """E T(Z), in closed form."""
        ...

    @property
    def variance(self) -> float:
        """Var T(Z), in closed form."""
        ...

    def __call__(self, z: Tensor) -> Tensor:
        """T(z), any shape, differentiable, in double precision."""
        ...

    def density(self, h: Tensor) -> Tensor:
        """Density of T(Z) at ``h``, any shape; atoms are left out."""
        ...

    def negated(self) -> ScoreMap:
        """The map for minus the outcome: -T(-z)."""
        ...


@singledispatch
def score_map(level_map: Any) -> ScoreMap:
    """The score map of a level map: of what recalibrators return (``Relevel``), ``Levels``, ``Tempered``, ``identity``.

    Other level functions can be registered: ``score_map.register(MyLevels, my_function)``.
    """
    if level_map is identity:
        return TemperedScores(1.0)
    raise RecipeError(
        f"a level map of type {type(level_map).__name__} cannot be read in torch: pass what a recalibrator's fit() "
        "returns (Relevel with Levels or Tempered inside), or calibo.calibration.identity; maps that change with x "
        "are not served"
    )


@score_map.register
def _(level_map: Relevel) -> ScoreMap:
    return score_map(level_map.levels)


@score_map.register
def _(level_map: Tempered) -> ScoreMap:
    return TemperedScores(level_map.factor)


@score_map.register
def _(level_map: Levels) -> ScoreMap:
    if not level_map.shared:
        raise RecipeError("this level map changes from point to point and cannot be used in torch: use one shared map")
    return LevelledScores(level_map)


@dataclass(frozen=True)
class TemperedScores:
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
class LevelledScores:
    """T of a piecewise linear R.

    The upper half is computed from the upper tail, by the map of minus the outcome, because levels next to 1 cannot be
    told apart in floating point while levels next to 0 can.
    """

    levels: Levels

    @property
    def mean(self) -> float:
        return float(self.levels.first_moment_above[0])

    @property
    def variance(self) -> float:
        return max(self.levels.second_moment - self.mean**2, 0.0)

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
    """Piecewise linear function through the knots (xp, fp) at ``x``, with the gradient of the segment that holds x."""
    knots = torch.tensor(xp, device=x.device)
    values = torch.tensor(fp, device=x.device)
    slopes = values.diff() / knots.diff()
    # searchsorted warns about inputs that are not contiguous.
    j = (torch.searchsorted(knots, x.detach().contiguous()) - 1).clamp(0, len(slopes) - 1)
    return values[j] + slopes[j] * (x - knots[j])


def _density(z: Tensor) -> Tensor:
    return torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
