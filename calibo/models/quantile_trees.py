"""Quantile regression by trees: every level of the outcome at once, for many points, choices and columns.

Notation: N points, D features, K levels, outcomes standardised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from calibo.checks import check_has
from calibo.data import Array, Dataset
from calibo.distributions import QuantileTable, checked_levels
from calibo.errors import FallbackWarning
from calibo.models.base import Model, Surrogate
from calibo.models.distinct import distinct_points
from calibo.models.quantile_distribution import normal_law, quantile_distribution
from calibo.models.quantile_engines import QuantileForest
from calibo.models.standardization import Standardization, single_outcome
from calibo.spaces.encoding import codes

#: The ends of the 50, 80, 90 and 95 % intervals, and some between.
QUANTILE_LEVELS: tuple[float, ...] = (0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975)
_FEWEST_POINTS = 3
#: Trees choose between splits of equal merit by the last bit: rounding keeps the outcomes' units out of that.
_DECIMALS = 10

#: Quantiles of points, N x D -> N x K; they may cross.
Quantiles = Callable[[Array], Array]


class QuantileEngine(Protocol):
    """What learns quantiles."""

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> Quantiles:
        """The quantiles at ``levels`` of outcomes y, N, learned from features, N x D.

        Args:
            features: Categorical columns are whole numbers from 0 on.
            y: Standardised.
            levels: Increasing, K.
            categories: Number of choices of each column, 0 for a numeric one, D.
            rng: The only source of randomness.
        """
        ...


@dataclass(frozen=True)
class FeatureView:
    """What trees see of a point: the space's own features if it has some, or its columns, choices as whole numbers.

    Attributes:
        features: Of the space, or ``None``.
        categories: Of the columns.
    """

    features: Callable[[Array], Array] | None
    categories: tuple[int, ...]

    @property
    def choices(self) -> tuple[int, ...]:
        """Number of choices of each feature; ``()`` if all are numbers."""
        return () if self.features is not None else self.categories

    def of(self, X: Array) -> Array:
        """Features of points, m x d -> m x D."""
        return codes(X, self.categories) if self.features is None else self.features(X)


@dataclass(frozen=True, eq=False)
class QuantileModel(Model):
    """Fitted quantiles as a ``Model``.

    Attributes:
        quantiles: On standardised outcomes; ``None`` if there are too few points to learn from.
        levels: K.
        units: The standardisation.
        view: What the quantiles see of a point.
    """

    quantiles: Quantiles | None
    levels: Array
    units: Standardization
    view: FeatureView

    def predict(self, X: Array, *, latent: bool) -> QuantileTable:
        """The distribution at ``X``, ... x q x d; the same for f and for a measurement."""
        points, index = distinct_points(X)
        # Trees refuse to be asked about no points: of these any distribution is the empty one.
        if self.quantiles is None or not len(points):
            return normal_law(self.levels, X.shape[:-1], self.units)
        return quantile_distribution(self.levels, self.quantiles(self.view.of(points))[index], self.units)


@dataclass(frozen=True)
class QuantileTrees(Surrogate):
    """A surrogate that regresses quantiles with trees and believes in a straight cdf between them.

    It makes no assumption on the noise, so it cannot part it from f: distributions of f and of a measurement are the same. Quantiles
    of few points are too close together; calibrate them (``Calibrated(QuantileTrees(), by=Conformal(QuantileShift()),
    evidence=Split())``, which is what ``methods.cqr()`` does). Points are taken as independent in joint draws. Known noise
    variances are not used.

    Attributes:
        engine: What learns the quantiles: a ``QuantileForest`` or boosted trees.
        levels: At which, increasing within (0, 1), on both sides of one half.
    """

    engine: QuantileEngine = field(default_factory=QuantileForest)
    levels: tuple[float, ...] = QUANTILE_LEVELS
    model_type: ClassVar = QuantileModel

    def __post_init__(self) -> None:
        check_has("engine", self.engine, "fit", "QuantileForest()")
        checked_levels(self.levels)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> QuantileModel:
        """The fitted trees as a model."""
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
