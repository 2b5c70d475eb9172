"""Outcomes that come in steps: the default's rule for them against the default without it, on staircases.

    python -m benchmarks.steps --problems in_f9_5d,out_f18_5d --seeds 10-15
    python -m benchmarks.steps --table

Staircases are made of BBOB functions (package ioh; a seed is an instance), the optimum in the middle of a step:
    in_f<function>_<d>d    coordinates are rounded to steps of .8 from the optimum, of ranges of 10
    out_f<function>_<d>d   regrets are rounded down to fiftieths of the spread of random points' values
    int_f<function>_<d>d   parameters are whole numbers, 21 of each
Any problem of the comparison with peers can be given, too. Only what the search acts on is run (`continued.Acting`), 60
evaluations. Finished rows are in ``results/steps.csv`` and are not done again; its columns are those of ``continued.csv``.
"""

from __future__ import annotations

import os

from benchmarks.peers.hosts import THREADS

os.environ.update(THREADS)

import argparse
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers import continued, problems, summary
from benchmarks.peers.continued import Acting
from benchmarks.peers.problems import PeerProblem
from benchmarks.peers.run import deadline, names_of, seeds_of
from benchmarks.peers.spaces import Parameter, Params

PATH = Path(__file__).parent / "results" / "steps.csv"
VARIANTS = {"auto": Acting(), "without_steps": Acting(steps=False)}
EVALUATIONS = 60
#: Width of the steps of coordinates, height of those of outcomes in spreads, and whole numbers to either side of 0.
_WIDTH, _HEIGHT, _WHOLE = 0.8, 0.02, 10
_NAME = re.compile(r"(in|out|int)_f(\d+)_(\d+)d")
#: The problem on which the rule was found; on staircases of seeds before the number its threshold was chosen.
FOUND, FRESH = "bbob_f7_5d", 18


def problem(name: str, seed: int) -> PeerProblem:
    """Return a staircase, or a problem of the comparison with peers, by its name."""
    if not (found := _NAME.fullmatch(name)):
        return problems.get(name, seed)
    base = problems.get(f"bbob_f{found[2]}_{found[3]}d", seed)
    optimum = _best_point(int(found[2]), int(found[3]), seed)
    keys = list(base.space)

    def at(x: np.ndarray) -> float:
        return base.value(dict(zip(keys, np.clip(x, -5.0, 5.0).tolist(), strict=True)))

    def inputs(params: Params) -> float:
        x = np.array(list(params.values()))
        return at(optimum + np.round((x - optimum) / _WIDTH) * _WIDTH)

    def outcomes(params: Params) -> float:
        height = _HEIGHT * base.scale
        return base.optimum + float(np.floor((base.value(params) - base.optimum) / height)) * height

    def whole(params: Params) -> float:
        # Shifted, so that the optimum is a whole number.
        unit = 5.0 / _WHOLE
        return at(unit * np.array(list(params.values()), dtype=np.float64) + optimum - np.round(optimum / unit) * unit)

    if found[1] == "int":
        space = {key: Parameter("int", low=-_WHOLE, high=_WHOLE) for key in base.space}
        return replace(base, name=name, space=space, value=whole)
    return replace(base, name=name, value=inputs if found[1] == "in" else outcomes)


def _best_point(function: int, d: int, seed: int) -> np.ndarray:
    import ioh

    return np.array(
        ioh.get_problem(function, instance=seed + 1, dimension=d, problem_class=ioh.ProblemClass.BBOB).optimum.x
    )


def gaps(frame: pd.DataFrame) -> pd.Series:
    """Return differences of log10 of the relative regrets, `auto` less `without_steps`, by problem and seed."""
    best = [problem(name, int(seed)).optimum for name, seed in zip(frame["problem"], frame["seed"], strict=True)]
    relative = np.maximum((frame["answer"] - best) / (frame["initial"] - best), continued.FLOOR)
    logs = frame.assign(log=np.log10(relative)).pivot_table(index=["problem", "seed"], columns="variant", values="log")
    return (logs["auto"] - logs["without_steps"]).dropna()


def markdown(frame: pd.DataFrame) -> str:
    """Return the table of the rule against none, by kind of problem."""
    found = gaps(frame)
    names, seeds = (found.index.get_level_values(level) for level in ("problem", "seed"))
    tables = names.str.startswith("hpobench")
    staircases = ~tables & (names != FOUND)
    kinds = {
        "function 7 in 5-D, on which the rule was found": names == FOUND,
        "staircases on which its threshold was chosen": staircases & (seeds < FRESH),
        "staircases that were run afterwards": staircases & (seeds >= FRESH),
        "HPOBench tables": tables,
    }
    rows = [(kind, continued.cell(found[which]), str(int(which.sum()))) for kind, which in kinds.items()]
    return summary.table(("problems", "with the rule", "pairs"), rows)


def main(arguments: list[str] | None = None) -> None:
    """Run what is not done yet, or write the table into docs/choosing.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--problems", default="in_f9_5d,in_f14_5d,in_f22_5d,bbob_f7_3d", help="names, separated by commas"
    )
    parser.add_argument("--seeds", default="10-15")
    parser.add_argument("--deadline", help="HH:MM, local time, after which none is begun")
    parser.add_argument("--table", action="store_true", help="only write the table")
    given = parser.parse_args(arguments)
    if given.table:
        summary.write(continued.PAGE, "steps", markdown(continued.load(PATH)))
        return
    until = deadline(given.deadline)
    known = continued.load(PATH)[["variant", "problem", "seed"]].itertuples(index=False, name=None)
    done = {(str(v), str(p), int(s)) for v, p, s in known}
    for seed in seeds_of(given.seeds):
        for name in names_of(given.problems):
            for variant in VARIANTS:
                if (variant, name, seed) not in done and time.time() < until:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = continued.searched(variant, VARIANTS[variant], problem(name, seed), seed, EVALUATIONS)
                        continued.add(PATH, found)


if __name__ == "__main__":
    main()
