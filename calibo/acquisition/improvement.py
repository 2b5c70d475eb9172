"""Expected improvement, also with noisy incumbents, and probability of improvement, in logarithms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import (
    Acquisition,
    AcquisitionRule,
    base_samples,
    incumbent,
    log_fatplus,
    log_fatstep,
    most_frequent,
    promising,
)
from calibo.acquisition.joint import SampledUtility
from calibo.arguments import check_fields, checked
from calibo.checks import check_between, check_instance, check_whole
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import RecipeError
from calibo.models.base import Model
from calibo.models.outcome_transforms import good_half

#: Width of the smoothing of sampled improvements, in units of the good outcomes' spread. A copy of a pending point has
#: about this utility, so it must be small compared with any improvement still possible.
_SMOOTHING = 1e-6
#: Smallest improvement that counts in the sampled probability of improvement, in widths of the smoothing.
_SHIFT = 1000.0
#: Draws used to find the observed points that may be the best.
_DRAWS_OF_BEST = 256
#: Best points at which the noise is judged.
_BEST_POINTS = 5
#: Largest standard deviation, in units of the good outcomes' spread, when noise is judged: its square is a float.
_WIDEST = 1e150


@dataclass(frozen=True)
class ExpectedImprovement(AcquisitionRule):
    """log E (f - f*)_+: in closed form for single points, by joint draws for batches and pending points.

    Attributes:
        draws: Base samples for batches and pending points.
    """

    draws: int = 128
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best, width = incumbent(model, data), smoothing(data)

        def utility(f: Array, weights: Array, pending: Array, their_weights: Array) -> Array:
            return _log_gain(f, weights, pending, their_weights, best, width)

        def exact(d: Distribution) -> Array:
            return d.log_expected_improvement(best)

        return SampledUtility(model, data.X_pending, utility, int(rng.integers(2**63)), self.draws, exact)


@dataclass(frozen=True)
class ProbabilityOfImprovement(AcquisitionRule):
    """log P(f > f* + margin): in closed form for single points, by joint draws for batches and pending points.

    Attributes:
        margin: Required improvement over the incumbent, in standard deviations of the outcomes.
        draws: Base samples for batches and pending points.
    """

    margin: float = 0.01
    draws: int = 128
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best = incumbent(model, data) + self.margin * _spread(data)
        width = smoothing(data)

        def utility(f: Array, weights: Array, pending: Array, their_weights: Array) -> Array:
            gain = f - np.max(pending, axis=-1, initial=best)[..., None]
            # Shifted, so that a copy of a pending point, which gains nothing, has no chance.
            return np.log(weights) + log_fatstep(gain / width - _SHIFT)

        def exact(d: Distribution) -> Array:
            return d.log_probability_of_improvement(best)

        return SampledUtility(model, data.X_pending, utility, int(rng.integers(2**63)), self.draws, exact)


@dataclass(frozen=True)
class NoisyExpectedImprovement(AcquisitionRule):
    """log E (f(x) - max_i f(x_i))_+ with all values drawn jointly (Letham et al. 2019; Stanton et al. 2023, eq. 10).

    Only observed points that are the best in some draw take part. A conformal distribution weights the draws of the
    candidate alone: given f(x), its measurement says nothing more about the values elsewhere, so the joint distribution
    with the values at the observed points is exactly the weighted one.

    Attributes:
        draws: Base samples.
        contenders: Maximum number of observed points drawn jointly with a candidate.
    """

    draws: int = 128
    contenders: int = 12
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))
        rivals = contenders(model, promising(data.X, data.Y), self.contenders, seed)
        count, width = len(rivals), smoothing(data)

        def utility(f: Array, weights: Array, others: Array, their_weights: Array) -> Array:
            best = others[..., :count].max(axis=-1, keepdims=True)
            return _log_gain(f, weights, others[..., count:], their_weights[..., count:], best, width)

        return SampledUtility(model, np.vstack([rivals, data.X_pending]), utility, seed, self.draws)


@dataclass(frozen=True)
class ImprovementInTurns(AcquisitionRule):
    """Two rules of improvement in turns: one after an even number of results, the other after an odd one.

    Under noise neither of the two usual ones does alone. Noisy expected improvement gains nothing at a point that was
    measured, so that it leaves an optimum that it has found, such as a corner, for worse points around it; plain expected
    improvement over the best expected value measures there again, and may do nothing else.

    Attributes:
        even: The rule after an even number of results.
        odd: The rule after an odd number.
    """

    even: AcquisitionRule = field(default_factory=lambda: NoisyExpectedImprovement(draws=64))
    odd: AcquisitionRule = field(default_factory=ExpectedImprovement)
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_improvement("even", self.even)
        _check_improvement("odd", self.odd)

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        return (self.odd if len(data) % 2 else self.even).build(model, data, rng=rng)


@dataclass(frozen=True)
class ImprovementByNoise(AcquisitionRule):
    """Expected improvement while measurements are nearly exact, in turns with its noisy form once they are not.

    Plain improvement compares with one incumbent as if its value were known, and under noise may measure around it again and
    again; the noisy form draws the values at all observed points, which takes three times as long and gains nothing where
    measurements are exact.

    Attributes:
        exact: The rule for nearly exact measurements.
        noisy: The rule for noisy ones.
        threshold: Share of noise above which measurements count as noisy (`noise_share`).
        fewest: Number of outcomes below which their noise cannot be told, and counts as none.
    """

    exact: AcquisitionRule = field(default_factory=ExpectedImprovement)
    noisy: AcquisitionRule = field(default_factory=ImprovementInTurns)
    threshold: float = 0.25
    fewest: int = 10
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_improvement("exact", self.exact)
        _check_improvement("noisy", self.noisy)
        check_between("threshold", self.threshold, 0.0, np.inf)
        check_whole("fewest", self.fewest)

    def chosen(self, model: Model, data: Dataset) -> AcquisitionRule:
        noisy = len(data) >= self.fewest and noise_share(model, data) > self.threshold
        return self.noisy if noisy else self.exact

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        return self.chosen(model, data).build(model, data, rng=rng)


def _check_improvement(name: str, rule: AcquisitionRule) -> None:
    """Check that a rule's values are logarithms that can be compared between calls, as those of improvement are."""
    check_instance(name, rule, AcquisitionRule, "NoisyExpectedImprovement()")
    if not (rule.logarithmic and rule.smooth):
        raise RecipeError(
            f"{name} must be a rule of improvement, in logarithms, such as ExpectedImprovement(), got {rule!r}"
        )


@checked
def noise_share(model: Model, data: Dataset) -> float:
    """Return the standard deviation of the noise at the best points over the spread of the good outcomes.

    The spread is the root mean square distance from the median of the outcomes above it. Models that do not tell a latent
    value from its measurement have no noise.

    Args:
        model: Model of the objective.
        data: The observations it was fitted to, at least one.
    """
    y = data.Y[:, 0]
    spread = good_half(y)[1]
    if not spread > 0.0:
        return 0.0
    latent = model.predict(data.X[np.argsort(-y, kind="stable")[:_BEST_POINTS]], latent=True)
    value, measurement = (np.minimum(s, _WIDEST * spread) / spread for s in (latent.spread, latent.measurement.spread))
    return float(np.median(np.sqrt(np.maximum(np.square(measurement) - np.square(value), 0.0))))


def _log_gain(
    f: Array, weights: Array, pending: Array, their_weights: Array, best: Array | float, width: float
) -> Array:
    """Return the log of the weighted gain beyond the best weighted gain of a pending point: a copy of one gains nothing."""
    known = np.max(their_weights * (pending - best), axis=-1, initial=0.0)
    return np.log(width) + log_fatplus((weights * (f - best) - known[..., None]) / width)


def contenders(model: Model, X: Array, most: int, seed: int) -> Array:
    """Return the points of `n x d` that are the best of all in some joint draw, the most frequent first."""
    values = model.predict(X, latent=True).samples(base_samples(seed, _DRAWS_OF_BEST, len(X)))[0]
    return most_frequent(X, np.bincount(np.argmax(values, axis=-1), minlength=len(X)), most)


def smoothing(data: Dataset) -> float:
    """Return the width of the smoothing of one objective's improvements, never zero: a share of the good outcomes' spread."""
    spread = good_half(data.Y[:, 0])[1] or _spread(data)
    return max(_SMOOTHING * spread, float(np.finfo(np.float64).tiny))


def _spread(data: Dataset) -> float:
    """Return the standard deviation of the outcomes, or their size if they are all equal."""
    unit = float(np.max(np.abs(data.Y), initial=0.0)) or 1.0
    return float(np.std(data.Y / unit)) * unit or unit
