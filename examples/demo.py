"""Tune a gradient boosting model with calibrated Bayesian optimization, and check the calibration of its forecasts.

The model predicts how diabetes progresses from ten measurements of 442 patients, a dataset of scikit-learn.
Everything is kept in demo.db: run it again, and it goes on where it stopped. In a fresh clone: ``make demo``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# Read when the libraries are loaded; for so few patients threads would slow things down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_score

import calibo
from calibo import Categorical, Float, Int
from calibo.errors import StudyError
from calibo.study import Interrupted, load_result

STUDY = "diabetes"

SPACE = {
    "learning_rate": Float(0.01, 0.5, log=True),
    "max_iter": Int(10, 150, log=True),
    "max_leaf_nodes": Int(2, 32, log=True),
    "min_samples_leaf": Int(2, 60),
    "max_features": Float(0.2, 1.0),
    "loss": Categorical(["squared_error", "absolute_error", "poisson", "gamma"]),
}

FEATURES, TARGET = load_diabetes(return_X_y=True)


def error_of(params: dict[str, Any]) -> float:
    """Return the root mean squared error of the model in five-fold cross-validation."""
    model = HistGradientBoostingRegressor(random_state=0, **params)
    folds = KFold(n_splits=5, shuffle=True, random_state=0)
    scores = cross_val_score(model, FEATURES, TARGET, cv=folds, scoring="neg_root_mean_squared_error")
    return -float(scores.mean())


def main(trials: int, folder: Path) -> None:
    """Add trials to the study in `folder`, print the result, and write the report."""
    storage, report = folder / "demo.db", folder / "report.html"
    if known := trials_so_far(storage):
        print(f"Resuming the study in {storage}, which has {known} trials: adding {trials}.")
    else:
        print(f"Starting a study in {storage}: {trials} trials.")
    try:
        result = calibo.minimize(error_of, SPACE, n_trials=trials, storage=storage, study_name=STUDY, seed=0)
    except Interrupted:
        sys.exit("Stopped. Nothing measured is lost: run this again to go on.")

    print(f"\nBest of {len(result.trials)} trials: an error of {result.best_value:.2f} with")
    for name, value in result.best_params.items():
        print(f"  {name:<16} = {f'{value:.4g}' if isinstance(value, float) else value}")

    calibration = result.calibration()
    print(f"\n{calibration.headline()}")
    for sentence in calibration.sentences():
        print(f"  {sentence}")

    result.report(report)
    print(f"\nThe report is in {report}: open it in a browser. Run this again to add trials to the study.")


def trials_so_far(storage: Path) -> int:
    """Return the number of trials of the study; 0 if there is none yet."""
    try:
        return len(load_result(storage, STUDY).trials) if storage.exists() else 0
    except StudyError:
        return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="how many trials to add (default: 40)")
    parser.add_argument("--folder", type=Path, default=Path(), help="where demo.db and report.html go (default: .)")
    arguments = parser.parse_args()
    main(arguments.trials, arguments.folder)
