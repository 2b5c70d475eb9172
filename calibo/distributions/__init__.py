"""What is believed at a point: predictive distributions with exact cdf, quantile, moments and improvement."""

from calibo.distributions.averaged import averaged
from calibo.distributions.base import Distribution
from calibo.distributions.flat_set import FlatSet
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.levels import LevelFunction, Levels, Tempered, checked_levels
from calibo.distributions.local_levels import FlatLevels, LocalLevels, LocallyRelevelled, relevel_locally
from calibo.distributions.quantile_table import QuantileTable
from calibo.distributions.relevelled import Composed, Relevelled, relevel
from calibo.distributions.stored import StoredDistribution, from_marginals

__all__ = [
    "Composed",
    "FlatLevels",
    "FlatSet",
    "Gaussian",
    "LevelFunction",
    "Levels",
    "LocalLevels",
    "LocallyRelevelled",
    "Distribution",
    "QuantileTable",
    "Relevelled",
    "StoredDistribution",
    "Tempered",
    "averaged",
    "checked_levels",
    "from_marginals",
    "relevel",
    "relevel_locally",
]
