"""Quantile regression by trees.

Notation: N points, D features, K levels, standardized outcomes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from calibo.checks import check_instance
from calibo.data import Array, Dataset
from calibo.distributions import QuantileTable, checked_levels
from calibo.errors import FallbackWarning
from calibo.models.base import Model, Surrogate
from calibo.models.distinct import distinct_points
from calibo.models.quantile_distribution import normal_quantiles, quantile_distribution
from calibo.models.quantile_engines import QuantileEngine, QuantileForest, Quantiles
from calibo.models.standardization import Standardization, single_outcome
from calibo.spaces.encoding import codes

#: The ends of the 50, 80, 90 and 95 % intervals, and some between.
QUANTILE_LEVELS: tuple[float, ...] = (0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975)
_FEWEST_POINTS = 3
#: Trees choose between splits of equal merit by the last bit: rounding keeps the outcomes' units out of that.
_DECIMALS = 10


@dataclass(frozen=True)
class FeatureView:
    """Features of a point for trees: those of the space if it has some, else its columns, with choices as whole numbers.

    Attributes:
        features: The features of the space, or `None`.
        categories: Number of choices of each column, 0 for a numeric one.
    """

    features: Callable[[Array], Array] | None
    categories: tuple[int, ...]

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices of each feature; `()` if all are numeric."""
        return () if self.features is not None else self.categories

    def of(self, X: Array) -> Array:
        """Return the features of `m x d` points, `m x D`."""
        return codes(X, self.categories) if self.features is None else self.features(X)


@dataclass(frozen=True, eq=False)
class QuantileModel(Model):
    """Fitted quantiles as a model.

    Attributes:
        quantiles: Of standardized outcomes; `None` if there are too few points to learn from.
        levels: Levels, K.
        units: The standardization of the outcomes.
        view: Features of points.
    """

    quantiles: Quantiles | None
    levels: Array
    units: Standardization
    view: FeatureView

    def predict(self, X: Array, *, latent: bool) -> QuantileTable:
        """Predict the outcome at `... x q x d` points; f and a measurement have the same distribution."""
        points, index = distinct_points(X)
        # Trees cannot predict at no points, where any distribution is the empty one.
        if self.quantiles is None or not len(points):
            return normal_quantiles(self.levels, X.shape[:-1], self.units)
        return quantile_distribution(self.levels, self.quantiles(self.view.of(points))[index], self.units)


@dataclass(frozen=True)
class QuantileTrees(Surrogate):
    """Quantile regression by trees, with a linear cdf between the predicted quantiles.

    It makes no assumption on the noise, so it cannot separate it from f: distributions of f and of a measurement are the
    same. Quantiles of few points are too close together; calibrate them (`Calibrated(QuantileTrees(),
    by=Conformal(QuantileShift()), evidence=Split())`, which is what ``methods.cqr()`` does). Points are taken as
    independent in joint draws. Known noise variances are not used.

    Attributes:
        engine: The regression: a `QuantileForest` or boosted trees.
        levels: Levels of the quantiles, increasing within (0, 1), on both sides of one half.
    """

    engine: QuantileEngine = field(default_factory=QuantileForest)
    levels: tuple[float, ...] = QUANTILE_LEVELS
    model_type: ClassVar = QuantileModel

    def __post_init__(self) -> None:
        check_instance("engine", self.engine, QuantileEngine, "QuantileForest()")
        checked_levels(self.levels)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> QuantileModel:
        """Fit the trees."""
        y, levels = single_outcome(data.Y), np.asarray(self.levels)
        if data.Y_var is not None:
            warnings.warn("known noise variances are not used by quantile regression", FallbackWarning, stacklevel=2)
        units = Standardization.of(y)
        view = FeatureView(data.features, data.categories)
        if len(y) < _FEWEST_POINTS:
            return QuantileModel(None, levels, units, view)
        # Sorted by outcome, so that the order of arrival does not matter.
        z = np.round(units.forward(y), _DECIMALS)
        features = view.of(data.X)
        order = np.lexsort([*features.T, z])
        quantiles = self.engine.fit(features[order], z[order], levels, categories=view.choices, rng=rng)
        return QuantileModel(quantiles, levels, units, view)
