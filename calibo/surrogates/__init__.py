"""Surrogates: Dataset -> Model."""

from calibo.surrogates.base import HasHyperparameters, HasLeaveOneOut, Model, Surrogate
from calibo.surrogates.gaussian_process import GaussianProcess
from calibo.surrogates.heteroscedastic import HasNoiseModel, HeteroscedasticGP
from calibo.surrogates.kernels import RBF, Kernel, Matern52
from calibo.surrogates.scikit import ScikitSurrogate
from calibo.surrogates.success import SuccessModel

__all__ = [
    "RBF",
    "GaussianProcess",
    "HasHyperparameters",
    "HasLeaveOneOut",
    "HasNoiseModel",
    "HeteroscedasticGP",
    "Kernel",
    "Matern52",
    "Model",
    "ScikitSurrogate",
    "SuccessModel",
    "Surrogate",
]
