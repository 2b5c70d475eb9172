"""The exact posterior: reference values, brute-force refits, and joint distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from calibo.data import Array
from calibo.models import RBF, Kernel, Matern32, Matern52
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.input_warping import WarpedFeatures
from calibo.models.standardization import Standardization
from calibo.models.trend import PolynomialTrend

PLAIN = Standardization(1.0, 0.0, 1.0)
LOG_A, LOG_B = np.array([0.4, -0.7]), np.array([-0.3, 0.5])
#: From the reference file, so that something is checked without it.
TOY = {"X": [[0.05], [0.2], [0.35], [0.5], [0.7], [0.9]], "y": [-0.6, 0.3, 1.1, 0.4, -0.9, 0.2]}


def toy(X: list[list[float]], y: list[float], lengthscale: float, outputscale: float, noise: float) -> Posterior:
    theta = Hyperparameters(np.array([lengthscale]), outputscale, noise)
    return Posterior(Matern52(), Features((0,)), theta, np.array(X), np.array(y), np.full(len(y), noise), PLAIN)


def test_embedded_values() -> None:
    model = toy(TOY["X"], TOY["y"], 0.25, 1.3, 0.04)
    distribution = model.predict(np.array([[0.28], [1.0]]), latent=True)
    np.testing.assert_allclose(distribution.mean, [0.8224124602858393, 0.44961944933923764], rtol=1e-8)
    np.testing.assert_allclose(distribution.std**2, [0.04256673915042786, 0.2740778136410065], rtol=1e-8)
    assert model.log_marginal_likelihood() == pytest.approx(-6.731333758006724, rel=1e-8)
    np.testing.assert_allclose(model.residuals[:2], [-0.518321055348816, 0.9698822730510264], rtol=1e-8)


def test_reference_values(golden: Callable[[str], Any]) -> None:
    reference = golden("gp_reference")
    g = reference["toy"]
    model = toy(g["X"], g["y"], g["lengthscale"], g["outputscale"], g["noise_variance"])
    close = lambda value, name: np.testing.assert_allclose(value, reference[name], rtol=1e-8)
    x, y = np.array(reference["x"]), np.array(g["y"])
    close(model.predict(x, latent=True).mean, "mean_f")
    close(model.predict(x, latent=True).std ** 2, "var_f")
    close(model.predict(x, latent=False).std ** 2, "var_y")
    close(model.log_marginal_likelihood(), "log_marginal_likelihood")
    loo, ahead = model.leave_one_out(), model.one_step_ahead()
    close(loo.mean, "loo_mean")
    close(loo.std**2, "loo_var_y")
    close(loo.cdf(y), "loo_pit")
    close(model.residuals, "prequential_standardised_residuals")
    close((y - ahead.mean) / ahead.std, "prequential_standardised_residuals")
    close(ahead.std, "prequential_std_y")
    close(ndtr(model.residuals), "prequential_pit")


def random_posterior(
    kernel: Kernel,
    rows: slice | np.ndarray = slice(None),
    *,
    units: bool = True,
    trend: str = "constant",
    warped: bool = False,
) -> Posterior:
    """A posterior with categorical columns, a mean and unequal noise, of some rows of fixed data."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random((9, 2)), (rng.integers(3, size=9) + 0.5) / 3])
    y, noise = 50 + 7 * rng.standard_normal(9), rng.uniform(0.01, 0.3, size=9)
    theta = Hyperparameters(np.array([0.3, 0.8, 1.1]), 1.7, 0.05, mean=0.4, trend=0.6)
    scale = Standardization.of(y) if units else PLAIN
    categories = (0, 0, 3)
    features = WarpedFeatures(categories, Features(categories), LOG_A, LOG_B) if warped else Features(categories)
    line = PolynomialTrend.named(trend, categories)
    return Posterior(kernel, features, theta, X[rows], y[rows], noise[rows], scale, trend=line)


#: Parts that a posterior may have.
PARTS: list[dict[str, Any]] = [
    {},
    {"trend": "linear"},
    {"trend": "quadratic"},
    {"warped": True},
    {"trend": "quadratic", "warped": True},
]


@pytest.mark.parametrize("kernel", [Matern52(), Matern32(), RBF()], ids=["matern52", "matern32", "rbf"])
@pytest.mark.parametrize("ahead", [False, True], ids=["leave_one_out", "one_step_ahead"])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_held_out_predictions_equal_refits(kernel: Kernel, ahead: bool, parts: dict[str, Any]) -> None:
    model = random_posterior(kernel, **parts)
    found = model.one_step_ahead() if ahead else model.leave_one_out()
    for i in range(1, 9):
        rows = np.arange(i) if ahead else np.delete(np.arange(9), i)
        rest = random_posterior(kernel, rows, **parts).predict(model.X[[i]], latent=True)
        noise = model.units.backward_std(np.sqrt(model.noise[i]))
        assert float(found.mean[i]) == pytest.approx(float(rest.mean[0]), rel=1e-9)
        assert float(found.std[i]) == pytest.approx(float(np.hypot(rest.std[0], noise)), rel=1e-9)


def dense(model: Posterior, X: np.ndarray, trend: str = "constant", warped: bool = False) -> tuple[Array, Array]:
    """Posterior mean and covariance of f, standardised, by the textbook formula."""

    def terms(A: Array) -> Array:
        u = 2.0 * A[:, :2] - 1.0
        columns = {"constant": [], "linear": [np.sqrt(3) * u]}.get(
            trend, [np.sqrt(3) * u, np.sqrt(5) * (3 * u**2 - 1) / 2]
        )
        return np.hstack([np.zeros((len(A), 1)), *columns])

    def k(A: Array, B: Array) -> Array:
        a, b = np.exp(LOG_A), np.exp(LOG_B)
        left, right = ((1 - (1 - P[:, :2] ** a) ** b if warped else P[:, :2]) for P in (A, B))
        s = ((left[:, None] - right[None]) ** 2 / model.theta.lengthscales[:2] ** 2).sum(axis=-1)
        s = s + 0.25**2 * (A[:, None, 2] != B[None, :, 2]) / model.theta.lengthscales[2] ** 2
        U, V = terms(A), terms(B)
        return model.theta.outputscale * model.kernel.correlation(s) + 0.6 / max(U.shape[1] - 1, 1) * U @ V.T

    A = k(model.X, model.X) + np.diag(model.noise)
    gain = k(X, model.X) @ np.linalg.inv(A)
    z = model.units.forward(model.y) - model.theta.mean
    return model.theta.mean + gain @ z, k(X, X) - gain @ k(model.X, X)


@pytest.mark.parametrize("latent", [True, False])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_joint_law_equals_the_dense_formula(latent: bool, parts: dict[str, Any]) -> None:
    model = random_posterior(Matern52(), **parts)
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.random((5, 2)), (rng.integers(3, size=5) + 0.5) / 3])
    mean, covariance = dense(model, X, **parts)
    covariance = covariance if latent else covariance + model.theta.noise * np.eye(5)
    distribution = model.predict(X, latent=latent)
    std = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(distribution.mean, model.units.backward(mean), rtol=1e-9)
    np.testing.assert_allclose(distribution.std, model.units.backward_std(std), rtol=1e-9)
    assert distribution.correlation is not None
    np.testing.assert_allclose(distribution.correlation(), covariance / np.outer(std, std), atol=1e-9)


@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_batches_of_sets(parts: dict[str, Any]) -> None:
    model = random_posterior(Matern52(), **parts)
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.random((4, 3, 2)), (rng.integers(3, size=(4, 3, 1)) + 0.5) / 3], axis=-1)
    distribution = model.predict(X, latent=True)
    assert distribution.mean.shape == distribution.std.shape == (4, 3) and distribution.correlation is not None
    for i in range(4):
        one = model.predict(X[i], latent=True)
        np.testing.assert_allclose(distribution.mean[i], one.mean, rtol=1e-12)
        np.testing.assert_allclose(distribution.std[i], one.std, rtol=1e-12)
        np.testing.assert_allclose(distribution.correlation()[i], one.correlation(), atol=1e-12)  # type: ignore[misc]
    draws, _ = distribution.samples(rng.standard_normal((8, 3)))
    assert draws.shape == (4, 8, 3) and np.isfinite(draws).all()


@pytest.mark.parametrize("shape", [(0, 3, 3), (1, 3, 3), (2, 0, 3), (2, 4, 3, 3), (0, 3)])
def test_odd_batches(shape: tuple[int, ...]) -> None:
    X = np.full(shape, 0.5)
    distribution = random_posterior(Matern52()).predict(X, latent=True)
    assert distribution.mean.shape == distribution.std.shape == shape[:-1]


def test_categorical_choices_are_all_equally_far_apart() -> None:
    features = Features((0, 3))
    X = np.array([[0.2, 1 / 6], [0.2, 3 / 6], [0.2, 5 / 6], [0.2, 0.55]])
    F = features(X)
    distances = np.square(F[:, None] - F[None]).sum(axis=-1)
    np.testing.assert_allclose(distances[:3, :3], 0.25**2 * (1 - np.eye(3)), atol=1e-12)
    assert distances[1, 3] == 0.0
    np.testing.assert_array_equal(features.column, [0, 1, 1, 1])
    assert Features((0, 0))(X) is X


def test_nothing_is_certain_at_a_point_without_noise() -> None:
    model = toy(TOY["X"], TOY["y"], 0.25, 1.3, 1e-12)
    distribution = model.predict(np.array(TOY["X"]), latent=True)
    assert np.all(distribution.std > 0) and np.isfinite(distribution.log_expected_improvement(1.1)).all()
    np.testing.assert_allclose(distribution.mean, TOY["y"], atol=1e-6)


def test_joint_draws_at_many_points_need_memory_for_their_correlations_only() -> None:
    import tracemalloc

    d, m = 30, 600
    rng = np.random.default_rng(0)
    theta = Hyperparameters(np.full(d, 2.0), 1.0, 0.01)
    model = Posterior(
        Matern52(), Features((0,) * d), theta, rng.random((20, d)), rng.random(20), np.full(20, 0.01), PLAIN
    )
    distribution = model.predict(rng.random((m, d)), latent=True)
    tracemalloc.start()
    distribution.samples(rng.standard_normal((1, m)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A handful of m x m matrices; an m x m x d array of differences would be d of them.
    assert peak < 12 * 8 * m * m
