"""Likelihood-free: outcomes -> labels and weights -> a classifier whose log-odds are the acquisition function."""

from calibo.classifiers.base import Classifier, History, LogOdds, WarmStarted
from calibo.classifiers.by_size import BySize
from calibo.classifiers.convex import ChiSquared, Convex, JensenShannon, KullbackLeibler, SquaredHellinger
from calibo.classifiers.kernel import KernelLogistic
from calibo.classifiers.labels import BoreLabels, Labelled, LabelRule, WeightedLabels
from calibo.classifiers.mlp import MLP
from calibo.classifiers.outcomes import Tchebycheff, merits
from calibo.classifiers.scikit import Logistic, Wrapped
from calibo.classifiers.trees import GradientBoosting, RandomForest, XGBoost
from calibo.classifiers.utilities import Improvement, Power, Probability, Utility
from calibo.classifiers.variational import Variational

__all__ = [
    "MLP",
    "BoreLabels",
    "BySize",
    "ChiSquared",
    "Classifier",
    "Convex",
    "GradientBoosting",
    "History",
    "Improvement",
    "JensenShannon",
    "KernelLogistic",
    "KullbackLeibler",
    "LabelRule",
    "Labelled",
    "LogOdds",
    "Logistic",
    "Power",
    "Probability",
    "RandomForest",
    "SquaredHellinger",
    "Tchebycheff",
    "Utility",
    "Variational",
    "WarmStarted",
    "WeightedLabels",
    "Wrapped",
    "XGBoost",
    "merits",
]
