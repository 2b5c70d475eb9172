"""The posterior of a calibrated BoTorch model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling.get_sampler import get_sampler
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal

from calibo.botorch.posterior import CalibratedPosterior
from calibo.botorch.score_map import score_map
from calibo.calibration import identity
from calibo.distributions import Distribution, Gaussian, Levels, relevel
from calibo.errors import RecipeError

pytestmark = pytest.mark.extras


def points(*shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(5).random((*shape, 2)))


@pytest.fixture
def posterior(gp: Any, levels: Levels) -> CalibratedPosterior:
    return CalibratedPosterior(gp.posterior(points(4, 3)), score_map(levels))


def reference(posterior: CalibratedPosterior, levels: Levels) -> Distribution:
    """The same distribution in NumPy."""
    base = posterior.base.distribution
    mean, covariance = base.mean.detach().numpy(), base.covariance_matrix.detach().numpy()
    std = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    return relevel(Gaussian(mean, std, lambda: covariance / (std[..., :, None] * std[..., None, :])), levels)


def test_shapes(posterior: CalibratedPosterior) -> None:
    assert posterior.mean.shape == (4, 3, 1)
    assert posterior._extended_shape(torch.Size([7])) == (7, 4, 3, 1)
    assert posterior.base_sample_shape == (4, 3) and posterior.batch_range == (0, -1)
    assert posterior.rsample(torch.Size([7])).shape == (7, 4, 3, 1)
    assert posterior.rsample().shape == (1, 4, 3, 1)
    assert posterior.dtype == torch.float64 and posterior.device.type == "cpu"


def test_closed_forms_are_calibo_s(posterior: CalibratedPosterior, levels: Levels) -> None:
    distribution = reference(posterior, levels)
    mean, variance = posterior.moments()
    np.testing.assert_allclose(mean[..., 0].detach().numpy(), distribution.mean, rtol=1e-9)
    np.testing.assert_allclose(variance[..., 0].sqrt().detach().numpy(), distribution.std, rtol=1e-6)
    for u in (0.03, 0.5, 0.97):
        value = posterior.quantile(torch.tensor(u, dtype=torch.float64))
        np.testing.assert_allclose(value[..., 0].detach().numpy(), distribution.icdf(u), rtol=1e-7, atol=1e-9)
    density = posterior.density(torch.tensor(0.4, dtype=torch.float64))
    np.testing.assert_allclose(density[..., 0].detach().numpy(), distribution.pdf(0.4), rtol=1e-6)  # pyright: ignore
    several = torch.tensor([0.1, 0.9], dtype=torch.float64)
    assert posterior.quantile(several).shape == posterior.density(several).shape == (2, 4, 3, 1)


def test_joint_draws_are_calibo_s(posterior: CalibratedPosterior, levels: Levels) -> None:
    base = np.random.default_rng(0).standard_normal((50, 3))
    expected, _ = reference(posterior, levels).samples(base)
    shared = torch.from_numpy(base)[:, None, :].expand(50, 4, 3)
    draws = posterior.rsample_from_base_samples(torch.Size([50]), shared)
    np.testing.assert_allclose(draws[..., 0].detach().numpy(), np.moveaxis(expected, -2, 0), atol=1e-5)


def test_without_calibration_the_draws_are_the_base_s(gp: Any) -> None:
    base = gp.posterior(points(2, 3))
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=1)
    plain, through = sampler(base), sampler(CalibratedPosterior(base, score_map(identity)))
    torch.testing.assert_close(through, plain, atol=1e-5, rtol=1e-5)


def test_the_sampler_is_registered_and_shares_its_base_samples(gp: Any, levels: Levels) -> None:
    X = points(1, 2).expand(5, 2, 2)
    posterior = CalibratedPosterior(gp.posterior(X), score_map(levels))
    sampler = get_sampler(posterior, torch.Size([32]), seed=3)
    draws = sampler(posterior)
    assert isinstance(sampler, SobolQMCNormalSampler) and draws.shape == (32, 5, 2, 1)
    torch.testing.assert_close(draws, draws[:, :1].expand_as(draws))
    torch.testing.assert_close(sampler(posterior), draws)


@pytest.mark.parametrize("name", ["variance", "distribution", "mvn"])
def test_moment_matching_is_refused(posterior: CalibratedPosterior, name: str) -> None:
    with pytest.raises(RecipeError, match=r"qLogExpectedImprovement.*moments\(\)"):
        getattr(posterior, name)


def test_points_that_coincide(gp: Any, levels: Levels) -> None:
    X = points(1, 1).expand(1, 4, 2)
    draws = CalibratedPosterior(gp.posterior(X), score_map(levels)).rsample(torch.Size([20]))
    assert torch.isfinite(draws).all()
    assert float((draws - draws[:, :, :1]).abs().max()) < 1e-2


def test_single_precision_stays_single(levels: Levels) -> None:
    base = GPyTorchPosterior(MultivariateNormal(torch.zeros(2), torch.eye(2)))
    posterior = CalibratedPosterior(base, score_map(levels))
    assert posterior.mean.dtype == posterior.rsample().dtype == torch.float32


def test_base_samples_of_another_shape_are_refused(posterior: CalibratedPosterior) -> None:
    with pytest.raises(RecipeError, match="sample shape"):
        posterior.rsample_from_base_samples(torch.Size([5]), torch.zeros(6, 4, 3, dtype=torch.float64))
