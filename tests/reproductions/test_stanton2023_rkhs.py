"""Targets of a known norm: reference values, the norm's own meaning, optima that nothing beats."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.errors import DataError, RecipeError
from calibo.models.kernels import RBF, Kernel, Matern52
from calibo.testing.randomness import global_state
from reproductions.stanton2023.rkhs import rkhs_function, rkhs_problem

KERNELS: dict[str, Kernel] = {"rbf": RBF(), "matern52": Matern52()}


def test_reference_file(golden: Callable[[str], Any]) -> None:
    file = golden("rkhs_norm")
    for case in file["cases"]:
        scales = {key: case[key] for key in ("lengthscale", "outputscale", "noise")}
        f = rkhs_function(file["X"], file["y"], kernel=KERNELS[case["kernel"]], **scales)
        np.testing.assert_allclose(f.c, case["c"], atol=1e-10)
        np.testing.assert_allclose(f(np.array(case["x"])[:, None]), case["f"], atol=1e-10)
        assert f.norm == pytest.approx(case["norm"], abs=1e-10)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(seed=st.integers(0, 1000), lengthscale=st.floats(0.05, 0.5), outputscale=st.floats(0.2, 5.0))
def test_no_value_exceeds_what_the_norm_allows(
    kernel: Kernel, seed: int, lengthscale: float, outputscale: float
) -> None:
    # |f(x)| = |<f, k(x, .)>| <= norm * sqrt(k(x, x)), and |f(x) - f(x')| <= norm * |k(x, .) - k(x', .)|.
    rng = np.random.default_rng(seed)
    scales = {"lengthscale": lengthscale, "outputscale": outputscale}
    f = rkhs_function(rng.uniform(size=(12, 2)), rng.normal(size=12), kernel=kernel, **scales)
    X, X2 = rng.uniform(size=(2, 50, 2))
    assert np.all(np.abs(f(X)) <= f.norm * np.sqrt(outputscale) + 1e-9)
    k = outputscale * kernel.correlation(np.sum((X - X2) ** 2, axis=1) / lengthscale**2)
    assert np.all(np.abs(f(X) - f(X2)) <= f.norm * np.sqrt(2 * (outputscale - k)) + 1e-9)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gradient_is_that_of_the_values(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    f = rkhs_function(rng.uniform(size=(9, 3)), rng.normal(size=9), kernel=kernel, lengthscale=0.3, outputscale=1.7)
    X, h = rng.uniform(size=(6, 3)), 1e-6
    values, gradient = f.with_gradient(X)
    np.testing.assert_allclose(values, f(X), rtol=1e-12)
    for j, step in enumerate(h * np.eye(3)):
        np.testing.assert_allclose(gradient[:, j], (f(X + step) - f(X - step)) / (2 * h), atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "dimension", "basis"), [(RBF(), 1, 16), (Matern52(), 2, 50), (Matern52(), 5, 128), (RBF(), 3, 1)]
)
def test_a_drawn_problem(kernel: Kernel, dimension: int, basis: int) -> None:
    p = rkhs_problem(dimension, np.random.default_rng(4), kernel=kernel, basis=basis)
    assert p.dimension == dimension and p.direction == "maximize" and p.noise_std == pytest.approx(0.2)
    assert p.norm is not None and p.norm > max(p.optimum, 0.0)
    np.testing.assert_allclose(p(p.optimizers), p.optimum, atol=1e-12)
    rng = np.random.default_rng(5)
    near = np.clip(np.array(p.optimizers) + 1e-3 * rng.normal(size=(2000, dimension)), 0, 1)
    assert p(np.concatenate([rng.uniform(size=(50_000, dimension)), near])).max() <= p.optimum + 1e-12
    assert p.objective(dict(zip(p.names, p.optimizers[0], strict=True))) == pytest.approx(p.optimum)
    assert pickle.loads(pickle.dumps(p)).optimum == p.optimum


def test_in_one_dimension_the_optimum_is_that_of_a_fine_grid() -> None:
    for seed in range(8):
        p = rkhs_problem(1, np.random.default_rng(seed), kernel=RBF(), basis=16)
        assert p(np.linspace(0, 1, 100_001)[:, None]).max() == pytest.approx(p.optimum, abs=1e-7)


def test_the_generator_is_all_the_randomness() -> None:
    X, before = np.random.default_rng(0).uniform(size=(5, 2)), global_state()
    first, again, other = (rkhs_problem(2, np.random.default_rng(seed), basis=10) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first(X), again(X))
    assert (first.norm, first.optimum) == (again.norm, again.optimum) and not np.array_equal(first(X), other(X))
    assert global_state() == before


def test_labels_vary_as_the_kernel_and_the_noise_say() -> None:
    # c = (K + noise I)^-1 y has covariance (K + noise I)^-1, so c' (K + noise I) c is chi-squared with n degrees.
    n, draws = 16, 60
    problems = [rkhs_problem(1, np.random.default_rng(seed), basis=n, lengthscale=0.3) for seed in range(draws)]
    squares = []
    for p in problems:
        f: Any = p.function
        squares.append(f.norm**2 + 0.04 * f.c @ f.c)
    # Mean n, variance 2n: five standard errors, a false alarm in two million.
    assert np.mean(squares) == pytest.approx(n, abs=5 * np.sqrt(2 * n / draws))


def test_mistakes_are_explained() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(RecipeError, match="dimension and basis"):
        rkhs_problem(0, rng)
    with pytest.raises(RecipeError, match="dimension and basis"):
        rkhs_problem(1, rng, basis=0)
    for lengthscale, outputscale in ((0.0, 1.0), (0.1, -1.0), (float("inf"), 1.0)):
        with pytest.raises(RecipeError, match="must be positive"):
            rkhs_problem(1, rng, lengthscale=lengthscale, outputscale=outputscale)
    with pytest.raises(RecipeError, match="noise is a variance"):
        rkhs_function([[0.0]], [1.0], noise=-0.1)
    with pytest.raises(RecipeError, match="more noise or a smaller length scale"):
        rkhs_function(np.zeros((3, 1)), np.ones(3), noise=0.0)
    with pytest.raises(DataError, match="n labels"):
        rkhs_function([[0.0], [1.0]], [1.0])
