"""Noisy objectives of Stanton et al. and Kim et al.: reference values, known optima, noise of the stated variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from calibo.data import Array
from calibo.diagnostics import simple_regret
from calibo.errors import RecipeError
from calibo.problems import NoisyProblem, ackley
from reproductions.kim2025.problems import ackley2_heteroscedastic, locbo_1d
from reproductions.stanton2023.problems import double_knot, double_knot_as_printed, sinc

PROBLEMS: tuple[Callable[[], NoisyProblem], ...] = (sinc, double_knot, locbo_1d, ackley2_heteroscedastic)


def column(cases: list[dict[str, Any]], key: str) -> Array:
    return np.array([case[key] for case in cases], dtype=np.float64)


def test_reference_sinc(golden: Callable[[str], Any]) -> None:
    cases = golden("heteroscedastic_functions")["sinc"]["cases"]
    X = column(cases, "x")[:, None]
    np.testing.assert_allclose(sinc().problem(X), column(cases, "f"), atol=1e-12)
    np.testing.assert_allclose(sinc().noise_std(X) ** 2, column(cases, "eps_paper"), atol=1e-12)
    np.testing.assert_allclose(sinc("repository").noise_std(X) ** 2, column(cases, "eps_repo"), atol=1e-12)


def test_reference_double_knot(golden: Callable[[str], Any]) -> None:
    file = golden("heteroscedastic_functions")["double_knot"]
    cases, p = file["cases"], double_knot()
    X = column(cases, "x")
    np.testing.assert_array_equal(p.problem.bounds, file["domain"])
    np.testing.assert_allclose(p.problem(X), column(cases, "f_repo_gramacy"), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(double_knot_as_printed(X), column(cases, "f_paper_printed"), rtol=1e-12)
    np.testing.assert_allclose(p.noise_std(X) ** 2, column(cases, "noise_repo_intended_0p1_norm"), atol=1e-12)
    np.testing.assert_allclose(double_knot(1.0).noise_std(X) ** 2, column(cases, "noise_paper_norm2"), atol=1e-12)


def test_reference_locbo_1d(golden: Callable[[str], Any]) -> None:
    cases = golden("heteroscedastic_functions")["locbo_1d"]["cases"]
    X = column(cases, "x")[:, None]
    np.testing.assert_allclose(locbo_1d().problem(X), column(cases, "f"), atol=1e-12)
    np.testing.assert_allclose(locbo_1d().noise_std(X) ** 2, column(cases, "noise_var"), atol=1e-12)


def test_reference_ackley(golden: Callable[[str], Any]) -> None:
    cases, p = golden("heteroscedastic_functions")["locbo_ackley"]["cases"], ackley2_heteroscedastic()
    X = column(cases, "x")
    np.testing.assert_allclose(p.problem(X), column(cases, "f"), atol=1e-12)
    np.testing.assert_allclose(p.noise_std(X) ** 2, column(cases, "noise_var"), atol=1e-12)
    np.testing.assert_array_equal(p.problem(X), -ackley(2, bound=10.0)(X))


def test_values_known_beforehand() -> None:
    assert sinc().problem([[0.0]])[0] == 3.0
    assert sinc().noise_std([[0.0]])[0] == 1.0
    assert double_knot().problem([[-np.sqrt(0.5), 0.0]])[0] == pytest.approx(0.42888194248035344, abs=1e-15)
    assert double_knot_as_printed(np.array([[-2.0, -2.0]]))[0] == pytest.approx(2 * np.exp(4))
    assert locbo_1d().problem([[0.0]])[0] == 1.0
    np.testing.assert_array_equal(double_knot().noise_std([[0.0, 0.0]]), [0.0])


def test_the_noise_of_sinc_is_quiet_on_opposite_sides() -> None:
    X = np.linspace(-10, 10, 41)[:, None]
    paper, repository = sinc("paper"), sinc("repository")
    assert np.all(np.diff(paper.noise_std(X)) < 0)
    np.testing.assert_allclose(repository.noise_std(X), paper.noise_std(-X), rtol=1e-12)
    assert paper.problem.optimum == repository.problem.optimum


@pytest.mark.parametrize("noisy", [build() for build in PROBLEMS], ids=lambda noisy: noisy.problem.name)
def test_the_optimum_is_attained_and_nothing_is_better(noisy: NoisyProblem) -> None:
    p = noisy.problem
    assert p.direction == "maximize"
    np.testing.assert_allclose(p(p.optimizers), p.optimum, atol=1e-12)
    U = np.random.default_rng(0).uniform(size=(20_000, p.dimension))
    values = p(p.from_unit(U))
    assert values.max() <= p.optimum + 1e-12
    assert np.all(np.diff(simple_regret(values, p.optimum, direction=p.direction)) <= 0)


@pytest.mark.parametrize("noisy", [build() for build in PROBLEMS], ids=lambda noisy: noisy.problem.name)
def test_a_local_search_from_the_best_of_many_finds_the_optimum(noisy: NoisyProblem) -> None:
    p = noisy.problem
    X = p.from_unit(np.random.default_rng(1).uniform(size=(100_000, p.dimension)))
    starts = X[np.argsort(-p(X))[:5]]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    ends = [
        minimize(lambda x: -float(p(x[None])[0]), x, method="Nelder-Mead", bounds=p.bounds, options=options).fun
        for x in starts
    ]
    assert -min(ends) == pytest.approx(p.optimum, abs=1e-9)


@pytest.mark.parametrize("noisy", [build() for build in PROBLEMS], ids=lambda noisy: noisy.problem.name)
def test_measurements_scatter_as_the_noise_says(noisy: NoisyProblem) -> None:
    X = noisy.problem.from_unit(np.random.default_rng(2).uniform(size=(40_000, noisy.problem.dimension)))
    scores = (noisy(X, np.random.default_rng(3)) - noisy.problem(X)) / noisy.noise_std(X)
    assert abs(scores.mean()) < 4 / np.sqrt(40_000)
    assert scores.std() == pytest.approx(1.0, abs=4 / np.sqrt(80_000))


@given(st.floats(-10, 10))
def test_sinc_is_smooth_at_zero_and_its_variance_is_the_papers(x: float) -> None:
    if abs(x) > 1e-3:
        assert sinc().problem([[x]])[0] == pytest.approx((10 * np.sin(x) + 1) * np.sin(3 * x) / x, abs=1e-10)
    else:
        assert sinc().problem([[x]])[0] == pytest.approx(3.0 + 30.0 * x, abs=2e-5)
    assert sinc().noise_std([[x]])[0] ** 2 == pytest.approx(2 / (1 + np.exp(x / 2)), abs=1e-12)


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="'paper' or 'repository', got 'code'"):
        sinc("code")  # pyright: ignore[reportArgumentType]
    for slope in (-1.0, float("nan")):
        with pytest.raises(RecipeError, match="noise_slope must be finite"):
            double_knot(slope)
