"""BoTorch model classes with an exact marginal likelihood as surrogates."""

# pyright: reportMissingImports=false
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.exceptions.warnings import InputDataWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.models import ExactGP
from scipy.linalg import solve_triangular
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from calibo.checks import shown
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Gaussian
from calibo.distributions.gaussian import stable_cholesky
from calibo.errors import FallbackWarning, RecipeError, warn
from calibo.models.base import Model, Surrogate
from calibo.models.predictions import correlation_matrix
from calibo.models.standardization import Standardization, single_outcome
from calibo.spaces.encoding import one_hot

_SMALLEST_VARIANCE = 1e-14
#: Points that are predicted in one call: the joint covariance grows with the square.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class BoTorchModel(Model):
    """A fitted BoTorch model as a model of calibo, with closed-form leave-one-out and one-step-ahead predictions.

    Its hyperparameters are the model's raw parameters, one after the other.

    Attributes:
        model: In evaluation mode, on standardized outcomes and indicator features.
        units: The standardization of the outcomes.
        encode: Maps `m x d` points to `m x D` features: one-hot, with indicators of conditional columns that are active.
    """

    model: GPyTorchModel
    units: Standardization
    encode: Callable[[Array], Array]

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """Predict the outcome at `... x q x d` points; the joint covariance is computed only for joint draws."""
        shape = X.shape[:-1]
        features = self.encode(X.reshape(-1, X.shape[-1]))
        starts = range(0, max(len(features), 1), _BLOCK)
        blocks = [self._posterior(features[start : start + _BLOCK], latent) for start in starts]
        mean = np.concatenate([_numpy(block.mean[..., 0]) for block in blocks])
        variance = np.concatenate([_numpy(block.variance[..., 0]) for block in blocks])
        std = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE)).reshape(shape)

        def correlation() -> Array:
            posterior = self._posterior(features.reshape(*shape, -1), latent)
            return correlation_matrix(_numpy(posterior.distribution.covariance_matrix), std)

        return self.units.gaussian(mean.reshape(shape), std, correlation, np.sqrt(self._noise) if latent else None)

    @cached_property
    def _noise(self) -> Array:
        """Variance of the noise, averaged over the data where it differs between points; 0 if the model has none."""
        inputs = _numpy(self.model.train_inputs[0])  # pyright: ignore
        seen, true = (self._posterior(inputs, latent=latent).variance for latent in (False, True))
        return np.maximum(_numpy(seen - true).mean(), 0.0)

    def _posterior(self, features: Array, latent: bool) -> GPyTorchPosterior:
        with torch.no_grad():
            posterior = self.model.posterior(torch.from_numpy(features), observation_noise=not latent)
        if not isinstance(posterior, GPyTorchPosterior):
            raise RecipeError(
                f"{type(self.model).__name__} gives a {type(posterior).__name__}: BoTorchSurrogate needs a model "
                "with a Gaussian posterior"
            )
        return posterior

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return tuple(_numpy(parameters_to_vector(self.model.parameters())).tolist())

    def leave_one_out(self, rows: Rows | None = None) -> Gaussian:
        _, inverse_root, residuals, z = self._whitened
        precision = np.square(inverse_root).sum(axis=0)
        mean, std = z - (inverse_root.T @ residuals) / precision, np.sqrt(1.0 / precision)
        return self.units.gaussian(mean, std) if rows is None else self.units.gaussian(mean[rows], std[rows])

    def one_step_ahead(self) -> Gaussian:
        root, _, residuals, z = self._whitened
        std = np.diagonal(root)
        return self.units.gaussian(z - std * residuals, std)

    @cached_property
    def _whitened(self) -> tuple[Array, Array, Array, Array]:
        """Cholesky factor L of the outcomes' prior covariance, L^-1, L^-1 (z - mean), and the outcomes z."""
        inputs, z = self.model.train_inputs[0], _numpy(self.model.train_targets)  # pyright: ignore
        with torch.no_grad():
            prior: Any = self.model.likelihood(self.model.forward(inputs), inputs)
        root = stable_cholesky(_numpy(prior.covariance_matrix))
        inverse = solve_triangular(root, np.eye(len(z)), lower=True)
        return root, inverse, inverse @ (z - _numpy(prior.mean)), z


@dataclass(frozen=True, init=False)
class BoTorchSurrogate(Surrogate):
    """A BoTorch model class as a surrogate, fitted by its exact marginal likelihood on standardized outcomes.

    Categorical columns become indicators. Noise variances are passed on if they are known for every point; if for some
    only, the noise is learned.

    Attributes:
        model_class: Called with ``train_X``, ``train_Y`` and, where variances are known, ``train_Yvar``.
        options: Further keyword arguments of the class. Modules among them (kernels, likelihoods) are copied per fit.
    """

    model_class: type[GPyTorchModel]
    options: dict[str, Any]
    model_type: ClassVar = BoTorchModel

    def __init__(self, model_class: type[GPyTorchModel] = SingleTaskGP, **options: Any) -> None:
        """Make a surrogate of `model_class(train_X, train_Y, **options)`."""
        if not (isinstance(model_class, type) and all(issubclass(model_class, c) for c in (GPyTorchModel, ExactGP))):
            raise RecipeError(
                f"BoTorchSurrogate needs a BoTorch model class with an exact marginal likelihood (such as "
                f"SingleTaskGP), got {shown(model_class)}"
            )
        if "outcome_transform" in options:
            raise RecipeError("BoTorchSurrogate standardizes the outcomes itself: leave outcome_transform out")
        object.__setattr__(self, "model_class", model_class)
        object.__setattr__(self, "options", options)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> BoTorchModel:
        """Fit the model; the global generator of torch is left unchanged.

        A fit starts anew, as in BoTorch: from stored hyperparameters it often ends in a worse optimum. They are taken as
        they are if `data.refit` is `False`.
        """
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        if any(rows is not None for rows in data.descriptors):
            warn(
                "BoTorch's models see choices without their descriptors; GaussianProcess() learns from these",
                FallbackWarning,
            )
        encode = partial(one_hot, categories=data.categories, activity=data.activity)
        X = torch.from_numpy(encode(data.X))
        arguments = self._arguments(units, data)
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            torch.manual_seed(int(rng.integers(2**62)))
            # Outcomes that are all equal cannot have unit variance, which BoTorch would warn about.
            warnings.simplefilter("ignore", InputDataWarning)
            model = self.model_class(train_X=X, train_Y=torch.from_numpy(units.forward(y)[:, None]), **arguments)
            if data.refit is False and _set_parameters(model, data.hyperparameters):
                return BoTorchModel(model.eval(), units, encode)
            try:
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))  # pyright: ignore[reportArgumentType]
            except ModelFittingError as error:
                warn(
                    f"{self.model_class.__name__} could not be fitted ({error}); its initial hyperparameters are used for "
                    "this fit",
                    FallbackWarning,
                )
        return BoTorchModel(model.eval(), units, encode)

    def _arguments(self, units: Standardization, data: Dataset) -> dict[str, Any]:
        arguments: dict[str, Any] = deepcopy(self.options)
        known = inspect.signature(self.model_class).parameters
        if "outcome_transform" in known:
            arguments["outcome_transform"] = None
        if data.Y_var is not None and np.isfinite(data.Y_var).all() and "train_Yvar" in known:
            arguments["train_Yvar"] = torch.from_numpy(units.forward_variance(data.Y_var)).clamp_min(_SMALLEST_VARIANCE)
        elif data.Y_var is not None:
            warn(
                "known noise variances are not used: BoTorch takes them for all points or for none, and only in some "
                "models",
                FallbackWarning,
            )
        return arguments


def _set_parameters(model: GPyTorchModel, stored: tuple[tuple[float, ...], ...]) -> bool:
    """Set the parameters of a model to stored ones; return whether there were as many as it has."""
    present = parameters_to_vector(model.parameters())
    if not stored or len(stored[0]) != len(present):
        return False
    with torch.no_grad():
        vector_to_parameters(torch.as_tensor(stored[0], dtype=present.dtype), model.parameters())
    return True


def _numpy(tensor: Tensor) -> Array:
    return tensor.detach().double().cpu().numpy()
