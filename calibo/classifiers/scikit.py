"""scikit-learn classifiers: logistic regression, and any other that takes weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.classifiers.base import Classifier, LogOdds, log_odds
from calibo.classifiers.labels import Labelled
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.spaces.encoding import one_hot


@dataclass(frozen=True)
class Logistic(Classifier):
    """Logistic regression on powers and products of the columns, categorical ones as indicators.

    Attributes:
        degree: Of the polynomial; with 1 the best point is always a corner.
        strength: Inverse strength of the penalty on the coefficients (scikit-learn's ``C``).
    """

    degree: int = 2
    strength: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or not self.strength > 0.0:
            raise RecipeError(
                f"logistic regression needs a degree from 1 on and a positive strength, got {self.degree} and {self.strength}"
            )

    @property
    def smooth(self) -> bool:
        return True

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import PolynomialFeatures

        polynomial = PolynomialFeatures(self.degree, include_bias=False)

        def features(X: Array) -> Array:
            return np.asarray(polynomial.fit_transform(2.0 * one_hot(X, categories) - 1.0))

        fitted = LogisticRegression(C=self.strength, max_iter=1000)
        fitted.fit(features(labelled.X), labelled.z, sample_weight=labelled.weights)
        return lambda X: fitted.decision_function(features(X))


@dataclass(frozen=True)
class Wrapped(Classifier):
    """Any scikit-learn classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``; also a ``Pipeline``.

    Attributes:
        estimator: Unfitted; it is cloned, and every ``random_state`` that is ``None`` is set from the generator.
            Categorical columns reach it as indicators.
        smooth: Whether its probabilities have a slope that can be climbed.
    """

    estimator: Any
    smooth: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict_proba"):
            raise RecipeError(
                f"{type(self.estimator).__name__} gives no probabilities (predict_proba): use a classifier that does, or "
                "put it into a CalibratedClassifierCV"
            )
        if not _takes_weights(_last(self.estimator)):
            raise RecipeError(
                f"{type(_last(self.estimator)).__name__} takes no sample_weight, without which it cannot learn a utility: "
                "use a classifier whose fit() does, such as RandomForestClassifier or LogisticRegression"
            )

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        fitted = _seeded(self.estimator, rng)
        weights = {_weights_name(fitted): labelled.weights}
        fitted.fit(one_hot(labelled.X, categories), labelled.z, **weights)
        return lambda X: log_odds(fitted.predict_proba(one_hot(X, categories))[:, 1])


def _last(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def _weights_name(estimator: Any) -> str:
    return f"{estimator.steps[-1][0]}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"


def _takes_weights(estimator: Any) -> bool:
    from sklearn.utils.validation import has_fit_parameter

    return has_fit_parameter(estimator, "sample_weight")


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A fresh copy, every random state in it drawn from ``rng``."""
    from sklearn.base import clone

    fresh: Any = clone(estimator)
    states = sorted(
        name for name, value in fresh.get_params().items() if name.split("__")[-1] == "random_state" and value is None
    )
    return fresh.set_params(**{name: int(rng.integers(2**31)) for name in states})
