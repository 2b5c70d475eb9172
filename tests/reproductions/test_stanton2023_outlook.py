"""The outlook of Stanton et al. 2023: a density from nested sets, and joint scores of batches."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy.stats import norm

from calibo.data import Dataset
from calibo.distributions import FlatSet
from calibo.models import GaussianProcess
from calibo.models.gp_posterior import Posterior

FOLDER = "stanton2023"
NAMES = ("problems", "rkhs", "settings", "outlook")


@pytest.fixture(scope="module")
def outlook(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["outlook"]


@pytest.fixture(scope="module")
def model() -> Posterior:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = np.sin(5.0 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    return GaussianProcess().fit(Dataset(X=X, Y=y[:, None]), rng=rng)


POINTS = np.random.default_rng(1).random((6, 2))


def test_one_level_is_the_flat_set(outlook: ModuleType, model: Posterior) -> None:
    rings = outlook.rings(model, POINTS, 0.18, ())
    low, high = rings.sets[0]
    flat = FlatSet(rings.base, low, high, 1.0 - 0.18)
    np.testing.assert_allclose(rings.expected_improvement(0.8), flat.expected_improvement(0.8), rtol=1e-10)


def test_density_of_nested_sets(outlook: ModuleType, model: Posterior) -> None:
    rings = outlook.rings(model, POINTS, 0.18, outlook.LEVELS)
    assert len(rings.levels) > 4 and (np.diff(rings.lengths, axis=0) <= 1e-12).all()
    grid = np.linspace(-1.8, 1.8, 1201)
    density = np.exp([rings.log_density(np.full(len(POINTS), y)) for y in grid])
    step = grid[1] - grid[0]
    np.testing.assert_allclose(density.sum(axis=0) * step, 1.0, atol=0.03)
    # The latent value given a measurement is Gaussian.
    f = rings.base
    v = f.std**2 + f.noise_std**2
    mean, sd = f.mean + f.std**2 / v * (grid[:, None] - f.mean), f.std * f.noise_std / np.sqrt(v)
    z = (mean - 0.5) / sd
    improvement = sd * (z * norm.cdf(z) + norm.pdf(z))
    expected = (density * improvement).sum(axis=0) * step
    np.testing.assert_allclose(rings.expected_improvement(0.5), expected, atol=0.02)


def test_batches_of_one_and_joint_scores(outlook: ModuleType, model: Posterior) -> None:
    belief, points = outlook.BatchBelief(model, 3), POINTS[:3]
    low, high = outlook.rings(model, points, outlook.ALPHA(30), ()).sets[0]
    ends = np.stack([low[:, 0] + 1e-4, low[:, 0] - 1e-4, high[:, -1] - 1e-4, high[:, -1] + 1e-4])
    held = belief.pointwise(points, model.units.forward(ends))
    np.testing.assert_array_equal(held, np.array([[True], [False], [True], [False]]).repeat(3, axis=1))
    one = outlook.BatchBelief(model, 1)
    np.testing.assert_array_equal(one.joint(points[:1], model.units.forward(ends[:, :1])), held[:, 0])
    # A batch is judged by what it is together: far from the mean in all points is not accepted.
    mean = model.units.forward(model.predict(points, latent=False).mean)
    np.testing.assert_array_equal(belief.joint(points, np.stack([mean, mean + 9.0])), [True, False])


def test_a_search_of_each_kind(outlook: ModuleType) -> None:
    for study, methods in outlook.METHODS.items():
        found = outlook.perform(outlook.Job(study, "hartmann3", methods[-1], 0, 1))
        assert all(np.isfinite(list(found.values()))) and found["regret"] >= 0.0
