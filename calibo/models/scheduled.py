"""Hyperparameters that are fitted when the data have grown, and kept in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_whole
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.models.base import Capability, Model, ModelWrapper, SurrogateWrapper

#: Largest number of outcomes that is read back as that of the last fit.
_MOST = 1e9


@dataclass(frozen=True, eq=False)
class ScheduledModel(ModelWrapper):
    """A model that knows when its hyperparameters were fitted. It adds no stage.

    Attributes:
        base: The model.
        stored: The numbers to store for a warm start: those of the base, and the number of outcomes at the last fit.
    """

    stored: tuple[float, ...]
    adds: ClassVar[frozenset[Capability]] = frozenset({Capability.HYPERPARAMETERS})

    @property
    def stages(self) -> tuple[Model, ...]:
        return self.base.stages

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.stored

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self.base.predict(X, latent=latent)

    def predict_stages(self, X: Array) -> tuple[Distribution, ...]:
        return self.base.predict_stages(X)


@dataclass(frozen=True)
class Scheduled(SurrogateWrapper):
    """A surrogate whose hyperparameters are fitted at every step while there are few data, later when these have grown.

    With n outcomes one more of them changes hyperparameters by the order of 1 / n, while a fit costs n cubed. The number of
    outcomes at the last fit is stored with the hyperparameters, so that all workers, and a study that is resumed, keep to
    the same schedule. `Dataset.refit` overrules it.

    Attributes:
        surrogate: The surrogate inside, which takes stored hyperparameters.
        always_below: With fewer outcomes hyperparameters are fitted at every step.
        growth: How much the data must have grown since the last fit, as a factor, at least 1.

    Example:
        >>> import numpy as np
        >>> from calibo.data import Dataset
        >>> from calibo.models import GaussianProcess, Scheduled
        >>> X = np.random.default_rng(0).random((120, 2))
        >>> surrogate, rng = Scheduled(GaussianProcess(), growth=1.1), np.random.default_rng(0)
        >>> fitted = surrogate.fit(Dataset(X=X[:110], Y=np.sin(5.0 * X[:110, :1])), rng=rng)
        >>> more = Dataset(X=X, Y=np.sin(5.0 * X[:, :1]), hyperparameters=(fitted.hyperparameters,))
        >>> surrogate.fit(more, rng=rng).hyperparameters == fitted.hyperparameters
        True
    """

    always_below: int = 100
    growth: float = 1.05
    model_type: ClassVar = ScheduledModel

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        check_whole("always_below, a number of outcomes,", self.always_below, 0)
        check_between("growth", self.growth, 1.0, np.inf, including="low")

    @property
    def stage_names(self) -> tuple[str, ...]:
        return self.surrogate.stage_names

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ScheduledModel:
        inner, fitted_at = _stored(data.hyperparameters)
        refit = self._due(len(data), fitted_at) if data.refit is None else data.refit
        model = self.surrogate.fit(replace(data, hyperparameters=(inner,) if inner else (), refit=refit), rng=rng)
        latest = float(len(data)) if refit or not fitted_at else fitted_at
        return ScheduledModel(model, (*model.hyperparameters, latest))

    def _due(self, n: int, fitted_at: float) -> bool:
        """Return whether hyperparameters are fitted to n outcomes, given their number at the last fit, 0 if not known."""
        return n < self.always_below or n >= self.growth * fitted_at or n < fitted_at


def _stored(hyperparameters: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], float]:
    """Return the stored hyperparameters of the surrogate inside, and the number of outcomes they were fitted to."""
    if not hyperparameters or not hyperparameters[0]:
        return (), 0.0
    *inner, fitted_at = hyperparameters[0]
    if not (1.0 <= fitted_at <= _MOST and float(fitted_at).is_integer()):
        # They are another surrogate's, which may be of use to the one inside.
        return hyperparameters[0], 0.0
    return tuple(inner), fitted_at
