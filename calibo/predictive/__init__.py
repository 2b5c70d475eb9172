"""What is believed at a point: predictive distributions with exact cdf, quantile, moments and improvement."""

from calibo.predictive.base import Predictive
from calibo.predictive.gaussian import Gaussian
from calibo.predictive.levels import LevelFunction, Levels, Tempered
from calibo.predictive.relevelled import Composed, Relevelled, relevel

__all__ = ["Composed", "Gaussian", "LevelFunction", "Levels", "Predictive", "Relevelled", "Tempered", "relevel"]
