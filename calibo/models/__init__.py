"""Surrogates: Dataset -> Model."""

from calibo.models.base import FitsMany, HasHyperparameters, HasLeaveOneOut, Model, Surrogate
from calibo.models.gaussian_moments import GaussianMoments
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.heteroscedastic import HasNoiseModel, HeteroscedasticGP
from calibo.models.kernels import RBF, Kernel, Matern52
from calibo.models.network_fit import Perceptron
from calibo.models.neural_ensemble import NeuralEnsemble
from calibo.models.quantile_engines import QuantileBoosting, QuantileForest, XGBoostQuantiles
from calibo.models.quantile_network import QuantileNetwork
from calibo.models.quantile_trees import QUANTILE_LEVELS, QuantileEngine, QuantileTrees
from calibo.models.scikit import ScikitSurrogate
from calibo.models.success import SuccessModel

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
