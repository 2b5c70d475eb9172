"""LFBO and BORE with the network on the FCNet tables, as the published code does it, apart from calibo's optimizer.

Is LFBO behind BORE with the MLP (Figure 4) because of our network, labels or search? Here only the tables and the steps of
Adam are calibo's. As in the published code one network (three hidden layers of 32, Glorot's weights) is trained on from
search step to search step, about 100 steps of Adam each, from the tenth result on. Candidates are either 5,000 points of the
cube of all features, of which the chosen one is rounded to a configuration ("relaxed", as published), or 5,000
configurations of which one not yet measured is taken ("configurations"). A measurement is one training drawn at random among
those stored ("trainings", as published), or the mean of all ("means").

Run with ``python reproductions/song2022/published.py --seeds 40``; a search takes a second or two of computing. Finished
ones are kept in ``results/published.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

import numpy as np
from harness import present_commit
from runs import table_of
from settings import BORE, CANDIDATES, FCNET, GAMMA, LFBO

from calibo.data import Array
from calibo.networks import CrossEntropy, Networks, Training, TrainingState, descend
from calibo.problems import TableProblem
from calibo.spaces import Categorical

RESULTS = Path(__file__).parent / "results" / "published.jsonl"
RELAXED, CONFIGURATIONS = "relaxed", "configurations"
TRAININGS, MEANS = "trainings", "means"
WAYS = (LFBO, BORE)
INITIAL, STEPS, BATCH, EPOCHS, WIDTH = 10, 60, 64, 100, 32
#: Configurations of a step that are looked through for a new one.
_LOOKED_AT = 200


@dataclass(frozen=True, eq=False)
class Encoding:
    """Features of the configurations of a table: one number for ordered parameters, an indicator for each of other choices.

    Attributes:
        task: The table.
    """

    task: TableProblem

    @cached_property
    def columns(self) -> list[tuple[int, bool]]:
        """Numbers of choices of the parameters, and whether these are unordered."""
        return [
            (size, isinstance(parameter, Categorical))
            for size, parameter in zip(self.task.shape, self.task.space().values(), strict=True)
        ]

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(size if unordered else 1 for size, unordered in self.columns)

    def features(self, rows: np.ndarray) -> Array:
        """Return the features, n x D, of rows of the table."""
        chosen = np.unravel_index(rows, self.task.shape)
        parts = [
            np.eye(size)[choice] if unordered else ((choice + 0.5) / size)[:, None]
            for choice, (size, unordered) in zip(chosen, self.columns, strict=True)
        ]
        return np.hstack(parts)

    def rows(self, features: Array) -> np.ndarray:
        """Return the rows of the configurations that points of the cube of features, n x D, are rounded to."""
        chosen, at = [], 0
        for size, unordered in self.columns:
            wide = size if unordered else 1
            part = features[:, at : at + wide]
            chosen.append(part.argmax(axis=1) if unordered else np.minimum((part[:, 0] * size).astype(int), size - 1))
            at += wide
        return np.asarray(np.ravel_multi_index(tuple(chosen), self.task.shape))


def labelled(X: Array, y: Array, way: str) -> tuple[Array, Array, Array]:
    """Return points, labels and weights; outcomes y are minimized."""
    tau = np.quantile(y, GAMMA)
    good = y < tau
    if way == BORE:
        return X, good.astype(np.float64), np.ones(len(y))
    gain, s1, s0 = (tau - y)[good], int(good.sum()), len(y)
    weights = np.concatenate([gain / gain.mean() * (s1 + s0) / s1, np.full(s0, (s1 + s0) / s0)])
    return np.vstack([X[good], X]), np.repeat([1.0, 0.0], [s1, s0]), weights / weights.mean()


def trained(
    state: TrainingState, X: Array, z: Array, weights: Array, epochs: int, rng: np.random.Generator
) -> TrainingState:
    """Return the network after some epochs, each in a new order."""
    if len(X) <= BATCH:
        batches = np.broadcast_to(np.arange(len(X)), (epochs, 1, len(X)))
    else:
        filled = -(-len(X) // BATCH) * BATCH
        orders = [np.pad(rng.permutation(len(X)), (0, filled - len(X)), constant_values=-1) for _ in range(epochs)]
        batches = np.concatenate(orders).reshape(-1, 1, BATCH)
    return descend(state, X, z, batches, Training(CrossEntropy(), 1e-3, per_row=True), weights=weights)


def search(problem: str, way: str, candidates: str, measured: str, seed: int) -> list[float]:
    """Return the regret of the best measured configuration after each evaluation from the initial ones on."""
    task = table_of(problem)
    encoding, rng = Encoding(task), np.random.default_rng([seed, 7])
    measure = task.objective if measured == MEANS else partial(task.measure, rng=np.random.default_rng([seed, 2]))
    rows = [int(row) for row in np.random.default_rng([seed, 1]).choice(task.size, INITIAL, replace=False)]
    y = [measure(task.params(row)) for row in rows]
    sizes = (encoding.width, WIDTH, WIDTH, WIDTH, 1)
    limits = [(6.0 / (a + b)) ** 0.5 for a, b in pairwise(sizes)]
    state = TrainingState.initial(Networks.uniform(sizes, weights=limits, rng=rng))
    for _ in range(STEPS):
        points = labelled(encoding.features(np.array(rows)), np.array(y), way)
        state = trained(state, *points, EPOCHS // -(-len(rows) // BATCH), rng)
        rows.append(_chosen(state.networks, encoding, candidates, rows, rng))
        y.append(measure(task.params(rows[-1])))
    best = [rows[int(np.argmin(y[:n]))] for n in range(INITIAL, len(y) + 1)]
    return [float(task.regret(task.params(row))) for row in best]


def _chosen(
    networks: Networks, encoding: Encoding, candidates: str, known: Sequence[int], rng: np.random.Generator
) -> int:
    """Return the row of the candidate with the largest output."""
    if candidates == RELAXED:
        X = rng.random((CANDIDATES, encoding.width))
        return int(encoding.rows(X[[int(np.argmax(networks(X)[0, :, 0]))]])[0])
    rows = rng.integers(encoding.task.size, size=CANDIDATES)
    order = np.argsort(-networks(encoding.features(rows))[0, :, 0])[:_LOOKED_AT]
    new = [int(row) for row in rows[order] if row not in known]
    return new[0] if new else int(rng.integers(encoding.task.size))


@dataclass(frozen=True)
class Pair:
    """Searches of LFBO and BORE from the same start.

    Attributes:
        measured: What a measurement is.
        candidates: What is chosen from.
        problem: The table.
        seed: Of the start, the measurements and the networks.
    """

    measured: str
    candidates: str
    problem: str
    seed: int


def known(runs: Sequence[dict[str, object]]) -> dict[Pair, dict[str, float]]:
    """Return the mean regret over the second half of the evaluations of both ways, by pair."""
    found: dict[Pair, dict[str, float]] = {}
    for run in runs:
        pair = Pair(str(run["measured"]), str(run["candidates"]), str(run["problem"]), int(str(run["seed"])))
        found.setdefault(pair, {})[str(run["way"])] = float(str(run["late"]))
    return found


def summary(runs: Sequence[dict[str, object]]) -> str:
    """Return in how many pairs each way has the smaller regret, and how many there are, as markdown."""
    both = {pair: ways for pair, ways in known(runs).items() if len(ways) == len(WAYS)}
    lines = ["| measured | candidates | LFBO ahead | BORE ahead | searches of each |", "|---|---|---|---|---|"]
    for measured, candidates in product((TRAININGS, MEANS), (RELAXED, CONFIGURATIONS)):
        here = [w for pair, w in both.items() if (pair.measured, pair.candidates) == (measured, candidates)]
        ahead = [sum(sign * (ways[LFBO] - ways[BORE]) < 0.0 for ways in here) for sign in (1, -1)]
        lines.append(f"| {measured} | {candidates} | {ahead[0]} | {ahead[1]} | {len(here)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, seed by seed, and print who is ahead how often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--table", action="store_true", help="run nothing; print what is stored")
    arguments = parser.parse_args()
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    runs, commit = [json.loads(line) for line in lines], present_commit()
    done = known(runs)
    wanted = product(range(arguments.seeds), (TRAININGS, MEANS), (RELAXED, CONFIGURATIONS), FCNET, WAYS)
    for seed, measured, candidates, problem, way in wanted if not arguments.table else ():
        if way not in done.get(Pair(measured, candidates, problem, seed), ()):
            curve = search(problem, way, candidates, measured, seed)
            late = float(np.mean(curve[len(curve) // 2 :]))
            job = {"problem": problem, "way": way, "candidates": candidates, "measured": measured, "seed": seed}
            runs.append({**job, "regret": curve[-1], "late": late, "commit": commit})
            with RESULTS.open("a") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    print(summary(runs))


if __name__ == "__main__":
    main()
