"""scikit-learn classifiers: logistic regression, and any other that takes weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_whole
from calibo.classifiers.base import Classifier, LogOdds, log_odds
from calibo.classifiers.labels import Labelled
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.models.scikit import seeded
from calibo.networks import Indicators
from calibo.spaces.encoding import one_hot


@dataclass(frozen=True)
class Logistic(Classifier):
    """Logistic regression on powers and products of the columns, with indicators for categorical ones.

    Attributes:
        degree: Degree of the polynomial; with 1 the best point is always a corner.
        strength: Inverse strength of the penalty on the coefficients (scikit-learn's ``C``).
    """

    degree: int = 2
    strength: float = 1.0
    smooth = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("degree", self.degree)
        check_between("strength", self.strength, 0.0, np.inf)

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import PolynomialFeatures

        polynomial, indicators = (
            PolynomialFeatures(self.degree, include_bias=False),
            Indicators(categories, labelled.activity),
        )

        def features(X: Array) -> Array:
            return np.asarray(polynomial.fit_transform(indicators(X)))

        fitted = LogisticRegression(C=self.strength, max_iter=1000)
        fitted.fit(features(labelled.X), labelled.z, sample_weight=labelled.weights)
        return lambda X: fitted.decision_function(features(X))


@dataclass(frozen=True)
class Wrapped(Classifier):
    """Any scikit-learn classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``; also a ``Pipeline``.

    Attributes:
        estimator: Unfitted; it is cloned, and every ``random_state`` that is ``None`` is drawn from the generator.
            Categorical columns reach it as indicators.
        smooth: Whether its probabilities have a useful gradient.
    """

    estimator: Any
    smooth: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        from sklearn.utils.validation import has_fit_parameter

        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict_proba"):
            raise RecipeError(
                f"{type(self.estimator).__name__} gives no probabilities (predict_proba): use a classifier that does, or "
                "put it into a CalibratedClassifierCV"
            )
        _, last = _last_step(self.estimator)
        if not has_fit_parameter(last, "sample_weight"):
            raise RecipeError(
                f"{type(last).__name__} takes no sample_weight, without which it cannot learn a utility: use a classifier "
                "whose fit() does, such as RandomForestClassifier or LogisticRegression"
            )

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        fitted = seeded(self.estimator, rng)
        prefix, _ = _last_step(fitted)
        encode = partial(one_hot, categories=categories, activity=labelled.activity)
        fitted.fit(encode(labelled.X), labelled.z, **{f"{prefix}sample_weight": labelled.weights})
        return lambda X: log_odds(fitted.predict_proba(encode(X))[:, 1])


def _last_step(estimator: Any) -> tuple[str, Any]:
    """Return the prefix of parameters of a pipeline's last step and that step; for others, "" and the estimator."""
    if not hasattr(estimator, "steps"):
        return "", estimator
    name, last = estimator.steps[-1]
    return f"{name}__", last
