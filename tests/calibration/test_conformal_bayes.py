"""A Gaussian process seen through its conformal sets: the surrogate's distributions, its limits and what it announces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, ConformalBayes, DensityRatio, ShrinkingAlpha, Temperature
from calibo.calibration.conformal_bayes import ConformalModel, ShiftedModel
from calibo.calibration.conformal_set import REACH, conformal_sets, in_sample_score, leave_one_out_score
from calibo.calibration.density_ratio import importance_weights
from calibo.data import Array, Dataset
from calibo.errors import CapabilityError, FallbackWarning, RecipeError
from calibo.models import GaussianProcess, Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


# Where there are too few data, or predictions are much less certain than at the data, the raw distribution is used.
without_a_set = pytest.mark.filterwarnings(
    "ignore:.*could not be calibrated:calibo.errors.FallbackWarning",
    "ignore:.*no finite end:calibo.errors.FallbackWarning",
)


@without_a_set
class TestLeaveOneOut(SurrogateSuite):
    # The ends of a set move more than the model does where two roots lie close.
    tolerance = 1e-3

    def surrogate(self) -> Surrogate:
        return ConformalBayes(GaussianProcess(), 0.3)


class TestInSample(TestLeaveOneOut):
    def surrogate(self) -> Surrogate:
        return ConformalBayes(GaussianProcess(), 0.3, score="in_sample")


class TestWithARatio(TestLeaveOneOut):
    def surrogate(self) -> Surrogate:
        return ConformalBayes(GaussianProcess(), 0.3, ratio=DensityRatio())


def toy(noise: float | Array = 0.04, y: Array | None = None) -> Posterior:
    X = np.array([0.05, 0.2, 0.35, 0.5, 0.7, 0.9])[:, None]
    outcomes = np.array([-0.6, 0.3, 1.1, 0.4, -0.9, 0.2]) if y is None else y
    theta = Hyperparameters(np.array([0.25]), 1.3, float(np.mean(noise)))
    noises = np.broadcast_to(noise, (6,)).astype(np.float64)
    return Posterior(Matern52(), Features((0,)), theta, X, outcomes, noises, Standardization(1.0, 0.0, 1.0))


def data(n: int = 14) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=(np.sin(5.0 * X[:, 0]) - X[:, 1] + 0.1 * RNG(1).standard_normal(n))[:, None])


def test_reference_expectations_from_the_data_on(golden: Callable[[str], Any]) -> None:
    for case in golden("cbo_posterior_expectations")["cases"]:
        model, x = ConformalModel(toy(), case["alpha"], in_sample_score), np.array([[case["x"]]])
        distribution = model.predict(x, latent=True)
        ends = np.stack([distribution.low[0], distribution.high[0]], axis=1)
        np.testing.assert_allclose(ends[ends[:, 1] > ends[:, 0]], case["set"], atol=1e-8)
        best = case["best_f"]
        assert distribution.expected_improvement(best)[0] == pytest.approx(case["EI"], rel=1e-8)
        assert distribution.probability_of_improvement(best)[0] == pytest.approx(case["PI"], rel=1e-8)
        assert distribution.mean[0] == pytest.approx(case["mean"], rel=1e-8)
        for level, name in ((0.1, "q10"), (0.5, "q50"), (0.9, "q90")):
            assert distribution.icdf(level)[0] == pytest.approx(case[name], abs=1e-8)


@pytest.mark.parametrize("score", [in_sample_score, leave_one_out_score])
@pytest.mark.parametrize("noise", [0.04, np.array([0.01, 0.2, 0.04, 0.1, 0.02, 0.3])], ids=["even", "uneven"])
def test_improvement_equals_a_simulation_of_the_definition(score: Any, noise: float | Array) -> None:
    """Draw a measurement (flat on the set, else the GP's outside it), then f given it: 200,000 draws, 5 standard errors."""
    base, alpha, x, draws = toy(noise), 0.35, np.array([[0.43]]), 200_000
    model = ConformalModel(base, alpha, score)
    distribution, gaussian = model.predict(x, latent=True), base.predict(x, latent=True)
    sets = model.conformal_sets(x)
    m, std, sigma = gaussian.mean[0], gaussian.std[0], float(gaussian.noise_std)
    rng = RNG(0)
    widths = sets.high[0] - sets.low[0]
    which = rng.choice(len(widths), draws, p=widths / widths.sum())
    y = sets.low[0][which] + widths[which] * rng.random(draws)
    own = m + np.hypot(std, sigma) * rng.standard_normal(20 * draws)
    inside = ((sets.low[0] <= own[:, None]) & (own[:, None] <= sets.high[0])).any(axis=1)
    outside = own[~inside]
    count = min(int(rng.binomial(draws, alpha)), len(outside))
    y[:count] = outside[:count]
    assert count > 0.3 * draws
    gain = std**2 / (std**2 + sigma**2)
    f = m + gain * (y - m) + std * sigma / np.hypot(std, sigma) * rng.standard_normal(draws)
    for c in (m - 0.2, m + 0.1, m + 0.5):
        improvement = np.maximum(f - c, 0.0)
        error = 5.0 * improvement.std() / np.sqrt(draws)
        assert distribution.expected_improvement(c)[0] == pytest.approx(improvement.mean(), abs=error)
        assert distribution.cdf(c)[0] == pytest.approx(np.mean(f <= c), abs=5.0 * 0.5 / np.sqrt(draws))
    # The rule uses it.
    told = Dataset(X=base.X, Y=base.y[:, None])
    acquisition = ExpectedImprovement().build(model, told, rng=rng)
    best = float(model.predict(base.X, latent=True).mean.max())
    np.testing.assert_allclose(acquisition(x), distribution.log_expected_improvement(best))


def same_as(distribution: Any, gaussian: Any) -> None:
    for c in (-1.0, 0.2, 2.0):
        improvements = (one.log_expected_improvement(c) for one in (distribution, gaussian))
        np.testing.assert_allclose(*improvements, rtol=1e-7)
        np.testing.assert_allclose(distribution.cdf(c), gaussian.cdf(c), rtol=1e-8, atol=1e-12)
    for u in (0.01, 0.5, 0.9):
        np.testing.assert_allclose(distribution.icdf(u), gaussian.icdf(u), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(distribution.mean, gaussian.mean)
    np.testing.assert_allclose(distribution.std, gaussian.std)


X2 = RNG(8).random((5, 2))
X5 = np.array([[-0.2], [0.1], [0.43], [0.6], [1.4]])


class TestWithoutASet:
    """The model's own distribution, with a reason given where a measurement is predicted."""

    @pytest.mark.parametrize("latent", [True, False])
    def test_alpha_to_one(self, latent: bool) -> None:
        """Proposition B.1 of Stanton et al. 2023."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            distribution = ConformalModel(toy(), 1.0 - 1e-12, leave_one_out_score).predict(X5, latent=latent)
        same_as(distribution, toy().predict(X5, latent=latent))

    def test_a_schedule_that_starts_at_one(self) -> None:
        surrogates = ConformalBayes(GaussianProcess(), lambda n: 1.0), GaussianProcess()
        same_as(*(surrogate.fit(data(), rng=RNG(0)).predict(data().X, latent=True) for surrogate in surrogates))

    def test_nothing_is_accepted(self) -> None:
        """At large alpha a point that is predicted less surely than the data are can have no outcome."""
        model = ConformalModel(toy(), 0.8, leave_one_out_score)
        sets = model.conformal_sets(X5)
        assert sets.empty.any() and not sets.empty.all()
        with pytest.warns(
            FallbackWarning, match=rf"^{sets.empty.sum()} of 5 predictions could not be calibrated \(much less certain"
        ):
            distribution = model.predict(X5, latent=False)
        same_as(model.predict(X5[sets.empty], latent=True), toy().predict(X5[sets.empty], latent=True))
        assert np.abs(distribution.cdf(0.0) - toy().predict(X5, latent=False).cdf(0.0))[~sets.empty].max() > 1e-3

    @pytest.mark.parametrize("score", [in_sample_score, leave_one_out_score])
    def test_everything_is_accepted(self, score: Any) -> None:
        model = ConformalModel(toy(), 0.1, score)
        with pytest.warns(FallbackWarning, match=r"^5 of 5 predictions could not be calibrated \(too few data"):
            same_as(model.predict(X5, latent=False), toy().predict(X5, latent=False))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # announced for what is measured, not for all that a search looks at
            same_as(model.predict(X5, latent=True), toy().predict(X5, latent=True))
        assert model.conformal_sets(X5).unseen.all()

    def test_no_end(self) -> None:
        model = ConformalModel(toy(), 0.2, in_sample_score)
        with pytest.warns(
            FallbackWarning, match=r"^1 of 1 calibrated intervals have no finite end and are cut 8 standard deviations"
        ):
            distribution = model.predict(np.array([[-0.1]]), latent=False)
        assert (distribution.high.max() - distribution.base.mean[0]) / distribution.base.std[0] == pytest.approx(REACH)
        assert np.isfinite(distribution.log_expected_improvement(1.0)).all()
        ConformalModel(toy(), 0.2, leave_one_out_score).predict(np.array([[-0.1]]), latent=False)


class TestRandomized:
    def test_one_draw_for_every_fit(self) -> None:
        surrogate = ConformalBayes(GaussianProcess(), 0.3, randomized=True)
        models = [surrogate.fit(data(), rng=RNG(seed)) for seed in range(20)]
        ends = {tuple(m.conformal_sets(data().X + 0.01).high[:, -1]) for m in models}  # type: ignore[union-attr]
        # The p-value steps by 1 / 15, and .3 lies half-way: two different sets.
        assert len(ends) == 2
        again = surrogate.fit(data(), rng=RNG(3)).predict(data().X, latent=True)
        np.testing.assert_array_equal(again.mean, models[3].predict(data().X, latent=True).mean)

    def test_with_weights_it_covers_exactly(self) -> None:
        """Outcomes that no datum supports are accepted by the draw only as often as they should be.

        Of 500 data sets with 10 queries each, from a known shift: .80, give or take .03 (three standard errors). Taken for
        accepted whenever their own weight reaches alpha, .88 were covered.
        """
        rng, held = RNG(0), []
        for _ in range(500):
            X, queries = rng.random((10, 1)), rng.random((10, 1)) ** 0.25
            y, outcomes = (np.sin(12.0 * P[:, 0]) + 0.3 * rng.standard_normal(10) for P in (X, queries))
            theta = Hyperparameters(np.array([0.15]), 0.5, 0.09)
            units = Standardization(1.0, 0.0, 1.0)
            base = Posterior(Matern52(), Features((0,)), theta, X, y, np.full(10, 0.09), units)
            weights = importance_weights(4.0 * X[:, 0] ** 3, 4.0 * queries[:, 0] ** 3)
            augmentation = base.augmented(queries, latent=False)[1]
            sets = conformal_sets(augmentation, leave_one_out_score, *weights, 0.2, float(rng.random()))
            inside = ((sets.low <= outcomes[:, None]) & (outcomes[:, None] <= sets.high)).any(axis=1)
            held.append(inside | sets.unseen)
        assert np.mean(held) == pytest.approx(0.8, abs=0.03)


class TestFittedOn:
    """Sets are exact where hyperparameters have not seen the data that outcomes are ranked among."""

    @staticmethod
    def covered(told: Dataset, alpha: float) -> int:
        """How many of the later data are in their sets when each in turn is the new one."""
        first, n, count = len(told) // 2, len(told), 0
        for i in range(first, n):
            others = told.rows(np.delete(np.arange(n), i))
            model = ConformalBayes(GaussianProcess(), alpha, fitted_on=first / (n - 1) - 1e-9).fit(others, rng=RNG(0))
            sets, y = model.conformal_sets(told.X[[i]]), told.Y[i, 0]
            count += bool((sets.unseen | ((sets.low <= y) & (y <= sets.high)).any(axis=1))[0])
        return count

    def test_of_all_later_data_as_many_as_should_be_are_covered(self) -> None:
        """The ranks of m + 1 symmetric scores are 1 to m + 1: all but floor(alpha (m + 1)) outcomes are in their sets."""
        for seed in range(4):
            X = RNG(seed).random((24, 2))
            y = np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) + 0.3 * RNG(seed + 9).standard_normal(24)
            told = Dataset(X=X, Y=y[:, None])
            assert self.covered(told, 0.3) == 12 - 3

    def test_the_older_data_are_still_conditioned_on(self) -> None:
        told = data(14)
        model = ConformalBayes(GaussianProcess(), 0.3, fitted_on=0.5).fit(told, rng=RNG(0))
        base = GaussianProcess().fit(told.rows(np.arange(7)), rng=RNG(0))
        assert model.hyperparameters == base.hyperparameters and model.first == 7
        again = model.base.conditioned(told.rows(np.arange(7))).predict(X2, latent=True)
        np.testing.assert_allclose(again.mean, base.predict(X2, latent=True).mean, rtol=1e-9)
        # It knows all outcomes: at a datum of the later half it is surer than the model of the older half.
        later = told.X[10:11]
        assert model.base.predict(later, latent=True).std[0] < base.predict(later, latent=True).std[0]
        assert model.conformal_sets(told.X[10:11]).low.shape[0] == 1
        words = model.rests_on(later)
        assert words == ["the data, by conformal sets"]

    def test_with_a_ratio_only_the_later_data_are_weighted(self) -> None:
        model = ConformalBayes(GaussianProcess(), 0.3, ratio=DensityRatio(), fitted_on=0.5).fit(data(14), rng=RNG(0))
        assert isinstance(model, ShiftedModel)
        weights, own = model.learned(RNG(3).random((50, 2)), rng=RNG(4)).weights(data().X[:3])
        assert weights.shape == (3, 7)
        np.testing.assert_allclose(weights.sum(axis=1) + own, 1.0)

    def test_one_datum_is_fitted_to(self) -> None:
        assert ConformalBayes(GaussianProcess(), 0.3, fitted_on=0.5).fit(data(1), rng=RNG(0)).first == 0

    @pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
    def test_a_share_outside_its_range_is_refused(self, share: float) -> None:
        with pytest.raises(RecipeError, match="fitted_on, the share of the data"):
            ConformalBayes(GaussianProcess(), 0.3, fitted_on=share)


class TestShifted:
    @staticmethod
    def fitted(n: int = 14) -> ShiftedModel:
        model = ConformalBayes(GaussianProcess(), 0.3, ratio=DensityRatio()).fit(data(n), rng=RNG(0))
        assert isinstance(model, ShiftedModel)
        return model

    def test_before_any_proposal_it_is_the_model_without_weights(self) -> None:
        X = RNG(5).random((10, 2))
        model, plain = self.fitted(), ConformalBayes(GaussianProcess(), 0.3).fit(data(), rng=RNG(0))
        np.testing.assert_allclose(model.predict(X, latent=True).mean, plain.predict(X, latent=True).mean)
        weights, own = model.weights(X)
        np.testing.assert_allclose(np.broadcast_to(weights, (10, 14)), 1 / 15)
        np.testing.assert_allclose(own, 1 / 15)
        assert model.effective_sample_size == pytest.approx(14.0)
        np.testing.assert_allclose(model.in_distribution(X), 1.0, atol=1e-9)

    def test_proposals_make_the_data_there_count_more(self) -> None:
        proposals = np.clip(0.85 + 0.1 * RNG(6).standard_normal((200, 2)), 0.0, 1.0)
        first = self.fitted()
        model = first.learned(proposals, rng=RNG(7))
        X = np.array([[0.85, 0.85], [0.1, 0.1]])
        weights, own = model.weights(X)
        np.testing.assert_allclose(weights.sum(axis=1) + own, 1.0)
        assert own[0] > own[1] and model.effective_sample_size < 13.0
        near = np.linalg.norm(data().X - 0.85, axis=1)
        assert weights[1, int(np.argmin(near))] > weights[1, int(np.argmax(near))]
        # What was learned is in a new model.
        assert first.effective_sample_size == pytest.approx(14.0)
        inside = model.in_distribution(X)
        assert ((inside >= 0.0) & (inside <= 1.0)).all() and inside[1] >= inside[0]
        np.testing.assert_allclose(inside, 1.0 / (1.0 + np.exp((own - 0.3) / 0.01)), rtol=1e-9)

    def test_weights_reach_the_sets(self) -> None:
        proposals = np.clip(0.85 + 0.1 * RNG(6).standard_normal((200, 2)), 0.0, 1.0)
        model = self.fitted().learned(proposals, rng=RNG(7))
        X = RNG(5).random((10, 2))
        weights, own = model.weights(X)
        augmentation = model.base.augmented(X, latent=False)[1]
        fixed = conformal_sets(augmentation, model.score, weights, own, model.alpha, 0.0)
        np.testing.assert_allclose(model.conformal_sets(X).low, augmentation.units.backward(fixed.low))
        assert not np.allclose(model.conformal_sets(X).low[:, 0], model.unweighted.conformal_sets(X).low[:, 0])


def test_little_data_and_equal_outcomes() -> None:
    """With n data no alpha below 1 / (n + 1) is to be had; by the schedule there is a set or the model's own distribution."""
    for told in (data(1), data(2), Dataset(X=data().X, Y=np.full((14, 1), 3.0))):
        for score in ("loo", "in_sample"):
            model = ConformalBayes(GaussianProcess(), score=score).fit(told, rng=RNG(0))
            distribution = model.predict(RNG(1).random((6, 2)), latent=True)
            improvement = distribution.log_expected_improvement(float(told.Y.max()))
            assert np.isfinite([distribution.mean, distribution.std, distribution.icdf(0.9), improvement]).all()


def test_the_schedule() -> None:
    alpha = ShrinkingAlpha()
    assert [alpha(n) for n in (0, 1, 4, 100, 400, 10_000)] == pytest.approx([1.0, 1.0, 0.5, 0.1, 0.05, 0.05])
    assert ShrinkingAlpha(0.2, 0.35)(16) == pytest.approx(16**-0.35)
    model = ConformalBayes(GaussianProcess()).fit(data(16), rng=RNG(0))
    assert isinstance(model, ConformalModel) and model.alpha == 0.25


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match=r"score must be one of 'in_sample', 'loo', got 'best'"):
        ConformalBayes(GaussianProcess(), score="best")  # type: ignore[arg-type]
    for alpha in (0.0, 1.0, float("nan"), "x"):
        with pytest.raises(RecipeError, match="alpha lies between 0 and 1"):
            ConformalBayes(GaussianProcess(), alpha)  # type: ignore[arg-type]
    for alpha in (0.0, 1.5, float("nan")):
        with pytest.raises(RecipeError, match=r"alpha must come out in \(0, 1\], got .*: change the schedule"):
            ConformalBayes(GaussianProcess(), lambda n, alpha=alpha: alpha).fit(data(), rng=RNG(0))
    with pytest.raises(RecipeError, match=r"ratio must be a RatioEstimator such as DensityRatio\(\), .* got 'auto'"):
        ConformalBayes(GaussianProcess(), ratio="auto")  # type: ignore[arg-type]
    with pytest.raises(CapabilityError, match=r"Calibrated does not have: use ConformalBayes\(GaussianProcess\(\)\)"):
        ConformalBayes(Calibrated(GaussianProcess(), by=Temperature()))
