"""Base classes of surrogates and their fitted models, and the optional capabilities a model may have.

A `Surrogate` is a recipe; `fit` turns a dataset into a `Model`. A model predicts, and may be able to do more: each such
`Capability` is one member of `Model`, which a class has if it implements it. Wrappers (`ModelWrapper`, `SurrogateWrapper`)
pass every capability on unless they name it in `hides`, with the reason. Nothing else in calibo asks a model for its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from calibo.arguments import check_fields, checked
from calibo.checks import check_instance
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Distribution, Gaussian
from calibo.errors import CapabilityError
from calibo.models.augmentation import Augmentation


class Capability(Enum):
    """What a model may be able to do besides `predict`; the value names the member of `Model` that does it."""

    HYPERPARAMETERS = "hyperparameters"
    LENGTHSCALES = "lengthscales"
    NOISE = "noise_variance"
    LEAVE_ONE_OUT = "leave_one_out"
    ONE_STEP_AHEAD = "one_step_ahead"
    AUGMENTATION = "augmented"
    LEARNS_FROM_PROPOSALS = "learned"
    IN_DISTRIBUTION = "in_distribution"
    SIMILAR_FORECASTS = "similar_forecasts"
    DEPENDENCE = "dependence"


#: What to do about a missing capability, for the error message.
_REMEDIES = {
    Capability.HYPERPARAMETERS: "fits then start from the default hyperparameters",
    Capability.LENGTHSCALES: "use GaussianProcess() or HeteroscedasticGP()",
    Capability.NOISE: (
        "use HeteroscedasticGP() as the surrogate, and Replicated(strategy, times) to measure points several times"
    ),
    Capability.LEAVE_ONE_OUT: "evidence=LeaveOneOut() refits the surrogate once per point instead",
    Capability.ONE_STEP_AHEAD: "evidence=TimeSeries() refits the surrogate instead",
    Capability.AUGMENTATION: "use GaussianProcess()",
    Capability.LEARNS_FROM_PROPOSALS: "use ConformalBayes(..., ratio=DensityRatio())",
    Capability.IN_DISTRIBUTION: "use ConformalBayes(..., ratio=DensityRatio())",
    Capability.SIMILAR_FORECASTS: "use Calibrated(...)",
    Capability.DEPENDENCE: "predict the points of a batch together instead",
}


#: What an interval rests on where nothing has corrected the model.
MODEL_ALONE = "model alone"


class Model(ABC):
    """A fitted surrogate.

    Only `predict` is required. Every other member is an optional capability: it raises a `CapabilityError` unless a subclass
    implements it (`hyperparameters` is empty instead). `capabilities` tells which ones a model has.
    """

    @abstractmethod
    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """Predict the outcome at points.

        Args:
            X: `... x q x d` encoded points; leading dimensions are batches, the q points of one batch are predicted jointly.
            latent: `True` for the noise-free value f, `False` for a new measurement y = f + noise.

        Returns:
            The distribution at each point, `... x q`.
        """

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional capabilities of this model: those whose members its class implements."""
        return implemented_by(type(self))

    @property
    def stages(self) -> tuple[Model, ...]:
        """The models whose predictions are stored as the stages of a forecast: the raw one first, this one last."""
        return (self,)

    def predict_stages(self, X: Array) -> tuple[Distribution, ...]:
        """Predict a new measurement at `... x q x d` points by each of the stages, the raw model first.

        Here one after the other; wrappers that only map the distribution inside predict that once.
        """
        return tuple(stage.predict(X, latent=False) for stage in self.stages)

    @property
    def tells_noise_apart(self) -> bool:
        """Whether the noise of a predicted measurement is noise alone.

        Where errors of the model itself count as noise as well, latent distributions are too narrow to be shown.
        """
        return True

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        """The fitted hyperparameters as plain numbers, from which the next fit may start; `()` if there are none."""
        return ()

    @property
    def lengthscales(self) -> Array:
        """One length scale per column, d: how far the outcome stays alike along it."""
        self._lacks(Capability.LENGTHSCALES)

    def noise_variance(self, X: Array, *, level: float = 0.5) -> Array:
        """Estimate the variance of the measurement noise.

        Args:
            X: `... x q x d` points.
            level: Which quantile of the estimate's own distribution to return; by default its median.

        Returns:
            Variances in squared units of the outcome, `... x q`.
        """
        self._lacks(Capability.NOISE)

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        """Predict measurements each from all the others, without refitting.

        Args:
            rows: Which of the n measurements; by default all of them, in the order of the data.
        """
        self._lacks(Capability.LEAVE_ONE_OUT)

    def jackknife(self, rows: Rows | None = None) -> Distribution:
        """Predict as `leave_one_out` does, where possible with hyperparameters that have not seen the measurement either.

        Here the hyperparameters are those of all data; models that know, in closed form, what a fit without each measurement
        would change override it. It needs the capability `LEAVE_ONE_OUT`.

        Args:
            rows: Which of the n measurements; by default all of them, in the order of the data.
        """
        return self.leave_one_out(rows)

    def one_step_ahead(self) -> Distribution:
        """Predict each of the n measurements from those before it, without refitting, in the order of the data."""
        self._lacks(Capability.ONE_STEP_AHEAD)

    def augmented(self, X: Array, *, latent: bool) -> tuple[Gaussian, Augmentation]:
        """Predict as `predict` does, and tell what one more measurement at each point would change in the fit.

        Args:
            X: `... x q x d` points.
            latent: As in `predict`.

        Returns:
            The distribution, and the augmentation by each of the points alone.
        """
        self._lacks(Capability.AUGMENTATION)

    def conditioned(self, data: Dataset) -> Model:
        """Return the model with everything that was fitted kept, given other data of the same outcome.

        Kept are hyperparameters, mean and the standardization of outcomes. It needs the capability `AUGMENTATION`.
        """
        self._lacks(Capability.AUGMENTATION)

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Model:
        """Return the model adapted to a search that has visited `proposals`.

        Args:
            proposals: `p x d` points: all that the search has visited so far.
            rng: Source of randomness.
        """
        self._lacks(Capability.LEARNS_FROM_PROPOSALS)

    def in_distribution(self, X: Array) -> Array:
        """Return the probability, m, that the data support a calibrated prediction at `m x d` points."""
        self._lacks(Capability.IN_DISTRIBUTION)

    def similar_forecasts(self, X: Array) -> Array:
        """Return how many past forecasts, m, those at `m x d` points are like, and so what their calibration rests on."""
        self._lacks(Capability.SIMILAR_FORECASTS)

    def dependence(self, Z: Array) -> Callable[[Array], Array]:
        """Return the function of `m x d` points that gives the correlations of their latent values with those at Z, `m x k`.

        They are those of the Gaussian copula of joint predictions, so that many points can each be drawn beside the same
        others, which are then predicted once.

        Args:
            Z: `k x d` points.
        """
        self._lacks(Capability.DEPENDENCE)

    def rests_on(self, X: Array) -> list[str]:
        """Say in words what the intervals at `m x d` points rest on, besides the model: m texts."""
        return [MODEL_ALONE] * len(X)

    @property
    def rests_on_similar(self) -> bool:
        """Whether they rest on similar forecasts of the past, point by point."""
        return False

    def _lacks(self, capability: Capability, why: str = "") -> NoReturn:
        """Raise the error of a missing capability."""
        reason = f" ({why})" if why else ""
        raise CapabilityError(f"{type(self).__name__} has no {capability.value}{reason}: {_REMEDIES[capability]}")


@cache
def implemented_by(model_type: type[Model]) -> frozenset[Capability]:
    """Return the capabilities whose members a class of models implements."""
    return frozenset(c for c in Capability if getattr(model_type, c.value) is not getattr(Model, c.value))


@dataclass(frozen=True, eq=False)
class ModelWrapper(Model):
    """Base class of models around another model.

    Every capability of the base is passed on, except those that a subclass names in `hides`. What describes the distribution
    itself (`leave_one_out`, `jackknife`, `one_step_ahead`, `augmented`) is passed on unchanged here: a wrapper that changes
    distributions overrides it or hides it.

    Attributes:
        base: The model inside.
    """

    base: Model
    #: Capabilities of the base that are not passed on, each with the reason.
    hides: ClassVar[Mapping[Capability, str]] = MappingProxyType({})
    #: Capabilities that the wrapper has whatever the base can do.
    adds: ClassVar[frozenset[Capability]] = frozenset()

    def __post_init__(self) -> None:
        check_model(f"the model inside {type(self).__name__}", self.base)
        check_fields(self)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.base.capabilities.difference(self.hides) | self.adds

    @property
    def stages(self) -> tuple[Model, ...]:
        return (*self.base.stages, self)

    @property
    def tells_noise_apart(self) -> bool:
        return self.base.tells_noise_apart

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.base.hyperparameters

    @property
    def lengthscales(self) -> Array:
        return self._source(Capability.LENGTHSCALES).lengthscales

    def noise_variance(self, X: Array, *, level: float = 0.5) -> Array:
        return self._source(Capability.NOISE).noise_variance(X, level=level)

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        return self._source(Capability.LEAVE_ONE_OUT).leave_one_out(rows)

    def jackknife(self, rows: Rows | None = None) -> Distribution:
        return self._source(Capability.LEAVE_ONE_OUT).jackknife(rows)

    def one_step_ahead(self) -> Distribution:
        return self._source(Capability.ONE_STEP_AHEAD).one_step_ahead()

    def augmented(self, X: Array, *, latent: bool) -> tuple[Gaussian, Augmentation]:
        return self._source(Capability.AUGMENTATION).augmented(X, latent=latent)

    def conditioned(self, data: Dataset) -> Self:
        """Return the same wrapper around the base given other data."""
        return replace(self, base=self._source(Capability.AUGMENTATION).conditioned(data))

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Self:
        """Return the same wrapper around the base as learned from `proposals`."""
        return replace(self, base=self._source(Capability.LEARNS_FROM_PROPOSALS).learned(proposals, rng=rng))

    def in_distribution(self, X: Array) -> Array:
        return self._source(Capability.IN_DISTRIBUTION).in_distribution(X)

    def similar_forecasts(self, X: Array) -> Array:
        return self._source(Capability.SIMILAR_FORECASTS).similar_forecasts(X)

    def dependence(self, Z: Array) -> Callable[[Array], Array]:
        return self._source(Capability.DEPENDENCE).dependence(Z)

    def rests_on(self, X: Array) -> list[str]:
        return self.base.rests_on(X)

    @property
    def rests_on_similar(self) -> bool:
        return self.base.rests_on_similar

    def _source(self, capability: Capability) -> Model:
        """Return the model that a capability is passed on from, or raise the error that says why it is not."""
        if capability in self.hides:
            self._lacks(capability, self.hides[capability])
        return self.base


class Surrogate(ABC):
    """A recipe for a model of one outcome; subclasses are frozen dataclasses.

    Attributes:
        model_type: The class of the fitted models, if it is always the same: it tells their capabilities before any fit.
    """

    model_type: ClassVar[type[Model] | None] = None

    @abstractmethod
    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        """Fit the model of `data`, which has one outcome.

        Args:
            data: At least one point.
            rng: Source of all randomness.
        """

    def fit_many(
        self, data: Dataset, subsets: Sequence[npt.NDArray[np.intp]], *, rng: np.random.Generator
    ) -> Sequence[Model]:
        """Fit one model to each subset of the rows of `data`; rows may occur several times.

        Here one after the other; surrogates that train several models faster together override it.
        """
        return [self.fit(data.rows(rows), rng=rng) for rows in subsets]

    def with_innermost(self, change: Callable[[Surrogate], Surrogate]) -> Surrogate:
        """Return the same recipe with its innermost surrogate changed: this one, if it is not a wrapper."""
        return change(self)

    @property
    def for_constraints(self) -> Surrogate:
        """The recipe for slacks of constraints, of which searches ask probabilities at many thousands of points."""
        return self

    @property
    def stage_names(self) -> tuple[str, ...]:
        """Names of the stages of a forecast: the raw surrogate first, then the wrappers around it."""
        return (type(self).__name__,)

    @property
    def calibrated_without_forecasts(self) -> bool:
        """Whether predictions are calibrated, but not by how earlier forecasts came out: those can correct them further."""
        return False

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        """Capabilities that every fitted model has; `None` if they are known only after fitting."""
        return None if self.model_type is None else implemented_by(self.model_type)


@dataclass(frozen=True)
class SurrogateWrapper(Surrogate):
    """Base class of surrogates around another surrogate, whose models add a stage to the forecasts.

    Attributes:
        surrogate: The surrogate inside.
    """

    surrogate: Surrogate

    def __post_init__(self) -> None:
        check_surrogate("surrogate", self.surrogate)
        check_fields(self)

    def with_innermost(self, change: Callable[[Surrogate], Surrogate]) -> Self:
        return replace(self, surrogate=self.surrogate.with_innermost(change))

    @property
    def for_constraints(self) -> Self:
        return replace(self, surrogate=self.surrogate.for_constraints)

    @property
    def stage_name(self) -> str:
        """Name of the stage that this wrapper adds."""
        return type(self).__name__

    @property
    def stage_names(self) -> tuple[str, ...]:
        return (*self.surrogate.stage_names, self.stage_name)

    @property
    def calibrated_without_forecasts(self) -> bool:
        return self.surrogate.calibrated_without_forecasts

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        inner = self.surrogate.capabilities
        if inner is None or self.model_type is None or not issubclass(self.model_type, ModelWrapper):
            return None
        return inner.difference(self.model_type.hides) | self.model_type.adds


@checked
def check_surrogate(what: str, value: object) -> None:
    """Raise a `RecipeError` that names the setting `what` unless its value is a `Surrogate`."""
    check_instance(what, value, Surrogate, "GaussianProcess()")


@checked
def check_model(what: str, value: object) -> Model:
    """Return a fitted model; raise a `RecipeError` that names `what` unless it is a `Model`."""
    return check_instance(what, value, Model, "the one that GaussianProcess().fit(data, rng=rng) returns")
