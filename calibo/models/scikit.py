"""Scikit-learn regressors with a predictive standard deviation, and ensembles, as surrogates.

Notation: f the latent value, y = f + noise the measurement, N points, D features, M members; outcomes standardised.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import shown
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.errors import FallbackWarning, RecipeError, warn
from calibo.models.base import Model, Surrogate
from calibo.models.predictions import correlation_matrix, distinct_points, member_covariance, member_variance
from calibo.models.standardization import Standardization, single_outcome
from calibo.spaces.encoding import described_features

_SMALLEST_VARIANCE = 1e-12
_FEWEST_POINTS = 2
_DECIMALS = 10
#: With fewer held-out residuals nothing is known of the noise, and the outcomes' own variance stands in.
_FEWEST_RESIDUALS = 3
_FOLDS = 5
#: Have members, but none of these predicts the outcome: each corrects, reweights or feeds the others.
_BOOSTED_OR_STACKED = ("GradientBoostingRegressor", "AdaBoostRegressor", "StackingRegressor")


class FittedRegressor(ABC):
    """A fitted regressor with the moments of f, on standardized outcomes.

    Attributes:
        noise: Variance of the noise.
    """

    noise: float

    @abstractmethod
    def moments(self, features: Array) -> tuple[Array, Array]:
        """Return mean and variance of f, each N, at `N x D` points."""

    @abstractmethod
    def covariance(self, features: Array) -> Array | None:
        """Return the covariances of f, `... x q x q`, at `... x q x D` points; `None` if they are unknown."""


@dataclass(frozen=True, eq=False)
class ScikitModel(Model):
    """A fitted scikit-learn regressor as a model.

    Attributes:
        fitted: The regressor.
        units: The standardization of the outcomes.
        encode: Maps `m x d` points to `m x D` features.
    """

    fitted: FittedRegressor
    units: Standardization
    encode: Callable[[Array], Array]

    @property
    def tells_noise_apart(self) -> bool:
        """`False`: what the regressor cannot fit counts as noise."""
        return False

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        points, index = distinct_points(X)
        features = self.encode(points)
        # Regressors cannot predict at no points, where any prediction is the empty one.
        fitted = self.fitted if len(points) else Constant(self.fitted.noise)
        mean, variance = fitted.moments(features)
        total = np.maximum(variance, _SMALLEST_VARIANCE) + (0.0 if latent else fitted.noise)
        std = np.sqrt(total)[index]

        def correlation() -> Array:
            covariance = fitted.covariance(features[index])
            if covariance is None:
                return np.broadcast_to(np.eye(std.shape[-1]), (*std.shape, std.shape[-1]))
            return correlation_matrix(covariance, std)

        return self.units.gaussian(mean[index], std, correlation, np.sqrt(fitted.noise) if latent else None)


@dataclass(frozen=True)
class ScikitSurrogate(Surrogate):
    """A scikit-learn regressor as a surrogate.

    Two kinds can be used, also at the end of a ``Pipeline``:
      - regressors with ``predict(X, return_std=True)`` (``GaussianProcessRegressor``, ``BayesianRidge``,
        ``ARDRegression``, ...). Where it is known which noise their standard deviation holds (these three) latent
        distributions leave it out; elsewhere the standard deviation is taken for that of f.
      - ensembles whose prediction is the mean of their members' (``RandomForestRegressor``, ``ExtraTreesRegressor``,
        ``BaggingRegressor``, an unweighted ``VotingRegressor``): the mean and the spread of the members, and their
        correlation between points for joint draws.

    Where the regressor has no noise of its own, the variance of the noise is what its held-out squared errors (out of
    bag where possible, else five folds) exceed its variance by, on average: so measured variances match held-out
    errors, and what the regressor cannot fit counts as noise. (The members of a forest of full-grown trees follow the
    noise, so that little is left to add.) Known noise variances are not used. Categorical columns become indicators, with
    the descriptors of their choices if these have some. A single point is too few for some regressors: it is then predicted
    everywhere, with a standard deviation of its own size.

    Attributes:
        regressor: Unfitted; it is cloned, and every ``random_state`` that is ``None`` is set from the generator.
    """

    regressor: Any
    model_type: ClassVar = ScikitModel

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.regressor, type) or not hasattr(self.regressor, "get_params"):
            what = "regressor must be an object of scikit-learn's kind such as RandomForestRegressor()"
            raise RecipeError(f"{what}, got {shown(self.regressor)}")

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ScikitModel:
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        if data.Y_var is not None:
            warn(
                "known noise variances are not used: scikit-learn regressors take none through one interface",
                FallbackWarning,
            )
        encode = partial(
            described_features, categories=data.categories, descriptors=data.descriptors, activity=data.activity
        )
        if len(y) < _FEWEST_POINTS:
            return ScikitModel(Constant(), units, encode)
        regressor = seeded(self.regressor, rng)
        features = encode(data.X)
        # Trees choose between splits of equal merit by the last bit: rounding keeps the outcomes' units out of that.
        z = np.round(units.forward(y), _DECIMALS)
        regressor.fit(features, z)
        return ScikitModel(_fitted(regressor, features, z, rng), units, encode)


@dataclass(frozen=True)
class Constant(FittedRegressor):
    """The mean of the outcomes and their standard deviation: before there is anything to regress."""

    noise: float = _SMALLEST_VARIANCE

    def moments(self, features: Array) -> tuple[Array, Array]:
        return np.zeros(len(features)), np.ones(len(features))

    def covariance(self, features: Array) -> Array | None:
        return None


@dataclass(frozen=True, eq=False)
class Members(FittedRegressor):
    """An ensemble: the mean and the spread of its members.

    Attributes:
        transform: Maps features to those of the members.
        members: Fitted regressors, M of them.
        columns: The columns each member sees, or ``None`` if all see all.
        noise: Variance of the noise.
    """

    transform: Callable[[Array], Array]
    members: list[Any]
    columns: list[Any] | None
    noise: float = 0.0

    def predictions(self, features: Array) -> Array:
        """Return the prediction of each member, `M x N`."""
        seen = self.transform(features)
        columns = self.columns or [slice(None)] * len(self.members)
        return np.stack([m.predict(seen[:, c]) for m, c in zip(self.members, columns, strict=True)]).astype(np.float64)

    def moments(self, features: Array) -> tuple[Array, Array]:
        values = self.predictions(features)
        return values.mean(axis=0), member_variance(values)

    def covariance(self, features: Array) -> Array | None:
        points, index = distinct_points(features)
        return member_covariance(self.predictions(points)[:, index])


@dataclass(frozen=True, eq=False)
class StatedDeviation(FittedRegressor):
    """A regressor that predicts a standard deviation.

    Attributes:
        regressor: Fitted; may be a pipeline.
        joint: Whether it also states covariances (``return_cov``).
        held: Variance of the noise that is part of the predicted deviation.
        noise: Variance of the whole noise.
    """

    regressor: Any
    joint: bool
    held: float
    noise: float

    def moments(self, features: Array) -> tuple[Array, Array]:
        mean, std = self.regressor.predict(features, return_std=True)
        return np.asarray(mean, dtype=np.float64), np.square(np.asarray(std, dtype=np.float64)) - self.held

    def covariance(self, features: Array) -> Array | None:
        if not self.joint:
            return None
        flat = features.reshape(-1, *features.shape[-2:])
        matrices = [self.regressor.predict(points, return_cov=True)[1] for points in flat]
        return np.asarray(matrices, dtype=np.float64).reshape(*features.shape[:-1], features.shape[-2])


def seeded(regressor: Any, rng: np.random.Generator) -> Any:
    """Return a copy of a scikit-learn estimator with every random state in it, nested ones too, drawn from `rng`."""
    from sklearn.base import clone

    fresh: Any = clone(regressor)
    states = sorted(
        n for n, value in fresh.get_params().items() if n.split("__")[-1] == "random_state" and value is None
    )
    return fresh.set_params(**{name: int(rng.integers(2**31)) for name in states})


def _fitted(regressor: Any, features: Array, z: Array, rng: np.random.Generator) -> FittedRegressor:
    """Return the moments of a fitted regressor of either kind."""
    last = _parts(regressor)[1]
    name = type(last).__name__
    parameters = inspect.signature(last.predict).parameters
    if "return_std" in parameters:
        held, noise = _stated_noise(last)
        if noise is None:
            noise = _held_out_noise(regressor, features, z, rng)
        return StatedDeviation(regressor, "return_cov" in parameters, held, noise)
    ensemble = _members(regressor) if name not in _BOOSTED_OR_STACKED else None
    if ensemble is not None and np.allclose(
        ensemble.predictions(features).mean(axis=0), regressor.predict(features), atol=1e-6
    ):
        noise = _out_of_bag_noise(ensemble, last, features, z)
        return replace(ensemble, noise=_held_out_noise(regressor, features, z, rng) if noise is None else noise)
    raise RecipeError(
        f"{name} neither predicts a standard deviation nor is an ensemble whose prediction is the mean of its members' "
        "(boosted and stacked ones are not): use one with predict(X, return_std=True), such as "
        "GaussianProcessRegressor or BayesianRidge, or RandomForestRegressor, ExtraTreesRegressor, or a "
        "BaggingRegressor around this one"
    )


def _parts(regressor: Any) -> tuple[Callable[[Array], Array], Any]:
    """Return the transformations before the last step of a pipeline, and that step; other regressors are one step."""
    from sklearn.pipeline import Pipeline

    if not isinstance(regressor, Pipeline):
        return np.asarray, regressor
    head, last = regressor[:-1], regressor[-1]
    return (head.transform if len(head) else np.asarray), last


def _members(regressor: Any) -> Members | None:
    """Return the members of a fitted ensemble; `None` if it is none."""
    transform, last = _parts(regressor)
    members = getattr(last, "estimators_", None)
    if members is None:
        return None
    return Members(transform, list(members), getattr(last, "estimators_features_", None))


def _stated_noise(last: Any) -> tuple[float, float | None]:
    """Return the noise variance within a regressor's stated one, and that of the whole noise, or `None` if unknown."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.linear_model import ARDRegression, BayesianRidge

    if isinstance(last, (BayesianRidge, ARDRegression)):
        # Their variance is that of a measurement: 1 / alpha_ + x' S x.
        return 1.0 / float(last.alpha_), 1.0 / float(last.alpha_)
    if not isinstance(last, GaussianProcessRegressor):
        return 0.0, None
    fitted: Any = last
    point, kernel = fitted.X_train_[:1], fitted.kernel_
    # A white kernel adds to k(x, x) only where both are known to be one measurement: without a second argument.
    white = float(kernel(point)[0, 0] - kernel(point, point)[0, 0])
    scale = float(np.mean(np.square(getattr(fitted, "_y_train_std", 1.0))))
    return scale * white, scale * (white + float(np.mean(fitted.alpha)))


def _out_of_bag_noise(ensemble: Members, last: Any, features: Array, z: Array) -> float | None:
    """Estimate the noise by the members that did not see a point; `None` if members saw (almost) all points."""
    drawn = getattr(last, "estimators_samples_", None) if getattr(last, "bootstrap", False) else None
    if drawn is None:
        return None
    unseen = np.ones((len(ensemble.members), len(z)), dtype=bool)
    for member, rows in zip(unseen, drawn, strict=True):
        member[rows] = False
    usable = unseen.sum(axis=0) >= 2
    if usable.sum() < _FEWEST_RESIDUALS:
        return None
    values = np.ma.array(ensemble.predictions(features), mask=~unseen)[:, usable]
    errors = z[usable] - values.mean(axis=0).filled(0.0)
    return _excess(errors, values.var(axis=0, ddof=1).filled(0.0))


def _held_out_noise(regressor: Any, features: Array, z: Array, rng: np.random.Generator) -> float:
    """Estimate the noise by refits on four of five folds."""
    from sklearn.base import clone

    n = len(z)
    if n < _FEWEST_RESIDUALS:
        return 1.0
    errors, variances = np.empty(n), np.empty(n)
    for fold in np.array_split(rng.permutation(n), min(_FOLDS, n)):
        rest = np.setdiff1d(np.arange(n), fold)
        fitted: Any = clone(regressor)
        fitted.fit(features[rest], z[rest])
        mean, variance = (_members(fitted) or StatedDeviation(fitted, False, 0.0, 0.0)).moments(features[fold])
        errors[fold], variances[fold] = z[fold] - mean, variance
    return _excess(errors, variances)


def _excess(errors: Array, variances: Array) -> float:
    return max(float(np.mean(np.square(errors) - variances)), _SMALLEST_VARIANCE)
