"""BoTorch models as surrogates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from botorch.cross_validation import efficient_loo_cv
from botorch.exceptions.errors import ModelFittingError
from botorch.models import SingleTaskGP, SingleTaskVariationalGP
from gpytorch.kernels import RBFKernel, ScaleKernel

from calibo.botorch import BoTorchSurrogate, calibrated
from calibo.botorch import surrogate as module
from calibo.calibration import Calibrated, LeaveOneOut, OnlineQuantile, TimeSeries
from calibo.data import Dataset
from calibo.errors import FallbackWarning, RecipeError
from calibo.models import Capability, Surrogate
from calibo.testing.surrogate_suite import SurrogateSuite

pytestmark = pytest.mark.extras


def data(n: int = 15, d: int = 2, noise: float = 0.1) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    return Dataset(X=X, Y=(50.0 + 10.0 * np.sin(5.0 * X).sum(axis=1) + noise * rng.standard_normal(n))[:, None])


@pytest.fixture(scope="module")
def model() -> Any:
    return BoTorchSurrogate().fit(data(), rng=np.random.default_rng(0))


class TestBoTorchSurrogate(SurrogateSuite):
    points = 8

    def surrogate(self) -> Surrogate:
        return BoTorchSurrogate()


def test_without_refit_stored_hyperparameters_are_taken_as_they_are(model: Any) -> None:
    again = replace(data(20), hyperparameters=(model.hyperparameters,), refit=False)
    kept = BoTorchSurrogate().fit(again, rng=np.random.default_rng(1))
    assert kept.hyperparameters == pytest.approx(model.hyperparameters) and len(model.hyperparameters) >= 3
    same = replace(data(), hyperparameters=(model.hyperparameters,), refit=False)
    X = np.random.default_rng(1).random((4, 2))
    ours, theirs = (
        m.predict(X, latent=False) for m in (BoTorchSurrogate().fit(same, rng=np.random.default_rng(1)), model)
    )
    assert np.allclose(ours.mean, theirs.mean) and np.allclose(ours.std, theirs.std)
    wrong = replace(data(), hyperparameters=((1.0,),), refit=False)
    fitted = BoTorchSurrogate().fit(wrong, rng=np.random.default_rng(0))
    assert fitted.hyperparameters == pytest.approx(model.hyperparameters, abs=1e-3)


def test_predictions_are_the_posterior_in_the_outcomes_units(model: Any) -> None:
    X = np.random.default_rng(1).random((3, 4, 2))
    for latent in (True, False):
        distribution = model.predict(X, latent=latent)
        with torch.no_grad():
            posterior = model.model.posterior(torch.from_numpy(X), observation_noise=not latent)
        scale = model.units.unit * model.units.scale
        np.testing.assert_allclose(distribution.mean, model.units.backward(posterior.mean[..., 0].numpy()), rtol=1e-9)
        np.testing.assert_allclose(distribution.std, scale * posterior.variance[..., 0].sqrt().numpy(), rtol=1e-5)
        covariance = scale**2 * posterior.distribution.covariance_matrix.numpy()
        matrix = distribution.correlation() * distribution.std[..., :, None] * distribution.std[..., None, :]
        np.testing.assert_allclose(matrix, covariance, rtol=1e-3, atol=1e-5)


def test_many_points_are_predicted_in_blocks(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).random((50, 2))
    whole = model.predict(X, latent=True)
    monkeypatch.setattr(module, "_BLOCK", 7)
    parts = model.predict(X, latent=True)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-9)
    np.testing.assert_allclose(parts.std, whole.std, rtol=1e-4)


def test_leave_one_out_is_botorch_s(model: Any) -> None:
    closed = {Capability.LEAVE_ONE_OUT, Capability.ONE_STEP_AHEAD}
    assert closed | {Capability.HYPERPARAMETERS} == model.capabilities
    reference = efficient_loo_cv(model.model)
    distribution = model.leave_one_out()
    scale = model.units.unit * model.units.scale
    np.testing.assert_allclose(
        distribution.mean, model.units.backward(reference.posterior.mean.detach().numpy().ravel())
    )
    np.testing.assert_allclose(
        distribution.std, scale * reference.posterior.variance.detach().sqrt().numpy().ravel(), rtol=1e-6
    )


def test_one_step_ahead_is_the_prediction_from_the_points_before(model: Any) -> None:
    distribution, t = model.one_step_ahead(), 9
    gp = SingleTaskGP(
        *(v[:t] for v in (model.model.train_inputs[0], model.model.train_targets[:, None])), outcome_transform=None
    )
    gp.load_state_dict(model.model.state_dict())
    with torch.no_grad():
        posterior = gp.eval().posterior(model.model.train_inputs[0][[t]], observation_noise=True)
    np.testing.assert_allclose(distribution.mean[t], model.units.backward(posterior.mean.numpy())[0, 0], rtol=1e-6)


def test_known_noise_is_used() -> None:
    rows = data()
    known = Dataset(X=rows.X, Y=rows.Y, Y_var=np.full_like(rows.Y, 9.0))
    model = BoTorchSurrogate().fit(known, rng=np.random.default_rng(0))
    latent, measured = (model.predict(rows.X[:3], latent=flag).std for flag in (True, False))
    np.testing.assert_allclose(np.square(measured) - np.square(latent), 9.0, rtol=1e-6)


def test_options_reach_the_model_and_stay_as_they_were() -> None:
    kernel = ScaleKernel(RBFKernel(ard_num_dims=2))
    before = {name: value.clone() for name, value in kernel.state_dict().items()}
    surrogate = BoTorchSurrogate(SingleTaskGP, covar_module=kernel)
    model = surrogate.fit(data(), rng=np.random.default_rng(0))
    assert isinstance(model.model.covar_module, ScaleKernel) and model.model.covar_module is not kernel
    assert all(torch.equal(value, before[name]) for name, value in kernel.state_dict().items())


@pytest.mark.parametrize("model_class", [SingleTaskVariationalGP, dict, "SingleTaskGP"])
def test_other_classes_are_refused(model_class: Any) -> None:
    with pytest.raises(RecipeError, match="SingleTaskGP"):
        BoTorchSurrogate(model_class)


def test_outcome_transforms_are_refused() -> None:
    with pytest.raises(RecipeError, match="outcome_transform"):
        BoTorchSurrogate(outcome_transform=None)


def test_a_fit_that_fails_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(mll: Any) -> None:
        raise ModelFittingError("all attempts failed")

    monkeypatch.setattr(module, "fit_gpytorch_mll", fail)
    with pytest.warns(FallbackWarning, match="initial hyperparameters"):
        model = BoTorchSurrogate().fit(data(), rng=np.random.default_rng(0))
    assert np.isfinite(model.predict(data().X, latent=False).mean).all()


@pytest.mark.parametrize("evidence", [LeaveOneOut(), TimeSeries()])
def test_it_can_be_calibrated_and_sent_back(evidence: Any) -> None:
    surrogate = Calibrated(BoTorchSurrogate(), by=OnlineQuantile(), evidence=evidence)
    model = surrogate.fit(data(), rng=np.random.default_rng(0))
    X = data().X[:3]
    distribution = model.predict(X, latent=False)
    raw: Any = model.base
    posterior = calibrated(raw.model, model.level_map).posterior(torch.from_numpy(X), observation_noise=True)
    np.testing.assert_allclose(raw.units.backward(posterior.mean[:, 0].detach().numpy()), distribution.mean, rtol=1e-6)
