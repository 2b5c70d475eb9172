"""Problems of several objectives: against BoTorch's functions, and the volume that fronts dominate."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from calibo.problems import problem as problem_of
from reproductions.stanton2023.multi_objective import MultiObjectiveProblem, branin_currin, penicillin

PROBLEMS = (branin_currin(), penicillin())


def points(problem: MultiObjectiveProblem, count: int, seed: int = 0) -> np.ndarray:
    return problem.from_unit(np.random.default_rng(seed).random((count, problem.dimension)))


@pytest.mark.extras
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_outcomes_are_those_of_botorch(problem: MultiObjectiveProblem) -> None:
    import torch
    from botorch.test_functions import multi_objective as functions

    theirs = {"branin_currin": functions.BraninCurrin, "penicillin": functions.Penicillin}[problem.name]()
    assert problem.box == tuple(theirs._bounds)
    assert problem.reference == tuple(theirs._ref_point)
    assert problem.best_hypervolume == theirs.max_hv
    # Steps of one hour amplify rounding once glucose is nearly used up, so a few places (one in some thousands) differ.
    X = points(problem, 1000)
    np.testing.assert_allclose(problem(X), theirs(torch.as_tensor(X)).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_points_are_evaluated_independently(problem: MultiObjectiveProblem) -> None:
    X = points(problem, 6, seed=1)
    Y = pickle.loads(pickle.dumps(problem))(X)
    np.testing.assert_allclose(Y, np.concatenate([problem(x[None]) for x in X]), rtol=1e-12)
    assert problem(X[:0]).shape == (0, problem.objectives)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_random_points_dominate_less_than_the_best_front(problem: MultiObjectiveProblem) -> None:
    Y = problem(points(problem, 400, seed=2))
    assert problem.best_hypervolume is not None
    few, many = problem.hypervolume(Y[:100]), problem.hypervolume(Y)
    assert 0.2 * problem.best_hypervolume < few < many < problem.best_hypervolume
    assert problem.hypervolume(np.array([problem.reference])) == 0.0


def test_the_best_front_of_branin_currin_is_nearly_reached_by_a_fine_grid() -> None:
    problem = branin_currin()
    x = np.linspace(0.0, 1.0, 401)
    grid = np.array(np.meshgrid(x, x)).reshape(2, -1).T
    assert problem.best_hypervolume is not None
    assert 0.98 < problem.hypervolume(problem(grid)) / problem.best_hypervolume < 1.0


def test_the_hypervolume_turns_objectives_that_are_maximised() -> None:
    turned = replace(branin_currin(), directions=("minimize", "maximize"), reference=(18.0, 2.0))
    # A box from the reference to one outcome.
    assert turned.hypervolume([[10.0, 5.0]]) == pytest.approx(8.0 * 3.0)
    assert turned.hypervolume([[10.0, 1.0]]) == 0.0


def test_branin_currin_has_the_values_of_its_formulas() -> None:
    problem = branin_currin()
    (first, second) = problem.objective({"x0": 0.5, "x1": 0.0})
    assert first == pytest.approx(problem_of("branin")([[2.5, 0.0]])[0])
    # Where x1 = 0 the factor is 1: (2300/8 + 1900/4 + 2092/2 + 60) / (100/8 + 500/4 + 2 + 20)
    assert second == pytest.approx(1868.5 / 159.5)


def test_a_batch_ends_when_the_vessel_is_full_or_glucose_is_used_up() -> None:
    problem = penicillin()
    # Hardly any glucose and hardly any feed: biomass eats it within a few hours.
    starving = [[100.0, 18.0, 298.0, 0.05, 0.01, 500.0, 5.5]]
    # Nearly the largest volume there is, much feed: the vessel is full first (180 l), after less than 60 / 0.35 hours.
    filling = [[120.0, 0.5, 293.0, 18.0, 0.5, 500.0, 5.5]]
    assert problem(starving)[0, 2] < 10
    hours = problem(filling)[0, 2]
    assert 60.0 / 0.5 < hours < 60.0 / 0.1
    assert problem([[60.0, *filling[0][1:]]])[0, 2] > hours
