"""Joint draws beside points that all candidates share, and the sampled utilities made of them."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition.base import after_pending, as_batches, base_samples, incumbent, normalized
from calibo.acquisition.joint import Beside, SampledUtility
from calibo.calibration import Calibrated, ConformalBayes, LeaveOneOut, Temperature
from calibo.data import Dataset
from calibo.models import GaussianProcess, Surrogate, Warped
from calibo.models.base import Capability

RNG = np.random.default_rng


def data(n: int = 10) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=(np.sin(5 * X[:, 0]) - X[:, 1])[:, None])


@pytest.mark.parametrize(
    "surrogate",
    [
        GaussianProcess(),
        ConformalBayes(GaussianProcess(), 0.3),
        Calibrated(Warped(GaussianProcess()), by=Temperature(), evidence=LeaveOneOut()),
    ],
)
def test_drawn_beside_others_is_drawn_together_with_them(surrogate: Surrogate) -> None:
    model = surrogate.fit(data(), rng=RNG(0))
    points, X = RNG(4).random((3, 2)), RNG(3).random((5, 2))
    assert Capability.DEPENDENCE in model.capabilities
    beside = Beside(model, points, seed=1, draws=64)
    f, log_weights = model.predict(after_pending(as_batches(X), points), latent=True).samples(base_samples(1, 64, 4))
    log_weights = np.broadcast_to(log_weights, f.shape)
    own, others = beside.candidates(X), beside.points_drawn
    np.testing.assert_allclose(own.values, f[..., -1:], atol=1e-7)
    np.testing.assert_allclose(np.broadcast_to(own.log_weights, own.values.shape), log_weights[..., -1:], atol=1e-5)
    np.testing.assert_allclose(others.values, f[:1, :, :3], atol=1e-7)


def test_a_copy_of_a_point_is_drawn_as_the_point() -> None:
    model = GaussianProcess().fit(data(), rng=RNG(0))
    points = RNG(4).random((40, 2))
    beside = Beside(model, points, seed=1, draws=64)
    copy = beside.candidates(points[7:8]).values[0, :, 0]
    np.testing.assert_allclose(copy, beside.points_drawn.values[0, :, 7], atol=1e-4)


def test_a_large_batch_has_the_value_of_its_points_drawn_together() -> None:
    known = data()
    model = GaussianProcess().fit(known, rng=RNG(0))
    earlier, pending, X = RNG(1).random((6, 2)), RNG(2).random((2, 2)), RNG(3).random((4, 2))
    sampled = SampledUtility(model, pending, lambda f, w, awaited, others: f - awaited.sum(-1)[..., None], 5, 32)
    sets = np.concatenate([np.broadcast_to(earlier, (4, 6, 2)), X[:, None]], axis=1)
    f, _ = model.predict(after_pending(sets, pending), latent=True).samples(base_samples(5, 32, 9))
    expected = np.log(np.mean(np.exp(f[..., 2:].max(-1) - f[..., :2].sum(-1)), axis=-1))
    np.testing.assert_allclose(sampled(sets), expected, rtol=1e-6)


def test_sampled_utility_is_the_log_of_the_mean_utility() -> None:
    known = data()
    model = GaussianProcess().fit(known, rng=RNG(0))
    pending = RNG(1).random((2, 2))
    sampled = SampledUtility(
        model, pending, lambda f, w, awaited, others: f - (others * awaited).sum(-1)[..., None], seed=5, draws=32
    )
    sets = RNG(2).random((3, 4, 2))
    distribution = model.predict(np.concatenate([np.broadcast_to(pending, (3, 2, 2)), sets], axis=1), latent=True)
    f, _ = distribution.samples(base_samples(5, 32, 6))
    expected = np.log(np.mean(np.exp(f[..., 2:].max(-1) - f[..., :2].sum(-1)), axis=-1))
    np.testing.assert_allclose(sampled(sets), expected)
    np.testing.assert_allclose(sampled(sets[:, 0]), sampled(sets[:, :1]))


def test_a_utility_of_nothing_is_minus_infinity_without_a_warning() -> None:
    known = data()
    model = GaussianProcess().fit(known, rng=RNG(0))
    sampled = SampledUtility(model, np.empty((0, 2)), lambda f, *_: np.full(f.shape, -np.inf), seed=0, draws=8)
    np.testing.assert_array_equal(sampled(known.X), -np.inf)


class TestWeights:
    """Distributions that are sampled by weighting: each point's weights multiply its own utility inside the maximum."""

    def test_normalised_weights_have_mean_one(self) -> None:
        weights = RNG(0).normal(0.0, 300.0, (4, 50, 3))
        np.testing.assert_allclose(np.exp(normalized(weights)).mean(axis=-2), 1.0)
        np.testing.assert_allclose(normalized(weights + 1e4), normalized(weights), atol=1e-9)
        np.testing.assert_allclose(normalized(np.zeros((5, 2))), 0.0, atol=1e-15)

    def test_a_single_point_has_its_expected_utility(self) -> None:
        """Five standard errors of 16,384 antithetic draws around the closed form."""
        known, X = data(), RNG(3).random((10, 2))
        model = ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0))
        best = incumbent(model, known) - 0.5
        sampled = SampledUtility(
            model,
            np.empty((0, 2)),
            lambda f, w, *_: np.log(w * np.maximum(f - best, 1e-300)),
            seed=1,
            draws=16_384,
        )
        distribution = model.predict(X, latent=True)
        exact = distribution.expected_improvement(best)
        spread = np.sqrt(distribution.std**2 + (distribution.mean - best) ** 2)
        np.testing.assert_allclose(np.exp(sampled(X)), exact, atol=float(5 * 2 * spread.max() / np.sqrt(16_384)))
        assert exact.max() > 0.01

    def test_inside_the_maximum(self) -> None:
        known, sets = data(), RNG(3).random((6, 2, 2))
        model = ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0))
        sampled = SampledUtility(model, np.empty((0, 2)), lambda f, w, *_: np.log(w * np.abs(f)), seed=1, draws=64)
        f, log_weights = model.predict(sets, latent=True).samples(base_samples(1, 64, 2))
        weights = np.exp(log_weights)
        weights /= weights.mean(axis=1, keepdims=True)
        assert np.abs(weights - 1.0).max() > 0.05
        np.testing.assert_allclose(np.exp(sampled(sets)), (weights * np.abs(f)).max(axis=-1).mean(axis=-1))

    def test_the_weights_of_pending_points_reach_the_utility(self) -> None:
        known, pending, X = data(), RNG(4).random((2, 2)), RNG(3).random((5, 2))
        model = ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0))
        seen = []

        def utility(f, own, awaited, weights):
            seen.append((f.shape, awaited.shape, np.broadcast_to(weights, awaited.shape)))
            return np.zeros(f.shape)

        SampledUtility(model, pending, utility, seed=1, draws=64)(X)
        assert seen[0][0] == (5, 64, 1) and seen[0][1] == (1, 64, 2)
        np.testing.assert_allclose(seen[0][2].mean(axis=1), 1.0)

    @pytest.mark.parametrize("surrogate", [GaussianProcess(), ConformalBayes(GaussianProcess(), 0.3)])
    def test_the_draws_of_pending_points_are_the_same_for_every_candidate(self, surrogate: Surrogate) -> None:
        pending, X = RNG(4).random((2, 2)), RNG(3).random((5, 2))
        model = surrogate.fit(data(), rng=RNG(0))
        draws, weights = model.predict(after_pending(as_batches(X), pending), latent=True).samples(
            base_samples(1, 64, 3)
        )
        assert draws.shape == (5, 64, 3) and (draws[..., :2] == draws[:1, :, :2]).all()
        same = np.broadcast_to(weights, draws.shape)[..., :2]
        assert (same == same[:1]).all()
