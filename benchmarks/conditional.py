"""Search spaces with branches: define-by-run studies of calibo and of Optuna's TPE, and how often calibo's intervals hold.

Run with ``python benchmarks/conditional.py``; ``--problems``, ``--samplers`` and ``--seeds`` select a part, and what was
measured before is kept. Every sampler runs the same objective, which suggests its parameters one by one; ``calibo (space)``
knows the space beforehand. A run has 80 trials; what it has found after 40 is read from the same run. Three problems are
functions: two branches, three levels of choices, and a number of layers each with parameters of its own. Three choose and
tune a scikit-learn model by its cross-validated error on built-in data.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from calibo import CalibratedSampler, Categorical, Float, Int
from calibo.study import load_result

TRIALS = (40, 80)
COVERAGES = (0.5, 0.8, 0.95)
RESULTS = Path(__file__).parent / "results" / "conditional.json"

Suggest = optuna.Trial


def two_models(trial: Suggest) -> float:
    """A "support vector machine" that is better when it is tuned, and a "forest" that is better when it is not."""
    if trial.suggest_categorical("model", ["svm", "rf"]) == "svm":
        C, gamma = trial.suggest_float("C", 1e-3, 1e3, log=True), trial.suggest_float("gamma", 1e-4, 1.0, log=True)
        return abs(math.log10(C) - 1.0) + abs(math.log10(gamma) + 2.0)
    depth, features = trial.suggest_int("max_depth", 2, 32), trial.suggest_float("mf", 0.1, 1.0)
    return abs(depth - 10) / 10 + 0.3 + features


def three_levels(trial: Suggest) -> float:
    """Choices within choices: the best leaf is three levels down, and a shared parameter matters in all of them."""
    shared = trial.suggest_float("shared", -1.0, 1.0)
    base = 0.5 * (shared - 0.4) ** 2
    root = trial.suggest_categorical("root", ["a", "b", "c"])
    if root == "a":
        return base + 0.6 + (trial.suggest_float("a_x", 0.0, 1.0) - 0.2) ** 2
    if root == "b":
        x, y = trial.suggest_float("b_x", -5.0, 10.0), trial.suggest_float("b_y", 0.0, 15.0)
        branin = (y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6) ** 2 + 10 * (
            1 - 1 / (8 * math.pi)
        ) * math.cos(x)
        return base + 0.3 + (branin + 9.602) / 60.0
    inner = trial.suggest_categorical("inner", ["p", "q"])
    if inner == "p":
        return base + 0.5 + 0.3 * abs(trial.suggest_float("p_x", -2.0, 2.0))
    leaf = trial.suggest_categorical("leaf", ["s", "t"])
    u, v = trial.suggest_float("u", 0.0, 1.0), trial.suggest_float("v", 0.0, 1.0)
    if leaf == "s":
        return base + 2.0 * (u - 0.7) ** 2 + 1.5 * (v - 0.3) ** 2 + 0.1
    w = trial.suggest_float("w", 0.0, 1.0)
    return base + 3.0 * (u - 0.3) ** 2 + 2.0 * (v - 0.6) ** 2 + (w - 0.9) ** 2


def layers(trial: Suggest) -> float:
    """A network of one to four layers, each with a width and a rate of its own; three layers are best."""
    count = trial.suggest_int("layers", 1, 4)
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    loss = 0.15 * (math.log10(lr) + 3.0) ** 2 + 0.25 * abs(count - 3)
    for i in range(count):
        width = trial.suggest_int(f"width_{i}", 8, 512, log=True)
        dropout = trial.suggest_float(f"dropout_{i}", 0.0, 0.6)
        loss += (0.06 * (math.log2(width) - 7.0 + i) ** 2 + 0.8 * (dropout - 0.15 * i) ** 2) / count
    return loss


@cache
def _data(name: str) -> tuple[Any, Any]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    return X[rows], y[rows]


def _error(name: str, model: Any, scoring: str) -> float:
    """Return the mean negative score of three folds."""
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = _data(name)
    return -float(np.mean(cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3, scoring=scoring)))


def digits(trial: Suggest) -> float:
    """A classifier of digits: support vectors (with a kernel of their own), neighbours, or a forest; minus the accuracy."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    kind = trial.suggest_categorical("model", ["svm", "knn", "trees"])
    if kind == "svm":
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly"])
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        gamma = trial.suggest_float("gamma", 1e-5, 1.0, log=True)
        degree = trial.suggest_int("degree", 2, 5) if kernel == "poly" else 3
        model: Any = SVC(C=C, gamma=gamma, kernel=kernel, degree=degree)
    elif kind == "knn":
        k, p = trial.suggest_int("k", 1, 40), trial.suggest_float("p", 1.0, 4.0)
        model = KNeighborsClassifier(k, p=p, weights=trial.suggest_categorical("weights", ["uniform", "distance"]))
    else:
        depth, share = trial.suggest_int("depth", 2, 16), trial.suggest_float("share", 0.02, 1.0, log=True)
        model = ExtraTreesClassifier(20, max_depth=depth, max_features=share, random_state=0)
    return _error("digits", model, "accuracy")


def diabetes(trial: Suggest) -> float:
    """A regression: elastic net, support vectors or boosted trees; root mean squared error."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import ElasticNet
    from sklearn.svm import SVR

    kind = trial.suggest_categorical("model", ["linear", "svr", "boosting"])
    if kind == "linear":
        alpha, ratio = trial.suggest_float("alpha", 1e-4, 1e2, log=True), trial.suggest_float("l1", 0.0, 1.0)
        model: Any = ElasticNet(alpha=alpha, l1_ratio=ratio, max_iter=500)
    elif kind == "svr":
        C, gamma = trial.suggest_float("C", 1e-1, 1e4, log=True), trial.suggest_float("gamma", 1e-5, 1.0, log=True)
        model = SVR(C=C, gamma=gamma, epsilon=trial.suggest_float("epsilon", 0.1, 50.0, log=True))
    else:
        rounds, rate = trial.suggest_int("rounds", 5, 60, log=True), trial.suggest_float("rate", 1e-2, 1.0, log=True)
        depth, share = trial.suggest_int("depth", 1, 6), trial.suggest_float("subsample", 0.3, 1.0)
        model = GradientBoostingRegressor(
            n_estimators=rounds, learning_rate=rate, max_depth=depth, subsample=share, random_state=0
        )
    return _error("diabetes", model, "neg_root_mean_squared_error")


def cancer(trial: Suggest) -> float:
    """A classifier of tumours by its log loss: logistic regression, a network of one or two layers, or boosting."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    kind = trial.suggest_categorical("model", ["logistic", "network", "boosting"])
    if kind == "logistic":
        model: Any = LogisticRegression(C=trial.suggest_float("C", 1e-4, 1e4, log=True), max_iter=300)
    elif kind == "network":
        sizes = [trial.suggest_int(f"units_{i}", 2, 64, log=True) for i in range(trial.suggest_int("layers", 1, 2))]
        alpha, rate = (
            trial.suggest_float("alpha", 1e-5, 10.0, log=True),
            trial.suggest_float("rate", 1e-4, 1e-1, log=True),
        )
        model = MLPClassifier(sizes, alpha=alpha, learning_rate_init=rate, max_iter=25, random_state=0)
    else:
        rounds, rate = trial.suggest_int("rounds", 5, 40, log=True), trial.suggest_float("eta", 1e-2, 1.0, log=True)
        depth = trial.suggest_int("depth", 1, 5)
        model = GradientBoostingClassifier(n_estimators=rounds, learning_rate=rate, max_depth=depth, random_state=0)
    return _error("breast_cancer", model, "neg_log_loss")


PROBLEMS: dict[str, Callable[[Suggest], float]] = {
    "two models": two_models,
    "three levels": three_levels,
    "layers": layers,
    "digits": digits,
    "diabetes": diabetes,
    "cancer": cancer,
}


def _when(**values: Any) -> dict[str, Any]:
    return {"when": values}


#: The same spaces, written down.
SPACES: dict[str, dict[str, Any]] = {
    "two models": {
        "model": Categorical(["svm", "rf"]),
        "C": Float(1e-3, 1e3, log=True, **_when(model="svm")),
        "gamma": Float(1e-4, 1.0, log=True, **_when(model="svm")),
        "max_depth": Int(2, 32, **_when(model="rf")),
        "mf": Float(0.1, 1.0, **_when(model="rf")),
    },
    "layers": {
        "layers": Int(1, 4),
        "lr": Float(1e-5, 1e-1, log=True),
        **{f"width_{i}": Int(8, 512, log=True, **_when(layers=list(range(i + 1, 5)))) for i in range(4)},
        **{f"dropout_{i}": Float(0.0, 0.6, **_when(layers=list(range(i + 1, 5)))) for i in range(4)},
    },
}

SAMPLERS: dict[str, Callable[[str, int], optuna.samplers.BaseSampler]] = {
    "calibo": lambda name, seed: CalibratedSampler(seed=seed),
    "calibo (space)": lambda name, seed: CalibratedSampler(seed=seed, space=SPACES[name]),
    "tpe (group)": lambda name, seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "tpe": lambda name, seed: optuna.samplers.TPESampler(seed=seed),
    "random": lambda name, seed: optuna.samplers.RandomSampler(seed=seed),
}


def run(name: str, sampler: str, seed: int) -> dict[str, Any]:
    """Run one study and return what it had found on the way, and for calibo how many intervals held."""
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(sampler=SAMPLERS[sampler](name, seed), storage=storage, study_name="study")
    started, own = time.process_time(), 0.0

    def objective(trial: Suggest) -> float:
        nonlocal own
        before = time.process_time()
        # Samplers choose at the first suggestion, inside of the objective: their time is what is left without fits.
        value = PROBLEMS[name](trial)
        own += time.process_time() - before
        return value

    study.optimize(objective, n_trials=max(TRIALS))
    found = np.minimum.accumulate([trial.value for trial in study.trials])
    record: dict[str, Any] = {
        "problem": name,
        "sampler": sampler,
        "seed": seed,
        "found": {str(n): float(found[n - 1]) for n in TRIALS},
        "seconds": round(time.process_time() - started, 2),
    }
    if sampler.startswith("calibo"):
        trials = [
            one for one in load_result(storage, "study").trials if one.forecast is not None and one.value is not None
        ]
        held = {
            c: [low <= t.value <= high for t in trials for low, high in [t.forecast.calibrated.interval(c)]]
            for c in COVERAGES
        }
        record["forecasts"] = len(trials)
        record["held"] = {str(c): int(sum(flags)) for c, flags in held.items()}
    return record


def table(records: list[dict[str, Any]]) -> str:
    """Return the medians over seeds as a table, and the share of intervals that held, of what has been measured."""
    by = {(r["problem"], r["sampler"], r["seed"]): r for r in records}
    samplers = [one for one in SAMPLERS if any(r["sampler"] == one for r in records)]
    problems = [one for one in PROBLEMS if any(r["problem"] == one for r in records)]
    lines = [f"| problem | seeds | trials | {' | '.join(samplers)} | won : lost |", "|---" * (len(samplers) + 4) + "|"]
    for name in problems:
        seeds = sorted({seed for problem, _, seed in by if problem == name})
        for n in map(str, TRIALS):
            values = [[by[name, one, s]["found"][n] for s in seeds if (name, one, s) in by] for one in samplers]
            cells = " | ".join(f"{np.median(own):.4g}" if own else "" for own in values)
            both = [s for s in seeds if all((name, one, s) in by for one in ("calibo", "tpe (group)"))]
            gains = [by[name, "tpe (group)", s]["found"][n] - by[name, "calibo", s]["found"][n] for s in both]
            lines.append(
                f"| {name} | {len(seeds)} | {n} | {cells} | {sum(g > 0 for g in gains)} : {sum(g < 0 for g in gains)} |"
            )
    own = [r for r in records if r["sampler"] == "calibo"]
    for name in problems:
        count = sum(r["forecasts"] for r in own if r["problem"] == name)
        held = [sum(r["held"][str(c)] for r in own if r["problem"] == name) / max(count, 1) for c in COVERAGES]
        shown = ", ".join(f"{share:.0%} in {c:.0%} intervals" for share, c in zip(held, COVERAGES, strict=True))
        lines.append(f"\n{name}, {count} forecasts: {shown}")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--samplers", default=",".join(SAMPLERS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    records = json.loads(given.results.read_text()) if given.results.exists() else []
    known = {(r["problem"], r["sampler"], r["seed"]) for r in records}
    for seed in range(given.seeds):
        for name in given.problems.split(","):
            for sampler in given.samplers.split(","):
                if (name, sampler, seed) in known or (sampler == "calibo (space)" and name not in SPACES):
                    continue
                records.append(run(name, sampler, seed))
                given.results.write_text("[\n" + ",\n".join(json.dumps(r) for r in records) + "\n]\n")
    print(table(records))


if __name__ == "__main__":
    main()
