"""Tree classifiers: for categorical columns without encoding and for any number of points; not smooth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_whole, import_extra
from calibo.classifiers.base import Classifier, LogOdds, log_odds
from calibo.classifiers.labels import Labelled
from calibo.data import Array
from calibo.spaces.encoding import codes

#: scikit-learn's boosting has at most this many bins, and this many choices of a categorical column.
_MOST_BINS = 255


@dataclass(frozen=True)
class XGBoost(Classifier):
    """Boosted trees of XGBoost (extra ``xgboost``), with the settings of the paper.

    Histograms, one thread, and splits between subsets of the choices of a categorical column. ``min_child_weight`` is
    in units of weight, of which the mean is 1. If all columns are categorical, equal rows are merged into one with the sum of
    their weights, which gives the same trees up to rounding.

    Attributes:
        rounds: Number of trees.
        learning_rate: Share of each tree that is added.
        min_child_weight: Smallest sum of w p (1 - p) in a leaf.
        max_depth: Largest depth of a tree.
    """

    rounds: int = 100
    learning_rate: float = 0.3
    min_child_weight: float = 1.0
    max_depth: int = 6

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("rounds", self.rounds)
        check_whole("max_depth", self.max_depth)
        check_between("learning_rate", self.learning_rate, 0.0, np.inf)
        check_between("min_child_weight", self.min_child_weight, 0.0, np.inf, including="low")

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        xgboost = import_extra("xgboost", "classifiers of XGBoost", "xgboost", ", or use GradientBoosting()")
        types = ["c" if k else "float" for k in categories]

        def matrix(X: Array, **more: Array) -> Any:
            features = codes(X, categories, labelled.activity)
            return xgboost.DMatrix(features, feature_types=types, enable_categorical=True, nthread=1, **more)

        settings = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "eta": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "nthread": 1,
            "seed": int(rng.integers(2**31)),
            "verbosity": 0,
        }
        rows = _merged(labelled) if all(categories) else labelled
        booster = xgboost.train(settings, matrix(rows.X, label=rows.z, weight=rows.weights), self.rounds)
        return lambda X: booster.predict(matrix(X), output_margin=True).astype(np.float64)


@dataclass(frozen=True)
class GradientBoosting(Classifier):
    """Boosted trees of scikit-learn (``HistGradientBoostingClassifier``), with settings like those of XGBoost.

    One thread, and splits between subsets of the choices of a categorical column; a column of more than 255 choices is
    split as if they were ordered. scikit-learn limits the number of rows in a leaf where XGBoost limits the weight. Numeric
    columns are binned by weight here, as scikit-learn would do, because its binning takes longer than its trees.

    Attributes:
        rounds: Number of trees.
        learning_rate: Share of each tree that is added.
        min_samples_leaf: Smallest number of rows in a leaf.
        max_depth: Largest depth of a tree.
        l2: Penalty on the squared values of leaves, as in XGBoost.
    """

    rounds: int = 100
    learning_rate: float = 0.3
    min_samples_leaf: int = 4
    max_depth: int = 6
    l2: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("rounds", self.rounds)
        check_whole("max_depth", self.max_depth)
        check_whole("min_samples_leaf", self.min_samples_leaf)
        check_between("learning_rate", self.learning_rate, 0.0, np.inf)
        check_between("l2", self.l2, 0.0, np.inf, including="low")

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        settings: dict[str, Any] = dict(
            max_iter=self.rounds,
            learning_rate=self.learning_rate,
            max_depth=self.max_depth,
            max_leaf_nodes=None,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2,
            categorical_features=np.array([0 < k <= _MOST_BINS for k in categories]),
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )
        boosted = HistGradientBoostingClassifier(**settings)
        encode = partial(codes, categories=categories, activity=labelled.activity)
        edges = [_edges(column, labelled.weights) for column in encode(labelled.X).T]

        def features(X: Array) -> Array:
            columns = zip(edges, encode(X).T, strict=True)
            return np.column_stack([x if e is None else _binned(e, x) for e, x in columns]).astype(np.float64)

        # The order of sums, and with it the last bit, would depend on the number of threads.
        with threadpool_limits(1, user_api="openmp"):
            boosted.fit(features(labelled.X), labelled.z, sample_weight=labelled.weights)

        def predict(X: Array) -> Array:
            with threadpool_limits(1, user_api="openmp"):
                return boosted.decision_function(features(X))

        return predict


@dataclass(frozen=True)
class RandomForest(Classifier):
    """A random forest of scikit-learn's trees, with categorical columns as whole numbers.

    Its trees are regression trees of the labels, 0 and 1: squared errors rank splits as Gini's impurity does, and leaves hold
    the same shares. Each is grown on a bootstrap sample in which rows keep their weights, as scikit-learn's forests did when
    the paper was written; its present ones draw rows by their weights instead. A forest of scikit-learn would copy and
    check every tree, which takes longer than growing it.

    Attributes:
        trees: Number of trees; the paper has 1,000, which takes five times as long and chooses nearly the same points.
        min_samples_leaf: Smallest number of rows in a leaf.
    """

    trees: int = 200
    min_samples_leaf: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("trees", self.trees)
        check_whole("min_samples_leaf", self.min_samples_leaf)

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        import sklearn
        from sklearn.tree import DecisionTreeRegressor

        def features(X: Array) -> np.ndarray:
            return np.ascontiguousarray(codes(X, categories, labelled.activity), dtype=np.float32)

        rows, labels = features(labelled.X), labelled.z[:, None]
        times = rng.multinomial(len(rows), np.full(len(rows), 1.0 / len(rows)), size=self.trees)
        random = np.random.RandomState(int(rng.integers(2**31)))
        tree = DecisionTreeRegressor(min_samples_leaf=self.min_samples_leaf, max_features="sqrt", random_state=random)
        missing = bool(np.isnan(rows).any())  # Only then does a tree have to look where.
        # Parameters are checked above; scikit-learn would check those of every tree.
        with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
            grown = [
                tree.fit(rows, labels, sample_weight=labelled.weights * drawn, check_input=missing).tree_
                for drawn in times
            ]

        def predict(X: Array) -> Array:
            at, total = features(X), np.zeros(len(X))
            for one in grown:
                total += one.predict(at)[:, 0]
            return log_odds(total / len(grown))

        return predict


def _edges(x: Array, weights: Array) -> Array | None:
    """Return the edges of at most 255 bins of about equal weight for a column, N; ``None`` if it has no more values.

    An edge lies midway between two neighbouring values, as in a tree without bins.
    """
    order = np.argsort(x, kind="stable")
    values = x[order]
    new = np.flatnonzero(values[1:] > values[:-1])
    if len(new) < _MOST_BINS:
        return None
    # The weight up to the last row of each value but the largest: an edge follows the first that reaches its share.
    below = np.cumsum(weights[order])
    shares = np.arange(1, _MOST_BINS) * (below[-1] / _MOST_BINS)
    after = new[np.unique(np.minimum(np.searchsorted(below[new], shares), len(new) - 1))]
    return 0.5 * (values[after] + values[after + 1])


def _binned(edges: Array, x: Array) -> Array:
    """Return the numbers of the bins of values, m; NaN where they are missing."""
    return np.where(np.isnan(x), np.nan, np.searchsorted(edges, x))


def _merged(labelled: Labelled) -> Labelled:
    """Merge equal rows into one with the sum of their weights.

    Rows are sorted by a weighted sum of their columns, which is faster than sorting rows; if two different rows had the same
    sum, some equal rows might stay separate, which does no harm.
    """
    rows = np.column_stack([labelled.X, labelled.z])
    order = np.argsort((rows * np.sqrt(np.arange(2.0, 2.0 + rows.shape[1]))).sum(axis=1), kind="stable")
    rows = rows[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
    weights = np.add.reduceat(labelled.weights[order], first)
    return replace(labelled, X=rows[first, :-1], z=rows[first, -1], weights=weights)
