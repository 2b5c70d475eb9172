"""What the default acts on with one part changed at a time, in whole searches, to see what each part is worth.

    python -m benchmarks.peers.ablation --problems bbob5,noisy --seeds 20-23 --variants auto,without_ranks
    python -m benchmarks.peers.ablation --table

Only what the search acts on is run (`continued.Acting`), not the forecasts that are shown, which do not change where it goes:
60 evaluations from the initial points that all optimizers are given. Finished rows are in ``results/ablation.csv``, whose
columns are those of ``continued.csv``, and are not done again; ``--table`` writes the table of docs/choosing.md.
"""

from __future__ import annotations

import os

from benchmarks.peers.hosts import THREADS

os.environ.update(THREADS)

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers import continued, problems, summary
from benchmarks.peers.continued import NOISE, Acting
from benchmarks.peers.run import deadline, names_of, seeds_of
from calibo.acquisition import ExpectedImprovement, ImprovementInTurns, NoisyExpectedImprovement
from calibo.data import Dataset
from calibo.models import RBF, GaussianProcess, InputWarping, IntegratedGP, Matern32, Matern52
from calibo.optimize.auto import acts_on_ranks
from calibo.search import Plan

PATH = Path(__file__).parents[1] / "results" / "ablation.csv"
EVALUATIONS = 60
FAMILIES = {"bbob5": "5-D", "bbob10": "10-D", "noisy": "5-D, noisy", "trainings": "trainings", "tables": "tables"}


@dataclass(frozen=True)
class UnrankedUnderNoise(Acting):
    """Act on ranks, but on outcomes as they are where measurements look noisy to the model of ranks."""

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        state = rng.bit_generator.state
        plan = super().plan(data, rng=rng)
        if plan.rule != ImprovementInTurns.__name__ or not acts_on_ranks(data):
            return plan
        rng.bit_generator.state = state
        return Acting(self.process, self.rule, ranks=False).plan(data, rng=rng)


#: The default, and what is changed.
VARIANTS: dict[str, Acting] = {
    "auto": Acting(),
    "without_ranks": Acting(ranks=False),
    "unranked_noise": UnrankedUnderNoise(),
    "never_noisy": Acting(rule=ExpectedImprovement()),
    "always_noisy": Acting(rule=NoisyExpectedImprovement(draws=64)),
    "without_steps": Acting(steps=False),
    "matern32": Acting(GaussianProcess(Matern32(), noise=NOISE)),
    "rbf": Acting(GaussianProcess(RBF(), noise=NOISE)),
    "narrow_noise": Acting(GaussianProcess()),
    "warped_inputs": Acting(GaussianProcess(Matern52(), warping=InputWarping(), noise=NOISE)),
    "quadratic_trend": Acting(GaussianProcess(Matern52(), trend="quadratic", noise=NOISE)),
    "integrated": Acting(IntegratedGP(GaussianProcess(noise=NOISE), draws=4)),
}


def markdown(frame: pd.DataFrame) -> str:
    """Return the table of all variants against the default, by family of problems."""
    logs = continued.log_regrets(frame)
    families = logs.index.get_level_values("problem").map(problems.family_of)
    cpu = frame.groupby("variant")["seconds"].median()
    rows = []
    for variant in (name for name in VARIANTS if name != "auto" and name in logs):
        gaps = logs[variant] - logs["auto"]
        cells = [continued.cell(gaps[families == family].dropna()) for family in FAMILIES]
        rows.append((f"`{variant}`", *cells, f"{cpu[variant]:.3f}", str(int(gaps.notna().sum()))))
    rows.append(("`auto`", *("0" for _ in FAMILIES), f"{cpu['auto']:.3f}", str(int(logs["auto"].notna().sum()))))
    return summary.table(("variant", *FAMILIES.values(), "CPU s", "pairs"), rows)


def main(arguments: list[str] | None = None) -> None:
    """Run what is not done yet, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", default=",".join(VARIANTS), help="names, separated by commas; auto is needed too")
    parser.add_argument("--problems", default="bbob5,noisy", help="suites or problems, separated by commas")
    parser.add_argument("--seeds", default="20-23")
    parser.add_argument("--results", type=Path, default=PATH)
    parser.add_argument("--deadline", help="HH:MM, local time, after which none is begun")
    parser.add_argument("--table", action="store_true", help="only write the table into docs/choosing.md")
    given = parser.parse_args(arguments)
    if given.table:
        summary.write(continued.PAGE, "ablation", markdown(continued.load(given.results)))
        return
    until = deadline(given.deadline)
    known = continued.load(given.results)[["variant", "problem", "seed"]].itertuples(index=False, name=None)
    done = {(str(v), str(p), int(s)) for v, p, s in known}
    for seed in seeds_of(given.seeds):
        for name in names_of(given.problems):
            for variant in given.variants.split(","):
                if (variant, name, seed) not in done and time.time() < until:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        row = continued.searched(
                            variant, VARIANTS[variant], problems.get(name, seed), seed, EVALUATIONS
                        )
                        continued.add(given.results, row)


if __name__ == "__main__":
    main()
