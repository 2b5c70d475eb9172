"""Real trainings of scikit-learn on the data sets that come with it, each some tens of milliseconds, over mixed spaces.

A value is a cross-validated loss with fixed folds and a fixed random state, so it is the same whenever it is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.spaces import Parameter, Params

Array = npt.NDArray[np.float64]
#: Probabilities are kept this far from 0 in a log loss.
_SMALLEST = 1e-7


@dataclass(frozen=True)
class Training:
    """A training.

    Attributes:
        space: What is chosen.
        loss: The loss of parameters.
        optimum: Smallest loss that was seen so far, by 600 random settings and the searches of all optimizers. Where a later
            run sees a smaller one, ``results.py`` takes that.
        scale: Inter-decile spread of the 600 random settings' losses over 2.56.
    """

    space: dict[str, Parameter]
    loss: Callable[[Params], float]
    optimum: float
    scale: float


@cache
def _folds(data: str, rows: int) -> list[tuple[Array, Array, Array, Array]]:
    """Return standardized training and validation parts of 3 folds: X, y, X of validation, y of validation."""
    from sklearn import datasets
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    keep = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = X[keep], y[keep]
    found = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        found.append((scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]))
    return found


def mean_loss(data: str, rows: int, loss: Callable[[Array, Array, Array, Array], float]) -> float:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return float(np.mean([loss(*fold) for fold in _folds(data, rows)]))


def _log_loss(model: Any, X: Array, y: Array) -> float:
    places = np.searchsorted(model.classes_, y)
    chances = np.nan_to_num(model.predict_proba(X))[np.arange(len(y)), places]
    return float(-np.mean(np.log(np.clip(chances, _SMALLEST, 1.0))))


def svm(params: Params) -> float:
    """1 - area under the ROC curve of a support vector machine, breast cancer data."""
    from sklearn.metrics import roc_auc_score
    from sklearn.svm import SVC

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = SVC(**params, cache_size=50, max_iter=500).fit(X, y)
        return 1.0 - float(roc_auc_score(y_new, model.decision_function(X_new)))

    return mean_loss("breast_cancer", 569, loss)


def boosting(params: Params) -> float:
    """Squared error over the variance of gradient boosted trees, diabetes data."""
    from sklearn.ensemble import GradientBoostingRegressor

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = GradientBoostingRegressor(**params, random_state=0).fit(X, y)
        return float(np.mean((model.predict(X_new) - y_new) ** 2) / np.var(y_new))

    return mean_loss("diabetes", 220, loss)


def mlp(params: Params) -> float:
    """Log loss of a small multilayer perceptron, 300 digits."""
    from sklearn.neural_network import MLPClassifier

    chosen = dict(params)
    hidden, epochs = chosen.pop("units"), chosen.pop("epochs")

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = MLPClassifier((hidden,), max_iter=epochs, random_state=0, **chosen).fit(X, y)
        return _log_loss(model, X_new, y_new)

    return mean_loss("digits", 300, loss)


def linear(params: Params) -> float:
    """Log loss of a linear classifier with elastic net, trained by stochastic gradients, wine data."""
    from sklearn.linear_model import SGDClassifier

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = SGDClassifier(penalty="elasticnet", tol=None, random_state=0, **params).fit(X, y)
        return _log_loss(model, X_new, y_new)

    return mean_loss("wine", 178, loss)


TRAININGS: dict[str, Training] = {
    "svm_breast_cancer": Training(
        {
            "C": Parameter("float", 1e-3, 1e3, log=True),
            "gamma": Parameter("float", 1e-5, 1e1, log=True),
            "coef0": Parameter("float", 0.0, 2.0),
            "degree": Parameter("int", 2, 5),
            "kernel": Parameter("categorical", choices=("linear", "rbf", "poly", "sigmoid")),
        },
        svm,
        optimum=0.0030107099772198978,
        scale=0.01443,
    ),
    "boosting_diabetes": Training(
        {
            "learning_rate": Parameter("float", 1e-2, 1.0, log=True),
            "subsample": Parameter("float", 0.3, 1.0),
            "max_features": Parameter("float", 0.1, 1.0),
            "n_estimators": Parameter("int", 5, 30, log=True),
            "max_depth": Parameter("int", 1, 5),
            "min_samples_leaf": Parameter("int", 1, 50, log=True),
            "loss": Parameter("categorical", choices=("squared_error", "absolute_error", "huber")),
        },
        boosting,
        optimum=0.5060557996833829,
        scale=0.14,
    ),
    "mlp_digits": Training(
        {
            "learning_rate_init": Parameter("float", 1e-4, 1e-1, log=True),
            "alpha": Parameter("float", 1e-6, 1e1, log=True),
            "beta_1": Parameter("float", 0.5, 0.99),
            "units": Parameter("int", 4, 48, log=True),
            "epochs": Parameter("int", 3, 15),
            "batch_size": Parameter("ordinal", choices=(16, 32, 64, 128)),
            "activation": Parameter("categorical", choices=("relu", "tanh", "logistic")),
        },
        mlp,
        optimum=0.2361880933686146,
        scale=0.7852,
    ),
    "linear_wine": Training(
        {
            "alpha": Parameter("float", 1e-6, 1e0, log=True),
            "l1_ratio": Parameter("float", 0.0, 1.0),
            "eta0": Parameter("float", 1e-4, 1e1, log=True),
            "power_t": Parameter("float", 0.05, 1.0),
            "max_iter": Parameter("int", 2, 50, log=True),
            "learning_rate": Parameter("categorical", choices=("constant", "invscaling", "adaptive")),
            "loss": Parameter("categorical", choices=("log_loss", "modified_huber")),
        },
        linear,
        optimum=0.03112017495166935,
        scale=0.3586,
    ),
}
