"""Are stated probabilities of feasibility right wherever they are shown: at the next query, at fresh points, near the best.

Run with ``python benchmarks/feasibility.py``; ``--quick`` does a small part, and ``--further`` nine problems that nothing was
chosen on, in five of which the search is driven into a corner. On five problems with one or two constraints, after 15, 30
and 60 evaluations, the probability that a measurement meets all constraints (the column ``feasible`` of
``Optimizer.predict``, by which the acquisition function is multiplied) is compared with whether it did, at 200 uniform
points, at 60 points within .05 of the best one, and at the search's own next query, grouped by the stated probability.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from calibo import Float, Optimizer
from calibo.data import Array
from calibo.diagnostics import stated_feasibility
from calibo.problems import problem

SIZES = (15, 30, 60)
PLACES = ("next", "fresh", "near")
FRESH, NEAR, RADIUS = 200, 60, 0.05
EDGES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 1.0)
METHODS = ("gp_ei", "ocbo")
RESULTS = Path(__file__).parent / "results" / "feasibility.json"


@dataclass(frozen=True)
class Constrained:
    """A problem on the unit cube: objective and constraints (met where not positive) of `n x d` points, and noise."""

    dimension: int
    objective: Callable[[Array], Array]
    constraints: Callable[[Array], Array]
    noise: float = 0.0


def scaled(name: str) -> Callable[[Array], Array]:
    """Return a known problem as a function of points of the unit cube."""
    known = problem(name)
    low, high = np.array(known.box).T
    return lambda U: known(low + (high - low) * U)


def _waves(U: Array) -> Array:
    x, y = (6.0 * U).T
    return (np.sin(x) * np.sin(y) + 0.95)[:, None]


def _disk(U: Array) -> Array:
    x, y = (15.0 * U - np.array([5.0, 0.0])).T
    return ((x - 2.5) ** 2 + (y - 7.5) ** 2 - 50.0)[:, None]


def _budget(U: Array) -> Array:
    steep = np.expm1(3.0 * U[:, :3]).sum(axis=1) - 14.0
    return np.stack([steep, 0.6 - np.abs(U[:, 3:] - 0.4).sum(axis=1)], axis=1)


def _ellipse(U: Array) -> Array:
    return (100.0 * (U[:, 0] - 0.5) ** 2 + 10.0 * (U[:, 1] - 0.3) ** 2 + np.square(U[:, 2:] - 0.5).sum(axis=1) - 6.0)[
        :, None
    ]


TASKS: dict[str, Constrained] = {
    "branin in a disk": Constrained(2, scaled("branin"), _disk),
    "waves": Constrained(2, lambda U: np.cos(12.0 * U[:, 0]) * np.cos(6.0 * U[:, 1]) - U.sum(axis=1), _waves),
    "hartmann6, two budgets": Constrained(6, scaled("hartmann6"), _budget),
    "levy4 in an ellipse": Constrained(4, scaled("levy4"), _ellipse),
    "noisy branin in a disk": Constrained(2, scaled("branin"), _disk, 5.0),
}


def _gardner(U: Array) -> Array:
    x, y = (6.0 * U).T
    return np.cos(2.0 * x) * np.cos(y) + np.sin(x)


def _gardner_limit(U: Array) -> Array:
    return (np.cos((6.0 * U).sum(axis=1)) + 0.5)[:, None]


def _rosenbrock_limits(U: Array) -> Array:
    x, y = (np.array([-1.5, -0.5]) + np.array([3.0, 3.0]) * U).T
    return np.stack([(x - 1.0) ** 3 - y + 1.0, x + y - 2.0], axis=1)


def _rosenbrock(U: Array) -> Array:
    x, y = (np.array([-1.5, -0.5]) + np.array([3.0, 3.0]) * U).T
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def _gramacy_limits(U: Array) -> Array:
    x, y = U.T
    wave = 1.5 - x - 2.0 * y - 0.5 * np.sin(2.0 * np.pi * (x**2 - 2.0 * y))
    return np.stack([wave, x**2 + y**2 - 1.5], axis=1)


def _rippled_ball(U: Array) -> Array:
    ripples = 0.06 * np.sin(18.0 * U[:, 0]) * np.cos(14.0 * U[:, 1])
    return (np.linalg.norm(U - 0.5, axis=1) + ripples - 0.42)[:, None]


def linear_under(name: str, weights: tuple[float, ...], share: float) -> Constrained:
    """Return a linear objective where a known function is among its smallest values, in a share of the cube."""
    value, d = scaled(name), len(problem(name).box)
    limit = float(np.quantile(value(np.random.default_rng(0).random((4000, d))), share))
    slope = np.resize(weights, d)
    return Constrained(d, lambda U: U @ slope, lambda U: (value(U) - limit)[:, None])


#: Problems that nothing was chosen on.
FURTHER: dict[str, Constrained] = {
    "gardner": Constrained(2, _gardner, _gardner_limit),
    "rosenbrock, two limits": Constrained(2, _rosenbrock, _rosenbrock_limits),
    "gramacy": Constrained(2, lambda U: U.sum(axis=1), _gramacy_limits),
    "hartmann3 in a rippled ball": Constrained(3, scaled("hartmann3"), _rippled_ball),
    "linear under hartmann6": linear_under("hartmann6", (1.0, 0.5, -0.3), 0.3),
    "linear under alpine4": linear_under("alpine1_4", (1.0, -1.0), 0.35),
    "linear under the camel": linear_under("six_hump_camel", (1.0, 0.6), 0.35),
    "linear under levy4": linear_under("levy4", (-1.0, 0.4), 0.3),
    "linear under branin": linear_under("branin", (0.7, 1.0), 0.3),
}


def run(task: str, method: str, seed: int) -> list[tuple[str, int, float, bool]]:
    """Run one study; return place, size, stated probability, and whether the constraints were met, of each point."""
    warnings.simplefilter("ignore")
    truth, rng = (TASKS | FURTHER)[task], np.random.default_rng([seed, 1])
    names = [f"x{j}" for j in range(truth.dimension)]
    optimizer = Optimizer({name: Float(0, 1) for name in names}, method, seed=seed)

    def slack(U: Array) -> Array:
        exact = truth.constraints(U)
        return exact + truth.noise * rng.standard_normal(exact.shape)

    found: list[tuple[str, int, float, bool]] = []
    for t in range(max(SIZES) + 5):
        if t in SIZES:
            found += elsewhere(optimizer, names, slack, t, seed)
        suggestion = optimizer.ask()
        U = np.array([[suggestion.params[name] for name in names]])
        limits = slack(U)[0]
        size = next((n for n in SIZES if n - 5 <= t < n + 5), None)
        if size is not None and suggestion.forecasts and suggestion.constraints:
            found.append(("next", size, stated_feasibility(suggestion.forecasts[1:]), bool((limits <= 0.0).all())))
        value = float(truth.objective(U)[0]) + truth.noise * rng.standard_normal()
        optimizer.tell(suggestion, value, constraints={f"c{i}": float(v) for i, v in enumerate(limits)})
    return found


def elsewhere(
    optimizer: Optimizer, names: list[str], slack: Callable[[Array], Array], n: int, seed: int
) -> list[tuple[str, int, float, bool]]:
    """Compare stated probabilities with measurements at fresh points, and near the best feasible one."""
    draw, d = np.random.default_rng([seed, n, 2]), len(names)
    places = {"fresh": draw.random((FRESH, d))}
    if optimizer.data().feasible.any():
        best = np.array([optimizer.best[0][name] for name in names])
        places["near"] = np.clip(best + draw.uniform(-RADIUS, RADIUS, (NEAR, d)), 0.0, 1.0)
    found = []
    for place, U in places.items():
        stated = optimizer.predict([dict(zip(names, map(float, u), strict=True)) for u in U])["feasible"]
        met = (slack(U) <= 0.0).all(axis=1)
        found += [(place, n, float(p), bool(m)) for p, m in zip(stated, met, strict=True)]
    return found


def table(rows: list[tuple[str, int, float, bool]]) -> list[dict[str, float | str]]:
    """Return the share of points that met the constraints, by place and stated probability."""
    lines: list[dict[str, float | str]] = []
    for place in PLACES:
        stated = np.array([p for where, _, p, _ in rows if where == place])
        met = np.array([m for where, _, _, m in rows if where == place])
        group = np.clip(np.searchsorted(EDGES, stated, side="right") - 1, 0, len(EDGES) - 2)
        for g in range(len(EDGES) - 1):
            inside = group == g
            if inside.any():
                lines.append(
                    {
                        "place": place,
                        "from": EDGES[g],
                        "to": EDGES[g + 1],
                        "points": int(inside.sum()),
                        "stated": float(stated[inside].mean()),
                        "met": float(met[inside].mean()),
                    }
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--further", action="store_true", help="the problems that nothing was chosen on")
    parser.add_argument("--quick", action="store_true", help="one seed; nothing is written")
    arguments = parser.parse_args()
    tasks, results = FURTHER if arguments.further else TASKS, {}
    for method in arguments.methods:
        jobs = [(task, method, seed) for task in tasks for seed in range(1 if arguments.quick else arguments.seeds)]
        with ProcessPoolExecutor(arguments.jobs) as pool:
            rows = [row for part in tqdm(pool.map(run, *zip(*jobs, strict=True)), total=len(jobs)) for row in part]
        name = f"{method}, further" if arguments.further else method
        results[name] = table(rows)
        print(f"\n| place ({name}) | stated | points | mean stated | met |\n|---|---|---|---|---|")
        for line in results[name]:
            cells = (line["place"], f"{line['from']} to {line['to']}", line["points"])
            print("|", " | ".join(map(str, cells)), f"| {line['stated']:.3f} | {line['met']:.3f} |")
    if not arguments.quick:
        RESULTS.parent.mkdir(exist_ok=True)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(known | results, indent=1) + "\n")


if __name__ == "__main__":
    main()
