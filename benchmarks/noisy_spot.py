"""Whether a search of a noisy function goes on measuring one spot: `auto` beside plain expected improvement.

Ackley's function of two variables on [-10, 10]^2 with noise of variance (|x| + 10) / 20 (Kim et al. 2025), 5 random
points and 50 suggestions. A search is stuck if its last 30 points lie within .7 of their median and the best measured point
has a regret above 1. Run with ``python -m benchmarks.noisy_spot``; 12 seeds of both methods take half a minute.
"""

from __future__ import annotations

import argparse

import numpy as np

from calibo.data import Array
from calibo.optimize import Optimizer
from calibo.problems import NoisyProblem, NormNoise, Problem, ackley, with_noise

INITIAL, STEPS, LAST, NEAR = 5, 50, 30, 0.7


def _negated(X: Array) -> Array:
    return -ackley(2, bound=10.0)(X)


def noisy_ackley() -> NoisyProblem:
    """Return the noisy function, which is maximized."""
    box, noise = ackley(2, bound=10.0).box, NormNoise(0.05, 0.5)
    return with_noise(
        Problem("noisy_ackley", _negated, box, 0.0, direction="maximize", noise_std=noise, optimizers=((0.0, 0.0),))
    )


def one(method: str, seed: int) -> tuple[float, float]:
    """Return how far the last points lie from their median at most, and the regret of the best measured point."""
    task = noisy_ackley()
    truth, noise = task.problem, np.random.default_rng([seed, 2])
    optimizer = Optimizer(truth.space(), method, direction="maximize", seed=seed, n_initial=INITIAL)
    points = list(truth.from_unit(np.random.default_rng([seed, 1]).random((INITIAL, 2))))
    for x in points:
        optimizer.tell(dict(zip(truth.names, map(float, x), strict=True)), float(task(x[None, :], noise)[0]))
    for _ in range(STEPS):
        suggestion = optimizer.ask()
        points.append(truth.point(suggestion.params)[0])
        optimizer.tell(suggestion, task.objective(suggestion.params, noise))
    last, best = np.array(points[-LAST:]), optimizer.best[0]
    regret = truth.optimum - float(truth(np.array([[best[name] for name in truth.names]]))[0])
    return float(np.abs(last - np.median(last, axis=0)).max()), regret


def main() -> None:
    """Print medians over the seeds, and how many searches end far from the optimum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    seeds = parser.parse_args().seeds
    print("| method | stuck | median regret | regret above 4 |\n|---|---|---|---|")
    for method in ("auto", "gp_ei"):
        spread, regret = np.array([one(method, seed) for seed in range(seeds)]).T
        stuck, far = int(((spread < NEAR) & (regret > 1.0)).sum()), int((regret > 4.0).sum())
        print(f"| {method} | {stuck} of {seeds} | {np.median(regret):.2f} | {far} of {seeds} |", flush=True)


if __name__ == "__main__":
    main()
