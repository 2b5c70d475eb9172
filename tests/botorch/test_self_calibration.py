"""BoTorch models calibrated by their own leave-one-out predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize

from calibo.botorch import self_calibrated
from calibo.calibration import Evidence, Isotonic, Temperature
from calibo.distributions import Gaussian
from calibo.errors import RecipeError

pytestmark = pytest.mark.extras


def left_out_scores(X: Any, y: Any, gp: Any) -> np.ndarray:
    """Normal scores of each outcome under the model of the others with the same hyperparameters, by refits."""
    scores = []
    for i in range(len(X)):
        rest = [j for j in range(len(X)) if j != i]
        other = SingleTaskGP(X[rest], y[rest], outcome_transform=None)
        other.load_state_dict(gp.state_dict())
        with torch.no_grad():
            found = other.eval().posterior(X[[i]], observation_noise=True)
        scores.append(float(((y[i] - found.mean) / found.variance.sqrt()).squeeze()))
    return np.array(scores)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_the_temperature_is_that_of_refits(training: Any) -> None:
    X, y = training
    gp = SingleTaskGP(X, y, outcome_transform=None)
    gp.covar_module.lengthscale = torch.tensor([[1.5, 2.0]])
    gp.likelihood.noise = torch.tensor([1e-3])
    model = self_calibrated(gp, Temperature())
    scores = left_out_scores(X, y, gp)
    assert np.std(scores) > 1.3, "the hyperparameters were chosen to be overconfident"
    unit = Gaussian(np.zeros(len(scores)), np.ones(len(scores)))
    expected = Temperature().fit(Evidence(X=X.numpy(), y=scores, distribution=unit))
    quantile = float(expected(Gaussian(np.zeros(1), np.ones(1)), X.numpy()[:1]).icdf(0.9)[0])
    with torch.no_grad():
        base, wider = gp.posterior(X[:3] + 0.2), model.posterior(X[:3] + 0.2)
        spread = (wider.quantile(torch.tensor([0.9], dtype=torch.float64)) - base.mean).squeeze()
    np.testing.assert_allclose(spread, quantile * base.variance.sqrt().squeeze(), rtol=1e-6)


def test_units_and_inputs_do_not_matter(training: Any) -> None:
    X, y = training
    plain = SingleTaskGP(X, y)
    scaled = SingleTaskGP(
        10.0 * X, 1e3 * y + 7.0, input_transform=Normalize(2, bounds=torch.tensor([[0.0, 0.0], [10.0, 10.0]]))
    )
    level = torch.tensor([0.9], dtype=torch.float64)
    one, other = self_calibrated(plain), self_calibrated(scaled)
    with torch.no_grad():
        a = one.posterior(X[:4] * 0.9).quantile(level)
        b = other.posterior(9.0 * X[:4]).quantile(level)
    np.testing.assert_allclose(1e3 * a + 7.0, b, rtol=1e-5)


def test_any_recalibrator_will_do(gp: Any, training: Any) -> None:
    model = self_calibrated(gp, Isotonic())
    assert torch.isfinite(model.posterior(training[0][:2]).mean).all()


def test_several_outcomes_are_refused(training: Any) -> None:
    X, y = training
    with pytest.raises(RecipeError, match="one outcome, got 2"):
        self_calibrated(SingleTaskGP(X, torch.hstack([y, y])))
