"""What acquisition rules share: the incumbent, smoothed logarithms, promising points."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition.base import base_samples, incumbent, log_softplus, promising
from calibo.data import Dataset
from calibo.models import GaussianProcess

RNG = np.random.default_rng


def data(n: int = 10) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=(np.sin(5 * X[:, 0]) - X[:, 1])[:, None])


def test_the_incumbent_is_the_best_expected_value_at_a_point_tried() -> None:
    known = data()
    model = GaussianProcess().fit(known, rng=RNG(0))
    assert incumbent(model, known) == pytest.approx(model.predict(known.X, latent=True).mean.max())


def test_the_incumbent_is_robust_to_a_lucky_measurement() -> None:
    x = np.concatenate([np.full(20, 0.3), [0.9]])[:, None]
    y = np.concatenate([np.zeros(19), [5.0], [0.0]])[:, None]
    known = Dataset(X=x, Y=y, Y_var=np.full((21, 1), 1.0))
    assert incumbent(GaussianProcess().fit(known, rng=RNG(0)), known) < 1.5


def test_base_samples_are_antithetic_and_nested() -> None:
    few, many = base_samples(3, 64, 2), base_samples(3, 64, 5)
    assert few.shape == (64, 2)
    np.testing.assert_array_equal(few, many[:, :2])
    np.testing.assert_array_equal(few[:32], -few[32:])
    assert not np.array_equal(few, base_samples(4, 64, 2))


def test_log_softplus() -> None:
    x = np.array([-1e6, -31.0, -30.0, -5.0, 0.0, 5.0, 700.0, 1e6])
    values = log_softplus(x)
    assert np.isfinite(values).all() and np.all(np.diff(values) > 0)
    np.testing.assert_allclose(values[3:6], np.log(np.log1p(np.exp(x[3:6]))))
    np.testing.assert_allclose(values[-2:], np.log(x[-2:]))


def test_of_very_many_points_the_best_are_promising() -> None:
    rng = RNG(0)
    X, Y = rng.random((1001, 2)), rng.standard_normal((1001, 1))
    assert promising(X[:1000], Y[:1000]).shape == (1000, 2)
    found = promising(X, Y)
    np.testing.assert_array_equal(found, X[np.sort(np.argsort(-Y[:, 0])[:200])])
