"""Peers and problems that need optional packages: BBOB functions, tables of networks, GPSampler, CMA-ES and BoTorch."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import problems
from benchmarks.peers.hosts import LocalHost
from benchmarks.peers.protocol import Job, perform

pytestmark = pytest.mark.extras


def test_all_problems_are_there_and_their_optima_are_not_beaten() -> None:
    for name in problems.SUITES["all"] + problems.SUITES["long"]:
        problem = problems.get(name, 0)
        assert problem.family == problems.family_of(name)
        assert problem.scale > 0
        if problem.family != "trainings":
            assert all(problem.value(params) >= problem.optimum for params in problem.initial(0))


def test_noise_has_the_stated_spread_and_is_the_same_for_all() -> None:
    problem = problems.get("bbob_f5_5d_noisy", 2)
    params = problem.initial(2)[0]
    noise = np.array([problem.evaluate(params, 2, number)[0] for number in range(400)]) - problem.value(params)
    # Five standard errors: a false alarm in two million.
    assert noise.std() == pytest.approx(problem.noise, rel=5 / np.sqrt(800))
    assert problem.noise == pytest.approx(0.1 * problem.scale)
    assert problem.evaluate(params, 2, 7) == problem.evaluate(params, 2, 7)


@pytest.mark.parametrize(
    ("optimizer", "problem"),
    [
        ("optuna_gp", "bbob_f7_5d"),
        ("optuna_cmaes", "bbob_f7_5d"),
        ("botorch", "bbob_f7_5d"),
        ("botorch", "hpobench_car"),
    ],
)
def test_peers_suggest_points_of_the_space(optimizer: str, problem: str) -> None:
    found = perform(Job(optimizer, problem, 0, 8), LocalHost(optimizer))
    assert len(found.values) == 8
    assert all(forecast is not None for forecast in found.forecasts) == (optimizer == "botorch")


def test_auto_sampler_without_categories_is_gp_sampler() -> None:
    one, other = (perform(Job(name, "bbob_f7_5d", 0, 8), LocalHost(name)) for name in ("optuna_auto", "optuna_gp"))
    assert one.points == other.points


def test_botorch_takes_categories() -> None:
    space = problems.get("train_linear_wine", 0)
    found = perform(Job("botorch", "train_linear_wine", 0, 9), LocalHost("botorch"))
    assert len(found.values) == 9 and len(found.points[-1]) == len(space.space)
