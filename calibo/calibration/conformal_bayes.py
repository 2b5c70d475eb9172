"""Full conformal Bayes: a Gaussian process whose predictive distribution is flat on its own conformal set (as in CBO)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from calibo.calibration.conformal_set import (
    REACH,
    ConformalSets,
    Score,
    conformal_sets,
    in_sample_score,
    leave_one_out_score,
)
from calibo.calibration.density_ratio import Ratio, RatioEstimator, Unshifted, effective_sample_size, importance_weights
from calibo.checks import check_between, check_instance, check_one_of
from calibo.data import Array, Dataset
from calibo.distributions import FlatSet
from calibo.errors import CapabilityError, FallbackWarning, RecipeError, warn
from calibo.models.augmentation import Augmentation
from calibo.models.base import MODEL_ALONE, Capability, ModelWrapper, SurrogateWrapper, check_surrogate
from calibo.models.gp_posterior import Features
from calibo.models.kernel_features import kernel_features

_SCORES: dict[str, Score] = {"in_sample": in_sample_score, "loo": leave_one_out_score}
#: Width of the passage from in to out of distribution, in weight of the query point (Stanton et al. 2023, D.3).
_SHIFT_TEMPERATURE = 1e-2
#: With less probability in the conformal set, intervals are mostly those of the model.
_MOSTLY_MODEL = 0.5
_NOT_OF_THE_SET = "the closed form of the Gaussian process does not describe its conformal sets"


@dataclass(frozen=True)
class ShrinkingAlpha:
    """The miscoverage max(least, n^-power), near the model's own distribution while data are few.

    The defaults are those of Stanton et al. (2023), D.3.
    """

    least: float = 0.05
    power: float = 0.5

    def __call__(self, n: int) -> float:
        """Return the miscoverage for n data."""
        return max(self.least, max(n, 1) ** -self.power)


@dataclass(frozen=True, eq=False)
class ConformalModel(ModelWrapper):
    """A Gaussian process whose distributions are flat on their conformal sets; all data have the same weight.

    Attributes:
        base: The Gaussian process.
        alpha: Miscoverage.
        score: The conformity score.
        smoothing: The draw that breaks ties; 0 breaks none.
        first: Index of the first datum that counts in the sets; hyperparameters were fitted to those before it.
    """

    alpha: float
    score: Score
    smoothing: float = 0.0
    first: int = 0

    def rests_on(self, X: Array) -> list[str]:
        augmentation = self.base.augmented(X, latent=False)[1]
        sets = self._sets(X, augmentation)
        found = np.any(sets.high > sets.low, axis=-1)[augmentation.index]
        words = _by_sets(1.0 - self.alpha, augmentation.influence.shape[1] - self.first)
        return [words if one else MODEL_ALONE for one in found.tolist()]

    hides: ClassVar[Mapping[Capability, str]] = {
        Capability.LEAVE_ONE_OUT: _NOT_OF_THE_SET,
        Capability.ONE_STEP_AHEAD: _NOT_OF_THE_SET,
        Capability.AUGMENTATION: _NOT_OF_THE_SET,
    }

    def predict(self, X: Array, *, latent: bool) -> FlatSet:
        """Predict the outcome at `... x q x d` points.

        Warns about points without a conformal set, where the distribution of the Gaussian process is used, if measurements
        are predicted (`latent=False`).
        """
        distribution, augmentation = self.base.augmented(X, latent=latent)
        sets = self._sets(X, augmentation)
        if not latent:
            _warn(sets, self.alpha)
        units, index = augmentation.units, augmentation.index
        low, high = units.backward(sets.low)[index], units.backward(sets.high)[index]
        return FlatSet(distribution, low, high, 1.0 - self.alpha)

    def conformal_sets(self, X: Array) -> ConformalSets:
        """Return the conformal sets at `p x d` points, with their ends in the units of the outcomes."""
        augmentation = self.base.augmented(X, latent=False)[1]
        sets = self._sets(X, augmentation)
        units = augmentation.units
        return replace(sets, low=units.backward(sets.low), high=units.backward(sets.high))

    def _sets(self, X: Array, augmentation: Augmentation) -> ConformalSets:
        augmentation = augmentation.of_later(self.first)
        p, n = augmentation.influence.shape
        points = np.empty((p, X.shape[-1]))
        points[augmentation.index] = X
        weights, own = self._weights(points, n)
        return conformal_sets(augmentation, self.score, weights, own, self.alpha, self.smoothing)

    def _weights(self, points: Array, n: int) -> tuple[Array, Array]:
        """Weights of the n data, n or `p x n`, and of the p points themselves, p."""
        return np.full(n, 1.0 / (n + 1)), np.full(len(points), 1.0 / (n + 1))


@dataclass(frozen=True, eq=False)
class ShiftedModel(ConformalModel):
    """A conformal model whose data are weighted by a density ratio, which it learns from the points a search visits.

    Attributes:
        estimator: Of the ratio.
        ratio: The ratio as learned so far.
        features: How the ratio sees points.
        X: `n x d` points of the data that count in the sets.
    """

    _: KW_ONLY
    estimator: RatioEstimator
    ratio: Ratio
    features: Features
    X: Array
    adds: ClassVar[frozenset[Capability]] = frozenset({Capability.LEARNS_FROM_PROPOSALS, Capability.IN_DISTRIBUTION})

    @property
    def unweighted(self) -> ConformalModel:
        """The same model with equal weights of the data."""
        return ConformalModel(self.base, self.alpha, self.score, self.smoothing, self.first)

    def weights(self, X: Array) -> tuple[Array, Array]:
        """Return the importance weights of the data, `p x n`, and of the `p x d` points themselves, p."""
        return importance_weights(self._data_ratio, self.ratio(self.features(X)))

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> ShiftedModel:
        """Return the model whose density ratio was learned from `k x d` proposals: the points the search has visited."""
        data = self.features(self.X)
        ratio = self.estimator.fit(data, self.features(proposals), previous=self.ratio, rng=rng)
        return replace(self, ratio=ratio)

    def in_distribution(self, X: Array) -> Array:
        """Return 1 - sigmoid((w_n - alpha) / temperature) at `p x d` points, p: 0 where every outcome would be accepted."""
        return expit((self.alpha - self.weights(X)[1]) / _SHIFT_TEMPERATURE)

    @property
    def effective_sample_size(self) -> float:
        """Number of equally weighted data that carry as much information as the weighted ones."""
        return effective_sample_size(self._data_ratio)

    @cached_property
    def _data_ratio(self) -> Array:
        return self.ratio(self.features(self.X))

    def _weights(self, points: Array, n: int) -> tuple[Array, Array]:
        return self.weights(points)


@dataclass(frozen=True)
class ConformalBayes(SurrogateWrapper):
    """A Gaussian process made conformal: flat on exact conformal sets, its own distribution outside them.

    The sets come from roots of quadratics. By default hyperparameters are fitted to all data and not again for every
    candidate outcome, so that the scores are not symmetric in the augmented data, and sets are too small while data are
    few. `fitted_on` fits them to the older part of the data, and ranks the new outcome among the others only: sets then cover
    with their probability if those are exchangeable with the new one, whatever the hyperparameters. Data gathered by
    optimization are not exchangeable; there coverage is empirical.

    The sets need the closed form of what one more measurement changes in the Gaussian process (`Capability.AUGMENTATION`),
    which a calibrated surrogate does not have: calibrate outside, `Calibrated(ConformalBayes(...), by=...)`.

    Attributes:
        surrogate: A Gaussian process.
        alpha: Miscoverage: a number in (0, 1), or a function of the number of data.
        score: `"loo"`, leave-one-out densities, whose sets are always bounded; `"in_sample"` as in the paper.
        ratio: How covariate shift is estimated, to weight the data by how likely the search is to go there. `None` assumes
            that data and queries are drawn from one distribution. A ratio is learned from proposals while searching
            (`Langevin`); before that it is 1.
        randomized: Whether ties at the edge of the set are broken by a draw, one for every fit, which makes coverage exact
            instead of conservative on exchangeable data.
        fitted_on: Share of the data, the oldest, that hyperparameters, mean and standardization are fitted to; the sets rest
            on the others. `None` fits them to all data, and ranks the new outcome among all.
    """

    alpha: float | Callable[[int], float] = ShrinkingAlpha()
    score: Literal["in_sample", "loo"] = "loo"
    ratio: RatioEstimator | None = None
    randomized: bool = False
    fitted_on: float | None = None
    model_type: ClassVar = ConformalModel

    def __post_init__(self) -> None:
        check_surrogate("surrogate", self.surrogate)
        check_one_of("score", self.score, tuple(_SCORES))
        if not callable(self.alpha) and not (isinstance(self.alpha, Real) and 0.0 < self.alpha < 1.0):
            raise RecipeError(f"alpha lies between 0 and 1, got {self.alpha!r}; 0.2 gives 80 % sets")
        if self.ratio is not None:
            check_instance("ratio", self.ratio, RatioEstimator, "DensityRatio(), or None for no weights")
        if self.fitted_on is not None:
            check_between(
                "fitted_on, the share of the data that hyperparameters are fitted to,", self.fitted_on, 0.0, 1.0
            )
        super().__post_init__()
        _check_augmentation(self.surrogate.capabilities, type(self.surrogate).__name__)

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        """Capabilities of the Gaussian process that are passed on; with a ratio also those of covariate shift."""
        inner = super().capabilities
        return inner if inner is None or self.ratio is None else inner | ShiftedModel.adds

    @property
    def calibrated_without_forecasts(self) -> bool:
        """Whether predictions are calibrated, but not by how earlier forecasts came out: conformal sets use the data only."""
        return True

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ConformalModel:
        first = 0 if self.fitted_on is None else min(len(data) - 1, math.ceil(self.fitted_on * len(data)))
        model = self.surrogate.fit(data.rows(np.arange(first)) if first else data, rng=rng)
        _check_augmentation(model.capabilities, type(model).__name__)
        if first:
            model = model.conditioned(data)
        alpha = self.alpha(len(data)) if callable(self.alpha) else self.alpha
        if not 0.0 < alpha <= 1.0:
            raise RecipeError(f"alpha must come out in (0, 1], got {alpha} for {len(data)} data: change the schedule")
        # A schedule such as 1 / sqrt(n) starts at 1, where the model's own distribution is meant.
        alpha = min(alpha, 1.0 - 1e-12)
        score, smoothing = _SCORES[self.score], float(rng.random()) if self.randomized else 0.0
        if self.ratio is None:
            return ConformalModel(model, alpha, score, smoothing, first)
        seen, ranked = kernel_features(data.categories, data.activity, data.descriptors), data.X[first:]
        return ShiftedModel(
            model, alpha, score, smoothing, first, estimator=self.ratio, ratio=Unshifted(), features=seen, X=ranked
        )


def _check_augmentation(capabilities: frozenset[Capability] | None, name: str) -> None:
    """Raise an error if the model inside is known not to be a plain Gaussian process."""
    if capabilities is not None and Capability.AUGMENTATION not in capabilities:
        raise CapabilityError(
            f"ConformalBayes needs the closed form of what one more measurement changes in a Gaussian process, which {name} "
            "does not have: use ConformalBayes(GaussianProcess()), and put calibration around it, as in "
            "Calibrated(ConformalBayes(GaussianProcess()), by=...)"
        )


def _by_sets(inside: float, count: int) -> str:
    """Say what an interval rests on where there is a conformal set of some data.

    Args:
        inside: Probability of the set; the rest is the model's own distribution.
        count: Number of data.
    """
    if inside < 1e-9:
        return MODEL_ALONE
    if inside < _MOSTLY_MODEL:
        return f"mostly the model, {count} result{'s' if count > 1 else ''} by conformal sets"
    return "the data, by conformal sets"


def _warn(sets: ConformalSets, alpha: float) -> None:
    """Warn about the predictions for which there is no proper conformal set."""
    shown = "the uncalibrated interval is shown"
    # At alpha = 1, where a schedule starts, the model's own distribution is what is meant.
    empty = sets.empty if alpha < 1.0 - 1e-9 else np.zeros(1, dtype=bool)
    for where, message in (
        (sets.unseen, f"predictions could not be calibrated (too few data, or too far from them); {shown}"),
        (empty, f"predictions could not be calibrated (much less certain than at the data); {shown}"),
        (
            sets.unbounded,
            f"calibrated intervals have no finite end and are cut {REACH:g} standard deviations from the mean; "
            "score='loo' avoids this",
        ),
    ):
        if where.any():
            warn(f"{int(where.sum())} of {len(where)} {message}", FallbackWarning)
