"""Predictive distributions with exact cdf, quantiles, moments and expected improvement."""

from calibo.distributions.averaged import averaged
from calibo.distributions.base import Distribution
from calibo.distributions.flat_set import FlatSet
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import FlatLevels, LevelFunction, Levels, Tempered, checked_levels
from calibo.distributions.quantile_average import QuantileAverage
from calibo.distributions.quantile_table import QuantileTable
from calibo.distributions.relevelled import Composed, Relevelled
from calibo.distributions.relevelling import relevel
from calibo.distributions.stacked import Stacked, stacked
from calibo.distributions.stored import StoredDistribution, from_marginals
from calibo.distributions.stretched import Stretched, StretchedScores
from calibo.distributions.transformed import Transformed
from calibo.distributions.transforms import HalfRank, LowerTailPower, OutcomeTransform, YeoJohnson

__all__ = [
    "Composed",
    "FlatLevels",
    "FlatSet",
    "Gaussian",
    "HalfRank",
    "LevelFunction",
    "Levels",
    "LowerTailPower",
    "QuantileAverage",
    "Distribution",
    "OutcomeTransform",
    "QuantileTable",
    "Relevelled",
    "StoredDistribution",
    "Stacked",
    "Stretched",
    "StretchedScores",
    "Tempered",
    "Transformed",
    "YeoJohnson",
    "averaged",
    "checked_levels",
    "from_marginals",
    "relevel",
    "stacked",
]
