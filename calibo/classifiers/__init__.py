"""Likelihood-free optimization: outcomes are labelled, and a classifier's log-odds are the acquisition function."""

from calibo.classifiers.base import Classifier, History, LogOdds
from calibo.classifiers.by_size import BySize
from calibo.classifiers.kernel import KernelLogistic
from calibo.classifiers.labels import (
    BoreLabels,
    Improvement,
    Labelled,
    LabelRule,
    Power,
    Probability,
    Utility,
    WeightedLabels,
    merits,
)
from calibo.classifiers.mlp import (
    MLP,
    ChiSquared,
    Convex,
    JensenShannon,
    KullbackLeibler,
    SquaredHellinger,
)
from calibo.classifiers.scikit import Logistic, Wrapped
from calibo.classifiers.trees import GradientBoosting, RandomForest, XGBoost
from calibo.scalarization import Tchebycheff

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
    "WeightedLabels",
    "Wrapped",
    "XGBoost",
    "merits",
]
