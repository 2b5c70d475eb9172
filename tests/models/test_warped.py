"""Surrogates of transformed outcomes: when the transform is taken, units and signs, and what is stored."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from calibo import Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, OnlineQuantile, Temperature
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian, LowerTailPower, Transformed, YeoJohnson
from calibo.errors import CapabilityError, RecipeError
from calibo.models import Capability, GaussianProcess, QuantileTrees, Surrogate, Warped
from calibo.models.gp_posterior import Posterior
from calibo.models.outcome_transforms import FEWEST_OUTCOMES, OutcomeShape, lower_tail_power
from calibo.models.warped import WarpedModel, log_score, quantile_loss
from calibo.optimize import ModelBased
from calibo.spaces import Float
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


class TestWarped(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Warped(GaussianProcess())


class TestWarpedSkewedOutcomes(SurrogateSuite):
    """With data for which the transform is chosen."""

    points = 30
    tolerance = 1e-3

    def surrogate(self) -> Surrogate:
        return Warped(GaussianProcess(), tolerance=100.0)

    def data(self, n: int | None = None, d: int = 3, seed: int = 0) -> Dataset:
        plain = super().data(n, d, seed)
        return replace(plain, Y=-np.exp(2.5 * plain.Y))

    def test_it_is_transformed(self) -> None:
        assert (
            self.surrogate().fit(self.data(), rng=RNG(1)).predict(self._targets(3), latent=False).__class__
            is Transformed
        )


def smooth(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = RNG(seed)
    X = rng.random((n, 2))
    return X, np.sin(5.0 * X[:, 0]) + 2.0 * X[:, 1] + 0.05 * rng.standard_normal(n)


def skewed(n: int = 40, sign: float = -1.0, seed: int = 0) -> Dataset:
    """Outcomes over several orders of magnitude, as of a loss."""
    X, f = smooth(n, seed)
    return Dataset(X=X, Y=(sign * np.exp(3.0 * f))[:, None])


def plain(n: int = 40, seed: int = 0) -> Dataset:
    X, f = smooth(n, seed)
    return Dataset(X=X, Y=f[:, None])


def fitted(data: Dataset, surrogate: Warped | None = None) -> WarpedModel:
    return (surrogate or Warped(GaussianProcess())).fit(data, rng=RNG(0))


# --- the choice ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_bad_outcomes_over_orders_of_magnitude_are_transformed(seed: int) -> None:
    """And points left out, and new ones, are predicted better for it."""
    data = skewed(40, seed=seed)
    model, raw = fitted(data), GaussianProcess().fit(data, rng=RNG(0))
    assert isinstance(model.transform, LowerTailPower)
    assert model.transform.power < 0.7
    X, f = smooth(300, 50 + seed)
    y = -np.exp(3.0 * f)
    losses = [quantile_loss(m.predict(X, latent=False), y) for m in (model, raw)]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("seed", range(3))
def test_ordinary_outcomes_are_left_as_they_are_or_hardly_changed(seed: int) -> None:
    data = plain(40, seed)
    model, raw = fitted(data), GaussianProcess().fit(data, rng=RNG(0))
    X, f = smooth(300, 50 + seed)
    losses = [quantile_loss(m.predict(X, latent=False), f) for m in (model, raw)]
    assert model.transform is None or losses[0] < 1.1 * losses[1]


def test_gaussian_outcomes_are_not_transformed() -> None:
    """A draw of the process itself."""
    rng = RNG(3)
    X = rng.random((40, 1))
    covariance = np.exp(-0.5 * np.square((X - X.T) / 0.2)) + 1e-4 * np.eye(40)
    model = fitted(Dataset(X=X, Y=(np.linalg.cholesky(covariance) @ rng.standard_normal(40))[:, None]))
    assert model.transform is None
    assert isinstance(model.predict(X, latent=False), Gaussian)


def test_the_choice_is_by_the_scores_of_points_left_out() -> None:
    data = skewed()
    y = data.Y[:, 0]
    transform = lower_tail_power(y)
    assert transform is not None
    inside = GaussianProcess().fit(replace(data, Y=transform.forward(data.Y)), rng=RNG(0))
    raw = GaussianProcess().fit(data, rng=RNG(0))
    warped, identity = (WarpedModel(m, t, ()) for m, t in ((inside, transform), (raw, None)))
    # The log density of each outcome, by the model that has not seen it, in the outcome's own units.
    density = lambda model, rows, i: replace(model, X=model.X[rows], y=model.y[rows], noise=model.noise[rows]).predict(
        data.X[[i]], latent=False
    )
    expected = [0.0, 0.0]
    for i in range(len(y)):
        rows = np.delete(np.arange(len(y)), i)
        w = float(transform.forward(y[i]))
        expected[0] += float(density(inside, rows, i).logpdf(w)[0] + transform.log_derivative(y[i]))
        expected[1] += float(density(raw, rows, i).logpdf(y[i])[0])
    constant = 0.5 * len(y) * np.log(2.0 * np.pi)
    np.testing.assert_allclose(
        [log_score(model.base.leave_one_out(), model.transform, y) for model in (warped, identity)],
        np.array(expected) + constant,
        rtol=1e-6,
    )
    assert (fitted(data).transform is None) == (expected[0] <= expected[1])


def test_a_worse_loss_in_the_outcomes_own_units_is_a_veto() -> None:
    assert fitted(skewed(), Warped(GaussianProcess(), tolerance=100.0)).transform is not None
    assert fitted(skewed(), Warped(GaussianProcess(), tolerance=1e-6)).transform is None


def test_the_quantile_loss_is_the_mean_pinball_loss() -> None:
    predicted, y = Gaussian(np.array([0.0, 2.0]), np.array([1.0, 0.5])), np.array([0.3, -1.0])
    levels = np.linspace(0.05, 0.95, 10)
    losses = [max(p * (v - q), (p - 1.0) * (v - q)) for p in levels for v, q in zip(y, predicted.icdf(p), strict=True)]
    assert quantile_loss(predicted, y) == pytest.approx(np.mean(losses))


def test_a_long_upper_tail_is_left_as_it_is() -> None:
    assert fitted(skewed(40, sign=1.0)).transform is None


def test_unless_both_tails_may_be_drawn_in() -> None:
    """Of four shapes the power of both tails predicts a long upper tail best; forecasts are in the outcomes' units."""
    data = skewed(40, sign=1.0)
    shapes = (OutcomeShape.IDENTITY, OutcomeShape.LOWER_TAIL, OutcomeShape.YEO_JOHNSON, OutcomeShape.LOG_DISTANCE)
    model = Warped(GaussianProcess(), shapes=shapes).fit(data, rng=RNG(0))
    assert isinstance(model.transform, YeoJohnson) and model.transform.power < 1.0
    low, high = model.predict(data.X, latent=False).interval(0.95)
    assert ((low <= data.Y[:, 0]) & (data.Y[:, 0] <= high)).mean() >= 0.9
    kept = replace(data, hyperparameters=(model.hyperparameters,))
    assert Warped(GaussianProcess(), shapes=shapes).fit(kept, rng=RNG(0)).transform == model.transform


@pytest.mark.parametrize("power", [0.0, 0.4, 0.7])
def test_the_power_is_the_most_likely_one(power: float) -> None:
    y = 3.0 + 2.0 * LowerTailPower(power, 0.0, 1.0, -1e6).inverse(1.5 * RNG(0).standard_normal(300))
    found = lower_tail_power(y)
    assert found is not None and found.power < 1.0

    def likelihood(candidate: float) -> float:
        transform = LowerTailPower(candidate, found.location, found.scale, found.low)
        w = transform.forward(y)
        return float(np.sum(transform.log_derivative(y)) - 0.5 * len(y) * np.log(np.var(w)))

    assert likelihood(found.power) >= max(likelihood(p) for p in np.linspace(0.0, 1.0, 21)) - 1e-6
    assert (found.low, found.location) == (y.min(), np.median(y))


# --- units, signs, kinds --------------------------------------------------------------------------------------------------


def test_forecasts_are_in_the_outcomes_units() -> None:
    data = skewed()
    model = fitted(data)
    assert model.transform is not None
    inside = model.base.predict(data.X, latent=False)
    for u in (0.05, 0.5, 0.9):
        np.testing.assert_allclose(model.predict(data.X, latent=False).icdf(u), model.transform.inverse(inside.icdf(u)))
        assert (np.abs(model.leave_one_out().icdf(0.5)) > 0.0).all()
    found = model.leave_one_out().normal_scores(data.Y[:, 0])
    np.testing.assert_allclose(found, model.base.leave_one_out().normal_scores(model.transform.forward(data.Y[:, 0])))
    assert model.one_step_ahead().mean.shape == (40,)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_study_forecasts_in_the_users_sign(direction: str) -> None:
    """A loss over orders of magnitude: stored forecasts lie on the side of the outcomes and hold most of them."""
    sign = 1.0 if direction == "minimize" else -1.0
    strategy = ModelBased(Calibrated(Warped(GaussianProcess()), by=Temperature()), ExpectedImprovement())
    optimizer = Optimizer(
        {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, strategy, direction=direction, seed=0, n_initial=10
    )  # type: ignore[arg-type]
    inside = []
    for _ in range(18):
        suggestion = optimizer.ask()
        x, y = suggestion.params["x"], suggestion.params["y"]
        outcome = sign * float(np.exp(6.0 * ((x - 0.3) ** 2 + (y - 0.6) ** 2)))
        forecast = suggestion.forecasts[0] if suggestion.forecasts else None
        if forecast is not None:
            assert forecast.stage_names == ("WarpedGaussianProcess", "Temperature")
            low, high = forecast.calibrated.interval(0.95)
            inside.append(low <= outcome <= high)
            assert sign * forecast.calibrated.icdf(0.5) > 0.0
        optimizer.tell(suggestion, outcome)
    assert len(inside) > 8 and np.mean(inside) >= 0.5


def test_known_variances_are_transformed_to_first_order() -> None:
    data = replace(skewed(), Y_var=np.square(0.1 * skewed().Y))
    model = fitted(data, Warped(GaussianProcess(), tolerance=100.0))
    assert model.transform is not None and isinstance(model.base, Posterior)
    slope = np.exp(model.transform.log_derivative(data.Y[:, 0]))
    noise = model.base.units.backward_std(np.sqrt(model.base.noise))
    # The process takes no noise below a floor.
    np.testing.assert_allclose(noise, np.maximum(np.abs(0.1 * data.Y[:, 0]) * slope, noise.min()), rtol=1e-6)
    partly = np.where(np.arange(40)[:, None] % 2, data.Y_var, np.nan)
    assert np.isfinite(fitted(replace(data, Y_var=partly)).predict(data.X, latent=False).mean).all()


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_outcomes_of_any_size(size: float) -> None:
    data = skewed()
    Y = data.Y / np.abs(data.Y).max() * size
    for variance in (None, np.full_like(Y, 0.0)):
        model = fitted(replace(data, Y=Y, Y_var=variance))
        predicted = model.predict(data.X, latent=False)
        assert np.isfinite([predicted.mean / size, predicted.std / size]).all()
        assert np.isfinite(model.leave_one_out().normal_scores(Y[:, 0])).all()


@pytest.mark.parametrize(
    "y",
    [
        np.zeros(12),
        np.full(12, 1e-300),
        np.r_[np.zeros(11), 1.0],
        np.repeat([1.0, 2.0], 6),
        np.r_[np.full(11, 3.0), 3.0 + 1e-14],
        np.r_[np.linspace(0.0, 1.0, 11), 1e12],
        np.full(12, 1e-310) * np.arange(12),
    ],
)
def test_ties_and_outliers_are_survived(y: Array) -> None:
    data = Dataset(X=np.linspace(0.0, 1.0, 12)[:, None], Y=y[:, None])
    predicted = fitted(data).predict(data.X, latent=True)
    assert np.isfinite([predicted.mean, predicted.std]).all() and (predicted.std > 0.0).all()
    assert np.isfinite(predicted.log_expected_improvement(float(y.max()))).all()


def test_few_outcomes_are_left_as_they_are() -> None:
    assert fitted(skewed(FEWEST_OUTCOMES - 1)).transform is None
    assert lower_tail_power(np.arange(FEWEST_OUTCOMES - 1.0)) is None
    assert lower_tail_power(np.full(20, 3.0)) is None


def test_surrogates_without_leave_one_out_are_left_as_they_are() -> None:
    data = skewed()
    model = Warped(QuantileTrees()).fit(data, rng=RNG(0))
    assert model.transform is None
    raw = QuantileTrees().fit(data, rng=RNG(0))
    np.testing.assert_array_equal(
        model.predict(data.X, latent=False).icdf(0.4), raw.predict(data.X, latent=False).icdf(0.4)
    )
    assert Capability.HYPERPARAMETERS in model.capabilities and model.hyperparameters == (0.0, 40.0)


def test_what_has_other_units_is_hidden() -> None:
    model = fitted(skewed())
    with pytest.raises(CapabilityError, match="transformed"):
        model.augmented(np.zeros((1, 2)), latent=True)
    assert Capability.NOISE not in model.capabilities and Capability.LEAVE_ONE_OUT in model.capabilities
    np.testing.assert_array_equal(model.lengthscales, model.base.lengthscales)


def test_joint_draws_know_what_is_near() -> None:
    model = fitted(skewed())
    X = np.array([[0.5, 0.5], [0.5, 0.5001], [0.0, 0.0]])
    for latent in (True, False):
        draws = model.predict(np.stack([X, X]), latent=latent).draws(RNG(1).standard_normal((2000, 3)))
        assert draws.shape == (2, 2000, 3)
    ranks = np.argsort(
        np.argsort(model.predict(X, latent=True).draws(RNG(1).standard_normal((2000, 3))), axis=0), axis=0
    )
    assert np.corrcoef(ranks.T)[0, 1] > 0.95


def test_it_is_pickled() -> None:
    model, X = fitted(skewed()), RNG(0).random((4, 2))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X, latent=True).icdf(0.7), model.predict(X, latent=True).icdf(0.7))


# --- what is stored -------------------------------------------------------------------------------------------------------


def test_the_choice_is_stored_and_kept_until_the_data_have_grown() -> None:
    surrogate = Warped(GaussianProcess(), growth=1.5)
    model = fitted(skewed(20), surrogate)
    assert model.transform is not None and model.hyperparameters[-2:] == (1.0, 20.0)
    np.testing.assert_array_equal(model.hyperparameters[:-2], model.base.hyperparameters)
    # Settings with which the transform would not be chosen: kept all the same, then chosen anew.
    strict, data = replace(surrogate, tolerance=1e-6), skewed(40)
    assert fitted(data.rows(np.arange(29)), strict).transform is None
    kept = fitted(replace(data.rows(np.arange(29)), hyperparameters=(model.hyperparameters,)), strict)
    assert kept.transform is not None and kept.hyperparameters[-2:] == (1.0, 20.0)
    anew = fitted(replace(data.rows(np.arange(30)), hyperparameters=(kept.hyperparameters,)), strict)
    assert anew.transform is None and anew.hyperparameters[-2:] == (0.0, 30.0)


def test_the_transform_that_is_kept_is_that_of_the_present_outcomes() -> None:
    first, data = fitted(skewed(30)), skewed(32)
    later = fitted(replace(data, hyperparameters=(first.hyperparameters,)))
    assert later.hyperparameters[-1] == 30.0 and later.transform == lower_tail_power(data.Y[:, 0])


def test_a_choice_of_no_transform_is_kept_too() -> None:
    stored = (*fitted(plain(20)).hyperparameters[:-2], 0.0, 20.0)
    assert fitted(replace(skewed(22), hyperparameters=(stored,))).transform is None


def test_hyperparameters_are_kept_without_a_refit() -> None:
    first, data = fitted(skewed(30)), skewed(32)
    kept = fitted(replace(data, hyperparameters=(first.hyperparameters,), refit=False))
    np.testing.assert_allclose(kept.hyperparameters, first.hyperparameters)
    # A new choice needs fits of both.
    grown = replace(skewed(60, seed=1), hyperparameters=(first.hyperparameters,), refit=False)
    anew = fitted(grown)
    assert anew.hyperparameters[-1] == 60.0
    assert not np.allclose(anew.hyperparameters[:-2], first.hyperparameters[:-2])


@pytest.mark.parametrize(
    "stored", [(), (0.5,), (0.1, -0.2, 0.0, -4.0), (1.0, 2.0, 3.0), (0.3, 1.0, np.inf), (0.3, 1.0, -5.0)]
)
def test_stored_hyperparameters_of_other_surrogates_are_no_choice(stored: tuple[float, ...]) -> None:
    data = skewed()
    model = fitted(replace(data, hyperparameters=(stored,)))
    assert model.transform is not None and model.hyperparameters[-2:] == (1.0, 40.0)


def test_those_of_the_surrogate_inside_are_where_its_fit_starts() -> None:
    data = plain()
    alone = GaussianProcess().fit(data, rng=RNG(0)).hyperparameters
    frozen = GaussianProcess(max_iterations=0)
    model = Warped(frozen, tolerance=1e-9).fit(replace(data, hyperparameters=(alone,)), rng=RNG(0))
    np.testing.assert_allclose(model.base.hyperparameters, alone, atol=0.02)


def test_its_own_stored_forecasts_are_evidence_for_a_calibrator() -> None:
    surrogate = Calibrated(Warped(GaussianProcess()), by=Temperature())
    assert surrogate.stage_names == ("WarpedGaussianProcess", "Temperature")
    assert surrogate.with_innermost(lambda _: QuantileTrees()).stage_names == ("WarpedQuantileTrees", "Temperature")
    model = surrogate.fit(skewed(), rng=RNG(0))
    assert len(model.stages) == 2 and isinstance(model.stages[0], WarpedModel)


def test_wrong_settings_are_refused() -> None:
    for wrong in ({"growth": 0.9}, {"tolerance": 0.0}):
        with pytest.raises(RecipeError, match=next(iter(wrong))):
            Warped(GaussianProcess(), **wrong)
    with pytest.raises(RecipeError, match=r"got Calibrated.* as in Calibrated\(Warped\("):
        Warped(Calibrated(GaussianProcess(), by=OnlineQuantile()))
    with pytest.raises(RecipeError, match="surrogate"):
        Warped("gp")  # type: ignore[arg-type]
