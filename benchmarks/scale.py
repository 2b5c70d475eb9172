"""CPU seconds and peak memory of a suggestion of the default method from 100 to 100,000 results, and what the model loses.

Run with ``python benchmarks/scale.py``; ``--sizes 100 1000`` takes fewer results, and nothing is written unless all sizes
ran. ``python -m benchmarks.scale --page`` writes the tables of ``scale.md`` from the stored results only. Each measurement is
a process of its own, on one thread, so that its peak memory is its own: n trials of Levy's function in 6 and 20 columns with
noise, half of them spread evenly and half around the best point, every one with a stored forecast of three stages, are turned
into a dataset and the next point is suggested. The first suggestion has no hyperparameters to start from and chooses the
transform of the outcomes; the others go on from it.

The loss of the model is the mean CRPS, and the coverage of 80 % intervals, of fresh points, spread evenly and around the best
point, beside those of an exact Gaussian process with the same hyperparameters. Coverage is that of what is shown, too.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calibo import Float, Optimizer
from calibo.data import STORED_LEVELS, Array, Dataset, Forecast, Marginal, Suggestion
from calibo.diagnostics import crps
from calibo.methods import strategy
from calibo.models import GaussianProcess, NearestNeighbourGP
from calibo.optimize import propose
from calibo.problems import problem
from calibo.spaces import Space, as_space
from calibo.trials import Direction, State, Trial, dataset

SIZES = (100, 1_000, 5_000, 10_000, 30_000, 100_000)
DIMENSIONS = (6, 20)
#: Numbers of results at which the model is compared with the exact one.
COMPARED = (1_000, 2_000)
#: Numbers of results at which coverage is measured, and fresh points of each kind.
COVERED, FRESH = (1_000, 10_000, 100_000), 400
#: Suggestions after the first.
FURTHER = 3
METHOD = "auto"
RESULTS = Path(__file__).parent / "results" / "scale.json"


def points(n: int, d: int, best: Array, rng: np.random.Generator) -> Array:
    """Return n points of the unit cube in random order: half spread evenly, half around the best point."""
    near = np.clip(best + 0.1 * rng.standard_normal((n - n // 2, d)), 0.0, 1.0)
    return rng.permutation(np.vstack([rng.random((n // 2, d)), near]))


def outcomes(X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return noisy outcomes at points of the unit cube, n, and those without noise; noise is 2 % of their spread."""
    levy = problem(f"levy{X.shape[1]}")
    low, high = np.array(levy.box).T
    f = np.asarray(levy(low + (high - low) * X), dtype=np.float64)
    return f + 0.02 * f.std() * rng.standard_normal(len(f)), f


def parameters(d: int) -> Space:
    """Return the space of d numbers from 0 to 1."""
    return as_space({f"x{j}": Float(0.0, 1.0) for j in range(d)})


def trials(n: int, d: int, rng: np.random.Generator) -> list[Trial]:
    """Return n finished trials, each with a forecast of all stages, as a study of the method would have stored them."""
    from scipy.special import ndtri

    X = points(n, d, np.full(d, 0.55), rng)
    y, _ = outcomes(X, rng)
    forecasting = strategy(METHOD).forecasting
    names = () if forecasting is None else forecasting.stage_names
    spread = y.std() * 10.0 ** rng.uniform(-1.5, 0.0, n)
    means = y + spread * rng.standard_normal(n)
    scores = ndtri(np.array(STORED_LEVELS))
    params = parameters(d).decode(X)

    def forecast(mean: float, std: float) -> Forecast:
        stages = [Marginal(mean, std, tuple((mean + std * scores).tolist())) for _ in names]
        return Forecast(tuple(stages), names)

    return [
        Trial(
            Suggestion(params[i], X[i], (forecast(float(means[i]), float(spread[i])),), number=i),
            State.COMPLETE,
            (float(y[i]),),
        )
        for i in range(n)
    ]


def measured(d: int, n: int) -> dict[str, Any]:
    """Return CPU seconds of suggestions, and the peak of the memory, in this process."""
    rng = np.random.default_rng(n + d)
    space = parameters(d)
    done, stored, seconds, first = trials(n, d, rng), (), list[float](), 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    method = strategy(METHOD)
    # What the trials left behind is not the suggestion's to collect.
    gc.collect()
    for step in range(1 + FURTHER):
        start = time.process_time()
        data = dataset(done, directions=(Direction.MINIMIZE,), categories=space.categories, hyperparameters=stored)
        found = propose(data, space=space, strategy=method, seed=0, number=n + step)[0]
        seconds.append(time.process_time() - start)
        stored = found.hyperparameters
        value = float(outcomes(found.x[None, :], rng)[1][0])
        done.append(Trial(replace(found, number=n + step), State.COMPLETE, (value,)))
    first = seconds.pop(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "d": d,
        "n": n,
        "first": first,
        "further": float(np.median(seconds)),
        "slowest": max(seconds),
        "peak_mb": peak / 1024.0,
        "trials_mb": before / 1024.0,
    }


def told(d: int, n: int) -> dict[str, Any]:
    """Return CPU microseconds of each ``Optimizer.tell``."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    optimizer = Optimizer({f"x{j}": Float(0.0, 1.0) for j in range(d)}, METHOD, seed=0)
    start = time.process_time()
    for x in X:
        optimizer.tell({f"x{j}": float(v) for j, v in enumerate(x)}, float(x[0]))
    return {"d": d, "n": n, "tell_us": 1e6 * (time.process_time() - start) / n}


def compared(d: int, n: int) -> dict[str, Any]:
    """Return mean CRPS, in standard deviations of the outcomes, and coverage of fresh points: exact, and by neighbours."""
    rng = np.random.default_rng(7 * n + d)
    best = np.full(d, 0.55)
    X, fresh = points(n, d, best, rng), points(1000, d, best, rng)
    y, _ = outcomes(np.vstack([X, fresh]), rng)
    data = Dataset(X=X, Y=-y[:n, None])
    exact = GaussianProcess(subset=400).fit(data, rng=rng)
    kept = replace(data, hyperparameters=(exact.hyperparameters,), refit=False)
    row: dict[str, Any] = {"d": d, "n": n}
    for name, model in (("exact", exact), ("neighbours", NearestNeighbourGP().fit(kept, rng=rng))):
        start = time.process_time()
        predicted = model.predict(fresh, latent=False)
        row[f"{name}_s"] = time.process_time() - start
        low, high = predicted.interval(0.8)
        row[f"{name}_crps"] = float(np.mean(crps(predicted.marginals(), -y[n:])) / y.std())
        row[f"{name}_coverage"] = float(np.mean((low <= -y[n:]) & (-y[n:] <= high)))
    return row


def covered(d: int, n: int) -> dict[str, Any]:
    """Return coverage of 80 % intervals of fresh points, spread evenly and around the best point, and their CRPS: raw, shown.

    The results have no stored forecasts, as those of a study of before: all calibration is by points left out.
    """
    rng = np.random.default_rng(3 * n + d)
    best = np.full(d, 0.55)
    X = points(n, d, best, rng)
    fresh = {"even": rng.random((FRESH, d)), "near": np.clip(best + 0.1 * rng.standard_normal((FRESH, d)), 0.0, 1.0)}
    y, _ = outcomes(np.vstack([X, *fresh.values()]), rng)
    forecaster = strategy(METHOD).plan(Dataset(X=X, Y=-y[:n, None]), rng=rng).forecaster
    assert forecaster is not None
    row: dict[str, Any] = {"d": d, "n": n}
    for i, (where, at) in enumerate(fresh.items()):
        measured_there = -y[n + i * FRESH : n + (i + 1) * FRESH]
        made = [forecast[0] for forecast in forecaster(at)]
        for name, shown in (("raw", [f.raw for f in made]), ("shown", [f.calibrated for f in made])):
            inside = [
                low <= v <= high
                for (low, high), v in zip((m.interval(0.8) for m in shown), measured_there, strict=True)
            ]
            row[f"{name}_{where}"] = float(np.mean(inside))
            row[f"{name}_{where}_crps"] = float(np.mean(crps(shown, measured_there)) / y.std())
    return row


def child(what: str, d: int, n: int) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--child", what, str(d), str(n)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row = json.loads(finished.stdout.splitlines()[-1])
    print(what, row, flush=True)
    return row


def tables() -> dict[str, str]:
    """Return the tables of the page, by name, from the stored results."""
    found = json.loads(RESULTS.read_text())
    return {
        "scale suggestions": _suggestions_table(found["suggestions"]),
        "scale models": _models_table(found["model"]),
        "scale coverage": _coverage_table(found["coverage"]),
    }


def _suggestions_table(rows: Sequence[dict[str, Any]]) -> str:
    def cells(row: dict[str, Any]) -> list[str]:
        seconds = [f"{row[key]:.2f}" for key in ("first", "further", "slowest")]
        return [*seconds, f"{row['peak_mb']:.0f}", f"{row['trials_mb']:.0f}"]

    heads = ("first, s", "further, s", "slowest, s", "peak, MB", "of which trials, MB")
    return _table(heads, [_cells(row, cells(row)) for row in rows])


def _models_table(rows: Sequence[dict[str, Any]]) -> str:
    shown = {"crps": ("CRPS", ".4f"), "coverage": ("coverage", ".3f"), "s": ("s", ".2f")}
    pairs = [(key, name) for key in shown for name in ("exact", "neighbours")]
    heads = [f"{shown[key][0]} {name}" for key, name in pairs]
    return _table(
        heads, [_cells(row, [f"{row[f'{name}_{key}']:{shown[key][1]}}" for key, name in pairs]) for row in rows]
    )


def _coverage_table(rows: Sequence[dict[str, Any]]) -> str:
    def cells(row: dict[str, Any]) -> list[str]:
        shares = [row[f"{name}_{where}"] for where in places for name in ("raw", "shown")]
        ratios = [row[f"shown_{where}_crps"] / row[f"raw_{where}_crps"] for where in places]
        return [f"{value:.2f}" for value in (*shares, *ratios)]

    places = ("even", "near")
    heads = [
        "even, raw",
        "even, shown",
        "near, raw",
        "near, shown",
        *(f"CRPS {where}, shown / raw" for where in places),
    ]
    return _table(heads, [_cells(row, cells(row)) for row in rows])


def _cells(row: dict[str, Any], more: list[str]) -> str:
    return "| " + " | ".join((str(row["d"]), f"{row['n']:,}", *more)) + " |"


def _table(heads: Sequence[str], rows: list[str]) -> str:
    columns = ("columns", "n", *heads)
    return "\n".join([f"| {' | '.join(columns)} |", "|" + "---|" * len(columns), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--page", action="store_true", help="write the tables of the page from the stored results only")
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    if arguments.child:
        what, d, n = arguments.child
        print(json.dumps({"ask": measured, "tell": told, "compare": compared, "cover": covered}[what](int(d), int(n))))
        return
    if arguments.page:
        from benchmarks import page_tables

        for name, table in tables().items():
            page_tables.write("scale", name, table)
        return
    asked = [child("ask", d, n) for d in DIMENSIONS for n in arguments.sizes]
    if tuple(arguments.sizes) == SIZES:
        tells = [child("tell", d, n) for d in DIMENSIONS for n in (1_000, 30_000)]
        models = [child("compare", d, n) for d in DIMENSIONS for n in COMPARED]
        coverage = [child("cover", d, n) for d in DIMENSIONS for n in COVERED]
        found = {"suggestions": asked, "tells": tells, "model": models, "coverage": coverage}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
