"""Calibrated surrogates: where evidence comes from (a resampler) combined with what is learned from it (a recalibrator)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from calibo.arguments import checked
from calibo.calibration.evidence import Evidence
from calibo.calibration.reach import OutcomeScale, Similarity
from calibo.calibration.resampling import Prequential, Resampler
from calibo.checks import check_instance, shown
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Distribution, LevelFunction, relevel
from calibo.errors import RecipeError
from calibo.models.base import MODEL_ALONE, Capability, ModelWrapper, SurrogateWrapper

#: Maps (distribution, its points `... x q x d`) to the calibrated distribution.
LevelMap = Callable[[Distribution, Array], Distribution]
#: With at least this many similar forecasts in the past, an interval rests on how they came out.
ENOUGH_SIMILAR = 4.0
#: With fewer than this, it rests on the model alone.
SOME_SIMILAR = 0.25


@checked
def identity(distribution: Distribution, X: Array) -> Distribution:
    """Return the distribution unchanged: the level map learned from no evidence."""
    return distribution


@dataclass(frozen=True)
class Relevel:
    """A level map that is the same at every point."""

    levels: LevelFunction

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        return relevel(distribution, self.levels)


class Recalibrator(ABC):
    """A recipe for a level map; subclasses are frozen dataclasses."""

    @property
    def kernel(self) -> Similarity:
        """Which forecasts count as similar."""
        return Similarity()

    @property
    def learns_from_similar(self) -> bool:
        """Whether what is learned for a forecast comes from similar ones only, so that without any it is left as it is."""
        return False

    @abstractmethod
    def fit(self, evidence: Evidence) -> LevelMap:
        """Return the map that would have calibrated the evidence, which has at least one outcome."""

    def without_evidence(self) -> LevelMap:
        """Return the map for a model without evidence: by default the identity."""
        return identity


@dataclass(frozen=True, eq=False)
class CalibratedModel(ModelWrapper):
    """A model whose predictions pass through a level map.

    Leave-one-out and one-step-ahead predictions are those of the base, mapped. They are made under the hyperparameters *and
    the level map* of all data, so that they cost one fit: the map, like the hyperparameters, has seen the outcome that is
    left out.

    Attributes:
        base: The model that is calibrated.
        level_map: What was learned from the evidence.
        X: `n x d` points of the data.
        evidence: What it was learned from.
        by: What learned it.
    """

    level_map: LevelMap
    X: Array
    evidence: Evidence
    by: Recalibrator
    adds: ClassVar[frozenset[Capability]] = frozenset({Capability.SIMILAR_FORECASTS})
    hides: ClassVar[Mapping[Capability, str]] = {
        Capability.AUGMENTATION: "a calibrated distribution is not the Gaussian that the closed form describes"
    }

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self.level_map(self.base.predict(X, latent=latent), X)

    def predict_stages(self, X: Array) -> tuple[Distribution, ...]:
        inner = self.base.predict_stages(X)
        return (*inner, self.level_map(inner[-1], X))

    def similar_forecasts(self, X: Array) -> Array:
        """Return how many forecasts of the evidence, m, those at `m x d` points are like.

        Of several stages, those of the innermost that learns from similar forecasts, which is what `rests_on` speaks of; if
        there is none, the most.
        """
        if self.base.rests_on_similar:
            return self.base.similar_forecasts(X)
        found = similar_forecasts(self.evidence, self.base.predict(X, latent=False), X, self.by.kernel)
        if Capability.SIMILAR_FORECASTS in self.base.capabilities:
            found = np.maximum(found, self.base.similar_forecasts(X))
        return found

    def rests_on(self, X: Array) -> list[str]:
        inner = self.base.rests_on(X)
        if not len(self.evidence) or self.base.rests_on_similar:
            return inner
        similar = similar_forecasts(self.evidence, self.base.predict(X, latent=False), X, self.by.kernel)
        if self.by.learns_from_similar:
            return [in_words(count) for count in similar.tolist()]
        outcomes = int(self.evidence.outcomes.max()) + 1
        return [past_in_words(outcomes, int(count)) for count in similar.tolist()]

    @property
    def rests_on_similar(self) -> bool:
        return self.by.learns_from_similar or self.base.rests_on_similar

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        return self.level_map(super().leave_one_out(rows), self.X if rows is None else self.X[rows])

    def jackknife(self, rows: Rows | None = None) -> Distribution:
        return self.level_map(super().jackknife(rows), self.X if rows is None else self.X[rows])

    def one_step_ahead(self) -> Distribution:
        return self.level_map(super().one_step_ahead(), self.X)


@dataclass(frozen=True)
class Calibrated(SurrogateWrapper):
    """A surrogate whose predictions are corrected by how its past forecasts came out.

    Latent distributions are mapped by the same levels as measurements, unless the recalibrator says otherwise: what was
    learned of the scale and shape of the forecasts is assumed to hold for f as well.

    Attributes:
        surrogate: The surrogate that is calibrated; may itself be `Calibrated`.
        by: The recalibrator: what is learned from the evidence.
        evidence: The resampler: where held-out forecasts come from.

    Example:
        >>> import numpy as np
        >>> from calibo.calibration import Calibrated, LeaveOneOut, Temperature
        >>> from calibo.data import Dataset
        >>> from calibo.models import GaussianProcess
        >>> X = np.linspace(0.0, 1.0, 8)[:, None]
        >>> data = Dataset(X=X, Y=np.sin(6.0 * X))
        >>> surrogate = Calibrated(GaussianProcess(), by=Temperature(), evidence=LeaveOneOut())
        >>> model = surrogate.fit(data, rng=np.random.default_rng(0))
        >>> low, high = model.predict(np.array([[0.4]]), latent=False).interval(0.8)
        >>> bool(low[0] < np.sin(2.4) < high[0])
        True
        >>> surrogate.stage_names
        ('GaussianProcess', 'Temperature')
    """

    by: Recalibrator
    evidence: Resampler = field(default_factory=Prequential)
    model_type: ClassVar = CalibratedModel

    def __post_init__(self) -> None:
        if isinstance(self.by, Resampler) and isinstance(self.evidence, Recalibrator):
            raise RecipeError(
                f"by and evidence are swapped: give by={self.evidence!r}, which learns, and evidence={self.by!r}, "
                "where held-out forecasts come from"
            )
        check_instance("by", self.by, Recalibrator, "OnlineQuantile() or Conformal()")
        check_instance("evidence", self.evidence, Resampler, "Prequential(), Split() or KFold()")
        super().__post_init__()

    @property
    def stage_name(self) -> str:
        """Name of the stage that the calibration adds: that of its recalibrator."""
        return type(self.by).__name__

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        inner = super().capabilities
        return None if inner is None else inner.difference(self.evidence.hides)

    @property
    def calibrated_without_forecasts(self) -> bool:
        """`False`: the evidence has already corrected the predictions."""
        return False

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> CalibratedModel:
        model, evidence = self.evidence.fit(self.surrogate, data, rng=rng)
        level_map = self.by.fit(evidence) if len(evidence) else self.by.without_evidence()
        if not callable(level_map):
            raise RecipeError(
                f"{type(self.by).__name__} must return a level map, a function of a distribution and its points, "
                f"got {shown(level_map)}; return identity to change nothing"
            )
        return CalibratedModel(model, level_map, data.X, evidence, self.by)


def similar_forecasts(evidence: Evidence, distribution: Distribution, X: Array, kernel: Similarity) -> Array:
    """Return how many forecasts of the evidence, m, each of m forecasts at `m x d` points is like.

    One of the same spread, median and distance from the data counts as one, others the less the less they are alike. Of
    several forecasts of one outcome (stored, and left out of the present model) the most alike counts: they are one
    experience.
    """
    if not len(evidence):
        return np.zeros_like(distribution.median)
    scale = OutcomeScale(evidence.y)
    distance = None if evidence.nearness is None else evidence.nearness(X)
    weights = kernel.weights(
        scale.reach(distribution, distance), scale.reach(evidence.distribution, evidence.log_distance)
    )
    outcome = evidence.outcomes
    order = np.argsort(outcome, kind="stable")
    first = np.searchsorted(outcome[order], np.arange(outcome.max() + 1))
    return np.maximum.reduceat(weights[:, order], first, axis=1).sum(axis=1)


def past_in_words(forecasts: int, similar: int) -> str:
    """Say what an interval rests on if one correction was learned from all past forecasts, so many of which are similar."""
    if forecasts == 1:
        return "1 past forecast, which is similar" if similar else "1 past forecast, which is not similar"
    return f"{forecasts} past forecasts, {similar} of them similar"


def in_words(similar: float) -> str:
    """Say what an interval rests on, given the number of similar forecasts in the past."""
    if similar < SOME_SIMILAR:
        return MODEL_ALONE
    whole = int(similar)
    count = f"{whole} similar forecast{'s' if whole > 1 else ''}"
    if similar >= ENOUGH_SIMILAR:
        return count
    return f"mostly the model, {count}" if whole else "mostly the model"
