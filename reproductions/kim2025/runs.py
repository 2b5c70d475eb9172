"""One optimization of each kind: what is stored of a finished job."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from problems import ackley2_heteroscedastic, locbo_1d
from radio import RadioProblem, radio
from settings import RANDOM, Job, strategy
from variants import SeldomRefitted

from calibo.data import Array, Dataset, Forecasts
from calibo.errors import FallbackWarning
from calibo.optimize import CandidateSource, Chosen, ModelBased, Optimizer, Plan, Strategy, suggest
from calibo.problems import NoisyProblem, with_noise

#: Stations and candidates of the radio problem; each station has a power (column b) and a tilt (column b + 9).
STATIONS, CANDIDATES = 9, 100
#: Points at which the intervals of Figure 4 are drawn.
GRID = np.linspace(-5.0, 5.0, 101)


def perform(job: Job) -> dict[str, Any]:
    """Run a job and return its results as plain numbers, with the seconds of computing (of one core) it took."""
    started = time.process_time()
    kinds = {"locbo_1d": intervals, "ackley": regrets, "ackley_noisy": regrets, "radio": capacities}
    with warnings.catch_warnings():
        # CBO's in-sample sets are without end now and then, and say so each time.
        warnings.simplefilter("ignore", FallbackWarning)
        found = kinds[job.problem](job)
    return {**found, "seconds": round(time.process_time() - started, 2)}


def measured(problem: str) -> NoisyProblem:
    """Return the problem with its noise; "ackley" is without."""
    if problem == "locbo_1d":
        return locbo_1d()
    noisy = ackley2_heteroscedastic()
    return noisy if problem == "ackley_noisy" else with_noise(noisy.problem, 0.0)


def optimize(job: Job) -> tuple[Array, Array, Optimizer]:
    """Points, (initial + steps) x d in the problem's units, their measurements, and the optimizer afterwards.

    Initial points and noise are the same for all methods of a seed.
    """
    task = measured(job.problem)
    rng, noise = np.random.default_rng([job.seed, 1]), np.random.default_rng([job.seed, 2])
    truth = task.problem
    optimizer = Optimizer(truth.space(), strategy(job), direction="maximize", seed=job.seed, n_initial=job.initial)
    points = list(truth.from_unit(rng.random((job.initial, truth.dimension))))
    values = [float(task(x[None, :], noise)[0]) for x in points]
    for x, value in zip(points, values, strict=True):
        optimizer.tell(dict(zip(truth.names, map(float, x), strict=True)), value)
    for _ in range(job.steps):
        suggestion = optimizer.ask()
        points.append(truth.point(suggestion.params)[0])
        values.append(task.objective(suggestion.params, noise))
        optimizer.tell(suggestion, values[-1])
    return np.stack(points), np.array(values), optimizer


def incumbents(values: Array) -> np.ndarray:
    """Index of the largest measurement among the first 1, 2, ..., n: the paper's t*."""
    best = np.maximum.accumulate(values)
    return np.maximum.accumulate(np.where(values == best, np.arange(len(values)), 0))


def regrets(job: Job) -> dict[str, Any]:
    """Figures 5 and 6: simple regret (41) of the best *measured* point after each step, steps + 1 of them."""
    X, values, _ = optimize(job)
    truth = measured(job.problem).problem
    regret = truth.optimum - truth(X)[incumbents(values)][job.initial - 1 :]
    return {"curve": _short(regret)}


def intervals(job: Job) -> dict[str, Any]:
    """Figure 4: intervals of 1 - alpha for a measurement at the end of the search, over a grid; and where it went."""
    X, values, optimizer = optimize(job)
    truth = measured(job.problem).problem
    low, high = truth.bounds[0]
    model = strategy(job).surrogate.fit(optimizer.data(), rng=np.random.default_rng(job.seed))
    distribution = model.predict(((GRID - low) / (high - low))[:, None], latent=False)
    assert job.alpha is not None
    lower, upper = distribution.interval(1.0 - job.alpha)
    regret = truth.optimum - float(truth(X)[incumbents(values)][-1])
    return {
        "x": _short(X[:, 0]),
        "y": _short(values),
        "mean": _short(distribution.mean),
        "lower": _short(lower),
        "upper": _short(upper),
        "regret": round(regret, 5),
    }


def capacities(job: Job) -> dict[str, Any]:
    """Figure 8: true capacity (43) of the best *measured* point, after every fifth step."""
    data = search(job)
    chosen = incumbents(data.Y[:, 0])[job.initial - 1 :]
    different, index = np.unique(chosen, return_inverse=True)
    curve = radio().problem(data.X[different])[index]
    return {"curve": _short(curve[:: curve_step(job.steps)])}


def search(job: Job) -> Dataset:
    """All measurements of a search of the radio problem, station by station.

    Station t mod 9 is set at step t: its two coordinates are chosen from 100 random candidates, the other 16 are those of
    the best measured point so far (the paper: "maintaining the parameters for the other base stations fixed"). Random
    search draws all 18.
    """
    task = radio(n_channels=job.channels)
    dimension = task.problem.dimension
    rng, noise = np.random.default_rng([job.seed, 1]), np.random.default_rng([job.seed, 2])
    method = None if job.method == RANDOM else strategy(job, SeldomRefitted(first=job.initial))
    X = rng.random((job.initial, dimension))
    data = Dataset(X=X, Y=task(X, noise)[:, None])
    for step in range(job.steps):
        # Of the step alone, so that the candidates' two coordinates are the same for all methods of a seed.
        draws = np.random.default_rng([job.seed, 3, step])
        if method is None:
            data = _with(data, draws.random(dimension), None, task, noise)
            continue
        station = step % STATIONS
        candidates = np.tile(data.X[np.argmax(data.Y[:, 0])], (CANDIDATES, 1))
        candidates[:, [station, station + STATIONS]] = draws.random((CANDIDATES, 2))
        x, forecasts, stored = choose(method, data, candidates, draws)
        data = replace(_with(data, x, forecasts, task, noise), hyperparameters=stored)
    return data


def choose(
    method: ModelBased, data: Dataset, candidates: Array, rng: np.random.Generator
) -> tuple[Array, Forecasts, tuple[tuple[float, ...], ...]]:
    """Return the candidate, of c x d, with the largest acquisition, its forecast, and the hyper-parameters to store.

    A model that learns from where the search goes (CBO's weights) learns from the candidates.
    """
    (found,) = suggest(data, source=Candidates(candidates), strategy=method, q=1, rng=rng)
    assert found.forecasts is not None
    return found.x, found.forecasts, found.hyperparameters


@dataclass(frozen=True, eq=False)
class Candidates(CandidateSource):
    """A few points, c x d, of which the one with the largest acquisition is chosen; a plan learns from all of them."""

    X: Array

    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        plan = plan.learned(self.X, rng=rng)
        best = self.X[[np.argmax(plan.acquisition(self.X))]]
        return Chosen(best, ({},), plan)


def curve_step(steps: int) -> int:
    """Of how many steps one is stored in the curves of the radio problem."""
    return 5 if steps % 5 == 0 else 1


def _with(
    data: Dataset, x: Array, forecasts: Forecasts | None, task: RadioProblem, noise: np.random.Generator
) -> Dataset:
    """Return the data and one more measurement."""
    return data.with_observations(x[None, :], task(x[None, :], noise)[:, None], forecasts=(forecasts,))


def _short(values: Array) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
