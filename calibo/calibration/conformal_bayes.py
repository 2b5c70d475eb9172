"""Full conformal Bayes: a Gaussian process whose predictive distribution is flat on its own conformal set (what CBO believes)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Literal

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
from calibo.checks import check_has, check_one_of
from calibo.data import Array, Dataset
from calibo.distributions import FlatSet
from calibo.errors import FallbackWarning, RecipeError
from calibo.models.augmentation import Augmentation, HasAugmentation
from calibo.models.base import HasHyperparameters, Model, Surrogate
from calibo.models.gp_posterior import Features

_SCORES: dict[str, Score] = {"in_sample": in_sample_score, "loo": leave_one_out_score}
#: Width of the passage from in to out of distribution, in weight of the query point (Stanton et al. 2023, D.3).
_GATE_TEMPERATURE = 1e-2


@dataclass(frozen=True)
class ShrinkingAlpha:
    """alpha = max(least, n^-power): near the model's own distribution while data are few (Stanton et al. 2023, D.3: .05 and 1 / 2)."""

    least: float = 0.05
    power: float = 0.5

    def __call__(self, n: int) -> float:
        return max(self.least, max(n, 1) ** -self.power)


@dataclass(frozen=True)
class ConformalBayes:
    """A Gaussian process made conformal: exact sets by quadratic roots, flat inside, its own distribution outside; a surrogate.

    Hyper-parameters are fitted to the data and not again for every candidate outcome, so the scores are not exactly
    symmetric in the augmented data; and data gathered by optimization are not exchangeable. Coverage is empirical.

    Attributes:
        surrogate: Whose models know what one more measurement would change (``HasAugmentation``): a GP.
        alpha: Miscoverage: a number in (0, 1), or a function of the number of data.
        score: ``"loo"``, leave-one-out densities, whose sets are always bounded; ``"in_sample"`` as in the paper.
        ratio: How covariate shift is estimated: weights of the data by how likely the search is to go there. ``None``
            takes data and queries for draws from one distribution. A ratio is learned from proposals while searching
            (``Langevin``); without any it is 1.
        randomized: Whether ties at the edge of the set are broken by a draw, one for every fit, which makes coverage
            exact instead of conservative on exchangeable data.
    """

    surrogate: Surrogate
    alpha: float | Callable[[int], float] = ShrinkingAlpha()
    score: Literal["in_sample", "loo"] = "loo"
    ratio: RatioEstimator | None = None
    randomized: bool = False

    def __post_init__(self) -> None:
        check_one_of("score", self.score, tuple(_SCORES))
        if not callable(self.alpha) and not (isinstance(self.alpha, Real) and 0.0 < self.alpha < 1.0):
            raise RecipeError(f"alpha lies between 0 and 1, got {self.alpha!r}; 0.2 gives 80 % sets")
        check_has("surrogate", self.surrogate, "fit", "GaussianProcess()")
        if self.ratio is not None:
            check_has("ratio", self.ratio, "fit", "DensityRatio(), or None for no weights")

    @property
    def maker(self) -> str:
        """Its name as a stage of a forecast."""
        return type(self).__name__

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ConformalModel | ShiftedModel:
        model = self.surrogate.fit(data, rng=rng)
        if not isinstance(model, HasAugmentation):
            raise RecipeError(
                "ConformalBayes needs a surrogate that knows in closed form what one more measurement changes, got a "
                f"model of type {type(model).__name__}: use GaussianProcess()"
            )
        alpha = self.alpha(len(data)) if callable(self.alpha) else self.alpha
        if not 0.0 < alpha <= 1.0:
            raise RecipeError(f"alpha must come out in (0, 1], got {alpha} for {len(data)} data: change the schedule")
        # A schedule such as 1 / sqrt(n) starts at 1, where the model's own distribution is meant.
        alpha = min(alpha, 1.0 - 1e-12)
        smoothing = float(rng.random()) if self.randomized else 0.0
        conformal = ConformalModel(model, alpha, _SCORES[self.score], smoothing)
        if self.ratio is None:
            return conformal
        return ShiftedModel(conformal, self.ratio, Unshifted(), Features(data.categories))


@dataclass(frozen=True, eq=False)
class ConformalModel:
    """A Gaussian process seen through its conformal sets.

    Attributes:
        base: The Gaussian process.
        alpha: Miscoverage.
        score: The conformity score.
        smoothing: The draw that breaks ties; 0 breaks none.
        weighting: Points, p x d, -> weights of the data, p x n, and of the points, p; ``None`` for equal ones.
    """

    base: HasAugmentation
    alpha: float
    score: Score
    smoothing: float = 0.0
    weighting: Callable[[Array], tuple[Array, Array]] | None = None

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.base.hyperparameters if isinstance(self.base, HasHyperparameters) else ()

    def predict(self, X: Array, *, latent: bool) -> FlatSet:
        """The distribution at ``X``, ... x q x d; what had to be done instead of a conformal set is announced for measurements."""
        distribution, augmentation = self.base.augmented(X, latent=latent)
        sets = self._sets(X, augmentation)
        if not latent:
            _announce(sets, self.alpha)
        units, index = augmentation.units, augmentation.index
        return FlatSet(
            distribution, units.backward(sets.low)[index], units.backward(sets.high)[index], 1.0 - self.alpha
        )

    def conformal_sets(self, X: Array) -> ConformalSets:
        """The conformal sets at points, p x d, with their ends in the outcomes' units."""
        augmentation = self.base.augmented(X, latent=False)[1]
        sets = self._sets(X, augmentation)
        units = augmentation.units
        return replace(sets, low=units.backward(sets.low), high=units.backward(sets.high))

    def _sets(self, X: Array, augmentation: Augmentation) -> ConformalSets:
        p, n = augmentation.influence.shape
        if self.weighting is None:
            weights, own = np.full(n, 1.0 / (n + 1)), np.full(p, 1.0 / (n + 1))
        else:
            points = np.empty((p, X.shape[-1]))
            points[augmentation.index] = X
            weights, own = self.weighting(points)
        return conformal_sets(augmentation, self.score, weights, own, self.alpha, self.smoothing)


@dataclass(frozen=True, eq=False)
class ShiftedModel:
    """A conformal model whose data are weighted by a density ratio, which it learns from where the search goes.

    Attributes:
        conformal: The model without weights.
        estimator: Of the ratio.
        ratio: What is known of it so far.
        features: How points are seen by the ratio.
    """

    conformal: ConformalModel
    estimator: RatioEstimator
    ratio: Ratio
    features: Features

    @property
    def base(self) -> Model:
        """The Gaussian process, for the stages of a forecast."""
        return self.conformal.base  # pyright: ignore[reportReturnType]

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.conformal.hyperparameters

    @cached_property
    def _weighted(self) -> ConformalModel:
        return replace(self.conformal, weighting=self.weights)

    @cached_property
    def _data_ratio(self) -> Array:
        return self.ratio(self.features(self.conformal.base.data_points))

    def weights(self, X: Array) -> tuple[Array, Array]:
        """Importance weights of the data, p x n, and of points, p x d, themselves, p."""
        return importance_weights(self._data_ratio, self.ratio(self.features(X)))

    def predict(self, X: Array, *, latent: bool) -> FlatSet:
        """The distribution at ``X``, ... x q x d."""
        return self._weighted.predict(X, latent=latent)

    def conformal_sets(self, X: Array) -> ConformalSets:
        """The conformal sets at points, p x d, with their ends in the outcomes' units."""
        return self._weighted.conformal_sets(X)

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> ShiftedModel:
        """The model whose ratio has seen ``proposals``, k x d: where the search goes."""
        data = self.features(self.conformal.base.data_points)
        ratio = self.estimator.fit(data, self.features(proposals), previous=self.ratio, rng=rng)
        return replace(self, ratio=ratio)

    def in_distribution(self, X: Array) -> Array:
        """1 - sigmoid((w_n - alpha) / temperature) at points, p x d: 0 where every outcome would be accepted, p."""
        return expit((self.conformal.alpha - self.weights(X)[1]) / _GATE_TEMPERATURE)

    @property
    def effective_sample_size(self) -> float:
        """How many equally weighted data would say as much as the weighted ones do."""
        return effective_sample_size(self._data_ratio)


def _announce(sets: ConformalSets, alpha: float) -> None:
    """Says what was done where there was no conformal set to be had."""
    for where, reason in (
        (
            sets.unseen,
            f"their own weight reaches alpha = {alpha:.3g}, so every outcome is accepted (too few data, or far from them): "
            "the model's own distribution is used. More data or a larger alpha helps",
        ),
        # At alpha = 1, where a schedule starts, the model's own distribution is what is meant.
        (
            sets.empty if alpha < 1.0 - 1e-9 else np.zeros(1, dtype=bool),
            f"no outcome is accepted at alpha = {alpha:.3g}: the model's own distribution is used",
        ),
        (sets.unbounded, f"they have no end: they are cut {REACH:g} standard deviations out. score='loo' avoids this"),
    ):
        if where.any():
            message = f"conformal sets at {int(where.sum())} of {len(where)} points: {reason}"
            warnings.warn(message, FallbackWarning, stacklevel=3)
