"""SearchCV beside RandomizedSearchCV: how good are the chosen parameters on splits that no search has seen?

    python benchmarks/search_cv.py [--seeds 10] [--limit SECONDS]

What is stored in results/search_cv.json is not run again.

Every search scores 30 candidates by 5-fold cross-validation; the parameters it chooses are then scored on 20 other random
splits, the same for all searches of a task. "folds" and "no noise" are the two settings of ``SearchCV(noise=)``.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.model_selection import KFold, RandomizedSearchCV, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from calibo import Float, SearchCV

RESULTS = Path(__file__).parent / "results" / "search_cv.json"
CANDIDATES = 30


def tasks() -> dict[str, tuple[Any, dict[str, tuple[float, float]], Any, Any]]:
    """Return estimators, log-scaled ranges and data, by name."""
    digits = load_digits()
    some = np.random.default_rng(0).permutation(len(digits.data))[:400]
    svc, svm = make_pipeline(StandardScaler(), SVC()), {"svc__C": (1e-3, 1e3), "svc__gamma": (1e-5, 1e1)}
    svr = {"svr__C": (1e-2, 1e4), "svr__gamma": (1e-5, 1e1), "svr__epsilon": (1e-2, 1e2)}
    linear = {"elasticnet__alpha": (1e-4, 1e2), "elasticnet__l1_ratio": (1e-2, 1.0)}
    logistic = {"logisticregression__C": (1e-4, 1e4)}
    return {
        "svc iris": (svc, svm, *load_iris(return_X_y=True)),
        "svc wine": (svc, svm, *load_wine(return_X_y=True)),
        "svc breast cancer": (svc, svm, *load_breast_cancer(return_X_y=True)),
        "svc digits": (svc, svm, digits.data[some], digits.target[some]),
        "svr diabetes": (make_pipeline(StandardScaler(), SVR()), svr, *load_diabetes(return_X_y=True)),
        "elastic net diabetes": (
            make_pipeline(StandardScaler(), ElasticNet()),
            linear,
            *load_diabetes(return_X_y=True),
        ),
        "logistic wine": (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
            logistic,
            *load_wine(return_X_y=True),
        ),
    }


def scores(model: Any, ranges: dict[str, tuple[float, float]], X: Any, y: Any, seed: int) -> dict[str, float]:
    """Return the scores of the parameters that each search chooses, on splits it has not seen and on its own ("cv")."""
    ours = {name: Float(*ends, log=True) for name, ends in ranges.items()}
    theirs = {name: loguniform(*ends) for name, ends in ranges.items()}
    cv = KFold(5, shuffle=True, random_state=seed)
    given: dict[str, Any] = {"n_iter": CANDIDATES, "cv": cv, "random_state": seed, "refit": False}
    searches = {
        "folds": SearchCV(clone(model), ours, noise="folds", **given),
        "no noise": SearchCV(clone(model), ours, noise=None, **given),
        "random": RandomizedSearchCV(clone(model), theirs, **given),
    }
    judge, found = ShuffleSplit(20, test_size=0.3, random_state=10**6), dict[str, float]()
    for name, search in searches.items():
        results = search.fit(X, y).cv_results_
        best = results["params"][int(np.argmin(results["rank_test_score"]))]
        found[name] = float(cross_val_score(clone(model).set_params(**best), X, y, cv=judge).mean())
        found[f"{name}, cv"] = float(np.nanmax(results["mean_test_score"]))
    return found


def main() -> None:
    """Run the searches that are missing, seed by seed, store them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which none is begun")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table: dict[str, dict[str, list[float]]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    end = time.monotonic() + arguments.limit
    for seed in range(arguments.seeds):
        for task, (model, ranges, X, y) in tasks().items():
            row = table.setdefault(task, {})
            if time.monotonic() > end or any(len(values) > seed for values in row.values()):
                continue
            for name, value in scores(model, ranges, X, y, seed).items():
                row.setdefault(name, []).append(value)
            RESULTS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for task, row in table.items():
        print(f"{task:22}", *(f"{name} {np.mean(values):.4f}" for name, values in row.items()), sep="  ")
    print(summary(table))


def summary(table: dict[str, dict[str, list[float]]]) -> str:
    """Return the result in words, of the seeds that all tasks have."""
    seeds = min(len(values) for row in table.values() for values in row.values())

    def against(other: str, kind: str = "") -> list[float]:
        pairs = [(row[f"folds{kind}"][:seeds], row[f"{other}{kind}"][:seeds]) for row in table.values()]
        return [float(np.mean(ours) - np.mean(theirs)) for ours, theirs in pairs]

    random = against("random")
    won, lost = sum(one > 0 for one in random), sum(one < 0 for one in random)
    inside, plain = np.mean(against("random", ", cv")), np.mean(against("no noise"))
    return (
        f"{len(table)} tasks, {seeds} seeds: better than random search on {won} tasks and worse on {lost}, by "
        f"{np.mean(random):+.4f} on average (by {inside:+.4f} in its own cross-validation); "
        f"against `noise=None` {plain:+.4f}."
    )


if __name__ == "__main__":
    main()
