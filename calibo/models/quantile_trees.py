"""Quantile regression by trees: a forest with cdfs in its leaves, or boosted trees of scikit-learn or XGBoost.

Notation: N points, D features, K levels, G outcomes at which cdfs are kept; outcomes standardized.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole, import_extra
from calibo.data import Array, Dataset
from calibo.distributions import QuantileTable, checked_levels
from calibo.errors import FallbackWarning, warn
from calibo.models.base import Model, Surrogate
from calibo.models.predictions import distinct_points, normal_quantiles, quantile_distribution
from calibo.models.standardization import Standardization, single_outcome
from calibo.spaces.encoding import codes

#: The ends of the 50, 80, 90 and 95 % intervals, and some between.
QUANTILE_LEVELS: tuple[float, ...] = (0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975)
_FEWEST_POINTS = 3
#: Trees choose between splits of equal merit by the last bit: rounding keeps the outcomes' units out of that.
_DECIMALS = 10
#: A forest keeps cdfs at this many outcomes at most.
_MOST_KEPT = 128
#: scikit-learn's boosting takes no more choices as such, and leaves out those with fewer points.
_MOST_CHOICES, _FEWEST_OF_A_CHOICE = 255, 10
#: Maps `N x D` features to `N x K` quantiles, which may cross.
Quantiles = Callable[[Array], Array]


class QuantileEngine(ABC):
    """A quantile regression; subclasses are frozen dataclasses."""

    @abstractmethod
    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> Quantiles:
        """Fit the quantiles of outcomes.

        Args:
            features: `N x D` features; categorical ones are whole numbers from 0 on.
            y: Standardized outcomes, N.
            levels: Increasing levels, K.
            categories: Number of choices of each column, 0 for a numeric one, D; `()` if all are numeric.
            rng: Source of all randomness.

        Returns:
            The fitted quantiles as a function of features.
        """


@dataclass(frozen=True)
class QuantileForest(QuantileEngine):
    """Quantile regression forest (Meinshausen 2006): the cdf at a point is the average of the cdfs in its leaves.

    One forest serves all levels, and quantiles cannot cross. The cdf of a leaf is kept at all outcomes, or at 128 of their
    quantiles if there are more; quantiles between them are interpolated linearly.

    Attributes:
        trees: Number of trees.
        min_samples_leaf: Least number of points in a leaf; with few points an eighth of them if that is less.
        max_features: Share of the features that is considered for a split.
    """

    trees: int = 50
    min_samples_leaf: int = 5
    max_features: float = 0.7

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("trees", self.trees)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_between("max_features", self.max_features, 0.0, 1.0, including="high")

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> Quantiles:
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            self.trees,
            min_samples_leaf=min(self.min_samples_leaf, max(1, len(y) // 8)),
            # The whole number 1 would be a single feature to scikit-learn.
            max_features=float(self.max_features),
            random_state=int(rng.integers(2**31)),
        )
        forest.fit(features, y)
        kept = np.unique(y)
        if len(kept) > _MOST_KEPT:
            kept = np.unique(np.quantile(y, np.linspace(0.0, 1.0, _MOST_KEPT)))
        place = np.searchsorted(kept, y)
        leaves = forest.apply(features).T
        tables = [_leaf_cdfs(*of, place, len(kept)) for of in zip(forest.estimators_, leaves, strict=True)]
        return partial(_forest_quantiles, forest, tables, kept, levels)


def _leaf_cdfs(tree: Any, leaves: np.ndarray, place: np.ndarray, kept: int) -> Array:
    """Return the share of the points of each node at or below each kept outcome, `nodes x G`; 0 for inner nodes."""
    counts = np.zeros((tree.tree_.node_count, kept))
    np.add.at(counts, (leaves, place), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    return np.cumsum(counts, axis=1) / np.maximum(total, 1.0)


def _forest_quantiles(forest: Any, tables: list[Array], kept: Array, levels: Array, points: Array) -> Array:
    """Return the quantiles of the average of the cdfs in the leaves, `m x K`, linear between the kept outcomes."""
    cdf = np.zeros((len(points), len(kept)))
    for table, leaf in zip(tables, forest.apply(points).T, strict=True):
        cdf += table[leaf]
    cdf /= len(tables)
    quantiles = np.empty((len(cdf), len(levels)))
    rows, last = np.arange(len(cdf)), len(kept) - 1
    for k, p in enumerate(levels):
        above = np.minimum((cdf < p - 1e-12).sum(axis=1), last)
        below = np.maximum(above - 1, 0)
        low, high = cdf[rows, below], cdf[rows, above]
        rise = high - low
        share = np.divide(p - low, rise, out=np.ones_like(rise), where=rise > 0.0)
        quantiles[:, k] = kept[below] + np.clip(share, 0.0, 1.0) * (kept[above] - kept[below])
    return quantiles


@dataclass(frozen=True)
class QuantileBoosting(QuantileEngine):
    """Boosted trees of scikit-learn with the pinball loss, one ensemble for each level.

    Attributes:
        rounds: Number of trees for each level.
        learning_rate: Share of each tree that is added, in (0, 1].
        max_leaf_nodes: Maximum number of leaves of a tree.
        min_samples_leaf: Least number of points in a leaf; with few points a quarter of them if that is less.
    """

    rounds: int = 50
    learning_rate: float = 0.1
    max_leaf_nodes: int = 15
    min_samples_leaf: int = 10

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("rounds", self.rounds)
        check_between("learning_rate", self.learning_rate, 0.0, 1.0, including="high")
        check_whole("max_leaf_nodes", self.max_leaf_nodes, least=2)
        check_whole("min_samples_leaf", self.min_samples_leaf)

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> Quantiles:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

        settings: dict[str, Any] = dict(
            loss="quantile",
            max_iter=self.rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=min(self.min_samples_leaf, max(1, len(y) // 4)),
            categorical_features=_nominal(features, categories),
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )
        # With another number of threads sums have another order, and another last bit.
        with threadpool_limits(1, user_api="openmp"):
            fitted = [HistGradientBoostingRegressor(quantile=float(p), **settings).fit(features, y) for p in levels]
        return partial(_boosted_quantiles, fitted)


def _boosted_quantiles(fitted: list[Any], points: Array) -> Array:
    """Return the predictions of the regressors of all levels, `m x K`."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        return np.column_stack([one.predict(points) for one in fitted])


@dataclass(frozen=True)
class XGBoostQuantiles(QuantileEngine):
    """Boosted trees of XGBoost (extra `xgboost`) with the pinball loss, all levels in one call, with one thread.

    Attributes:
        rounds: Number of trees for each level.
        learning_rate: Share of each tree that is added, in (0, 1].
        max_depth: Maximum depth of a tree.
    """

    rounds: int = 100
    learning_rate: float = 0.1
    max_depth: int = 3

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("rounds", self.rounds)
        check_between("learning_rate", self.learning_rate, 0.0, 1.0, including="high")
        check_whole("max_depth", self.max_depth)

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> Quantiles:
        xgboost = import_extra("xgboost", "quantiles of XGBoost", "xgboost", ", or use QuantileForest()")
        types = tuple("c" if k else "float" for k in categories)
        settings = {
            "objective": "reg:quantileerror",
            "quantile_alpha": np.asarray(levels),
            "tree_method": "hist",
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "nthread": 1,
            "seed": int(rng.integers(2**31)),
            "verbosity": 0,
        }
        booster = xgboost.train(settings, _matrix(features, types, label=y), self.rounds)
        return partial(_xgboost_quantiles, booster, types, len(levels))


def _xgboost_quantiles(booster: Any, types: tuple[str, ...], levels: int, points: Array) -> Array:
    """Return the predictions of a booster of several levels, `m x K`."""
    return booster.predict(_matrix(points, types)).astype(np.float64).reshape(len(points), levels)


def _matrix(points: Array, types: tuple[str, ...], **more: Array) -> Any:
    """Return `m x D` features as a matrix of XGBoost."""
    import xgboost

    return xgboost.DMatrix(points, feature_types=list(types) or None, enable_categorical=True, nthread=1, **more)


def _nominal(features: Array, categories: tuple[int, ...]) -> np.ndarray | None:
    """Return which of D columns scikit-learn may split between any subsets of choices; others are split in order."""
    if not categories:
        return None
    least = [np.unique(column[~np.isnan(column)], return_counts=True)[1].min(initial=0) for column in features.T]
    return np.array(
        [0 < k <= _MOST_CHOICES and c >= _FEWEST_OF_A_CHOICE for k, c in zip(categories, least, strict=True)]
    )


@dataclass(frozen=True, eq=False)
class QuantileModel(Model):
    """Fitted quantiles as a model.

    Attributes:
        quantiles: Of standardized outcomes; `None` if there are too few points to learn from.
        levels: Levels, K.
        units: The standardization of the outcomes.
        encode: Maps `m x d` points to `m x D` features.
    """

    quantiles: Quantiles | None
    levels: Array
    units: Standardization
    encode: Callable[[Array], Array]

    def predict(self, X: Array, *, latent: bool) -> QuantileTable:
        """Predict the outcome at `... x q x d` points; f and a measurement have the same distribution."""
        points, index = distinct_points(X)
        # Trees cannot predict at no points, where any distribution is the empty one.
        if self.quantiles is None or not len(points):
            return normal_quantiles(self.levels, X.shape[:-1], self.units)
        return quantile_distribution(self.levels, self.quantiles(self.encode(points))[index], self.units)


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
        check_fields(self)
        checked_levels(self.levels)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> QuantileModel:
        y, levels = single_outcome(data.Y), np.asarray(self.levels)
        if data.Y_var is not None:
            warn("known noise variances are not used by quantile regression", FallbackWarning)
        units = Standardization.of(y)
        # The features of the space if it has some, else its columns with choices as whole numbers.
        encode, choices = data.features, ()
        if encode is None:
            encode, choices = partial(codes, categories=data.categories, activity=data.activity), data.categories
        if len(y) < _FEWEST_POINTS:
            return QuantileModel(None, levels, units, encode)
        # Sorted by outcome, so that the order of arrival does not matter.
        z = np.round(units.forward(y), _DECIMALS)
        features = encode(data.X)
        order = np.lexsort([*features.T, z])
        quantiles = self.engine.fit(features[order], z[order], levels, categories=choices, rng=rng)
        return QuantileModel(quantiles, levels, units, encode)
