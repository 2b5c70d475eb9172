"""Predictive distributions with exact cdf, quantiles, moments and expected improvement."""

from calibo.distributions.averaged import averaged
from calibo.distributions.base import Distribution
from calibo.distributions.flat_set import FlatSet
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import FlatLevels, LevelFunction, Levels, Tempered, checked_levels
from calibo.distributions.quantile_table import QuantileTable
from calibo.distributions.relevelled import Composed, Relevelled, relevel
from calibo.distributions.stacked import Stacked, stacked
from calibo.distributions.stored import StoredDistribution, from_marginals

__all__ = [
    "Composed",
    "FlatLevels",
    "FlatSet",
    "Gaussian",
    "LevelFunction",
    "Levels",
    "Distribution",
    "QuantileTable",
    "Relevelled",
    "StoredDistribution",
    "Stacked",
    "Tempered",
    "averaged",
    "checked_levels",
    "from_marginals",
    "relevel",
    "stacked",
]
