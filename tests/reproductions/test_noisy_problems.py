"""Noisy objectives of Stanton et al. and Kim et al.: reference values, known optima, noise of the stated variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.problems import NoisyProblem
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


@pytest.mark.parametrize(("key", "noisy"), [("locbo_1d", locbo_1d()), ("locbo_ackley", ackley2_heteroscedastic())])
def test_reference_kim2025(key: str, noisy: NoisyProblem, golden: Callable[[str], Any]) -> None:
    cases = golden("heteroscedastic_functions")[key]["cases"]
    X = column(cases, "x").reshape(len(cases), -1)
    np.testing.assert_allclose(noisy.problem(X), column(cases, "f"), atol=1e-12)
    np.testing.assert_allclose(noisy.noise_std(X) ** 2, column(cases, "noise_var"), atol=1e-12)


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
def test_a_local_search_from_the_best_of_many_finds_the_optimum(noisy: NoisyProblem) -> None:
    p = noisy.problem
    assert p.direction == "maximize"
    np.testing.assert_allclose(p(p.optimizers), p.optimum, atol=1e-12)
    X = p.from_unit(np.random.default_rng(1).uniform(size=(100_000, p.dimension)))
    starts = X[np.argsort(-p(X))[:5]]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    ends = [
        minimize(lambda x: -float(p(x[None])[0]), x, method="Nelder-Mead", bounds=p.bounds, options=options).fun
        for x in starts
    ]
    assert -min(ends) == pytest.approx(p.optimum, abs=1e-9)


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="'paper' or 'repository', got 'code'"):
        sinc("code")  # pyright: ignore[reportArgumentType]
    for slope in (-1.0, float("nan")):
        with pytest.raises(RecipeError, match="noise_slope must be finite"):
            double_knot(slope)
