"""Forecasts of outcomes of an uncertain shape: averages of calibrated forecasts by several transforms of the outcomes.

Whether outcomes are best modelled as they are or with their bad tail drawn in cannot be told from few data. One model may be
far too sure of itself at points unlike the data, which its own leave-one-out predictions do not show, as a search leaves few
data there. The average with the other one, which expects something else there, is seldom as wrong as either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import Calibrated, CalibratedModel, Recalibrator
from calibo.calibration.conditional_quantile import ConditionalQuantile
from calibo.calibration.resampling import Resampler, StoredAndLeaveOneOut
from calibo.checks import check_instance, check_whole
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Distribution, QuantileAverage
from calibo.models.base import Capability, Model, ModelWrapper, SurrogateWrapper
from calibo.models.standardization import single_outcome
from calibo.models.subsets import left_out_rows
from calibo.models.warped import Warped, WarpedModel, stored_shape

#: Shapes whose weight would be a smaller share of the largest are left out.
_LEAST = 1e-3
_TINY, _LARGEST = np.finfo(np.float64).tiny, 1e300


@dataclass(frozen=True, eq=False)
class ShapeAverageModel(ModelWrapper):
    """Calibrated models of differently transformed outcomes; its stage takes the place of theirs.

    Attributes:
        base: The calibrated model of the shape that predicts best, whose latent values, hyperparameters and capabilities
            these are.
        others: Those of other shapes.
        weights: Of the base, which may be 0, and of the others, of sum 1.
        stored: The numbers to store for a warm start: those of all of them.
    """

    others: tuple[CalibratedModel, ...]
    weights: tuple[float, ...]
    stored: tuple[float, ...]
    adds: ClassVar[frozenset[Capability]] = CalibratedModel.adds | {Capability.HYPERPARAMETERS}
    hides: ClassVar[Mapping[Capability, str]] = CalibratedModel.hides

    @property
    def stages(self) -> tuple[Model, ...]:
        return (*self.base.stages[:-1], self)

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.stored

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        if latent:
            return self.base.predict(X, latent=True)
        return self._averaged([model.predict(X, latent=False) for model in (self.base, *self.others)])

    def predict_stages(self, X: Array) -> tuple[Distribution, ...]:
        *inner, own = self.base.predict_stages(X)
        return (*inner, self._averaged([own, *(model.predict(X, latent=False) for model in self.others)]))

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        return self._averaged([super().leave_one_out(rows), *(model.leave_one_out(rows) for model in self.others)])

    def jackknife(self, rows: Rows | None = None) -> Distribution:
        return self._averaged([super().jackknife(rows), *(model.jackknife(rows) for model in self.others)])

    def one_step_ahead(self) -> Distribution:
        return self._averaged([super().one_step_ahead(), *(model.one_step_ahead() for model in self.others)])

    def _averaged(self, distributions: Sequence[Distribution]) -> Distribution:
        """Average those of the base and the others; one of weight 0 is left out."""
        counted = [(part, weight) for part, weight in zip(distributions, self.weights, strict=True) if weight > 0.0]
        if len(counted) == 1:
            return counted[0][0]
        parts, weights = zip(*counted, strict=True)
        return QuantileAverage(parts, weights)


@dataclass(frozen=True)
class ShapeAverage(SurrogateWrapper):
    """A surrogate of transformed outcomes, calibrated, that averages the forecasts by all transforms it could choose from.

    The quantiles of a measurement are weighted means of those by each shape that suits the outcomes. Each shape is calibrated
    by itself: by its own leave-one-out predictions, and by the stored forecasts, of whichever shape had been chosen. With L
    the quantile loss and S the mean log score (with the derivative of the transform) of its leave-one-out predictions, a
    shape has a weight proportional to exp(S) / L^2: S is decided by where the data are dense, L by the large outcomes.
    Latent values, on which searches act, and capabilities are those of the shape that `Warped` chooses.

    Attributes:
        surrogate: The surrogate of transformed outcomes.
        by: Calibrates the forecasts of each shape.
        evidence: Where the forecasts come from that it learns from.
        up_to: With more outcomes only the chosen shape is fitted: a second model would cost more than it tells.

    Example:
        >>> import numpy as np
        >>> from calibo.calibration import ShapeAverage
        >>> from calibo.data import Dataset
        >>> from calibo.models import GaussianProcess, Warped
        >>> X = np.linspace(0.0, 1.0, 24)[:, None]
        >>> data = Dataset(X=X, Y=-np.exp(3.0 * X) - 0.5 * np.sin(60.0 * X))
        >>> model = ShapeAverage(Warped(GaussianProcess())).fit(data, rng=np.random.default_rng(0))
        >>> len(model.others), round(sum(model.weights), 9)
        (1, 1.0)
    """

    by: Recalibrator = field(default_factory=ConditionalQuantile)
    evidence: Resampler = field(default_factory=StoredAndLeaveOneOut)
    up_to: int = 300
    model_type: ClassVar = ShapeAverageModel

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        _ = self._calibrated(self._warped)
        check_whole("up_to, a number of outcomes,", self.up_to, 0)

    @property
    def _warped(self) -> Warped:
        return check_instance("surrogate", self.surrogate, Warped, "Warped(GaussianProcess())")

    @property
    def for_constraints(self) -> ShapeAverage:
        """Of one shape: the probability of an average takes a search, and one shape is as right about constraints."""
        return replace(self, up_to=0)

    @property
    def stage_name(self) -> str:
        """Name of the stage: that of the recalibrator, as with one shape."""
        return type(self.by).__name__

    def _calibrated(self, surrogate: Warped) -> Calibrated:
        return Calibrated(surrogate, by=self.by, evidence=self.evidence)

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        inner = self._calibrated(self._warped).capabilities
        return None if inner is None else inner | ShapeAverageModel.adds

    @property
    def calibrated_without_forecasts(self) -> bool:
        return self._calibrated(self._warped).calibrated_without_forecasts

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ShapeAverageModel:
        first, *rest = separated(data.hyperparameters)
        chosen = self._calibrated(self._warped).fit(replace(data, hyperparameters=(first,) if first else ()), rng=rng)
        others = self._others(chosen, data, {stored_shape(part): part for part in (first, *rest) if len(part) > 1}, rng)
        fitted = [chosen, *others]
        weights = np.ones(1) if not others else _weights([_warped(model) for model in fitted], single_outcome(data.Y))
        kept = [model for model, weight in zip(others, weights[1:], strict=True) if weight > 0.0]
        shares = [weights[0], *(weight for weight in weights[1:] if weight > 0.0)]
        stored = joined([model.hyperparameters for model in fitted])
        return ShapeAverageModel(chosen, tuple(kept), tuple(float(share) for share in shares), stored)

    def _others(
        self,
        chosen: CalibratedModel,
        data: Dataset,
        starts: Mapping[float, tuple[float, ...]],
        rng: np.random.Generator,
    ) -> list[CalibratedModel]:
        """Fit the shapes that suit the outcomes besides the chosen one, each from where its last fit ended."""
        if len(data) > self.up_to or Capability.LEAVE_ONE_OUT not in chosen.capabilities:
            return []
        # They are only shown: their hyperparameters keep to the schedule of the surrogate inside.
        data = replace(data, refit=None if data.refit else data.refit)
        fitted = []
        for shape in _warped(chosen).other_shapes(self._warped.shapes, single_outcome(data.Y)):
            start = starts.get(shape.value)
            known = replace(data, hyperparameters=(start,) if start else ())
            fitted.append(self._calibrated(replace(self._warped, shapes=(shape,))).fit(known, rng=rng))
        return fitted


def _warped(calibrated: CalibratedModel) -> WarpedModel:
    return check_instance(
        "the model that is calibrated", calibrated.base, WarpedModel, "that of Warped(GaussianProcess())"
    )


def _weights(models: Sequence[WarpedModel], y: Array) -> Array:
    """Return the weights of models of outcomes, n, of sum 1, by how they predict outcomes that are left out.

    A small one is 0, also that of the first: with one huge outcome a shape may suit no longer that was chosen before.
    """
    rows = left_out_rows(len(y))
    score, loss = np.array([model.judged(y, rows) for model in models]).T
    score, loss = np.nan_to_num(score, nan=-_LARGEST, posinf=_LARGEST, neginf=-_LARGEST), np.maximum(loss, _TINY)
    weights = np.exp((score - score.max()) / len(rows)) * np.square(loss.min() / loss)
    weights = np.where(weights >= _LEAST * weights.max(), weights, 0.0) if weights.max() > 0.0 else loss == loss.min()
    return weights / weights.sum()


def joined(parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return several rows of numbers as one: each followed by its length, and their number at the end."""
    return (*(number for part in parts for number in (*part, float(len(part)))), float(len(parts)))


def separated(hyperparameters: tuple[tuple[float, ...], ...]) -> list[tuple[float, ...]]:
    """Return the stored rows of numbers of the chosen shape and the others; what is not such a row is that of the first."""
    if not hyperparameters or not hyperparameters[0]:
        return [()]
    *left, count = hyperparameters[0]
    parts: list[tuple[float, ...]] = []
    while left and len(parts) < count:
        length = left.pop()
        if not 0.0 <= length <= len(left) or not float(length).is_integer():
            break
        start = len(left) - int(length)
        parts.insert(0, tuple(left[start:]))
        del left[start:]
    return parts if parts and len(parts) == count and not left else [hyperparameters[0]]
