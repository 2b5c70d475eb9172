"""Surrogates: Dataset -> Model."""

from calibo.models.base import (
    Capability,
    Model,
    ModelWrapper,
    Surrogate,
    SurrogateWrapper,
    check_model,
    check_surrogate,
)
from calibo.models.by_size import GPBySize
from calibo.models.gaussian_moments import GaussianMoments
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.heteroscedastic import HeteroscedasticGP
from calibo.models.input_warping import InputWarping
from calibo.models.integrated import IntegratedGP
from calibo.models.kernels import RBF, Kernel, Matern32, Matern52
from calibo.models.neighbours import NearestNeighbourGP
from calibo.models.networks import NeuralEnsemble, Perceptron, QuantileNetwork
from calibo.models.noise_prior import NoisePrior
from calibo.models.quantile_trees import (
    QUANTILE_LEVELS,
    QuantileBoosting,
    QuantileEngine,
    QuantileForest,
    QuantileTrees,
    XGBoostQuantiles,
)
from calibo.models.scheduled import Scheduled
from calibo.models.scikit import ScikitSurrogate
from calibo.models.success import SuccessModel
from calibo.models.warped import Warped

__all__ = [
    "QUANTILE_LEVELS",
    "RBF",
    "Capability",
    "GPBySize",
    "GaussianMoments",
    "GaussianProcess",
    "HeteroscedasticGP",
    "InputWarping",
    "IntegratedGP",
    "Kernel",
    "Matern32",
    "Matern52",
    "Model",
    "ModelWrapper",
    "NearestNeighbourGP",
    "NeuralEnsemble",
    "NoisePrior",
    "Perceptron",
    "QuantileBoosting",
    "QuantileEngine",
    "QuantileForest",
    "QuantileNetwork",
    "QuantileTrees",
    "Scheduled",
    "ScikitSurrogate",
    "SuccessModel",
    "Surrogate",
    "SurrogateWrapper",
    "Warped",
    "XGBoostQuantiles",
    "check_model",
    "check_surrogate",
]
