"""Tree classifiers: they take categorical columns as they are, any number of points, and have no slope."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.errors import MissingExtra, RecipeError
from calibo.likelihood_free.classifiers import LogOdds, codes, log_odds
from calibo.likelihood_free.labels import Labelled

#: scikit-learn's boosting bins every column into at most so many values, and takes no more choices as such.
_MOST_CHOICES = 255


@dataclass(frozen=True)
class XGBoost:
    """Boosted trees of XGBoost (extra ``xgboost``), with the settings of the paper.

    Histograms, one thread, and splits between subsets of the choices of a categorical column. ``min_child_weight`` is
    in units of weight, of which the mean is 1.

    Attributes:
        rounds: Trees.
        learning_rate: Share of each tree that is added.
        min_child_weight: Least sum of w p (1 - p) in a leaf.
        max_depth: Of a tree.
    """

    rounds: int = 100
    learning_rate: float = 0.3
    min_child_weight: float = 1.0
    max_depth: int = 6

    def __post_init__(self) -> None:
        _check(rounds=self.rounds, max_depth=self.max_depth, learning_rate=self.learning_rate)

    @property
    def smooth(self) -> bool:
        return False

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        xgboost = _xgboost()
        types = ["c" if k else "float" for k in categories]

        def matrix(X: Array, **more: Array) -> Any:
            features = codes(X, categories)
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
        booster = xgboost.train(settings, matrix(labelled.X, label=labelled.z, weight=labelled.weights), self.rounds)
        return lambda X: booster.predict(matrix(X), output_margin=True).astype(np.float64)


@dataclass(frozen=True)
class GradientBoosting:
    """Boosted trees of scikit-learn (``HistGradientBoostingClassifier``), in the manner of XGBoost.

    One thread, and splits between subsets of the choices of a categorical column; a column of more than 255 choices is
    split as if they were in order. scikit-learn asks for a number of rows in a leaf where XGBoost asks for weight.

    Attributes:
        rounds: Trees.
        learning_rate: Share of each tree that is added.
        min_samples_leaf: Least number of rows in a leaf.
        max_depth: Of a tree.
        l2: Added to the curvature in a leaf, which makes steps smaller; as in XGBoost.
    """

    rounds: int = 100
    learning_rate: float = 0.3
    min_samples_leaf: int = 4
    max_depth: int = 6
    l2: float = 1.0

    def __post_init__(self) -> None:
        _check(
            rounds=self.rounds,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            min_samples_leaf=self.min_samples_leaf,
        )

    @property
    def smooth(self) -> bool:
        return False

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
            categorical_features=np.array([0 < k <= _MOST_CHOICES for k in categories]),
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )
        boosted = HistGradientBoostingClassifier(**settings)
        # Sums in another order, of another number of threads, would give another last bit.
        with threadpool_limits(1, user_api="openmp"):
            boosted.fit(codes(labelled.X, categories), labelled.z, sample_weight=labelled.weights)

        def of_points(X: Array) -> Array:
            with threadpool_limits(1, user_api="openmp"):
                return boosted.decision_function(codes(X, categories))

        return of_points


@dataclass(frozen=True)
class RandomForest:
    """A random forest of scikit-learn, on categorical columns as whole numbers.

    Attributes:
        trees: How many; the paper has 1,000, which takes five times as long and chooses much the same.
        min_samples_leaf: Least number of rows in a leaf.
    """

    trees: int = 200
    min_samples_leaf: int = 1

    def __post_init__(self) -> None:
        _check(trees=self.trees, min_samples_leaf=self.min_samples_leaf)

    @property
    def smooth(self) -> bool:
        return False

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        from sklearn.ensemble import RandomForestClassifier

        forest: Any = RandomForestClassifier(
            self.trees, min_samples_leaf=self.min_samples_leaf, random_state=int(rng.integers(2**31))
        )
        forest.fit(codes(labelled.X, categories), labelled.z, sample_weight=labelled.weights)
        return lambda X: log_odds(forest.predict_proba(codes(X, categories))[:, 1])


def _check(**settings: float) -> None:
    for name, value in settings.items():
        if not value > 0:
            raise RecipeError(f"a tree classifier's {name} is a positive number, got {value}")


def _xgboost() -> ModuleType:
    try:
        import xgboost
    except ModuleNotFoundError as error:
        if error.name != "xgboost":
            raise
        raise MissingExtra(
            'XGBoost needs xgboost, which is not installed: pip install "calibo[xgboost]", or use GradientBoosting()'
        ) from error
    return xgboost
