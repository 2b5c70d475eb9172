"""A calibrator turns a surrogate into a surrogate: where evidence comes from (resampler) x what is learned from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from calibo.calibration.resampling import Prequential, Resampler
from calibo.checks import check_has
from calibo.data import Array, Dataset, Evidence
from calibo.distributions import Distribution, LevelFunction, relevel
from calibo.models.base import HasHyperparameters, Model, Surrogate

#: (distribution, its points ... x q x d) -> calibrated distribution.
LevelMap = Callable[[Distribution, Array], Distribution]


class Recalibrator(Protocol):
    """What is learned from evidence."""

    def fit(self, evidence: Evidence) -> LevelMap:
        """The map that would have calibrated the evidence; the identity if there is none."""
        ...


@runtime_checkable
class PromisesNothing(Protocol):
    """A recalibrator that promises nothing without evidence, where others leave distributions as they are."""

    def unbacked(self, distribution: Distribution, X: Array) -> Distribution:
        """The distribution with no level backed."""
        ...


@dataclass(frozen=True)
class Relevel:
    """The level map that reads every distribution at other levels, the same at every point."""

    levels: LevelFunction

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        return relevel(distribution, self.levels)


def identity(distribution: Distribution, X: Array) -> Distribution:
    """The level map that changes nothing: what no evidence gives."""
    return distribution


@dataclass(frozen=True)
class Calibrated:
    """A surrogate whose forecasts are corrected by how its past forecasts came out; itself a surrogate.

    Latent distributions are mapped by the same levels as measurements: what was learned of the forecasts' scale and shape is
    taken to hold for f as well.

    Attributes:
        surrogate: Whose forecasts are calibrated; may itself be ``Calibrated``.
        by: The recalibrator.
        evidence: Where past forecasts come from.
    """

    surrogate: Surrogate
    by: Recalibrator
    evidence: Resampler = field(default_factory=Prequential)

    def __post_init__(self) -> None:
        check_has("surrogate", self.surrogate, "fit", "GaussianProcess()")
        check_has("by", self.by, "fit", "OnlineQuantile() or Conformal()")
        check_has("evidence", self.evidence, "fit", "Prequential(), Split() or KFold()")

    @property
    def maker(self) -> str:
        """Its name as a stage of a forecast: that of its recalibrator."""
        return type(self.by).__name__

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> CalibratedModel:
        model, evidence = self.evidence.fit(self.surrogate, data, makers=makers(self.surrogate), rng=rng)
        if len(evidence):
            return CalibratedModel(model, self.by.fit(evidence))
        return CalibratedModel(model, self.by.unbacked if isinstance(self.by, PromisesNothing) else identity)


@dataclass(frozen=True)
class CalibratedModel:
    """A model seen through a level map."""

    base: Model
    level_map: LevelMap

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self.level_map(self.base.predict(X, latent=latent), X)

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.base.hyperparameters if isinstance(self.base, HasHyperparameters) else ()


@runtime_checkable
class Wraps(Protocol):
    """A surrogate around another one: what adds a stage to its forecasts."""

    @property
    def surrogate(self) -> Surrogate:
        """The surrogate inside."""
        ...

    @property
    def maker(self) -> str:
        """The name of what makes the stage."""
        ...


@runtime_checkable
class HasBase(Protocol):
    """A model around another one."""

    @property
    def base(self) -> Model:
        """The model inside."""
        ...


def makers(surrogate: Surrogate) -> tuple[str, ...]:
    """The names of what makes the stages of a surrogate's forecasts: the raw surrogate, then its calibrators."""
    if isinstance(surrogate, Wraps):
        return (*makers(surrogate.surrogate), surrogate.maker)
    return (type(surrogate).__name__,)


def stages(model: Model) -> tuple[Model, ...]:
    """The model and those inside it: the raw one first, the one seen by users last."""
    return (*stages(model.base), model) if isinstance(model, HasBase) else (model,)
