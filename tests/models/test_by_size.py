"""An exact Gaussian process for few data, and one of neighbours for many."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import Capability, GaussianProcess, GPBySize, NearestNeighbourGP, Warped
from calibo.models.gp_posterior import Posterior
from calibo.models.neighbours import NeighbourPosterior

RNG = np.random.default_rng


def data(n: int) -> Dataset:
    X = RNG(0).random((60, 2))[:n]
    return Dataset(X=X, Y=np.sin(5.0 * X[:, :1]) + X[:, 1:])


def test_the_limit() -> None:
    surrogate = GPBySize(exact_below=40)
    few, many = (surrogate.fit(data(n), rng=RNG(0)) for n in (40, 41))
    assert isinstance(few, Posterior) and isinstance(many, NeighbourPosterior)
    # All are neighbours or core: the two are the same.
    X = RNG(1).random((7, 2))
    exact = GaussianProcess().fit(data(41), rng=RNG(0))
    np.testing.assert_allclose(many.predict(X, latent=True).mean, exact.predict(X, latent=True).mean, atol=1e-9)
    assert many.hyperparameters == exact.hyperparameters


def test_both_are_one_stage() -> None:
    assert GPBySize().stage_names == ("GaussianProcess",)
    assert Warped(GPBySize()).stage_names == ("WarpedGaussianProcess",)


def test_capabilities_are_those_of_both() -> None:
    wanted = {Capability.HYPERPARAMETERS, Capability.LENGTHSCALES, Capability.LEAVE_ONE_OUT}
    assert GPBySize().capabilities == wanted


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match="exact_below"):
        GPBySize(exact_below=-1)
    with pytest.raises(RecipeError, match="many must be a Surrogate"):
        GPBySize(many=NearestNeighbourGP)  # type: ignore[arg-type]
