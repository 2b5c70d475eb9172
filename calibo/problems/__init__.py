"""Test problems with known optima, and noise for their measurements."""

from calibo.problems.box import BoxProblem
from calibo.problems.environmental import CompositeProblem, environmental
from calibo.problems.hpo_tables import FCNET, HPOBENCH, TableProblem, fcnet, hpobench
from calibo.problems.nas_bench_201 import NAS_BENCH_201, nas_bench_201
from calibo.problems.noisy import NoisyProblem, NormNoise, with_noise
from calibo.problems.synthetic import (
    Problem,
    ackley,
    alpine1,
    beale,
    branin,
    cosines,
    cross_in_tray,
    drop_wave,
    forrester,
    hartmann3,
    hartmann6,
    levy,
    mccormick,
    powers,
    problem,
    rastrigin,
    rosenbrock,
    six_hump_camel,
)

__all__ = [
    "BoxProblem",
    "CompositeProblem",
    "environmental",
    "NoisyProblem",
    "NormNoise",
    "Problem",
    "ackley",
    "alpine1",
    "beale",
    "branin",
    "cosines",
    "cross_in_tray",
    "drop_wave",
    "forrester",
    "hartmann3",
    "hartmann6",
    "levy",
    "mccormick",
    "powers",
    "problem",
    "rastrigin",
    "rosenbrock",
    "six_hump_camel",
    "with_noise",
    "FCNET",
    "HPOBENCH",
    "TableProblem",
    "fcnet",
    "hpobench",
    "NAS_BENCH_201",
    "nas_bench_201",
]
