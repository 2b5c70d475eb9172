"""Surrogates: Dataset -> Model."""

from calibo.surrogates.base import FitsMany, HasHyperparameters, HasLeaveOneOut, Model, Surrogate
from calibo.surrogates.gaussian_moments import GaussianMoments
from calibo.surrogates.gaussian_process import GaussianProcess
from calibo.surrogates.heteroscedastic import HasNoiseModel, HeteroscedasticGP
from calibo.surrogates.kernels import RBF, Kernel, Matern52
from calibo.surrogates.network_fit import Perceptron
from calibo.surrogates.neural_ensemble import NeuralEnsemble
from calibo.surrogates.quantile_engines import QuantileBoosting, QuantileForest, XGBoostQuantiles
from calibo.surrogates.quantile_network import QuantileNetwork
from calibo.surrogates.quantile_trees import QUANTILE_LEVELS, QuantileEngine, QuantileTrees
from calibo.surrogates.scikit import ScikitSurrogate
from calibo.surrogates.success import SuccessModel

__all__ = [
    "QUANTILE_LEVELS",
    "RBF",
    "FitsMany",
    "GaussianMoments",
    "GaussianProcess",
    "HasHyperparameters",
    "HasLeaveOneOut",
    "HasNoiseModel",
    "HeteroscedasticGP",
    "Kernel",
    "Matern52",
    "Model",
    "NeuralEnsemble",
    "Perceptron",
    "QuantileBoosting",
    "QuantileEngine",
    "QuantileForest",
    "QuantileNetwork",
    "QuantileTrees",
    "ScikitSurrogate",
    "SuccessModel",
    "Surrogate",
    "XGBoostQuantiles",
]
