"""Hyperparameters that are fitted when the data have grown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import Capability, GaussianProcess, Scheduled, Surrogate, Warped
from calibo.testing.surrogate_suite import SurrogateSuite

RNG = np.random.default_rng


class TestScheduled(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Scheduled(GaussianProcess())


def data(n: int, stored: tuple[float, ...] = (), refit: bool | None = None) -> Dataset:
    rng = RNG(0)
    X, noise = rng.random((200, 2)), rng.standard_normal(200)
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.1 * noise
    return Dataset(X=X[:n], Y=y[:n, None], hyperparameters=(stored,) if stored else (), refit=refit)


def test_few_data_are_fitted_at_every_step() -> None:
    surrogate, plain = Scheduled(GaussianProcess(), always_below=50), GaussianProcess()
    stored = surrogate.fit(data(30), rng=RNG(0)).hyperparameters
    assert stored == (*plain.fit(data(30), rng=RNG(0)).hyperparameters, 30.0)
    found = surrogate.fit(data(31, stored), rng=RNG(0)).hyperparameters
    assert found == (*plain.fit(data(31, stored[:-1]), rng=RNG(0)).hyperparameters, 31.0)


def test_many_are_fitted_when_they_have_grown() -> None:
    surrogate = Scheduled(GaussianProcess(), always_below=50, growth=1.1)
    stored = surrogate.fit(data(100), rng=RNG(0)).hyperparameters
    fits = []
    for n in range(101, 125):
        found = surrogate.fit(data(n, stored), rng=RNG(0)).hyperparameters
        fits += [n] if found[:-1] != stored[:-1] else []
        assert found[-1] == (n if n in fits else stored[-1])
        stored = found
    assert fits == [111, 123]
    # All data are used in between.
    X = RNG(1).random((5, 2))
    kept = GaussianProcess().fit(data(124, stored[:-1], refit=False), rng=RNG(0)).predict(X, latent=True)
    np.testing.assert_array_equal(surrogate.fit(data(124, stored), rng=RNG(0)).predict(X, latent=True).mean, kept.mean)


def test_a_dataset_overrules_the_schedule() -> None:
    surrogate = Scheduled(GaussianProcess(), always_below=50)
    stored = surrogate.fit(data(100), rng=RNG(0)).hyperparameters
    assert surrogate.fit(data(101, stored, refit=True), rng=RNG(0)).hyperparameters[-1] == 101.0
    assert surrogate.fit(data(150, stored, refit=False), rng=RNG(0)).hyperparameters == stored
    assert surrogate.fit(data(101, stored), rng=RNG(0)).hyperparameters == stored


def test_fewer_data_than_at_the_last_fit_are_fitted() -> None:
    surrogate = Scheduled(GaussianProcess(), always_below=50)
    stored = surrogate.fit(data(100), rng=RNG(0)).hyperparameters
    assert surrogate.fit(data(80, stored), rng=RNG(0)).hyperparameters[-1] == 80.0


def test_hyperparameters_of_another_surrogate_are_a_start() -> None:
    plain = GaussianProcess().fit(data(120), rng=RNG(0)).hyperparameters
    found = Scheduled(GaussianProcess(), always_below=50).fit(data(121, plain), rng=RNG(0)).hyperparameters
    assert found == (*GaussianProcess().fit(data(121, plain), rng=RNG(0)).hyperparameters, 121.0)


def test_a_transform_keeps_to_the_schedule() -> None:
    surrogate = Warped(Scheduled(GaussianProcess(), always_below=50), growth=1.3)
    skewed = [replace(data(n), Y=-np.exp(3.0 * data(n).Y)) for n in (100, 102)]
    first = surrogate.fit(skewed[0], rng=RNG(0)).hyperparameters
    second = surrogate.fit(replace(skewed[1], hyperparameters=(first,)), rng=RNG(0)).hyperparameters
    assert second == first and first[-3] == first[-1] == 100.0


def test_capabilities_pass_and_no_stage_is_added() -> None:
    surrogate = Scheduled(GaussianProcess())
    model = surrogate.fit(data(20), rng=RNG(0))
    assert model.capabilities == surrogate.capabilities == GaussianProcess().capabilities
    assert Capability.AUGMENTATION in model.capabilities
    assert surrogate.stage_names == ("GaussianProcess",) and len(model.stages) == 1
    np.testing.assert_array_equal(model.leave_one_out(np.array([3])).mean, model.leave_one_out().mean[[3]])


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match="growth"):
        Scheduled(GaussianProcess(), growth=0.9)
    with pytest.raises(RecipeError, match="always_below"):
        Scheduled(GaussianProcess(), always_below=-1)
