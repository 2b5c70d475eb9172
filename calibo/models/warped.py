"""A surrogate of transformed outcomes: the transform is chosen by how well the model predicts points that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Distribution, OutcomeTransform, Transformed
from calibo.errors import RecipeError
from calibo.models.base import Capability, Model, ModelWrapper, SurrogateWrapper
from calibo.models.outcome_transforms import OutcomeShape
from calibo.models.standardization import single_outcome
from calibo.models.subsets import left_out_rows

#: Levels of the quantiles whose mean pinball loss is the score of a prediction in the outcome's own units.
_LEVELS = np.linspace(0.05, 0.95, 10)
#: Largest number of outcomes that is read back as that of the last choice.
_MOST = 1e9


@dataclass(frozen=True, eq=False)
class WarpedModel(ModelWrapper):
    """A model of transformed outcomes, whose predictions are in the outcomes' own units. It adds no stage.

    Attributes:
        base: The model of the transformed outcomes.
        transform: The transform; ``None`` for the identity.
        stored: The numbers to store for a warm start: those of the base, the transform, and when it was chosen.
    """

    transform: OutcomeTransform | None
    stored: tuple[float, ...]
    adds: ClassVar[frozenset[Capability]] = frozenset({Capability.HYPERPARAMETERS})
    hides: ClassVar[Mapping[Capability, str]] = {
        Capability.AUGMENTATION: "the closed form describes transformed outcomes",
        Capability.NOISE: "the noise of a transformed outcome has other units",
    }

    @property
    def stages(self) -> tuple[Model, ...]:
        return (self,)

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.stored

    def other_shapes(self, shapes: Sequence[OutcomeShape], y: Array) -> list[OutcomeShape]:
        """Return those of some shapes with whose transform of outcomes, n, this model would be another one."""
        own = stored_shape(self.stored)
        others = [(shape, shape.transform(y)) for shape in shapes if shape.value != own]
        return [shape for shape, other in others if not (other is None and self.transform is None)]

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self._in_units(self.base.predict(X, latent=latent))

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        return self._in_units(super().leave_one_out(rows))

    def jackknife(self, rows: Rows | None = None) -> Distribution:
        return self._in_units(super().jackknife(rows))

    def one_step_ahead(self) -> Distribution:
        return self._in_units(super().one_step_ahead())

    def judged(self, y: Array, rows: Rows) -> tuple[float, float]:
        """Return log score and quantile loss of outcomes, n, of which some, by their rows, are each left out."""
        left_out = self.base.leave_one_out(rows)
        score = log_score(left_out, self.transform, y[rows])
        return score, quantile_loss(self._in_units(left_out), y[rows])

    def _in_units(self, distribution: Distribution) -> Distribution:
        return distribution if self.transform is None else Transformed(distribution, self.transform)


@dataclass(frozen=True)
class Warped(SurrogateWrapper):
    """A surrogate of transformed outcomes: of several transforms, that which predicts points left out best.

    By default outcomes are fitted as they are or with their bad tail drawn in: linear above the median outcome and the power
    transform of Yeo and Johnson (2000) below it (`LowerTailPower`). A transform is taken if the leave-one-out log score
    (with the derivative of the transform) is better than without it and the leave-one-out quantile loss in the outcome's own
    units is not much worse: the first is decided by where the data are dense, the second by the large outcomes.

    All are fitted only when the number of outcomes has grown by ``growth`` since the last choice, which is stored with the
    hyperparameters; in between one fit is enough, as it is if there is one transform to choose from. Surrogates without
    leave-one-out predictions in closed form are left as they are.

    Attributes:
        surrogate: The surrogate inside; it must not be calibrated (put ``Calibrated`` around this one instead).
        growth: How much the data must have grown for the choice to be made again, as a factor, at least 1.
        tolerance: How many times as large as that of the first shape the loss in the outcome's own units may be.
        shapes: The transforms to choose from; the first is taken unless another predicts better. A single one is always
            taken, once there are enough outcomes.

    Example:
        >>> import numpy as np
        >>> from calibo.data import Dataset
        >>> from calibo.models import GaussianProcess, Warped
        >>> X = np.linspace(0.0, 1.0, 24)[:, None]
        >>> data = Dataset(X=X, Y=-np.exp(8.0 * X))
        >>> model = Warped(GaussianProcess()).fit(data, rng=np.random.default_rng(0))
        >>> low, high = model.predict(np.array([[0.37]]), latent=False).interval(0.95)
        >>> bool(low[0] < -np.exp(8.0 * 0.37) < high[0]), model.transform is None
        (True, False)
    """

    growth: float = 1.15
    tolerance: float = 1.2
    shapes: tuple[OutcomeShape, ...] = (OutcomeShape.IDENTITY, OutcomeShape.LOWER_TAIL)
    model_type: ClassVar = WarpedModel

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        check_between("growth", self.growth, 1.0, np.inf, including="low")
        check_between("tolerance", self.tolerance, 0.0, np.inf)
        if not self.shapes:
            raise RecipeError(
                "shapes must name a transform or several, got none: (OutcomeShape.HALF_RANK,) takes one always"
            )
        for shape in self.shapes:
            check_instance("each of shapes", shape, OutcomeShape, "OutcomeShape.HALF_RANK")
        if len(self.surrogate.stage_names) > 1:
            raise RecipeError(
                f"Warped takes an uncalibrated surrogate, got {type(self.surrogate).__name__}, which needs forecasts in the "
                "outcome's own units: put Warped inside, as in Calibrated(Warped(GaussianProcess()), by=...)"
            )

    @property
    def stage_names(self) -> tuple[str, ...]:
        return (f"Warped{self.surrogate.stage_names[0]}",)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> WarpedModel:
        y, n = single_outcome(data.Y), len(data)
        inner, chosen, chosen_at = _stored(data.hyperparameters)
        data = replace(data, forecasts=(), hyperparameters=(inner,) if inner else ())
        if len(self.shapes) == 1:
            return self._fit(data, self.shapes[0], rng, chosen_at=n)
        if chosen in self.shapes and n < self.growth * chosen_at:
            return self._fit(data, chosen, rng, chosen_at=chosen_at)
        first, *others = self.shapes
        suited = [shape for shape in others if shape.transform(y) is not None]
        if not suited:
            return self._fit(data, first, rng, chosen_at=n)
        # Kept hyperparameters would favour the transform that they were fitted with.
        data = replace(data, refit=True)
        best = plain = self._fit(data, first, rng, chosen_at=n)
        if Capability.LEAVE_ONE_OUT not in plain.capabilities:
            return plain
        rows = left_out_rows(n)
        highest, loss = plain.judged(y, rows)
        limit = self.tolerance * loss
        for shape in suited:
            model = self._fit(data, shape, rng, chosen_at=n)
            score, loss = model.judged(y, rows)
            if score > highest and loss <= limit:
                best, highest = model, score
        return best

    def _fit(self, data: Dataset, shape: OutcomeShape, rng: np.random.Generator, *, chosen_at: float) -> WarpedModel:
        """Fit the surrogate inside to transformed outcomes; known variances are transformed to first order."""
        transform, variance = shape.transform(single_outcome(data.Y)), data.Y_var
        if transform is not None:
            if variance is not None:
                variance = variance * np.exp(2.0 * transform.log_derivative(data.Y))
            data = replace(data, Y=transform.forward(data.Y), Y_var=variance)
        model = self.surrogate.fit(data, rng=rng)
        return WarpedModel(model, transform, (*model.hyperparameters, float(shape.value), float(chosen_at)))


def stored_shape(stored: Sequence[float]) -> float:
    """Return the number of the shape that was chosen, of the numbers that a `WarpedModel` stores."""
    return stored[-2]


def log_score(left_out: Distribution, transform: OutcomeTransform | None, y: Array) -> float:
    """Return the log score of outcomes, n, by Gaussian predictions of the transformed ones, n."""
    scores = left_out.normal_scores(y if transform is None else transform.forward(y))
    total = -0.5 * np.square(scores) - np.log(left_out.std)
    return float(np.sum(total if transform is None else total + transform.log_derivative(y)))


def quantile_loss(predicted: Distribution, y: Array) -> float:
    """Return the mean pinball loss of quantiles of the predictions of outcomes, n, over several levels."""
    gap = y - predicted.over_samples().at_levels(_LEVELS[:, None])
    return float(np.mean(np.maximum(_LEVELS[:, None] * gap, (_LEVELS[:, None] - 1.0) * gap)))


def _stored(hyperparameters: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], OutcomeShape | None, float]:
    """Return the stored hyperparameters of the surrogate inside, the choice of transform, and when it was made."""
    if not hyperparameters or len(hyperparameters[0]) < 2:
        return (), None, 0.0
    *inner, choice, chosen_at = hyperparameters[0]
    if choice not in [shape.value for shape in OutcomeShape] or not 1.0 <= chosen_at <= _MOST:
        # They are another surrogate's, which may be of use to the one inside.
        return hyperparameters[0], None, 0.0
    return tuple(inner), OutcomeShape(int(choice)), chosen_at
