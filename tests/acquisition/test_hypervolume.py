from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.acquisition import HypervolumeImprovement
from calibo.acquisition.hypervolume import (
    log_expected_gain,
    log_gain,
    nondominated_boxes,
    reference_point,
)
from calibo.calibration import Calibrated, ConformalBayes, LocalizedOnline, OnlineQuantile, Temperature
from calibo.data import Array, Dataset, Forecast
from calibo.distributions import Distribution, FlatSet, Gaussian
from calibo.errors import DataError, RecipeError
from calibo.models import GaussianProcess, Model, ModelWrapper
from calibo.optimize.strategy import ModelForecaster
from calibo.pareto import hypervolume, inferred_reference, pareto_front

RNG = np.random.default_rng
REFERENCE = np.array([-1.0, -1.0])


def two_goals(n: int = 14, seed: int = 0, objectives: int = 2) -> Dataset:
    X = RNG(seed).random((n, 2))
    goals = [X[:, 0] - X[:, 1] ** 2, np.sin(5 * X[:, 1]) - X[:, 0], -np.abs(X[:, 0] - 0.5)]
    return Dataset(X=X, Y=np.column_stack(goals[:objectives]))


def fitted(data: Dataset, surrogate: object | None = None) -> tuple[Model, ...]:
    made = surrogate or GaussianProcess()
    return tuple(made.fit(data.outcome(i), rng=RNG(0)) for i in range(data.objectives))  # type: ignore[attr-defined]


def with_forecasts(data: Dataset) -> Dataset:
    """The data with forecasts by the raw process, for calibrators to learn from."""
    forecasts = ModelForecaster(fitted(data.rows(slice(0, 6))), ("GaussianProcess",))(data.X)
    wide = [tuple(Forecast((replace(f.raw, std=0.3 * f.raw.std),), f.stage_names) for f in pair) for pair in forecasts]
    return replace(data, forecasts=tuple(wide))


def test_a_gain_is_the_difference_of_hypervolumes() -> None:
    for seed in range(30):
        Y, new = RNG(seed).normal(size=(8, 2)), RNG(seed + 100).normal(size=(5, 1, 2))
        lower, upper = nondominated_boxes(Y[None], REFERENCE)
        gain = np.exp(log_gain(new, lower, upper, np.full(2, 1e-12)))[:, 0]
        before = hypervolume(Y, REFERENCE)
        expected = [hypervolume(np.vstack([Y, one]), REFERENCE) - before for one in new]
        np.testing.assert_allclose(gain, expected, atol=1e-10)


@pytest.mark.whole
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_expected_gain_equals_simulation(seed: int, points: int) -> None:
    """By 20,000 weighted draws: at most 5 standard errors and 1e-4 apart (false alarm about 6e-7 each)."""
    rng = RNG(seed)
    front = pareto_front(rng.normal(size=(points, 2))) if points else np.empty((0, 2))
    mean, std = rng.normal(size=(2, 1)), rng.uniform(0.1, 1.0, size=(2, 1))
    flat = FlatSet.central(Gaussian(mean[1], std[1], noise_std=0.3), np.array([0.4]), 0.2)
    distributions: list[Distribution] = [Gaussian(mean[0], std[0]), flat]
    lower, upper = nondominated_boxes(front, REFERENCE)
    exact = float(np.exp(log_expected_gain(distributions, lower, upper))[0])
    pairs = [distribution.samples(rng.standard_normal((20_000, 1))) for distribution in distributions]
    drawn = np.concatenate([f for f, _ in pairs], axis=1)
    weights = np.exp(sum(w for _, w in pairs))[:, 0]
    gains = weights * np.clip(np.minimum(drawn[:, None, :], upper) - lower, 0.0, None).prod(axis=-1).sum(axis=-1)
    assert abs(gains.mean() - exact) < 5.0 * gains.std() / np.sqrt(20_000) + 1e-4


def test_far_below_the_front_the_logarithm_still_slopes() -> None:
    lower, upper = nondominated_boxes(np.array([[1.0, 0.0], [0.0, 1.0]]), REFERENCE)
    mean = np.linspace(-30.0, -20.0, 6)
    distributions = [Gaussian(mean, np.full(6, 0.5)), Gaussian(mean, np.full(6, 0.5))]
    values = log_expected_gain(distributions, lower, upper)
    assert np.isfinite(values).all() and (np.diff(values) > 1.0).all()


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("objectives", [2, pytest.param(3, marks=pytest.mark.extras)])
def test_a_single_point_by_draws_agrees_with_the_closed_form(noisy: bool, objectives: int) -> None:
    data = two_goals(objectives=objectives)
    models = fitted(data)
    X = RNG(3).random((40, 2))
    exact = HypervolumeImprovement().build(models, data, rng=RNG(1))(X)
    draws = HypervolumeImprovement(noisy=noisy, draws=512 if objectives == 2 else 64, smoothing=1e-6)
    sampled = draws.build(models, data, rng=RNG(1))
    values = sampled(X[:, None, :]) if not noisy else sampled(X)
    # Measurements are all but exact here, so that the noisy front is the expected one.
    high = exact > exact.max() - 4.0
    np.testing.assert_allclose(values[high], exact[high], atol=0.35 if objectives == 2 else 0.8)
    assert np.corrcoef(values[high], exact[high])[0, 1] > 0.95


CALIBRATED = {
    "gp": GaussianProcess(),
    "ocbo": Calibrated(Calibrated(GaussianProcess(), by=Temperature()), by=OnlineQuantile(0.2)),
    "locbo": Calibrated(GaussianProcess(), by=LocalizedOnline()),
    "cbo": ConformalBayes(GaussianProcess(), 0.2, "in_sample"),
}


@pytest.mark.filterwarnings("ignore:.*could not be calibrated")
@pytest.mark.parametrize("name", CALIBRATED)
def test_weighted_draws_agree_with_the_closed_form_under_calibrated_distributions(name: str) -> None:
    data = with_forecasts(two_goals())
    models = fitted(data, CALIBRATED[name])
    X = RNG(3).random((60, 2))
    exact = HypervolumeImprovement().build(models, data, rng=RNG(1))(X)
    sampled = HypervolumeImprovement(draws=4096, smoothing=1e-6).build(models, data, rng=RNG(1))(X[:, None, :])
    high = exact > exact.max() - 2.0
    np.testing.assert_allclose(sampled[high], exact[high], atol=0.2)
    assert not np.allclose(exact, HypervolumeImprovement().build(fitted(data), data, rng=RNG(1))(X)) or name == "gp"


def test_a_set_counts_what_its_last_point_adds() -> None:
    data = two_goals()
    models = fitted(data)
    acquisition = HypervolumeImprovement().build(models, data, rng=RNG(1))
    X = RNG(4).random((6, 2))
    twice = np.stack([X, X], axis=1)
    # Measuring the same point again adds next to nothing to its own front.
    assert (acquisition(twice) < acquisition(X) - 2.0).all()
    # Rows with different earlier points, and the cache of their boxes.
    different = np.stack([X[::-1], X], axis=1)
    one_by_one = np.concatenate([acquisition(row[None]) for row in different])
    np.testing.assert_allclose(acquisition(different), one_by_one, rtol=1e-10)


def test_pending_points_count_as_reached() -> None:
    data, X = two_goals(), RNG(4).random((50, 2))
    models = fitted(data)
    free = HypervolumeImprovement().build(models, data, rng=RNG(1))(X)
    best = X[[int(np.argmax(free))]]
    awaited = HypervolumeImprovement().build(models, replace(data, X_pending=best), rng=RNG(1))
    assert awaited(best)[0] < free.max() - 2.0 and awaited(X[:0]).shape == (0,)


def test_the_reference_point_is_given_or_inferred() -> None:
    data = two_goals()
    np.testing.assert_array_equal(reference_point(data, data.Y), inferred_reference(data.Y))
    given = replace(data, reference=(-3.0, -2.0))
    np.testing.assert_array_equal(reference_point(given, data.Y), [-3.0, -2.0])
    with pytest.raises(DataError, match="1 values for 2 objectives"):
        reference_point(replace(data, reference=(0.0,)), data.Y)
    with pytest.raises(RecipeError, match="draws >= 2"):
        HypervolumeImprovement(draws=1)


def test_the_same_seed_gives_the_same_values_and_scale_does_not_matter() -> None:
    data = replace(two_goals(), X_pending=RNG(9).random((2, 2)))
    X = RNG(4).random((30, 2))
    rule = HypervolumeImprovement()
    first, again = (rule.build(fitted(data), data, rng=RNG(5))(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    scaled = replace(data, Y=data.Y * [1e6, 1e-3] + [5.0, -2.0])
    other = rule.build(fitted(scaled), scaled, rng=RNG(5))(X)
    np.testing.assert_allclose(other - other.max(), first - first.max(), atol=1e-2)


@dataclass(frozen=True)
class Functions:
    """Random functions, S of them: the same draws for both libraries."""

    W: Array
    b: Array

    def __call__(self, X: Array) -> Array:
        """... x q x d -> S x ... x q."""
        phase = np.tensordot(self.W, X, axes=([1], [-1])) + self.b.reshape(-1, *[1] * (X.ndim - 1))
        return np.sin(phase)


@pytest.mark.extras
@pytest.mark.parametrize("objectives", [2, 3])
def test_agrees_with_botorch_on_the_same_draws(objectives: int) -> None:
    """qLogEHVI and qLogNEHVI without their smoothing, q = 1: to 1e-6, for the same draws of the same functions."""
    import torch
    from botorch.acquisition.multi_objective.logei import (
        qLogExpectedHypervolumeImprovement,
        qLogNoisyExpectedHypervolumeImprovement,
    )
    from botorch.models.ensemble import EnsembleModel
    from botorch.sampling.base import MCSampler
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning

    rng, S = RNG(0), 16
    drawn = [Functions(4.0 * rng.normal(size=(S, 2)), rng.uniform(0, 6, S)) for _ in range(objectives)]

    class Ensemble(EnsembleModel):
        num_outputs = objectives

        def forward(self, X):  # noqa: ANN001, ANN202
            values = np.stack([f(X.numpy()) for f in drawn], axis=-1)
            return torch.as_tensor(np.moveaxis(values, 0, -3))

    class InOrder(MCSampler):
        def forward(self, posterior):  # noqa: ANN001, ANN202
            return posterior.values.movedim(-3, 0)

        def _update_base_samples(self, posterior, base_sampler):  # noqa: ANN001, ANN202
            """There are none."""

    reference = np.full(objectives, -1.5)
    X_tried, X = rng.random((7, 2)), rng.random((25, 2))
    sharp = dict(tau_relu=1e-9, tau_max=1e-7, fat=False, sampler=InOrder(torch.Size([S])))
    tensor = torch.as_tensor
    candidates = np.stack([f(X) for f in drawn], axis=-1)  # S x p x m
    width = np.full(objectives, 1e-12)

    Y = rng.normal(size=(6, objectives)) * 0.3
    partition = FastNondominatedPartitioning(tensor(reference), Y=tensor(Y))
    theirs = qLogExpectedHypervolumeImprovement(Ensemble(), tensor(reference), partition, **sharp)
    with torch.no_grad():
        expected = np.exp(theirs(tensor(X)[:, None, :]).numpy())
    lower, upper = nondominated_boxes(Y, reference)
    gains = np.exp(log_gain(np.swapaxes(candidates, 0, 1), lower, upper, width))  # p x S
    np.testing.assert_allclose(gains.mean(axis=1), expected, atol=1e-6)
    assert expected.max() > 0.1

    noisy = qLogNoisyExpectedHypervolumeImprovement(
        Ensemble(), tensor(reference), tensor(X_tried), prune_baseline=False, cache_root=False, **sharp
    )
    with torch.no_grad():
        expected = np.exp(noisy(tensor(X)[:, None, :]).numpy())
    tried = np.stack([f(X_tried) for f in drawn], axis=-1)
    lower, upper = nondominated_boxes(tried, reference)
    gains = np.exp(log_gain(np.swapaxes(candidates, 0, 1), lower, upper, width))
    np.testing.assert_allclose(gains.mean(axis=1), expected, atol=1e-6)
    assert expected.max() > 0.01


def test_strong_weights_of_all_objectives_count() -> None:
    """A distribution far from the model's own in both objectives: without either's weights the value is off by far more."""
    data = two_goals()

    class Flattened(ModelWrapper):
        def predict(self, X: Array, *, latent: bool) -> Distribution:
            distribution = self.base.predict(X, latent=latent)
            wide = replace(distribution, std=distribution.std + 0.5, noise_std=0.05) if latent else distribution
            return FlatSet.central(wide, np.full(wide.mean.shape, 0.9), 0.2)

    models = tuple(Flattened(model) for model in fitted(data))
    X = RNG(3).random((30, 2))
    exact = HypervolumeImprovement().build(models, data, rng=RNG(1))(X)
    sampled = HypervolumeImprovement(draws=8192, smoothing=1e-6).build(models, data, rng=RNG(1))(X[:, None, :])
    high = exact > exact.max() - 2.0
    np.testing.assert_allclose(sampled[high], exact[high], atol=0.1)
    plain = HypervolumeImprovement().build(tuple(Widened(m.base) for m in models), data, rng=RNG(1))(X)
    assert np.abs(plain[high] - exact[high]).min() > 0.3


class Widened(ModelWrapper):
    def predict(self, X: Array, *, latent: bool) -> Distribution:
        distribution = self.base.predict(X, latent=latent)
        return replace(distribution, std=distribution.std + 0.5)  # type: ignore[type-var]
