"""Risk-averse rules: their closed forms, and that noise is what they avoid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from calibo.acquisition import (
    AcquisitionRule,
    ExpectedImprovement,
    PenalizedEI,
    RiskAverseUCB,
    UpperQuantile,
    incumbent,
)
from calibo.acquisition.risk import Shifted
from calibo.calibration import Calibrated, LeaveOneOut, OnlineQuantile
from calibo.data import Dataset
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, HeteroscedasticGP, Surrogate
from calibo.testing import DistributionSuite

RNG = np.random.default_rng
X = RNG(1).random((40, 2))
RULES: list[AcquisitionRule] = [RiskAverseUCB(), PenalizedEI()]
CALIBRATED = Calibrated(HeteroscedasticGP(), by=OnlineQuantile(0.5), evidence=LeaveOneOut())


def data(times: int = 4) -> Dataset:
    """Two equal hills; measurements are noisy on the right one."""
    rng = RNG(0)
    points = np.repeat(rng.random((15, 2)), times, axis=0)
    f = np.exp(-20 * np.square(points[:, 0] - 0.25)) + np.exp(-20 * np.square(points[:, 0] - 0.75))
    std = np.where(points[:, 0] > 0.5, 0.5, 0.02)
    return Dataset(X=points, Y=(f + std * rng.standard_normal(len(f)))[:, None])


KNOWN = data()
MODEL = HeteroscedasticGP().fit(KNOWN, rng=RNG(0))


@pytest.mark.parametrize("aversion", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("noise_level", [0.5, 0.9])
def test_risk_averse_ucb_in_closed_form(aversion: float, noise_level: float) -> None:
    beta = 1.3
    rule = RiskAverseUCB(float(ndtr(beta)), aversion, noise_level)
    distribution = MODEL.predict(X, latent=True)
    expected = distribution.mean + beta * distribution.std - aversion * MODEL.noise_variance(X, level=1 - noise_level)
    acquisition = rule.build(MODEL, KNOWN, rng=RNG(0))
    np.testing.assert_allclose(acquisition(X), expected)
    np.testing.assert_allclose(acquisition(X[:, None, :]), expected)


def test_penalized_ei_against_draws() -> None:
    distribution, best = MODEL.predict(X, latent=True), incumbent(MODEL, KNOWN)
    z = RNG(0).standard_normal((200_000, 1))
    gain = np.maximum(distribution.mean + distribution.std * z - best, 0.0).mean(axis=0)
    expected = best + gain - 0.7 * np.sqrt(MODEL.noise_variance(X))
    acquisition = PenalizedEI(0.7).build(MODEL, KNOWN, rng=RNG(0))
    np.testing.assert_allclose(acquisition(X), expected, atol=5e-3 * float(distribution.std.max()))


def test_no_aversion_is_the_plain_rule() -> None:
    ucb, plain = (r.build(MODEL, KNOWN, rng=RNG(0))(X) for r in (RiskAverseUCB(0.8, 0.0), UpperQuantile(0.8)))
    np.testing.assert_allclose(ucb, plain)
    ei, log_ei = (r.build(MODEL, KNOWN, rng=RNG(0))(X) for r in (PenalizedEI(0.0), ExpectedImprovement()))
    np.testing.assert_allclose(ei, incumbent(MODEL, KNOWN) + np.exp(log_ei))


def test_sets_are_penalised_inside_the_maximum() -> None:
    """Against brute force: the mean over many draws of the largest u_j less its own cost."""
    pair = np.array([[[0.25, 0.5], [0.75, 0.5]]])
    distribution, beta = MODEL.predict(pair, latent=True), 1.2
    joint = distribution.correlation
    assert joint is not None
    z = RNG(0).standard_normal((400_000, 2)) @ np.linalg.cholesky(joint()[0] + 1e-12 * np.eye(2)).T
    u = distribution.mean + beta * np.sqrt(np.pi / 2) * distribution.std * np.abs(z)
    expected = (u - 0.8 * MODEL.noise_variance(pair, level=0.1)).max(axis=1).mean()
    rule = RiskAverseUCB(float(ndtr(beta)), 0.8, draws=4096)
    assert float(rule.build(MODEL, KNOWN, rng=RNG(0))(pair)[0]) == pytest.approx(expected, abs=0.02)


def test_penalties_of_a_set_add_up() -> None:
    pairs = X.reshape(20, 2, 2)
    rules = [PenalizedEI(a).build(MODEL, KNOWN, rng=RNG(0)) for a in (0.0, 0.5)]
    cost = 0.5 * np.sqrt(MODEL.noise_variance(pairs)).sum(axis=1)
    np.testing.assert_allclose(rules[0](pairs) - rules[1](pairs), cost)


@pytest.mark.parametrize("rule", RULES, ids=["ucb", "ei"])
@pytest.mark.parametrize("surrogate", [HeteroscedasticGP(), CALIBRATED], ids=["raw", "calibrated"])
def test_pending_points_and_calibration(rule: AcquisitionRule, surrogate: Surrogate) -> None:
    known = data(2)
    model = surrogate.fit(known, rng=RNG(0))
    free = rule.build(model, known, rng=RNG(0))
    busy = rule.build(model, replace(known, X_pending=X[:2]), rng=RNG(0))
    for values in (free(X), busy(X), busy(X.reshape(20, 2, 2))):
        assert np.isfinite(values).all()
    assert not np.allclose(free(X), busy(X))


@pytest.mark.parametrize("rule", RULES, ids=["ucb", "ei"])
@pytest.mark.parametrize(
    "surrogate", [GaussianProcess(), Calibrated(GaussianProcess(), by=OnlineQuantile(0.5))], ids=["raw", "calibrated"]
)
def test_a_model_without_noise_is_refused_with_advice(rule: AcquisitionRule, surrogate: Surrogate) -> None:
    known = data(1)
    with pytest.raises(RecipeError, match=r"which Posterior is not: use HeteroscedasticGP\(\)"):
        rule.build(surrogate.fit(known, rng=RNG(0)), known, rng=RNG(0))


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (RiskAverseUCB, {"aversion": -0.1}, "from 0 on"),
        (PenalizedEI, {"aversion": float("inf")}, "from 0 on"),
        (RiskAverseUCB, {"level": 0.5}, "between 0.5 and 1"),
        (RiskAverseUCB, {"noise_level": 0.4}, "noise_level"),
    ],
)
def test_bad_settings_are_refused(make: Any, settings: dict[str, float], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make(**settings)


class TestShifted(DistributionSuite):
    def distribution(self, *batch: int) -> Shifted:
        rng = RNG(0)
        root = rng.standard_normal((4, 4))
        covariance = root @ root.T
        std = np.sqrt(np.diagonal(covariance))
        correlation = np.broadcast_to(covariance / np.outer(std, std), (*batch, 4, 4))
        mean, spread, by = (
            np.broadcast_to(a, (*batch, 4)) for a in (rng.standard_normal(4), std, np.array([0.0, 3.0, -2.0, 50.0]))
        )
        return Shifted(Gaussian(mean, spread, lambda: correlation), by)
