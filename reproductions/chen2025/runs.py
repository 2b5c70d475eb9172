"""One search of each kind: what is stored of a finished job."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from settings import BATCH, EVOLUTION, INITIAL, MODEL_FREE, TRAINING, Job, strategy, thesis_levels

from calibo.data import Array, Marginal
from calibo.diagnostics import calibration_error, covered, observed_frequencies, pit
from calibo.methods import gp_ei
from calibo.optimize import Optimizer
from calibo.problems import nas_bench_201
from calibo.search.base import coincides
from calibo.spaces import CellSpace

#: Nominal coverage of the intervals that are counted.
COVERAGE = 0.8
#: Levels of the thesis's calibration score, and of the curves that are drawn.
SCORE_LEVELS, CURVE_LEVELS = thesis_levels(10), thesis_levels(20)
#: Population and tournament of regularised evolution, as in NASLib.
_POPULATION, _TOURNAMENT = 30, 10


def perform(job: Job) -> dict[str, Any]:
    """Run a job and return its results as plain numbers, with the seconds of computing (of one core) it took."""
    started = time.process_time()
    table = nas_bench_201(job.dataset)
    cell = CellSpace()
    X, distributions = model_free(job, cell) if job.method in MODEL_FREE else model_based(job, cell)
    rows = table.rows(cell.indices(X))
    values = table.values[rows, TRAINING]
    best = np.maximum.accumulate(values)
    found: dict[str, Any] = {
        "curve": [round(float(v), 3) for v in best[BATCH - 1 :: BATCH]],
        "regret": round(float(np.nanmax(table.values[:, TRAINING]) - best[-1]), 4),
        "mean_regret": round(table.optimum - float(table.means[rows[int(np.argmax(values))]]), 4),
    }
    if distributions:
        found |= calibration(distributions, values[INITIAL:])
    return {**found, "seconds": round(time.process_time() - started, 2)}


def calibration(distributions: list[Marginal], y: Array) -> dict[str, Any]:
    """How the forecasts of the cells that were asked for came out; y has one outcome for each."""
    pits, held = pit(distributions, y), covered(distributions, y, COVERAGE)
    low, high = np.array([distribution.interval(COVERAGE) for distribution in distributions]).T
    finite = np.isfinite(low) & np.isfinite(high)
    return {
        "held": [int(part.sum()) for part in np.split(held, range(BATCH, len(held), BATCH))],
        "infinite": int((~finite).sum()),
        "width": round(float(np.median((high - low)[finite])), 3) if finite.any() else None,
        "observed": [round(float(p), 4) for p in observed_frequencies(pits, CURVE_LEVELS)],
        "sum_score": round(calibration_error(pits, levels=SCORE_LEVELS, summary="sum"), 5),
        "root_score": round(calibration_error(pits), 5),
    }


def model_based(job: Job, cell: CellSpace) -> tuple[Array, list[Marginal]]:
    """Return the cells the library's optimizer suggests, evaluations x E, and the forecasts of all but the initial ones."""
    optimizer = Optimizer(cell, strategy(job), direction="maximize", seed=job.seed, n_initial=INITIAL)
    table, asked, distributions = nas_bench_201(job.dataset), list[Array](), list[Marginal]()
    while len(asked) < job.evaluations:
        for suggestion in optimizer.ask(BATCH):
            if suggestion.forecasts and (forecast := suggestion.forecasts[0]) is not None:
                distributions.append(forecast.calibrated)
            asked.append(suggestion.x)
            optimizer.tell(suggestion, table.objective(suggestion.params, TRAINING))
    return np.stack(asked), distributions


def model_free(job: Job, cell: CellSpace) -> tuple[Array, list[Marginal]]:
    """Return the cells of random search or regularised evolution, evaluations x E, from the same initial cells."""
    optimizer = Optimizer(cell, gp_ei(), direction="maximize", seed=job.seed, n_initial=INITIAL)
    first = np.stack([suggestion.x for suggestion in optimizer.ask(INITIAL)])
    rng = np.random.default_rng([job.seed, 1])
    if job.method == EVOLUTION:
        table = nas_bench_201(job.dataset)
        values = table.values[:, TRAINING]
        found = list(
            evolution(first, cell, lambda x: values[table.rows(cell.indices(x[None]))[0]], job.evaluations, rng)
        )
        return np.stack(found), []
    drawn = cell.sample(job.evaluations, rng)
    return np.vstack([first, drawn[~coincides(drawn, first)]])[: job.evaluations], []


def evolution(first: Array, cell: CellSpace, measure: Any, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Regularised evolution (Real et al. 2019): the best of a random ten is copied with one edit; the oldest dies.

    Args:
        first: Initial cells, n x E; random ones fill the population up.
        cell: The space.
        measure: A cell's value, larger is better.
        count: Cells in all.
        rng: For tournaments and edits.
    """
    population: deque[tuple[Array, float]] = deque(maxlen=_POPULATION)
    for i in range(count):
        if i < len(first):
            x = first[i]
        elif len(population) < _POPULATION:
            x = cell.sample(1, rng)[0]
        else:
            rivals = [population[j] for j in rng.choice(len(population), _TOURNAMENT, replace=False)]
            parent, _ = max(rivals, key=lambda rival: rival[1])
            x = rng.choice(cell.neighbours(parent))
        population.append((x, float(measure(x))))
        yield x
