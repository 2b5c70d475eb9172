"""Quantile regressions: a forest with cdfs in its leaves, and boosted trees of scikit-learn and XGBoost.

Notation: N points, D features, K levels, G outcomes at which cdfs are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.checks import check_between, check_whole, import_extra
from calibo.data import Array

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
        check_whole("trees", self.trees)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_between("max_features", self.max_features, 0.0, 1.0, including="high")

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> ForestQuantiles:
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
        tables = [_leaf_cdfs(tree, leaves, place, len(kept)) for tree, leaves in _leaves(forest, features)]
        return ForestQuantiles(forest, tables, kept, levels)


@dataclass(frozen=True, eq=False)
class ForestQuantiles:
    """Quantiles of a fitted forest, `m x D` features to `m x K` quantiles.

    Attributes:
        forest: The forest of scikit-learn.
        tables: The cdfs in the nodes of each tree, `nodes x G`.
        kept: The outcomes at which these are kept, G.
        levels: Levels, K.
    """

    forest: Any
    tables: list[Array]
    kept: Array
    levels: Array

    def __call__(self, points: Array) -> Array:
        cdf = np.zeros((len(points), len(self.kept)))
        for table, leaf in zip(self.tables, self.forest.apply(points).T, strict=True):
            cdf += table[leaf]
        return _inverted(cdf / len(self.tables), self.kept, self.levels)


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
        check_whole("rounds", self.rounds)
        check_between("learning_rate", self.learning_rate, 0.0, 1.0, including="high")
        check_whole("max_leaf_nodes", self.max_leaf_nodes, least=2)
        check_whole("min_samples_leaf", self.min_samples_leaf)

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> BoostedQuantiles:
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
        return BoostedQuantiles(fitted)


@dataclass(frozen=True, eq=False)
class BoostedQuantiles:
    """Quantiles of boosted trees of scikit-learn, `m x D` features to `m x K` quantiles.

    Attributes:
        fitted: One regressor for each level, K.
    """

    fitted: list[Any]

    def __call__(self, points: Array) -> Array:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="openmp"):
            return np.column_stack([one.predict(points) for one in self.fitted])


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
        check_whole("rounds", self.rounds)
        check_between("learning_rate", self.learning_rate, 0.0, 1.0, including="high")
        check_whole("max_depth", self.max_depth)

    def fit(
        self, features: Array, y: Array, levels: Array, *, categories: tuple[int, ...], rng: np.random.Generator
    ) -> XGBoostedQuantiles:
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
        return XGBoostedQuantiles(booster, types, len(levels))


@dataclass(frozen=True, eq=False)
class XGBoostedQuantiles:
    """Quantiles of boosted trees of XGBoost, `m x D` features to `m x K` quantiles.

    Attributes:
        booster: The fitted booster.
        types: Types of the columns, as XGBoost calls them, D; `()` if all are numeric.
        levels: Number of levels, K.
    """

    booster: Any
    types: tuple[str, ...]
    levels: int

    def __call__(self, points: Array) -> Array:
        predicted: Array = self.booster.predict(_matrix(points, self.types)).astype(np.float64)
        return predicted.reshape(len(points), self.levels)


def _matrix(points: Array, types: tuple[str, ...], **more: Array) -> Any:
    """Return `m x D` features as a matrix of XGBoost."""
    import xgboost

    return xgboost.DMatrix(points, feature_types=list(types) or None, enable_categorical=True, nthread=1, **more)


def _nominal(features: Array, categories: tuple[int, ...]) -> np.ndarray | None:
    """Return which of D columns scikit-learn may split between any subsets of choices; others are split in order."""
    if not categories:
        return None
    least = [np.unique(column, return_counts=True)[1].min() for column in features.T]
    return np.array(
        [0 < k <= _MOST_CHOICES and c >= _FEWEST_OF_A_CHOICE for k, c in zip(categories, least, strict=True)]
    )


def _leaves(forest: Any, features: Array) -> list[tuple[Any, np.ndarray]]:
    """Return each tree of a forest with the leaf of every point, N."""
    return list(zip(forest.estimators_, forest.apply(features).T, strict=True))


def _leaf_cdfs(tree: Any, leaves: np.ndarray, place: np.ndarray, kept: int) -> Array:
    """Return the share of the points of each node at or below each kept outcome, `nodes x G`; 0 for inner nodes."""
    counts = np.zeros((tree.tree_.node_count, kept))
    np.add.at(counts, (leaves, place), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    return np.cumsum(counts, axis=1) / np.maximum(total, 1.0)


def _inverted(cdf: Array, kept: Array, levels: Array) -> Array:
    """Return the quantiles, `m x K`, of cdfs known at G outcomes, `m x G`, and linear between them."""
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
