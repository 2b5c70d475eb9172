"""Hyperparameters integrated over: the draws, their weights, and a mixture against its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Array, Dataset
from calibo.distributions import Gaussian, averaged
from calibo.errors import RecipeError
from calibo.models import Capability, GaussianProcess, InputWarping, IntegratedGP, Matern32
from calibo.models.integrated import IntegratedPosterior, _deviations, _hessian, _normal_points, laplace_draws

RNG = np.random.default_rng
PROCESSES = {
    "plain": GaussianProcess(),
    "matern32": GaussianProcess(Matern32()),
    "trend": GaussianProcess(trend="quadratic"),
    "warped": GaussianProcess(warping=InputWarping(), trend="linear"),
}


def data(n: int = 18, seed: int = 0) -> Dataset:
    rng = RNG(seed)
    X = np.column_stack([rng.random((n, 2)), (rng.integers(3, size=n) + 0.5) / 3])
    y = 40 + 5 * (np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * (X[:, 2] > 0.5) + 0.1 * rng.standard_normal(n))
    return Dataset(X=X, Y=y[:, None], categories=(0, 0, 3))


def mixture(parts: list[Gaussian], weights: Array) -> Gaussian:
    found = averaged(parts, [float(w) for w in weights], between=True)
    assert isinstance(found, Gaussian)
    return found


@pytest.fixture(params=sorted(PROCESSES))
def model(request: pytest.FixtureRequest) -> IntegratedPosterior:
    fitted = IntegratedGP(PROCESSES[request.param]).fit(data(), rng=RNG(0))
    assert len(fitted.parts) > 3
    return fitted


@pytest.mark.parametrize("latent", [True, False])
@pytest.mark.parametrize("shape", [(5,), (300,), (3, 2), (0,)], ids=str)
def test_predictions_are_those_of_the_mixture(model: IntegratedPosterior, latent: bool, shape: tuple[int, ...]) -> None:
    X = RNG(1).random((*shape, 3))
    expected = mixture([part.predict(X, latent=latent) for part in model.parts], model.weights)
    found = model.predict(X, latent=latent)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.std, expected.std, rtol=1e-7)
    if X.size:
        assert found.correlation is not None and expected.correlation is not None
        np.testing.assert_allclose(found.correlation(), expected.correlation(), atol=1e-7)
        draws = found.draws(RNG(2).standard_normal((4, shape[-1])))
        np.testing.assert_allclose(draws, expected.draws(RNG(2).standard_normal((4, shape[-1]))), rtol=1e-4)


def test_the_noise_is_what_a_measurement_varies_by_more(model: IntegratedPosterior) -> None:
    X = RNG(1).random((6, 3))
    latent, measured = model.predict(X, latent=True), model.predict(X, latent=False)
    np.testing.assert_allclose(latent.measurement.std, measured.std, rtol=1e-9)


@pytest.mark.parametrize("name", ["leave_one_out", "one_step_ahead"])
def test_held_out_predictions_are_those_of_the_mixture(model: IntegratedPosterior, name: str) -> None:
    parts = [part.leave_one_out() if name == "leave_one_out" else part.one_step_ahead() for part in model.parts]
    expected = mixture(parts, model.weights)
    found = model.leave_one_out() if name == "leave_one_out" else model.one_step_ahead()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.std, expected.std, rtol=1e-9)


@pytest.mark.parametrize("none", [IntegratedGP(draws=0), IntegratedGP(spread=0.0)], ids=["no draws", "no spread"])
def test_without_spread_it_is_the_process(none: IntegratedGP) -> None:
    X = RNG(1).random((6, 3))
    model, plain = none.fit(data(), rng=RNG(0)), GaussianProcess().fit(data(), rng=RNG(0))
    assert model.weights.sum() == pytest.approx(1.0) and model.hyperparameters == plain.hyperparameters
    pairs = [
        (model.predict(X, latent=True), plain.predict(X, latent=True)),
        (model.leave_one_out(), plain.leave_one_out()),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
        np.testing.assert_allclose(found.std, expected.std, rtol=1e-9)


def test_draws_of_a_normal_posterior_have_equal_weights_and_its_moments() -> None:
    class Normal:
        """The negative log density of a normal distribution."""

        precision = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
        prior_precision = np.array([0.3, 0.2, 0.1])
        mode = np.array([0.3, -0.2, 0.1])

        def __call__(self, raw: Array) -> tuple[float, Array]:
            return self.value(raw), self.precision @ (raw - self.mode)

        def value(self, raw: Array) -> float:
            return float(0.5 * (raw - self.mode) @ self.precision @ (raw - self.mode))

        def bounds(self) -> list[tuple[float, float]]:
            return [(-20.0, 20.0)] * 3

    posterior = Normal()
    raw, weights = laplace_draws(posterior, posterior.mode, 512, 1.0)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(_hessian(posterior, posterior.mode), posterior.precision, atol=1e-8)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(weights, 1.0 / 513, rtol=1e-9)
    np.testing.assert_allclose(raw[0], posterior.mode)
    np.testing.assert_allclose(weights @ raw, posterior.mode, atol=1e-9)
    covariance = (raw - posterior.mode).T @ (weights[:, None] * (raw - posterior.mode))
    np.testing.assert_allclose(covariance, np.linalg.inv(posterior.precision), atol=0.06)


def test_the_data_make_nothing_less_certain_than_it_is_a_priori() -> None:
    process = GaussianProcess(warping=InputWarping(), trend="linear")
    objective = process.objective(data(5))
    prior = objective.prior_precision
    np.testing.assert_allclose(prior, [1 / 3] * 3 + [4.0] * 4 + [1 / 2.25, 1.0, 1.0])
    anywhere = RNG(0).uniform(-0.5, 0.5, len(prior))
    root = _deviations(objective, anywhere)
    assert np.linalg.eigvalsh(np.diag(1 / prior) - root @ root.T).min() > -1e-9
    lengths = np.linalg.norm(root, axis=0)
    assert np.all(np.diff(lengths) <= 1e-12)


@pytest.mark.parametrize(("count", "dimensions"), [(1, 1), (8, 7), (9, 4), (64, 17)])
def test_normal_points_come_in_opposite_pairs(count: int, dimensions: int) -> None:
    points = _normal_points(count, dimensions)
    assert points.shape == (count, dimensions) and np.isfinite(points).all()
    paired = count - count % 2
    np.testing.assert_array_equal(points[:paired:2], -points[1:paired:2])


def test_draws_stay_within_the_bounds_and_are_the_same_again() -> None:
    process = GaussianProcess(warping=InputWarping())
    objective, mode = process.objective(data()), np.array(process.fit(data(), rng=RNG(0)).hyperparameters)
    first, second = (laplace_draws(objective, mode, 16, 2.0) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert all(objective.may_be_raw(raw) for raw in first[0]) and first[1].sum() == pytest.approx(1.0)


def test_hyperparameters_are_the_most_likely_ones_for_either() -> None:
    fitted = IntegratedGP().fit(data(), rng=RNG(0))
    kept = replace(data(), hyperparameters=(fitted.hyperparameters,), refit=False)
    assert GaussianProcess().fit(kept, rng=RNG(0)).hyperparameters == fitted.hyperparameters
    assert IntegratedGP().fit(kept, rng=RNG(0)).hyperparameters == fitted.hyperparameters
    np.testing.assert_array_equal(fitted.lengthscales, fitted.parts[0].lengthscales)


def test_few_data_are_predicted_with_more_doubt_than_by_the_most_likely() -> None:
    few = data(8)
    X = RNG(1).random((200, 3))
    wide, plain = (
        s.fit(few, rng=RNG(0)).predict(X, latent=True).std.mean() for s in (IntegratedGP(), GaussianProcess())
    )
    assert wide > plain


def test_capabilities() -> None:
    expected = {
        Capability.HYPERPARAMETERS,
        Capability.LENGTHSCALES,
        Capability.LEAVE_ONE_OUT,
        Capability.ONE_STEP_AHEAD,
    }
    assert IntegratedGP().capabilities == expected


@pytest.mark.parametrize("wrong", [{"draws": -1}, {"spread": -0.5}, {"process": "gp"}], ids=str)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        IntegratedGP(**wrong)  # type: ignore[arg-type]
