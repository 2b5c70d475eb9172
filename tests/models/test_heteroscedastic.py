"""Noise that depends on the point: what replicates say of it, and what the model makes of it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, polygamma

from calibo.data import Array, Dataset
from calibo.errors import FallbackWarning
from calibo.models import GaussianProcess, HeteroscedasticGP, InputWarping, Surrogate
from calibo.models.heteroscedastic import NOISE_FLOOR, Groups, same_points
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


@pytest.mark.filterwarnings("ignore:no point was measured twice")
class TestHeteroscedasticGP(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return HeteroscedasticGP()

    def data(self, n: int | None = None, d: int = 3, seed: int = 0) -> Dataset:
        plain = super().data(n, d, seed)
        again = plain.Y + 0.1 * RNG(seed + 1).standard_normal(plain.Y.shape)
        return plain if n == 1 else Dataset(X=np.vstack([plain.X] * 2), Y=np.vstack([plain.Y, again]))


@pytest.mark.filterwarnings("ignore:no point was measured twice")
class TestWithoutReplicates(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return HeteroscedasticGP()


def noise_std(X: Array) -> Array:
    return 0.02 + 0.6 * X[:, 0] ** 2


def noisy(points: int = 20, times: int = 6, seed: int = 0) -> Dataset:
    """f = sin 6x with noise that grows to the right; every point measured several times, in mixed order."""
    rng = RNG(seed)
    X = np.repeat(rng.random((points, 1)), times, axis=0)[rng.permutation(points * times)]
    return Dataset(X=X, Y=(np.sin(6 * X[:, 0]) + noise_std(X) * rng.standard_normal(len(X)))[:, None])


GRID = np.linspace(0.05, 0.95, 10)[:, None]


def test_the_noise_is_found_where_it_is() -> None:
    model = HeteroscedasticGP().fit(noisy(30, 8), rng=RNG(0))
    ratio = np.sqrt(model.noise_variance(GRID)) / noise_std(GRID)
    # The std of half a log sample variance of 8 is 0.29; neighbours share what they know.
    assert np.all((ratio > 0.6) & (ratio < 1.7))
    plain = GaussianProcess().fit(noisy(30, 8), rng=RNG(0))
    left, right = np.array([[0.05]]), np.array([[0.95]])
    measured = [float(m.predict(x, latent=False).std[0]) for m in (model, plain) for x in (left, right)]
    assert measured[0] < 0.3 * measured[1] and measured[2] > 0.8 * measured[3]


def test_a_measurement_has_the_noise_at_its_point() -> None:
    model = HeteroscedasticGP().fit(noisy(), rng=RNG(0))
    latent, measured = (model.predict(GRID, latent=flag) for flag in (True, False))
    np.testing.assert_allclose(measured.std**2, latent.std**2 + model.noise_variance(GRID))
    np.testing.assert_array_equal(measured.mean, latent.mean)
    np.testing.assert_allclose(np.square(latent.noise_std), model.noise_variance(GRID))


def test_joint_draws_of_measurements_have_independent_noise() -> None:
    model = HeteroscedasticGP().fit(noisy(8, 3), rng=RNG(0))
    latent, measured = (model.predict(GRID, latent=flag) for flag in (True, False))
    assert latent.correlation is not None and measured.correlation is not None
    covariance = latent.correlation() * np.outer(latent.std, latent.std) + np.diag(model.noise_variance(GRID))
    np.testing.assert_allclose(measured.correlation() * np.outer(measured.std, measured.std), covariance, atol=1e-12)


def test_the_means_are_a_process_with_known_noise() -> None:
    """Against all single measurements with their noise given: for the posterior a group's mean says all it knows."""
    data = noisy(12, 4)
    model = HeteroscedasticGP().fit(data, rng=RNG(0))
    units, means = model.units, model.means
    inner = means.units
    scale = float(units.backward_std(inner.backward_std(np.array(1.0))))
    theta = means.theta
    X = data.X
    correlation = means.kernel.correlation(np.square((X - X.T) / theta.lengthscales[0]))
    A = scale**2 * theta.outputscale * correlation + np.diag(model.noise_variance(X))
    cross = scale**2 * theta.outputscale * means.kernel.correlation(np.square((GRID - X.T) / theta.lengthscales[0]))
    centre = float(units.backward(inner.backward(np.array(theta.mean))))
    expected = centre + cross @ np.linalg.solve(A, data.Y[:, 0] - centre)
    distribution = model.predict(GRID, latent=True)
    np.testing.assert_allclose(distribution.mean, expected, atol=1e-6)
    variance = scale**2 * theta.outputscale - np.einsum("ij,ji->i", cross, np.linalg.solve(A, cross.T))
    np.testing.assert_allclose(distribution.std**2, variance, rtol=1e-4)


@given(st.integers(2, 6), st.floats(0.01, 100.0))
def test_the_sampling_law_of_a_log_sample_variance(k: int, std: float) -> None:
    """Bias and variance against 20000 simulated groups; five standard errors, false alarm below 1e-5 (fixed seed)."""
    z = std * RNG(k).standard_normal((20000, k))
    sample = np.log(z.var(axis=1, ddof=1))
    half = (k - 1) / 2
    corrected = sample - digamma(half) + np.log(half)
    error = np.sqrt(polygamma(1, half) / 20000)
    assert abs(corrected.mean() - 2 * np.log(std)) < 5 * error
    assert abs(corrected.var() / polygamma(1, half) - 1) < 0.12
    groups = Groups.of(np.repeat(np.arange(3.0)[:, None], k, axis=0), z[:3].ravel(), np.full(3 * k, np.nan))
    np.testing.assert_allclose(
        groups.log_variance, np.maximum(sample[:3], np.log(NOISE_FLOOR)) + (corrected - sample)[:3]
    )
    np.testing.assert_allclose(groups.sampling_variance, polygamma(1, half))
    np.testing.assert_allclose(groups.mean, z[:3].mean(axis=1))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_groups_are_equal_rows_up_to_rounding(which: list[int]) -> None:
    X = RNG(0).random((5, 2))[which] + 1e-15 * RNG(1).random((len(which), 2))
    leader = same_points(X)
    np.testing.assert_array_equal(leader, [which.index(w) for w in which])


def test_single_measurements_count_for_the_mean_only() -> None:
    data = noisy(6, 3)
    more = replace(data, X=np.vstack([data.X, [[0.5]]]), Y=np.vstack([data.Y, [[9.0]]]), forecasts=())
    groups = Groups.of(more.X, more.Y[:, 0], np.full(len(more), np.nan))
    assert groups.informative.sum() == 6 and len(groups.X) == 7
    model, before = (HeteroscedasticGP().fit(d, rng=RNG(0)) for d in (more, data))
    assert model.predict(np.array([[0.5]]), latent=True).mean > before.predict(np.array([[0.5]]), latent=True).mean


def test_no_replicates_is_said_once_while_a_study_grows() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for n in (9, 10, 11):
            HeteroscedasticGP().fit(noisy(n, 1), rng=RNG(0))
    assert len(caught) == 1


def test_no_replicates_is_said_and_one_is_enough() -> None:
    data = noisy(9, 1)
    with pytest.warns(FallbackWarning, match="no point was measured twice"):
        model = HeteroscedasticGP().fit(data, rng=RNG(0))
    plain = GaussianProcess().fit(data, rng=RNG(0))
    for latent in (True, False):
        expected = plain.predict(GRID, latent=latent)
        np.testing.assert_allclose(model.predict(GRID, latent=latent).mean, expected.mean, atol=1e-6)
        np.testing.assert_allclose(model.predict(GRID, latent=latent).std, expected.std, rtol=1e-4)
    assert len(np.unique(model.noise_variance(GRID))) == 1
    np.testing.assert_array_equal(model.noise_variance(GRID, level=0.1), model.noise_variance(GRID))
    once = replace(data, X=np.vstack([data.X, data.X[:1]]), Y=np.vstack([data.Y, data.Y[:1] + 0.1]), forecasts=())
    assert np.all(HeteroscedasticGP().fit(once, rng=RNG(0)).noise_variance(GRID) > 0)


def test_known_variances_say_where_the_noise_is_without_replicates() -> None:
    data = noisy(25, 1)
    model = HeteroscedasticGP().fit(replace(data, Y_var=np.square(noise_std(data.X))[:, None]), rng=RNG(0))
    np.testing.assert_allclose(np.sqrt(model.noise_variance(GRID)), noise_std(GRID), rtol=0.1)


def test_quantiles_of_the_noise() -> None:
    model = HeteroscedasticGP().fit(noisy(10, 3), rng=RNG(0))
    low, middle, high = (model.noise_variance(GRID, level=level) for level in (0.1, 0.5, 0.9))
    assert np.all(low < middle) and np.all(middle < high)
    np.testing.assert_allclose(middle, model.noise_variance(GRID))
    sets = GRID.reshape(5, 2, 1)
    np.testing.assert_allclose(model.noise_variance(sets), model.noise_variance(GRID).reshape(5, 2))


@pytest.mark.slow
def test_quantiles_hold_the_noise_as_often_as_they_say() -> None:
    """Mean coverage of central 80 % intervals over 40 data sets of 15 points lies within 0.65 and 0.95 (fixed seeds)."""
    inside = []
    for seed in range(40):
        model = HeteroscedasticGP().fit(noisy(15, 4, seed), rng=RNG(0))
        low, high = (model.noise_variance(GRID, level=level) for level in (0.1, 0.9))
        inside.append(np.mean((low <= noise_std(GRID) ** 2) & (noise_std(GRID) ** 2 <= high)))
    assert 0.65 < np.mean(inside) < 0.95


def test_equal_outcomes_have_the_least_noise() -> None:
    X = np.repeat(RNG(0).random((8, 1)), 3, axis=0)
    data = Dataset(X=X, Y=np.sin(6 * X))
    model = HeteroscedasticGP().fit(data, rng=RNG(0))
    half = 1.0
    corrected = NOISE_FLOOR * np.exp(np.log(half) - digamma(half))
    np.testing.assert_allclose(model.noise_variance(GRID), corrected * data.Y.var(), rtol=1e-6)


def test_a_fit_starts_from_stored_hyperparameters() -> None:
    data = noisy(12, 3)
    first = HeteroscedasticGP().fit(data, rng=RNG(0))
    assert len(first.hyperparameters) == 6
    again = HeteroscedasticGP().fit(replace(data, hyperparameters=(first.hyperparameters,)), rng=RNG(0))
    np.testing.assert_allclose(again.noise_variance(GRID), first.noise_variance(GRID), rtol=0.05)
    other = HeteroscedasticGP().fit(replace(data, hyperparameters=((1.0, 2.0),)), rng=RNG(0))
    np.testing.assert_allclose(other.noise_variance(GRID), first.noise_variance(GRID), rtol=1e-6)


def test_parts_of_the_processes_inside_have_their_own_stored_hyperparameters() -> None:
    data = noisy(12, 3)
    surrogate = HeteroscedasticGP(means=GaussianProcess(warping=InputWarping(), trend="linear"))
    first = surrogate.fit(data, rng=RNG(0))
    assert len(first.means.hyperparameters) == 6 and len(first.hyperparameters) == 9
    again = surrogate.fit(replace(data, hyperparameters=(first.hyperparameters,)), rng=RNG(0))
    np.testing.assert_allclose(again.hyperparameters, first.hyperparameters, atol=0.1)
