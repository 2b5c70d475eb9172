"""Whether searches freeze: many suggestions in a row beside earlier points, while plain expected improvement still gains.

    python -m benchmarks.peers.frozen --optimizers auto --runs benchmarks/peers/runs

Of every run without noise in a space of floats, the first ``ROW`` suggestions in a row that all lie within ``NEAR`` of a
point before them (Euclidean, on the unit cube) are sought. From the data before them plain expected improvement (``gp_ei``)
goes on for as many evaluations as the run had left. The run counts as frozen if that halves the regret it ended with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from benchmarks.peers import problems, store
from benchmarks.peers.hosts import LocalHost
from benchmarks.peers.problems import PeerProblem
from benchmarks.peers.protocol import Run
from benchmarks.peers.spaces import is_continuous

#: Suggestions in a row, and how near an earlier point they are.
ROW, NEAR = 20, 0.01
#: Share of the regret to which plain expected improvement must bring it.
HALF = 0.5
#: The method that goes on.
PLAIN = "gp_ei"
Array = npt.NDArray[np.float64]


def repeating_from(points: Array, initial: int) -> int | None:
    """Return the number of points before the first suggestions in a row that lie near earlier points; ``None`` without.

    Args:
        points: Points of a run on the unit cube in their order, `n x d`.
        initial: Number of initial points, which are no suggestions.
    """
    in_row = 0
    for i in range(initial, len(points)):
        away = np.sqrt(np.square(points[:i] - points[i]).sum(axis=1)).min(initial=np.inf)
        in_row = in_row + 1 if away <= NEAR else 0
        if in_row == ROW:
            return i + 1 - ROW
    return None


def continued(problem: PeerProblem, seed: int, run: Run, known: int) -> float:
    """Return the best value that plain expected improvement finds from the first points of a run, in as many evaluations."""
    host = LocalHost(PLAIN)
    host.start(problem.space, seed, problem.n_initial)
    for point, value in zip(run.points[:known], run.measured[:known], strict=True):
        host.tell(dict(zip(problem.space, point, strict=True)), value)
    best = min(run.values[:known])
    for number in range(known, len(run.values)):
        params = host.ask().params
        measured, value = problem.evaluate(params, seed, number)
        host.tell(params, measured)
        best = min(best, value)
    return best


def main(arguments: list[str] | None = None) -> None:
    """Print how many runs repeat themselves, and which of them are frozen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizers", default="auto", help="names, separated by commas")
    parser.add_argument("--runs", type=Path, nargs="+", default=[store.FOLDER], help="folders of the finished runs")
    given = parser.parse_args(arguments)
    for optimizer in given.optimizers.split(","):
        looked, repeating, frozen = 0, 0, list[str]()
        finished = {key: run for key, run in store.runs(*given.runs).items() if key[0] == optimizer}
        for (_, name, seed), run in tqdm(finished.items(), mininterval=5.0, desc=optimizer):
            problem = problems.get(name, seed)
            if problem.noise or not is_continuous(problem.space):
                continue
            looked += 1
            places = [[p.to_unit(v) for p, v in zip(problem.space.values(), x, strict=True)] for x in run.points]
            if (known := repeating_from(np.asarray(places), problem.n_initial)) is None:
                continue
            repeating += 1
            regret, plain = (v - problem.optimum for v in (min(run.values), continued(problem, seed, run, known)))
            if plain < HALF * regret:
                frozen.append(f"{name} {seed}: from {known} on, regret {regret:.3g}, plain improvement {plain:.3g}")
        print(f"{optimizer}: {looked} runs without noise, {repeating} of them repeat themselves, {len(frozen)} frozen")
        print(*frozen, sep="\n")


if __name__ == "__main__":
    main()
