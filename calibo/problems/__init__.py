"""Test problems with known optima, and noise for their measurements."""

from calibo.problems.box import BoxProblem
from calibo.problems.environmental import CompositeProblem, environmental
from calibo.problems.hpo_tables import FCNET, HPOBENCH, TableProblem, fcnet, hpobench
from calibo.problems.nas_bench_201 import NAS_BENCH_201, nas_bench_201
from calibo.problems.noisy import NoisyProblem, NormNoise, with_noise
from calibo.problems.synthetic import Problem, ackley, problem

__all__ = [
    "FCNET",
    "HPOBENCH",
    "NAS_BENCH_201",
    "BoxProblem",
    "CompositeProblem",
    "NoisyProblem",
    "NormNoise",
    "Problem",
    "TableProblem",
    "ackley",
    "environmental",
    "fcnet",
    "hpobench",
    "nas_bench_201",
    "problem",
    "with_noise",
]
