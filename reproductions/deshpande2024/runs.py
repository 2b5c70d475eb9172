"""One run: what is stored of a finished job."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from settings import STARTS, Job, strategy

from calibo.data import Array
from calibo.diagnostics import best_so_far, calibration_error, pit
from calibo.errors import FallbackWarning
from calibo.optimize import Optimizer
from calibo.problems import Problem, problem

LEVELS = np.linspace(0.05, 0.95, 19)


def perform(job: Job) -> dict[str, Any]:
    """Run a job: points of one-dimensional problems, the best value and the calibration score after each step.

    The score is that of the paper, sum_j (p_j - observed share)^2 over the forecasts so far.
    """
    started, task = time.process_time(), problem(job.problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        X, values, pits = _search(job, task)
    scores = [calibration_error(pits[:t], levels=LEVELS, summary="sum") for t in range(1, job.steps + 1)]
    found = {"best": _short(best_so_far(values)[job.initial - 1 :]), "error": _short(np.array(scores))}
    if task.dimension == 1:
        found["x"] = _short(X[:, 0])
    return {**found, "seconds": round(time.process_time() - started, 2)}


def _search(job: Job, task: Problem) -> tuple[Array, Array, Array]:
    """Minimize the problem of a job; return points, values, and the levels at which forecasts were met."""
    optimizer = Optimizer(task.space(), strategy(job), seed=job.seed, n_initial=job.initial)
    points = [np.asarray(x) for x in starts(job, task)]
    for x in points:
        optimizer.tell(dict(zip(task.names, map(float, x), strict=True)), float(task(x[None, :])[0]))
    forecasts = []
    for _ in range(job.steps):
        suggestion = optimizer.ask()
        points.append(np.ravel(task.point(suggestion.params)))
        optimizer.tell(suggestion, task.objective(suggestion.params))
        assert suggestion.forecasts is not None
        forecasts.append(suggestion.forecasts[0].calibrated)
    X = np.stack(points)
    values = task(X)
    return X, values, pit(forecasts, values[job.initial :])


def starts(job: Job, task: Problem) -> Array:
    """Return the initial points, the same for all methods of a seed, in the problem's units."""
    if job.part == "example":
        return np.asarray(STARTS[job.seed])[:, None]
    return task.from_unit(np.random.default_rng([job.seed, 2024]).random((job.initial, task.dimension)))


def _short(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
