"""One run of each kind: what is stored of a finished job."""

from __future__ import annotations

import importlib
import time
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
from estimates import errors
from peers import OptunaTPE, composite_ei_choice, gp_ei_choice
from settings import CANDIDATES, COMPOSITE_EI, COMPOSITE_LFBO, FCNET, GP_BOTORCH, NAS, RANDOM, TPE, Job, strategy

from calibo.data import Array
from calibo.optimize import Optimizer
from calibo.problems import TableProblem, environmental, fcnet, nas_bench_201, problem
from calibo.spaces import as_space, one_hot

#: Results of the suggestion before the timed ones.
WARM_UP = 10


def perform(job: Job) -> dict[str, Any]:
    """Run a job and return its results as plain numbers, with the seconds of computing (of one core) it took."""
    kinds = {"curve": errors, "environmental": composite, "forrester": one_variable, "timing": timed}
    with warnings.catch_warnings():
        # BoTorch speaks of scaling and of fits it repeats.
        warnings.simplefilter("ignore")
        _imported(job)
        started = time.process_time()
        found = kinds.get(job.problem, table)(job)
    return {**found, "seconds": round(time.process_time() - started, 3)}


def _imported(job: Job) -> None:
    """Load what takes long to load, so that it is not timed with the first job of a process."""
    if job.method in (COMPOSITE_EI, GP_BOTORCH):
        importlib.import_module("botorch.acquisition")
        importlib.import_module("botorch.optim")
    if job.problem in ("environmental", "timing"):
        importlib.import_module("torch")
        importlib.import_module("sklearn.ensemble")
    if job.problem == "curve":
        importlib.import_module("sklearn.neural_network")
    if job.method.endswith("XGBoost"):
        importlib.import_module("xgboost")


@cache
def table_of(name: str) -> TableProblem:
    """Return the table of a short name."""
    return fcnet(FCNET[name]) if name in FCNET else nas_bench_201(NAS[name])


def table(job: Job) -> dict[str, Any]:
    """Figures 4, 5, 6 and 9: regret after each evaluation from the initial ones on.

    A training drawn at random is measured, or the mean of all if the job says so. ``curve`` is the regret of the mean over
    all trainings of the configuration that was measured best; ``measured`` is the paper's, the best measurement itself less
    the best mean, which may be negative.
    """
    task = table_of(job.problem)
    rng, noise = np.random.default_rng([job.seed, 1]), np.random.default_rng([job.seed, 2])
    measure = task.objective if job.means else partial(task.measure, rng=noise)
    configurations = [task.params(int(row)) for row in rng.choice(task.size, job.initial, replace=False)]
    values = [measure(params) for params in configurations]
    if job.method == RANDOM:
        more = [task.params(int(row)) for row in rng.choice(task.size, job.steps, replace=False)]
        configurations += more
        values += [measure(params) for params in more]
    elif job.method == TPE:
        tpe = OptunaTPE(task.space(), task.direction, job.seed, job.initial)
        for params, value in zip(configurations, values, strict=True):
            tpe.add(params, value)
        for _ in range(job.steps):
            trial, params = tpe.ask()
            configurations.append(params)
            values.append(measure(params))
            tpe.tell(trial, values[-1])
    else:
        optimizer = Optimizer(
            task.space(), strategy(job), direction=task.direction, seed=job.seed, n_initial=job.initial
        )
        for params, value in zip(configurations, values, strict=True):
            optimizer.tell(params, value)
        for _ in range(job.steps):
            suggestion = optimizer.ask()
            configurations.append(dict(suggestion.params))
            values.append(measure(suggestion.params))
            optimizer.tell(suggestion, values[-1])
    sign = 1.0 if task.direction == "maximize" else -1.0
    best = incumbents(sign * np.array(values))[job.initial - 1 :]
    regrets = np.array([task.regret(params) for params in configurations])
    measured = sign * (task.optimum - np.array(values))
    return {"curve": short(regrets[best]), "measured": short(measured[best])}


def incumbents(values: Array) -> np.ndarray:
    """Index of the first largest measurement among the first 1, 2, ..., n."""
    best = np.maximum.accumulate(values)
    return np.maximum.accumulate(np.where(values == best, np.arange(len(values)), 0))


def composite(job: Job) -> dict[str, Any]:
    """Figure 7: the least sum of squared errors after each evaluation from the initial ones on."""
    task = environmental()
    whole = task.problem
    X = np.random.default_rng([job.seed, 1]).random((job.initial, whole.dimension))
    H = task.vectors(whole.from_unit(X))
    if job.method == COMPOSITE_EI:
        choose = composite_ei_choice(task, job.seed)
        for _ in range(job.steps):
            X = np.vstack([X, choose(X, H)])
            H = np.vstack([H, task.vectors(whole.from_unit(X[-1:]))])
    else:
        vectors = job.method == COMPOSITE_LFBO
        optimizer = Optimizer(
            whole.space(),
            strategy(job),
            direction="maximize",
            seed=job.seed,
            n_initial=job.initial,
            composite=task.outer if vectors else None,
        )
        for x in whole.from_unit(X):
            params = dict(zip(whole.names, map(float, x), strict=True))
            optimizer.tell(params, task.measure(params) if vectors else whole.objective(params))
        for _ in range(job.steps):
            suggestion = optimizer.ask()
            measured = task.measure(suggestion.params)
            H = np.vstack([H, measured])
            optimizer.tell(suggestion, measured if vectors else float(task.outer(H[-1:])[0]))
    return {"curve": short(np.minimum.accumulate(task.loss(H))[job.initial - 1 :])}


def one_variable(job: Job) -> dict[str, Any]:
    """Figure 11: a search of the Forrester function from a few random points, all of its points, and its last regret."""
    task = problem("forrester")
    start = np.random.default_rng([job.seed, 1]).random(job.initial)
    optimizer = Optimizer(task.space(), strategy(job), seed=job.seed, n_initial=job.initial)
    for x in start:
        optimizer.tell({"x0": float(x)}, float(task([[x]])[0]))
    points = list(start)
    for _ in range(job.steps):
        suggestion = optimizer.ask()
        points.append(suggestion.params["x0"])
        optimizer.tell(suggestion, task.objective(suggestion.params))
    values = task(np.array(points)[:, None])
    return {"x": short(np.array(points)), "regret": float(f"{values.min() - task.optimum:.5g}")}


def timed(job: Job) -> dict[str, Any]:
    """Appendix C.2: CPU seconds of one suggestion on NAS-Bench-201 (CIFAR-10) after ``job.initial`` random results.

    The first suggestion is not counted; that of BoTorch, which takes half a minute, is after ``WARM_UP`` results only. Its
    Gaussian process sees indicators of the choices, and scores as many candidates as LFBO does.
    """
    task = table_of("cifar10")
    rng = np.random.default_rng([job.seed, 1])
    configurations = [task.params(int(row)) for row in rng.choice(task.size, job.initial, replace=False)]
    values = [task.objective(params) for params in configurations]
    seconds = []
    if job.method == GP_BOTORCH:
        space = as_space(task.space())
        X = one_hot(space.encode(configurations), space.categories)
        for i in range(job.steps + 1):
            started = time.process_time()
            candidates = one_hot(space.sample(CANDIDATES, np.random.default_rng([job.seed, i])), space.categories)
            known = job.initial if i else WARM_UP
            gp_ei_choice(X[:known], np.array(values[:known]), candidates)
            seconds.append(time.process_time() - started)
    else:
        optimizer = Optimizer(
            task.space(), strategy(job), direction=task.direction, seed=job.seed, n_initial=job.initial
        )
        for params, value in zip(configurations, values, strict=True):
            optimizer.tell(params, value)
        for _ in range(job.steps + 1):
            started = time.process_time()
            suggestion = optimizer.ask()
            seconds.append(time.process_time() - started)
            optimizer.tell(suggestion, task.objective(suggestion.params))
    return {"curve": short(np.array([float(np.mean(seconds[1:]))]))}


def short(values: Array) -> list[float]:
    """Numbers as they are stored, to five digits."""
    return [float(f"{value:.5g}") for value in values]
