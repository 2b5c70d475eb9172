"""Conformal upper confidence bounds: verified values, the formula written out, and sets of points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from calibo.acquisition import ConformalUCB
from calibo.calibration import Calibrated, ConformalBayes, LeaveOneOut, LocalizedOnline, OnlineQuantile
from calibo.calibration.conformal_bayes import ConformalModel
from calibo.calibration.conformal_set import in_sample_score, leave_one_out_score
from calibo.data import Array, Dataset
from calibo.distributions import FlatSet, Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization

RNG = np.random.default_rng
X = np.array([[0.28], [0.42], [0.6]])


def toy(alpha: float = 0.3, score: Any = in_sample_score) -> tuple[ConformalModel, Dataset]:
    points = np.array([0.05, 0.2, 0.35, 0.5, 0.7, 0.9])[:, None]
    y = np.array([-0.6, 0.3, 1.1, 0.4, -0.9, 0.2])
    theta = Hyperparameters(np.array([0.25]), 1.3, 0.04)
    base = Posterior(Matern52(), Features((0,)), theta, points, y, np.full(6, 0.04), Standardization(1.0, 0.0, 1.0))
    return ConformalModel(base, alpha, score), Dataset(X=points, Y=y[:, None])


class Fixed(Model):
    """A model with one distribution, whatever is asked, repeated for sets."""

    def __init__(self, distribution: FlatSet | Gaussian) -> None:
        self.distribution = distribution

    def predict(self, X: Array, *, latent: bool) -> FlatSet | Gaussian:
        return self.distribution


def data() -> Dataset:
    points = RNG(0).random((14, 2))
    return Dataset(X=points, Y=(np.sin(5 * points[:, 0]) - points[:, 1] + 0.1 * RNG(1).standard_normal(14))[:, None])


def test_verified_values_of_the_published_form() -> None:
    """E [f | y >= mean]: .9368, 1.0119, -.2419 (the original code's draws: .9371, 1.0125, -.2410, each +- .001)."""
    model, told = toy()
    values = ConformalUCB(None).build(model, told, rng=RNG(0))(X)
    np.testing.assert_allclose(values, [0.9368, 1.0119, -0.2419], atol=5e-5)


@pytest.mark.parametrize("beta", [0.25, 1.0, 4.0])
def test_without_set_and_noise_it_is_the_ordinary_bound(beta: float) -> None:
    distribution = Gaussian(np.array([0.3, -2.0]), np.array([0.7, 0.01]))
    acquisition = ConformalUCB(beta).build(Fixed(distribution), data(), rng=RNG(0))  # type: ignore[arg-type]
    np.testing.assert_allclose(acquisition(X[:2]), distribution.mean + np.sqrt(beta) * distribution.std, rtol=1e-9)
    nearly = replace(distribution, noise_std=1e-7)
    acquisition = ConformalUCB(beta).build(Fixed(nearly), data(), rng=RNG(0))  # type: ignore[arg-type]
    np.testing.assert_allclose(acquisition(X[:2]), distribution.mean + np.sqrt(beta) * distribution.std, rtol=1e-4)


@pytest.mark.parametrize("score", [in_sample_score, leave_one_out_score])
@pytest.mark.parametrize("beta", [None, 1.0, 3.0])
def test_the_formula_written_out(score: Any, beta: float | None) -> None:
    """mean + sqrt(beta pi / 2) E |f - mean|, f given y, y from the distribution above the mean: by quadrature over y."""
    model, told = toy(score=score)
    values = ConformalUCB(beta).build(model, told, rng=RNG(0))(X)
    sets, plain = model.conformal_sets(X), model.base.predict(X, latent=True)
    for i in range(3):
        m, tau, sigma = plain.mean[i], plain.std[i], float(plain.noise_std)
        v = tau**2 + sigma**2
        a, s = tau**2 / v, tau * sigma / np.sqrt(v)
        ends = [(max(lo, m), hi) for lo, hi in zip(sets.low[i], sets.high[i], strict=True) if hi > max(lo, m)]

        def of_f(y: float, m: float = m, a: float = a, s: float = s) -> float:
            mean = a * (y - m)
            if beta is None:
                return m + mean
            folded = s * np.sqrt(2 / np.pi) * np.exp(-0.5 * (mean / s) ** 2)
            from scipy.special import erf

            return m + np.sqrt(beta * np.pi / 2) * (folded + mean * erf(mean / (s * np.sqrt(2))))

        def normal(y: float, m: float = m, v: float = v) -> float:
            return float(np.exp(-0.5 * (y - m) ** 2 / v))

        flat = sum(quad(of_f, lo, hi)[0] for lo, hi in ends) / sum(hi - lo for lo, hi in ends)
        edges = [m, *(e for pair in ends for e in pair), m + 12 * np.sqrt(v)]
        gaps = [(lo, hi) for lo, hi in zip(edges[::2], edges[1::2], strict=True) if hi > lo]
        tail = sum(quad(lambda y: of_f(y) * normal(y), lo, hi)[0] for lo, hi in gaps)
        tail /= sum(quad(normal, lo, hi)[0] for lo, hi in gaps)
        assert values[i] == pytest.approx(0.7 * flat + 0.3 * tail, rel=1e-7)


def test_more_beta_is_more_optimistic() -> None:
    model, told = toy()
    values = np.stack([ConformalUCB(beta).build(model, told, rng=RNG(0))(X) for beta in (0.01, 1.0, 9.0)])
    assert (np.diff(values, axis=0) > 0.0).all()
    np.testing.assert_allclose(values[2] - values[1], 2 * (values[1] - model.base.predict(X, latent=True).mean))


class TestSets:
    @pytest.mark.parametrize("beta", [None, 1.0])
    def test_a_set_of_one_is_worth_its_value(self, beta: float | None) -> None:
        told = data()
        points = RNG(2).random((30, 2))
        model = ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0))
        acquisition = ConformalUCB(beta).build(model, told, rng=RNG(0))
        np.testing.assert_allclose(acquisition(points[:, None]), acquisition(points), rtol=1e-9, atol=1e-12)

    def test_more_points_are_worth_no_less(self) -> None:
        told = data()
        acquisition = ConformalUCB().build(
            ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0)), told, rng=RNG(0)
        )
        sets = RNG(2).random((20, 3, 2))
        values = np.stack([acquisition(sets[:, :q]) for q in (1, 2, 3)])
        assert (np.diff(values, axis=0) >= -1e-9).all() and (values[2] > values[0]).any()

    def test_a_pending_point_counts_as_one_of_the_set(self) -> None:
        told, sets = data(), RNG(2).random((20, 2, 2))
        sets[:, 1] = sets[0, 1]
        model = ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0))
        both = ConformalUCB().build(model, told, rng=RNG(0))(sets[:, ::-1])
        busy = ConformalUCB().build(model, replace(told, X_pending=sets[0, 1:]), rng=RNG(0))
        np.testing.assert_allclose(busy(sets[:, 0]), both)
        np.testing.assert_allclose(busy(sets[:, :1]), both)

    def test_independent_points_by_brute_force(self) -> None:
        """E max_j of mean_j + sqrt(pi / 2) w_j |f_j - mean_j|, f_j the model's, w_j ratios of densities; 5 st. errors."""
        mean, std, noise = np.array([0.0, 0.3]), np.array([1.0, 0.8]), 0.5
        low, high = np.array([[-1.0], [-0.2]]), np.array([[1.5], [1.0]])
        distribution = FlatSet(Gaussian(mean[None], std[None], noise_std=noise), low[None], high[None], 0.7)
        draws, count = 16_384, 200_000
        told = Dataset(X=np.zeros((1, 1)), Y=np.zeros((1, 1)))
        got = ConformalUCB(draws=draws).build(Fixed(distribution), told, rng=RNG(0))(np.zeros((1, 2, 1)))  # type: ignore[arg-type]
        f = mean + std * RNG(5).standard_normal((count, 2))
        above = distribution.optimistic()
        weights = above.pdf(f) / above.base.pdf(f)
        assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.02)
        u = np.max(mean + np.sqrt(np.pi / 2) * weights * np.abs(f - mean), axis=1)
        assert got[0] == pytest.approx(u.mean(), abs=5 * u.std() * np.sqrt(1 / count + 1 / draws))
        single = ConformalUCB(draws=draws).build(Fixed(distribution), told, rng=RNG(0))(np.zeros((1, 1)))  # type: ignore[arg-type]
        assert got[0] > single.max()


def test_localized_intervals_make_flat_set_laws_too() -> None:
    told, points = data(), RNG(2).random((10, 2))
    model = Calibrated(GaussianProcess(), by=LocalizedOnline(0.2), evidence=LeaveOneOut()).fit(told, rng=RNG(0))
    values = ConformalUCB().build(model, told, rng=RNG(0))(points)
    distribution = model.predict(points, latent=True)
    assert isinstance(distribution, FlatSet)
    above = distribution.optimistic()
    expected = distribution.base.mean + np.sqrt(np.pi / 2) * (
        2 * above.expected_improvement(distribution.base.mean) - (above.mean - distribution.base.mean)
    )
    np.testing.assert_allclose(values, expected)


def test_other_laws_are_refused_and_so_is_a_bad_beta() -> None:
    told = data()
    calibrated = Calibrated(GaussianProcess(), by=OnlineQuantile(0.5), evidence=LeaveOneOut()).fit(told, rng=RNG(0))
    with pytest.raises(RecipeError, match="use UpperQuantile for others"):
        ConformalUCB().build(calibrated, told, rng=RNG(0))(told.X)
    for beta in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(RecipeError, match="beta is a positive number"):
            ConformalUCB(beta)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_the_outcomes_does_not_matter(scale: float) -> None:
    points, values = RNG(1).random((40, 2)), []
    for s in (1.0, scale):
        told = replace(data(), Y=s * data().Y, X_pending=np.array([[0.5, 0.5]]))
        model = ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0))
        values.append(ConformalUCB().build(model, told, rng=RNG(0))(points) / s)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)
