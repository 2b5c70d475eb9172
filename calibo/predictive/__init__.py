"""What is believed at a point: predictive distributions with exact cdf, quantile, moments and improvement."""

from calibo.predictive.averaged import averaged
from calibo.predictive.base import Predictive
from calibo.predictive.flat_set import FlatSet
from calibo.predictive.gaussian import Gaussian
from calibo.predictive.levels import LevelFunction, Levels, Tempered, checked_levels
from calibo.predictive.local_levels import FlatLevels, LocalLevels, LocallyRelevelled, relevel_locally
from calibo.predictive.quantile_table import QuantileTable
from calibo.predictive.relevelled import Composed, Relevelled, relevel

__all__ = [
    "Composed",
    "FlatLevels",
    "FlatSet",
    "Gaussian",
    "LevelFunction",
    "Levels",
    "LocalLevels",
    "LocallyRelevelled",
    "Predictive",
    "QuantileTable",
    "Relevelled",
    "Tempered",
    "averaged",
    "checked_levels",
    "relevel",
    "relevel_locally",
]
