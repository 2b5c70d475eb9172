"""SearchCV: a scikit-learn search over hyperparameters by calibrated Bayesian optimization.

A drop-in for ``RandomizedSearchCV``: the same settings, the same ``cv_results_`` and ``best_estimator_``, in pipelines and
under cross-validation. ``optimizer_`` has what scikit-learn knows nothing of: forecasts, intervals and their verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from calibo.checks import check_one_of, check_whole
from calibo.data import Array, Suggestion
from calibo.errors import RecipeError, warn
from calibo.optimize import Optimizer, Strategy
from calibo.progress import progress_bar

#: A search ends with the error of its candidates if so many of them failed and none succeeded.
_MAX_INITIAL_FAILURES = 5
#: Weight of all candidates' folds in the noise of one candidate, in degrees of freedom.
_POOLED = 8.0

Results = Mapping[str, Any]


class SearchCV(BaseSearchCV):
    """Search hyperparameters by cross-validation, each candidate chosen by what earlier ones have shown.

    All candidates are scored on the same splits, also if the splitter is a random one. Of several metrics (``scoring`` is a
    list or a dict) the one that ``refit`` names is optimized; with ``refit=False`` or a function all of them are, and
    ``optimizer_.pareto_front`` has those candidates that no other beats in every metric.

    Args:
        estimator: The estimator whose parameters are searched.
        param_distributions: Parameters by name (``Float``, ``Int``, ``Categorical``, ``Ordinal``), or a calibo space.
        n_iter: Number of candidates.
        method: Name of a method or a strategy, as in ``calibo.Optimizer``; by default "auto".
        batch_size: Candidates chosen at a time. More than one keeps more than ``cv`` workers busy.
        noise: "folds" takes the standard error of a score from its folds, with what all candidates have in common on a fold
            left out; ``None`` leaves the noise to the model.
        scoring: As in scikit-learn, as are all arguments from here on.
        n_jobs: Number of folds fitted at a time.
        refit: Whether to fit the best candidate to all data; of several metrics, the name of the one that counts.
        cv: Folds or splitter.
        verbose: Above 0 a progress bar is shown.
        pre_dispatch: Number of jobs prepared in advance.
        random_state: Makes the search reproducible.
        error_score: Score of a fit that fails, or "raise". A candidate without a finite score counts as failed.
        return_train_score: Whether ``cv_results_`` has scores on the training folds.

    Attributes:
        optimizer_: The ``calibo.Optimizer`` with all candidates: predictions, calibration, Pareto front.
        cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_: As in
            ``RandomizedSearchCV``. A candidate that fails on every fold is in ``optimizer_.trials`` only.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from calibo import Float, SearchCV
        >>> space = {"C": Float(1e-2, 1e2, log=True), "gamma": Float(1e-3, 1.0, log=True)}
        >>> search = SearchCV(SVC(), space, n_iter=10, cv=3, random_state=0).fit(*load_iris(return_X_y=True))
        >>> bool(search.best_score_ > 0.9), len(search.cv_results_["params"])
        (True, 10)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 50,
        method: str | Strategy | None = None,
        batch_size: int = 1,
        noise: Literal["folds"] | None = "folds",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Results], int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,  # pyright: ignore[reportArgumentType]  # scikit-learn's types are inferred from its defaults
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,  # pyright: ignore[reportArgumentType]
            error_score=error_score,  # pyright: ignore[reportArgumentType]
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.method = method
        self.batch_size = batch_size
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> SearchCV:
        """Run the search, as scikit-learn's searches do; splits that can be read only once are kept."""
        if isinstance(self.cv, Iterator):
            self.cv = list(self.cv)
        super().fit(X, y, **params)
        return self

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Choose candidates by an optimizer and score them, ``batch_size`` at a time."""
        n_iter = check_whole("n_iter, the number of candidates,", self.n_iter)
        batch = check_whole("batch_size, the candidates chosen at a time,", self.batch_size)
        if self.noise is not None:
            check_one_of("noise", self.noise, ("folds",))
        splits = _SameSplits(self.cv, classifier=is_classifier(self.estimator))
        scores = _Scores(_metrics(self.scoring, self.refit), self.noise == "folds")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        ways = ["maximize"] * len(scores.metrics)
        self.optimizer_: Optimizer = Optimizer(self.param_distributions, self.method, directions=ways, seed=seed)
        failures = 0
        with progress_bar(n_iter, shown=bool(self.verbose), unit="candidate") as bar:
            while (done := len(self.optimizer_.trials)) < n_iter:
                suggestions = _asked(self.optimizer_, min(batch, n_iter - done))
                try:
                    results = evaluate_candidates([dict(s.params) for s in suggestions], cv=splits)
                except ValueError as error:
                    # scikit-learn raises it if every fit of a call failed.
                    failures += len(suggestions)
                    hopeless = not scores.seen and failures >= min(_MAX_INITIAL_FAILURES, n_iter)
                    if self.error_score == "raise" or hopeless:
                        raise
                    self._tell_failed(suggestions, error)
                else:
                    self._tell(suggestions, scores, results)
                bar.update(len(suggestions))

    def _tell(self, suggestions: list[Suggestion], scores: _Scores, results: Results) -> None:
        """Report the scores of the candidates that were evaluated last."""
        first = len(results["params"]) - len(suggestions)
        for offset, suggestion in enumerate(suggestions):
            values, sem = scores.take(results, first + offset)
            if np.isfinite(values).all():
                self.optimizer_.tell(suggestion, _plain(values), None if sem is None else _plain(sem))
            else:
                self.optimizer_.tell_failed(suggestion)

    def _tell_failed(self, suggestions: list[Suggestion], error: ValueError) -> None:
        for suggestion in suggestions:
            self.optimizer_.tell_failed(suggestion)
        which = " and ".join(str(dict(s.params)) for s in suggestions)
        warn(f"every fit of {which} failed; the search goes on. {error}", FitFailedWarning)


def _asked(optimizer: Optimizer, q: int) -> list[Suggestion]:
    """Return q suggestions as a list, also if it is one."""
    return [optimizer.ask()] if q == 1 else list(optimizer.ask(q))


class _SameSplits:
    """The splits that ``cv`` stands for, the same at every call: candidates are compared on the same folds."""

    def __init__(self, cv: Any, *, classifier: bool) -> None:
        self._cv, self._classifier = cv, classifier
        self._splits: list[tuple[Any, Any]] | None = None

    def split(self, X: Any, y: Any = None, **groups: Any) -> list[tuple[Any, Any]]:
        """Return the pairs of training and test rows, drawn at the first call."""
        if self._splits is None:
            splitter: Any = check_cv(self._cv, y, classifier=self._classifier)
            self._splits = list(splitter.split(X, y, **groups))
        return self._splits


class _Scores:
    """The scores of candidates on each fold, by metric, and the noise of their means."""

    def __init__(self, metrics: list[str], with_noise: bool) -> None:
        self.metrics = metrics
        self._with_noise = with_noise
        #: Scores of the candidates on the folds, one list of k scores for each candidate, by metric.
        self._folds: dict[str, list[Array]] = {}

    @property
    def seen(self) -> bool:
        """Whether the scores of any candidate are known."""
        return bool(self._folds)

    def take(self, results: Results, index: int) -> tuple[Array, Array | None]:
        """Return the mean scores of a candidate, one for each metric, and their standard errors if known."""
        values, errors = [], []
        for metric in self.metrics:
            if f"mean_test_{metric}" not in results:
                every = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
                raise RecipeError(
                    f"scoring is a function that returns several metrics, {every}: name the one to optimize by refit=, or "
                    "give scoring as a dict of scorers to optimize all of them"
                )
            k = sum(key.startswith("split") and key.endswith(f"_test_{metric}") for key in results)
            row = np.array([results[f"split{j}_test_{metric}"][index] for j in range(k)], dtype=np.float64)
            self._folds.setdefault(metric, []).append(row)
            values.append(float(row.mean()))
            errors.append(standard_error(np.stack(self._folds[metric])))
        known = self._with_noise and all(error is not None for error in errors)
        return np.array(values), np.array(errors, dtype=np.float64) if known else None


def _plain(values: Array) -> float | list[float]:
    """Return a single value as a number, and several as a list."""
    return float(values[0]) if len(values) == 1 else values.tolist()


def _metrics(scoring: Any, refit: bool | str | Callable[[Results], int]) -> list[str]:
    """Return the names of the metrics that are optimized, as in ``cv_results_``."""
    if isinstance(refit, str):
        return [refit]
    return sorted(scoring) if isinstance(scoring, list | tuple | set | dict) else ["score"]


def standard_error(folds: Array) -> float | None:
    """Return the standard error of the last candidate's mean score, relative to the other candidates.

    Some folds are easier than others, for every candidate: that moves all scores alike and says nothing about which is
    better. What is left, the interaction of candidate and fold, is the noise. With a handful of folds its size is uncertain,
    so that the other candidates' count too.

    Args:
        folds: Scores of n candidates on k folds, `n x k`; rows that are not finite are left out.

    Returns:
        The standard error; ``None`` if fewer than 3 candidates or 2 folds have scores, or it is 0.
    """
    if not np.isfinite(folds[-1]).all():
        return None
    known = folds[np.isfinite(folds).all(axis=1)]
    n, k = known.shape
    if n < 3 or k < 2:
        return None
    residuals = known - known.mean(axis=1, keepdims=True) - known.mean(axis=0) + known.mean()
    squares = (residuals**2).sum(axis=1) * n / (n - 1)
    pooled = squares.mean() / (k - 1)
    variance = (_POOLED * pooled + squares[-1]) / (_POOLED + k - 1)
    return math.sqrt(variance / k) or None
