"""Distributions with their levels mapped, in the form with the best closed forms."""

from __future__ import annotations

from calibo.arguments import checked
from calibo.distributions.base import Distribution
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import LevelFunction, Levels, Tempered
from calibo.distributions.quantile_table import QuantileTable
from calibo.distributions.relevelled import Composed, Relevelled
from calibo.distributions.stretched import Stretched, StretchedScores
from calibo.distributions.transformed import Transformed


@checked
def relevel(distribution: Distribution, levels: LevelFunction) -> Distribution:
    """Return the distribution with its levels mapped, in the form with the best closed forms.

    Args:
        distribution: The model's distribution.
        levels: The level map, shared by all points or with one map per point.
    """
    if isinstance(distribution, Transformed):
        # A monotone transform of the outcome leaves levels as they are.
        return Transformed(relevel(distribution.base, levels), distribution.transform)
    if isinstance(distribution, Gaussian):
        if isinstance(levels, Tempered):
            return distribution.scaled(levels.factor)
        if isinstance(levels, StretchedScores):
            return Stretched(distribution, levels)
        if isinstance(levels, Levels):
            return Relevelled(distribution, levels)
    if isinstance(levels, Levels) and levels.shared:
        if isinstance(distribution, Relevelled) and distribution.levels.shared:
            return Relevelled(distribution.base, distribution.levels.after(levels))
        if isinstance(distribution, QuantileTable):
            return distribution.relevelled(levels)
    return Composed(distribution, levels)
