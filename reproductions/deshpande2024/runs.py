"""One run: what is stored of a finished job."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import qmc
from settings import STARTS, Job, strategy
from tasks import TASKS, task

from calibo.data import Array, Marginal
from calibo.diagnostics import best_so_far, calibration_error, pit, surprises
from calibo.distributions import from_marginals
from calibo.errors import FallbackWarning
from calibo.optimize import Optimizer
from calibo.problems import problem
from calibo.spaces import Space, as_space

LEVELS = np.linspace(0.05, 0.95, 19)
#: Multiples of the expected gain of Theorem 1.
RATIOS = (2.0, 5.0)


def perform(job: Job) -> dict[str, Any]:
    """Run a job: points of one-dimensional problems, the best value and the calibration score after each step.

    The score is that of the paper, sum_j (p_j - observed share)^2 over the forecasts so far. Stored as well is the share of
    steps whose gain was so many times the expected one (Theorem 1).
    """
    started = time.process_time()
    space, loss = objective(job)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        params, values, forecasts = _search(job, space, loss)
    pits = pit(forecasts, values[job.initial :])
    scores = [calibration_error(pits[:t], levels=LEVELS, summary="sum") for t in range(1, job.steps + 1)]
    best = best_so_far(values)[job.initial - 1 :]
    found = {"best": _short(best), "error": _short(np.array(scores))}
    found["surprises"] = _short(surprising_shares(forecasts, values[job.initial :], best[:-1]))
    if job.problem == "forrester":
        found["x"] = _short(np.array([p["x0"] for p in params]))
    return {**found, "seconds": round(time.process_time() - started, 2)}


def objective(job: Job) -> tuple[Space, Callable[[Mapping[str, Any]], float]]:
    """Return the space of a job's problem and what is minimized."""
    if job.problem in TASKS:
        one = task(job.problem)
        return one.space, one.loss
    function = problem(job.problem)
    return as_space(function.space()), function.objective


def surprising_shares(forecasts: list[Marginal], values: Array, best: Array) -> Array:
    """Return the shares of steps that gained ``RATIOS`` times what was expected.

    Args:
        forecasts: One for each step, of values that are minimized.
        values: What was found, one for each step.
        best: The best value before each step.
    """
    found = surprises(from_marginals(forecasts).negated(), -values, -best, ratios=RATIOS)
    return np.array([one.share for one in found])


def _search(
    job: Job, space: Space, loss: Callable[[Mapping[str, Any]], float]
) -> tuple[list[Mapping[str, Any]], Array, list[Marginal]]:
    """Minimize a job's problem; return configurations, values, and the forecasts of those after the first ones."""
    optimizer = Optimizer(space, strategy(job), seed=job.seed, n_initial=job.initial)
    params: list[Mapping[str, Any]] = [*space.decode(starts(job, space))]
    values, forecasts = [], []
    for one in params:
        values.append(loss(one))
        optimizer.tell(one, values[-1])
    for _ in range(job.steps):
        suggestion = optimizer.ask()
        params.append(suggestion.params)
        values.append(loss(suggestion.params))
        optimizer.tell(suggestion, values[-1])
        assert suggestion.forecasts is not None
        forecasts.append(suggestion.forecasts[0].calibrated)
    return params, np.array(values), forecasts


def starts(job: Job, space: Space) -> Array:
    """Return the initial points, the same for all methods of a seed, on the unit cube."""
    if job.part == "example":
        return np.asarray(STARTS[job.seed])[:, None]
    rng = np.random.default_rng([job.seed, 2024])
    if job.part == "tasks":
        return space.sample(job.initial, rng)
    shape = job.initial, space.dimension
    if job.variant == "Sobol":
        return qmc.Sobol(shape[1], rng=rng).random(shape[0])
    if job.variant == "Latin hypercube":
        return qmc.LatinHypercube(shape[1], rng=rng).random(shape[0])
    return rng.random(shape)


def _short(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
