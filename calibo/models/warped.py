"""A surrogate of transformed outcomes: the transform is chosen by how well the model predicts points that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibo.checks import check_between
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Distribution, LowerTailPower, OutcomeTransform, Transformed
from calibo.distributions.transforms import power_of
from calibo.errors import RecipeError
from calibo.models.base import Capability, Model, ModelWrapper, SurrogateWrapper
from calibo.models.standardization import single_outcome
from calibo.models.subsets import left_out_rows

#: With fewer outcomes their shape is not known well enough for a transform.
FEWEST_OUTCOMES = 8
#: Outcomes larger than this, or whose spread is smaller than its inverse, are not transformed: squares would not be floats.
_LARGEST = 1e100
#: Powers among which the most likely one is sought; at 0 the lower tail is transformed by a logarithm.
_POWERS = np.linspace(0.0, 1.0, 21)
#: Levels of the quantiles whose mean pinball loss is the score of a prediction in the outcome's own units.
_LEVELS = np.linspace(0.05, 0.95, 10)
#: How the choice is written among the stored hyperparameters.
_IDENTITY, _LOWER_TAIL = 0.0, 1.0
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

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self._in_units(self.base.predict(X, latent=latent))

    def leave_one_out(self, rows: Rows | None = None) -> Distribution:
        return self._in_units(super().leave_one_out(rows))

    def one_step_ahead(self) -> Distribution:
        return self._in_units(super().one_step_ahead())

    def _in_units(self, distribution: Distribution) -> Distribution:
        return distribution if self.transform is None else Transformed(distribution, self.transform)


@dataclass(frozen=True)
class Warped(SurrogateWrapper):
    """A surrogate fitted to outcomes as they are or with their bad tail drawn in, whichever predicts points left out better.

    The transform is linear above the median outcome and the power transform of Yeo and Johnson (2000) below it
    (`LowerTailPower`), with the quartiles' distance as its unit and its most likely power. It is taken if the leave-one-out
    log score (with the derivative of the transform) is better than without it and the leave-one-out quantile loss in the
    outcome's own units is not much worse: the first is decided by where the data are dense, the second by the large outcomes.

    Both are fitted only when the number of outcomes has grown by ``growth`` since the last choice, which is stored with the
    hyperparameters; in between one fit is enough. Surrogates without leave-one-out predictions in closed form are left as
    they are.

    Attributes:
        surrogate: The surrogate inside; it must not be calibrated (put ``Calibrated`` around this one instead).
        growth: How much the data must have grown for the choice to be made again, as a factor, at least 1.
        tolerance: How many times as large as without a transform the loss in the outcome's own units may be.

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
    model_type: ClassVar = WarpedModel

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("growth", self.growth, 1.0, np.inf, including="low")
        check_between("tolerance", self.tolerance, 0.0, np.inf)
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
        inner, choice, chosen_at = _stored(data.hyperparameters)
        data = replace(data, forecasts=(), hyperparameters=(inner,) if inner else ())
        if choice is not None and n < self.growth * chosen_at:
            kept = lower_tail_power(y) if choice == _LOWER_TAIL else None
            return _finished(self._fit(data, kept, rng), kept, chosen_at)
        transform = lower_tail_power(y)
        if transform is None:
            return _finished(self.surrogate.fit(data, rng=rng), None, n)
        # Kept hyperparameters would favour the transform that they were fitted with.
        data = replace(data, refit=True)
        plain = _finished(self._fit(data, None, rng), None, n)
        if Capability.LEAVE_ONE_OUT not in plain.capabilities:
            return plain
        warped = _finished(self._fit(data, transform, rng), transform, n)
        return warped if self._better(warped, plain, y) else plain

    def _fit(self, data: Dataset, transform: OutcomeTransform | None, rng: np.random.Generator) -> Model:
        """Fit the surrogate inside to transformed outcomes; known variances are transformed to first order."""
        if transform is None:
            return self.surrogate.fit(data, rng=rng)
        variance = data.Y_var
        if variance is not None:
            variance = variance * np.exp(2.0 * transform.log_derivative(data.Y))
        return self.surrogate.fit(replace(data, Y=transform.forward(data.Y), Y_var=variance), rng=rng)

    def _better(self, warped: WarpedModel, plain: WarpedModel, y: Array) -> bool:
        """Return whether the transform predicts points left out better."""
        rows = left_out_rows(len(y))
        if not log_score(warped, y, rows) > log_score(plain, y, rows):
            return False
        losses = [quantile_loss(model.leave_one_out(rows), y[rows]) for model in (warped, plain)]
        return losses[0] <= self.tolerance * losses[1]


def lower_tail_power(y: Array) -> LowerTailPower | None:
    """Return the transform that makes outcomes, n, most nearly normal; ``None`` if they are too few or too alike."""
    if len(y) < FEWEST_OUTCOMES or np.max(np.abs(y)) > _LARGEST:
        return None
    first, median, third = np.quantile(y, [0.25, 0.5, 0.75])
    # The distance of the quartiles of a normal distribution is 1.35 standard deviations.
    scale = (third - first) / 1.35 or np.std(y)
    if not scale > max(1e-12 * max(abs(median), np.ptp(y)), 1.0 / _LARGEST):
        return None
    z = (y - median) / scale
    above, below = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    transformed = np.array([above - power_of(below, power) for power in _POWERS])
    likelihood = (_POWERS - 1.0) * np.log1p(below).sum() - 0.5 * len(y) * np.log(transformed.var(axis=1))
    power = float(_POWERS[int(np.argmax(likelihood))])
    return None if power == 1.0 else LowerTailPower(power, float(median), float(scale), float(y.min()))


def log_score(model: WarpedModel, y: Array, rows: Rows | None = None) -> float:
    """Return the leave-one-out log score of outcomes, n, by Gaussian predictions of the transformed ones.

    Args:
        model: The model.
        y: Outcomes.
        rows: Which of them to predict; by default all.
    """
    transform = model.transform
    y = y if rows is None else y[rows]
    left_out = model.base.leave_one_out(rows)
    scores = left_out.normal_scores(y if transform is None else transform.forward(y))
    total = -0.5 * np.square(scores) - np.log(left_out.std)
    return float(np.sum(total if transform is None else total + transform.log_derivative(y)))


def quantile_loss(predicted: Distribution, y: Array) -> float:
    """Return the mean pinball loss of quantiles of the predictions of outcomes, n, over several levels."""
    gap = y - predicted.over_samples().at_levels(_LEVELS[:, None])
    return float(np.mean(np.maximum(_LEVELS[:, None] * gap, (_LEVELS[:, None] - 1.0) * gap)))


def _finished(model: Model, transform: OutcomeTransform | None, chosen_at: float) -> WarpedModel:
    choice = _IDENTITY if transform is None else _LOWER_TAIL
    return WarpedModel(model, transform, (*model.hyperparameters, choice, float(chosen_at)))


def _stored(hyperparameters: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], float | None, float]:
    """Return the stored hyperparameters of the surrogate inside, the choice of transform, and when it was made."""
    if not hyperparameters or len(hyperparameters[0]) < 2:
        return (), None, 0.0
    *inner, choice, chosen_at = hyperparameters[0]
    if choice not in (_IDENTITY, _LOWER_TAIL) or not 1.0 <= chosen_at <= _MOST:
        # They are another surrogate's, which may be of use to the one inside.
        return hyperparameters[0], None, 0.0
    return tuple(inner), choice, chosen_at
