"""Upper confidence bounds: closed forms, verified values, the formulas written out, and batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from calibo.acquisition import AcquisitionRule, ConformalUCB, UpperBound, UpperQuantile
from calibo.acquisition.base import base_samples
from calibo.acquisition.upper_bounds import best_of_batch
from calibo.calibration import (
    Calibrated,
    Conformal,
    ConformalBayes,
    LeaveOneOut,
    LocalizedOnline,
    OnlineQuantile,
    Split,
)
from calibo.calibration.conformal_bayes import ConformalModel
from calibo.calibration.conformal_set import in_sample_score, leave_one_out_score
from calibo.data import Array, Dataset
from calibo.distributions import FlatSet, Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization

RNG = np.random.default_rng
ONLINE = Calibrated(GaussianProcess(), by=OnlineQuantile(0.5), evidence=LeaveOneOut())
CONFORMAL = ConformalBayes(GaussianProcess(), 0.3)
SURROGATES: list[Surrogate] = [GaussianProcess(), ONLINE, CONFORMAL]
pairs = pytest.mark.parametrize(
    ("rule", "surrogate"),
    [
        *((UpperQuantile(level, draws=512), s) for s in SURROGATES for level in (0.6, 0.99)),
        (UpperBound(2.0, draws=512), GaussianProcess()),
        *((ConformalUCB(beta), CONFORMAL) for beta in (None, 1.0)),
    ],
)


def data(scale: float = 1.0) -> Dataset:
    X = RNG(0).random((12, 2))
    return Dataset(X=X, Y=scale * (np.sin(5 * X[:, 0]) - X[:, 1])[:, None])


@pairs
def test_batches_of_one_have_the_closed_form_and_further_points_never_lower_it(
    rule: AcquisitionRule, surrogate: Surrogate
) -> None:
    known, batches = data(), RNG(1).random((20, 3, 2))
    acquisition = rule.build(surrogate.fit(known, rng=RNG(0)), known, rng=RNG(0))
    values = np.stack([acquisition(batches[:, :q]) for q in (1, 2, 3)])
    # Exactly: the stretch is made so, whatever the draws.
    np.testing.assert_allclose(values[0], acquisition(batches[:, 0]), rtol=1e-9, atol=1e-12)
    assert (np.diff(values, axis=0) >= -1e-9).all() and (values[2] > values[0]).any()


@pytest.mark.parametrize("surrogate", SURROGATES, ids=["raw", "online", "conformal"])
def test_single_points_have_the_quantile(surrogate: Surrogate) -> None:
    known, X = data(), RNG(1).random((30, 2))
    model = surrogate.fit(known, rng=RNG(0))
    for level in (0.6, 0.9, 0.99):
        values = UpperQuantile(level).build(model, known, rng=RNG(0))(X)
        np.testing.assert_allclose(values, model.predict(X, latent=True).icdf(level))


def test_single_points_have_the_mean_plus_standard_deviations() -> None:
    known, X = data(), RNG(1).random((6, 2))
    model = GaussianProcess().fit(known, rng=RNG(0))
    distribution = model.predict(X, latent=True)
    values = UpperBound(0.5).build(model, known, rng=RNG(2))(X)
    np.testing.assert_allclose(values, distribution.mean + 0.5 * distribution.std)


def test_a_copy_of_a_pending_point_adds_nothing() -> None:
    known, X = data(), RNG(1).random((200, 2))
    model = GaussianProcess().fit(known, rng=RNG(0))
    free = UpperQuantile().build(model, known, rng=RNG(0))
    best = X[[int(np.argmax(free(X)))]]
    busy = UpperQuantile(draws=1024).build(model, replace(known, X_pending=best), rng=RNG(0))
    # With the best point pending another point adds something, that point itself nothing.
    assert int(np.argmax(busy(X))) != int(np.argmax(free(X)))
    assert float(busy(best)[0]) == pytest.approx(float(free(best)[0]), rel=1e-3, abs=1e-3)
    assert float(busy(X).max()) > float(busy(best)[0])


@pytest.mark.parametrize(
    ("rule", "surrogate", "scale"),
    [
        *((UpperQuantile(), GaussianProcess(), scale) for scale in (2.0**-900, 2.0**900)),
        *((ConformalUCB(), CONFORMAL, scale) for scale in (1e-30, 1e30)),
    ],
)
def test_the_scale_of_the_outcomes_does_not_matter(rule: AcquisitionRule, surrogate: Surrogate, scale: float) -> None:
    X, values = RNG(1).random((40, 2)), []
    for s in (1.0, scale):
        known = replace(data(s), X_pending=np.array([[0.5, 0.5]]))
        values.append(rule.build(surrogate.fit(known, rng=RNG(0)), known, rng=RNG(0))(X) / s)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("make", "bad", "message"),
    [
        *((UpperQuantile, level, r"between 0.5 and 1") for level in (0.5, 1.0, float("nan"))),
        (UpperBound, -0.5, "positive number of deviations"),
        *((ConformalUCB, beta, "beta is a positive number") for beta in (0.0, float("inf"))),
    ],
)
def test_bad_settings_are_refused(make: Any, bad: float, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make(bad)


def test_weights_multiply_the_distance_from_the_centre() -> None:
    """E max_j of center_j + b_j w_j |f_j - center_j| with E u_j the point's own value, written out."""
    known, sets = data(), RNG(3).random((6, 3, 2))
    model = ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0))
    distribution = model.predict(sets, latent=True)
    base = base_samples(1, 64, 3)
    f, log_weights = distribution.samples(base)
    weights = np.exp(log_weights)
    weights /= weights.mean(axis=1, keepdims=True)
    away = weights * np.abs(f - distribution.mean[:, None])
    value = distribution.icdf(0.8)
    u = distribution.mean[:, None] + ((value - distribution.mean) / away.mean(axis=1))[:, None] * away
    np.testing.assert_allclose(u.mean(axis=1), value)
    np.testing.assert_allclose(
        best_of_batch(distribution, distribution.mean, value, base), u.max(axis=-1).mean(axis=-1)
    )


def test_infinite_quantiles_still_order_points() -> None:
    """A conformal distribution of few held-out results has infinite quantiles far out; a search cannot climb infinity."""
    surrogate = Calibrated(GaussianProcess(), by=Conformal(), evidence=Split(0.3))
    few = data().rows(np.arange(8))
    model = surrogate.fit(few, rng=RNG(0))
    X = RNG(1).random((20, 2))
    assert np.isinf(model.predict(X, latent=True).icdf(0.9)).all()
    values = UpperQuantile(0.9).build(model, few, rng=RNG(2))(X)
    assert np.isfinite(values).all() and len(np.unique(values)) == 20


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


def test_verified_values_of_the_published_form() -> None:
    """E [f | y >= mean]: .9368, 1.0119, -.2419 (the original code's draws: .9371, 1.0125, -.2410, each +- .001)."""
    model, known = toy()
    values = ConformalUCB(None).build(model, known, rng=RNG(0))(X)
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
    model, known = toy(score=score)
    values = ConformalUCB(beta).build(model, known, rng=RNG(0))(X)
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
    model, known = toy()
    values = np.stack([ConformalUCB(beta).build(model, known, rng=RNG(0))(X) for beta in (0.01, 1.0, 9.0)])
    assert (np.diff(values, axis=0) > 0.0).all()
    np.testing.assert_allclose(values[2] - values[1], 2 * (values[1] - model.base.predict(X, latent=True).mean))


def test_a_pending_point_counts_as_one_of_the_batch() -> None:
    known, sets = data(), RNG(2).random((20, 2, 2))
    sets[:, 1] = sets[0, 1]
    model = ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0))
    both = ConformalUCB().build(model, known, rng=RNG(0))(sets[:, ::-1])
    busy = ConformalUCB().build(model, replace(known, X_pending=sets[0, 1:]), rng=RNG(0))
    np.testing.assert_allclose(busy(sets[:, 0]), both)
    np.testing.assert_allclose(busy(sets[:, :1]), both)


def test_independent_points_by_brute_force() -> None:
    """E max_j of mean_j + sqrt(pi / 2) w_j |f_j - mean_j|, f_j the model's, w_j ratios of densities; 5 st. errors."""
    mean, std, noise = np.array([0.0, 0.3]), np.array([1.0, 0.8]), 0.5
    low, high = np.array([[-1.0], [-0.2]]), np.array([[1.5], [1.0]])
    distribution = FlatSet(Gaussian(mean[None], std[None], noise_std=noise), low[None], high[None], 0.7)
    draws, count = 16_384, 200_000
    known = Dataset(X=np.zeros((1, 1)), Y=np.zeros((1, 1)))
    got = ConformalUCB(draws=draws).build(Fixed(distribution), known, rng=RNG(0))(np.zeros((1, 2, 1)))  # type: ignore[arg-type]
    f = mean + std * RNG(5).standard_normal((count, 2))
    above = distribution.optimistic()
    weights = above.pdf(f) / above.base.pdf(f)
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.02)
    u = np.max(mean + np.sqrt(np.pi / 2) * weights * np.abs(f - mean), axis=1)
    assert got[0] == pytest.approx(u.mean(), abs=5 * u.std() * np.sqrt(1 / count + 1 / draws))
    single = ConformalUCB(draws=draws).build(Fixed(distribution), known, rng=RNG(0))(np.zeros((1, 1)))  # type: ignore[arg-type]
    assert got[0] > single.max()


def test_conformal_bounds_of_localized_intervals() -> None:
    known, points = data(), RNG(2).random((10, 2))
    model = Calibrated(GaussianProcess(), by=LocalizedOnline(0.2), evidence=LeaveOneOut()).fit(known, rng=RNG(0))
    values = ConformalUCB().build(model, known, rng=RNG(0))(points)
    distribution = model.predict(points, latent=True)
    assert isinstance(distribution, FlatSet)
    above = distribution.optimistic()
    expected = distribution.base.mean + np.sqrt(np.pi / 2) * (
        2 * above.expected_improvement(distribution.base.mean) - (above.mean - distribution.base.mean)
    )
    np.testing.assert_allclose(values, expected)


def test_conformal_bounds_of_other_distributions_are_refused() -> None:
    known = data()
    with pytest.raises(RecipeError, match="use UpperQuantile for others"):
        ConformalUCB().build(ONLINE.fit(known, rng=RNG(0)), known, rng=RNG(0))(known.X)
