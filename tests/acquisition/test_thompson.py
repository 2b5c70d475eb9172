"""Thompson sampling: draws of the model's own distributions."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import ThompsonSampling
from calibo.data import Dataset
from calibo.models import GaussianProcess

RNG = np.random.default_rng
X = RNG(0).random((10, 2))
KNOWN = Dataset(X=X, Y=(np.sin(5 * X[:, 0]) - X[:, 1])[:, None])
MODEL = GaussianProcess().fit(KNOWN, rng=RNG(0))


@pytest.mark.parametrize("joint", [True, False])
def test_draws_have_the_distribution_of_the_model(joint: bool) -> None:
    acquisition = ThompsonSampling(joint=joint).build(MODEL, KNOWN, rng=RNG(1))
    points = RNG(2).random((6, 2))
    draws = np.stack([acquisition(points) for _ in range(3000)])
    distribution = MODEL.predict(points, latent=True)
    # Five standard errors of 3000 draws.
    assert np.all(np.abs(draws.mean(axis=0) - distribution.mean) < 5 * distribution.std / np.sqrt(3000))
    np.testing.assert_allclose(draws.std(axis=0), distribution.std, rtol=5 / np.sqrt(6000))
    correlation = distribution.correlation() if distribution.correlation and joint else np.eye(6)
    np.testing.assert_allclose(np.corrcoef(draws.T), correlation, atol=5 / np.sqrt(3000))


@pytest.mark.parametrize("joint", [True, False])
def test_batches_are_candidates_for_the_last_place_and_every_call_draws_anew(joint: bool) -> None:
    sets = RNG(2).random((8, 3, 2))
    one, other = (ThompsonSampling(joint=joint).build(MODEL, KNOWN, rng=RNG(1)) for _ in range(2))
    values = one(sets)
    np.testing.assert_array_equal(values, other(sets[:, -1]))
    assert not np.array_equal(values, one(sets))


def test_a_joint_draw_is_one_function() -> None:
    acquisition = ThompsonSampling().build(MODEL, KNOWN, rng=RNG(1))
    twice = np.repeat(RNG(2).random((20, 2)), 2, axis=0)
    values = acquisition(twice)
    # Where the same point comes twice its value is the same, but for the jitter of the factor.
    np.testing.assert_allclose(values[::2], values[1::2], atol=1e-3)
