"""The prior of the noise: its slope, its bounds, and that it holds within a fit."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, NoisePrior

RNG = np.random.default_rng


def test_it_is_normal_in_the_log() -> None:
    prior, e = NoisePrior(-4.0, 2.0), 1e-6
    assert prior(-4.0) == (0.0, 0.0) and prior(-6.0)[0] == pytest.approx(0.5)
    assert prior(-1.0)[1] == pytest.approx((prior(-1.0 + e)[0] - prior(-1.0 - e)[0]) / (2 * e), rel=1e-6)


@pytest.mark.parametrize("floor", [1e-6, 1e-3])
def test_no_noise_is_below_the_floor_known_noise_included(floor: float) -> None:
    X = RNG(0).random((20, 1))
    prior = NoisePrior(-20.0, 0.5, floor)
    smooth = Dataset(X=X, Y=np.sin(3 * X))
    free = GaussianProcess(noise=prior).fit(smooth, rng=RNG(0))
    assert free.theta.noise == pytest.approx(floor)
    known = GaussianProcess(noise=prior).fit(Dataset(X=X, Y=smooth.Y, Y_var=np.zeros((20, 1))), rng=RNG(0))
    np.testing.assert_allclose(known.noise, floor)


def test_it_matters_while_data_are_few() -> None:
    X = RNG(0).random((6, 2))
    data = Dataset(X=X, Y=RNG(1).standard_normal((6, 1)))
    little, much = (
        GaussianProcess(noise=NoisePrior(location, 0.3)).fit(data, rng=RNG(0)).theta.noise for location in (-9.0, -1.0)
    )
    assert little < 1e-3 < 0.1 < much


@pytest.mark.parametrize("wrong", [{"width": 0.0}, {"floor": 0.0}, {"floor": 3.0}, {"location": "low"}], ids=str)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        NoisePrior(**wrong)
