"""Objectives to test on, with known optima, and how they are measured."""

from calibo.problems.environmental import CompositeProblem, environmental
from calibo.problems.heteroscedastic import ackley2_heteroscedastic, double_knot, double_knot_as_printed, locbo_1d, sinc
from calibo.problems.hpo_tables import FCNET, HPOBENCH, TableProblem, fcnet, hpobench
from calibo.problems.multi_objective import MultiObjectiveProblem, branin_currin, penicillin
from calibo.problems.nas_bench_201 import NAS_BENCH_201, nas_bench_201
from calibo.problems.noisy import NoisyProblem, with_noise
from calibo.problems.radio import RadioNetwork, RadioProblem, published_fading, radio
from calibo.problems.radio_layout import Layout, published_layout
from calibo.problems.rkhs import RKHSFunction, rkhs_function, rkhs_problem
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
    "CompositeProblem",
    "environmental",
    "MultiObjectiveProblem",
    "branin_currin",
    "penicillin",
    "NoisyProblem",
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
    "ackley2_heteroscedastic",
    "double_knot",
    "double_knot_as_printed",
    "locbo_1d",
    "sinc",
    "RadioNetwork",
    "RadioProblem",
    "published_fading",
    "radio",
    "Layout",
    "published_layout",
    "RKHSFunction",
    "rkhs_function",
    "rkhs_problem",
    "FCNET",
    "HPOBENCH",
    "TableProblem",
    "fcnet",
    "hpobench",
    "NAS_BENCH_201",
    "nas_bench_201",
]
