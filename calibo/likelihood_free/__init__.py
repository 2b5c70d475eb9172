"""Likelihood-free: outcomes -> labels and weights -> a classifier whose log-odds are the acquisition function."""

from calibo.likelihood_free.by_size import BySize
from calibo.likelihood_free.classifiers import Classifier, History, LogOdds, WarmStarted
from calibo.likelihood_free.convex import ChiSquared, Convex, JensenShannon, KullbackLeibler, SquaredHellinger
from calibo.likelihood_free.kernel import KernelLogistic
from calibo.likelihood_free.labels import BoreLabels, Labelled, LabelRule, WeightedLabels
from calibo.likelihood_free.mlp import MLP
from calibo.likelihood_free.outcomes import Tchebycheff, merits
from calibo.likelihood_free.scikit import Logistic, Wrapped
from calibo.likelihood_free.trees import GradientBoosting, RandomForest, XGBoost
from calibo.likelihood_free.utilities import Improvement, Power, Probability, Utility
from calibo.likelihood_free.variational import Variational

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
