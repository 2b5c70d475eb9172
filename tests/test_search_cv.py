"""The search for scikit-learn: its own checks of estimators, and what is particular to ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from calibo import Categorical, Float, SearchCV
from calibo.errors import RecipeError
from calibo.search_cv import standard_error

X, Y = load_iris(return_X_y=True)
SPACE = {"C": Float(1e-2, 1e2, log=True), "gamma": Float(1e-3, 1.0, log=True)}


def searched(**settings: Any) -> SearchCV:
    given = {"n_iter": 8, "cv": 3, "random_state": 0, **settings}
    return SearchCV(SVC(), SPACE, **given).fit(X, Y)


@parametrize_with_checks(
    [SearchCV(LogisticRegression(), {"C": Float(0.1, 10, log=True)}, n_iter=2, cv=2, random_state=0)]
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' own data do not converge
        check(estimator)


def test_a_search_is_reproducible_and_leaves_the_global_state_alone() -> None:
    before = np.random.get_state()[1].copy()  # pyright: ignore[reportAttributeAccessIssue]
    first, again = searched(), searched()
    assert first.cv_results_["params"] == again.cv_results_["params"]
    assert (np.random.get_state()[1] == before).all()  # pyright: ignore[reportAttributeAccessIssue]
    assert searched(random_state=1).cv_results_["params"] != first.cv_results_["params"]


def test_every_candidate_has_a_trial_with_its_score_and_a_forecast_once_there_is_a_model() -> None:
    search = searched(n_iter=10)
    scores = [trial.value for trial in search.optimizer_.trials]
    assert scores == pytest.approx(search.cv_results_["mean_test_score"])
    assert search.optimizer_.trials[-1].suggestion.forecasts
    assert search.best_score_ == max(scores)
    assert search.predict(X[:2]).shape == (2,)


def test_random_splits_are_drawn_once() -> None:
    """Otherwise the same candidate would get another score each time."""
    search = SearchCV(SVC(), {"C": Categorical([1.0, 1.0000001])}, n_iter=2, cv=ShuffleSplit(3), random_state=0)
    results = search.fit(X, Y).cv_results_
    folds = np.array([results[f"split{j}_test_score"] for j in range(3)])
    assert (folds[:, 0] == folds[:, 1]).all()


def test_splits_that_can_be_read_once_serve_every_candidate() -> None:
    given = list(ShuffleSplit(3, random_state=0).split(X))
    search, same = (
        SearchCV(SVC(), {"C": Float(0.1, 10, log=True)}, n_iter=3, cv=cv, random_state=0).fit(X, Y)
        for cv in (iter(given), given)
    )
    assert len(search.cv_results_["params"]) == 3 and search.n_splits_ == 3
    assert (search.cv_results_["mean_test_score"] == same.cv_results_["mean_test_score"]).all()


def test_several_metrics_optimize_the_one_of_refit() -> None:
    search = searched(scoring=["accuracy", "f1_macro"], refit="f1_macro")
    assert len(search.optimizer_.directions) == 1
    values = [trial.value for trial in search.optimizer_.trials]
    assert values == pytest.approx(search.cv_results_["mean_test_f1_macro"])


def test_several_metrics_without_refit_are_traded_off() -> None:
    settings = {"size": lambda model, X, y: -float(model.n_support_.sum()), "accuracy": "accuracy"}
    search = searched(scoring=settings, refit=False, n_iter=10, batch_size=2)
    front = search.optimizer_.pareto_front
    assert len(search.optimizer_.directions) == 2 and front
    assert len(search.cv_results_["params"]) == 10


def test_a_function_with_several_metrics_needs_the_one_that_counts() -> None:
    def both(model: Any, X: Any, y: Any) -> dict[str, float]:
        return {"accuracy": model.score(X, y), "other": 0.0}

    assert len(searched(scoring=both, refit="accuracy").optimizer_.trials) == 8
    with pytest.raises(RecipeError, match="name the one to optimize by refit="):
        searched(scoring=both, refit=False)


class Fragile(SVC):
    """Fails for some parameters."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if self.C < 1.0:
            raise ValueError("C is too small")
        return super().fit(X, y, sample_weight)


def test_a_candidate_that_fails_is_learned_from_and_the_search_goes_on() -> None:
    with pytest.warns(FitFailedWarning, match="every fit of .* failed; the search goes on"):
        search = SearchCV(Fragile(), SPACE, n_iter=10, cv=2, random_state=0).fit(X, Y)
    failed = [trial for trial in search.optimizer_.trials if trial.state.name == "FAILED"]
    assert len(search.optimizer_.trials) == 10
    assert failed and all(trial.params["C"] < 1.0 for trial in failed)
    assert search.best_params_["C"] >= 1.0


def test_a_search_in_which_everything_fails_ends_with_the_reason() -> None:
    with pytest.raises(ValueError, match="C is too small"), pytest.warns(FitFailedWarning):
        SearchCV(Fragile(), {"C": Float(0.1, 0.5)}, n_iter=20, cv=2, random_state=0).fit(X, Y)


def test_in_a_pipeline_and_under_cross_validation() -> None:
    model = make_pipeline(StandardScaler(), SVC())
    search = SearchCV(model, {"svc__C": Float(0.1, 10, log=True)}, n_iter=3, cv=2, random_state=0)
    assert cross_val_score(clone(search), X, Y, cv=2).mean() > 0.8


def test_settings_are_checked() -> None:
    with pytest.raises(RecipeError, match="n_iter, the number of candidates, must be a whole number"):
        searched(n_iter=0)
    with pytest.raises(RecipeError, match="noise must be one of 'folds'"):
        searched(noise="none")


def test_the_noise_leaves_out_what_candidates_have_in_common() -> None:
    rng = np.random.default_rng(0)
    quality, ease = rng.normal(size=(40, 1)), rng.normal(size=(1, 5))
    noise = 0.1 * rng.normal(size=(40, 5))
    assert standard_error(quality + ease + noise) == pytest.approx(0.1 / np.sqrt(5), rel=0.35)
    assert standard_error(quality + ease) == pytest.approx(0.0, abs=1e-12)
    assert standard_error(quality[:2] + ease) is None


def test_scores_get_standard_errors_unless_it_is_switched_off() -> None:
    data = make_regression(60, 5, noise=20.0, random_state=0)
    settings: dict[str, Any] = {"n_iter": 5, "cv": 4, "random_state": 0}
    noisy = SearchCV(Ridge(), {"alpha": Float(1e-3, 1e3, log=True)}, **settings).fit(*data)
    plain = SearchCV(Ridge(), {"alpha": Float(1e-3, 1e3, log=True)}, noise=None, **settings).fit(*data)
    assert noisy.optimizer_.trials[-1].sem and not plain.optimizer_.trials[-1].sem
