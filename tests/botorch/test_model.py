"""Calibrated BoTorch models under BoTorch's own acquisition functions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from botorch.acquisition import analytic
from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
from botorch.acquisition.monte_carlo import qUpperConfidenceBound
from botorch.acquisition.objective import (
    ExpectationPosteriorTransform,
    GenericMCObjective,
    ScalarizedPosteriorTransform,
)
from botorch.models import ModelList, SingleTaskGP
from botorch.models.transforms import Log
from botorch.optim import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler

from calibo.botorch import CalibratedBoTorchModel, CalibratedPosterior, calibrated
from calibo.calibration import Relevel, identity
from calibo.distributions import Gaussian, Levels, Relevelled, Tempered
from calibo.errors import RecipeError

pytestmark = pytest.mark.extras

BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


@pytest.fixture
def model(gp: Any, levels: Levels) -> CalibratedBoTorchModel:
    return calibrated(gp, Relevel(levels))


def points(*shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(5).random((*shape, 2)))


def sampler(n: int = 256) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([n]), seed=0)


def test_expected_improvement_by_samples_is_the_closed_form(model: Any, gp: Any, levels: Levels, training: Any) -> None:
    X, best = points(6, 1), float(training[1].max())
    base = gp.posterior(X)
    distribution = Relevelled(
        Gaussian(base.mean[:, 0, 0].detach().numpy(), base.variance[:, 0, 0].sqrt().detach().numpy()), levels
    )
    value = qLogExpectedImprovement(model, best_f=best, sampler=sampler(8192))(X)
    exact = distribution.expected_improvement(best)
    near = exact > 1e-3
    assert near.sum() >= 2
    np.testing.assert_allclose(value.exp().detach().numpy()[near], exact[near], rtol=0.05)
    gaussian = Gaussian(distribution.base.mean, distribution.base.std).expected_improvement(best)
    assert (np.abs(gaussian - exact)[near] > 0.1 * exact[near]).all(), "the level map must matter here"


@pytest.mark.parametrize("noisy", [False, True])
def test_gradients_flow_through_the_level_map_to_the_points(model: Any, training: Any, noisy: bool) -> None:
    pending = points(2) * 0.5
    make: Any = qLogNoisyExpectedImprovement if noisy else qLogExpectedImprovement
    acquisition = make(
        model, training[0] if noisy else float(training[1].max()) - 0.5, sampler=sampler(), X_pending=pending
    )
    X = points(1, 2).requires_grad_(True)
    (gradient,) = torch.autograd.grad(acquisition(X).sum(), X)
    assert torch.isfinite(gradient).all() and float(gradient.abs().max()) > 0.0
    step = torch.zeros_like(X)
    step[0, 1, 0] = 1e-6
    with torch.no_grad():
        numeric = (acquisition(X + step) - acquisition(X - step)) / 2e-6
    np.testing.assert_allclose(float(gradient[0, 1, 0]), float(numeric), rtol=2e-2, atol=1e-4)


@pytest.mark.parametrize("noisy", [False, True])
def test_acquisitions_are_optimized_with_pending_points(model: Any, training: Any, noisy: bool) -> None:
    (X, Y), pending = training, points(2)
    make: Any = qLogNoisyExpectedImprovement if noisy else qLogExpectedImprovement
    acquisition = make(model, X if noisy else float(Y.max()), sampler=sampler(64), X_pending=pending)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        candidates, value = optimize_acqf(
            acquisition, BOUNDS, q=2, num_restarts=2, raw_samples=16, sequential=True, options={"maxiter": 20}
        )
    assert candidates.shape == (2, 2) and torch.isfinite(value).all()
    assert ((candidates >= 0) & (candidates <= 1)).all()
    acquisition.set_X_pending(pending)
    with torch.no_grad():
        assert float(acquisition(candidates[:1])) >= float(acquisition(points(64, 1)).max()) - 0.1


def test_pending_points_matter(model: Any, training: Any) -> None:
    grid = points(40, 1)
    with torch.no_grad():
        free = qLogNoisyExpectedImprovement(model, training[0], sampler=sampler())(grid)
        best = int(free.argmax())
        taken = qLogNoisyExpectedImprovement(model, training[0], sampler=sampler(), X_pending=grid[best])(grid[[best]])
    assert float(taken) < float(free[best]) - 0.5


def test_a_cached_root_is_switched_off(model: Any, training: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not qLogNoisyExpectedImprovement(model, training[0], sampler=sampler(16))._cache_root
    with pytest.warns(RuntimeWarning, match="cache_root"):
        qLogNoisyExpectedImprovement(model, training[0], sampler=sampler(16), cache_root=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: analytic.LogExpectedImprovement(m, best_f=0.0),
        lambda m: analytic.ProbabilityOfImprovement(m, best_f=0.0),
        lambda m: analytic.UpperConfidenceBound(m, beta=4.0),
        lambda m: analytic.qAnalyticProbabilityOfImprovement(m, best_f=0.0),
        lambda m: qMaxValueEntropy(m, points(20)),
    ],
)
@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.NumericsWarning")
def test_moment_matching_acquisitions_say_what_to_use_instead(model: Any, make: Any) -> None:
    with pytest.raises(RecipeError, match="qLogExpectedImprovement or qLogNoisyExpectedImprovement"):
        make(model)(points(3, 1))


def test_minimisation_by_a_posterior_transform(gp: Any, model: Any) -> None:
    minus = ScalarizedPosteriorTransform(torch.tensor([-2.0], dtype=torch.float64), offset=1.0)
    X = points(4, 1)
    flipped = model.posterior(X, posterior_transform=minus)
    assert isinstance(flipped, CalibratedPosterior)
    u = torch.tensor(0.1, dtype=torch.float64)
    torch.testing.assert_close(flipped.quantile(u), 1.0 - 2.0 * model.posterior(X).quantile(1.0 - u))
    acquisition = qLogExpectedImprovement(model, best_f=0.0, posterior_transform=minus, sampler=sampler())
    assert torch.isfinite(acquisition(X)).all()
    with pytest.raises(RecipeError, match="objective"):
        model.posterior(X, posterior_transform=ExpectationPosteriorTransform(n_w=1))


def test_observation_noise_is_passed_on(model: Any) -> None:
    X = points(2, 1)
    plain, noisy = (model.posterior(X, observation_noise=flag).moments()[1] for flag in (False, True))
    assert (noisy > plain).all()


def test_the_posterior_mean_and_acquisitions_by_samples_work(model: Any) -> None:
    X = points(3, 1)
    torch.testing.assert_close(analytic.PosteriorMean(model)(X), model.posterior(X).mean[:, 0, 0])
    assert torch.isfinite(qUpperConfidenceBound(model, beta=4.0, sampler=sampler())(points(3, 2))).all()


def test_several_outcomes_as_a_list(model: Any, gp: Any) -> None:
    joined = ModelList(model, calibrated(gp, Tempered(2.0)))
    objective = GenericMCObjective(lambda Y, X=None: Y.sum(dim=-1))
    value = qLogExpectedImprovement(joined, best_f=0.0, objective=objective)(points(3, 2))
    assert value.shape == (3,) and torch.isfinite(value).all()


def test_models_of_several_outcomes_are_refused(training: Any) -> None:
    X, Y = training
    with pytest.raises(RecipeError, match="ModelList"):
        calibrated(SingleTaskGP(X, torch.cat([Y, -Y], dim=-1)), identity)


def test_ensembles_are_refused(gp: Any) -> None:
    class Ensemble(SingleTaskGP):
        _is_ensemble = True

    gp_class = type(gp)
    gp.__class__ = Ensemble
    try:
        with pytest.raises(RecipeError, match="mixture"):
            calibrated(gp, identity)
    finally:
        gp.__class__ = gp_class


def test_posteriors_that_are_not_gaussian_are_refused(training: Any) -> None:
    X, Y = training
    model = calibrated(SingleTaskGP(X, Y.exp(), outcome_transform=Log()), identity)
    with pytest.raises(RecipeError, match="TransformedPosterior"):
        model.posterior(points(2, 1))
