"""Improvement rules: closed forms, joint draws from the definition, pending points, and outcomes of any size."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from calibo.acquisition import (
    AcquisitionRule,
    ExpectedImprovement,
    ImprovementByNoise,
    ImprovementInTurns,
    NoisyExpectedImprovement,
    ProbabilityOfImprovement,
    ThompsonSampling,
    incumbent,
    noise_share,
)
from calibo.acquisition.improvement import contenders
from calibo.calibration import Calibrated, ConformalBayes, Isotonic, LeaveOneOut, OnlineQuantile
from calibo.calibration.conformal_bayes import ConformalModel
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, NoisePrior, Surrogate
from calibo.models.gp_posterior import Posterior

RNG = np.random.default_rng
RULES = [ExpectedImprovement(), ProbabilityOfImprovement(), NoisyExpectedImprovement()]
rules = pytest.mark.parametrize("rule", RULES, ids=["ei", "pi", "noisy"])
CALIBRATED: list[Surrogate] = [
    GaussianProcess(),
    Calibrated(GaussianProcess(), by=OnlineQuantile(0.3), evidence=LeaveOneOut()),
    Calibrated(GaussianProcess(), by=Isotonic(), evidence=LeaveOneOut()),
]
weighted = pytest.mark.parametrize(
    "surrogate", [GaussianProcess(), ConformalBayes(GaussianProcess(), 0.3)], ids=["gp", "conformal"]
)


def data(n: int = 12, scale: float = 1.0, noise: float = 0.1, **options: object) -> Dataset:
    X = RNG(0).random((n, 2))
    y = np.sin(5 * X[:, 0]) - X[:, 1] + noise * RNG(9).standard_normal(n)
    return Dataset(X=X, Y=scale * y[:, None], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("surrogate", CALIBRATED, ids=["raw", "online", "isotonic"])
def test_the_closed_form_and_batches_of_one(surrogate: Surrogate) -> None:
    known, X = data(), RNG(1).random((40, 2))
    model = surrogate.fit(known, rng=RNG(0))
    distribution, best, draws = model.predict(X, latent=True), incumbent(model, known), 20_000
    ei = ExpectedImprovement(draws=draws).build(model, known, rng=RNG(0))
    np.testing.assert_allclose(ei(X), distribution.log_expected_improvement(best))
    exact = ProbabilityOfImprovement(margin=0.0).build(model, known, rng=RNG(0))(X)
    np.testing.assert_allclose(np.exp(exact), distribution.probability_of_improvement(best), rtol=1e-9, atol=1e-300)
    closed, sampled, spread = np.exp(ei(X)), np.exp(ei(X[:, None, :])), known.Y.std()
    # Five standard errors of 20 000 draws (a draw's improvement varies by about its std), and the smoothing, which adds
    # at most log(2) / 100 of the spread.
    error = 5 * distribution.std / np.sqrt(draws)
    assert np.all(np.abs(sampled - closed) < error + 0.007 * spread)
    pi = ProbabilityOfImprovement(draws=draws).build(model, known, rng=RNG(0))
    # The step is smoothed over one hundredth of the spread: compare where the distribution is much wider than that.
    wide = distribution.std > 0.05 * spread
    assert wide.sum() > 10
    np.testing.assert_allclose(
        np.exp(pi(X[:, None, :]))[wide], np.exp(pi(X))[wide], atol=5 * 0.5 / np.sqrt(draws) + 0.03
    )


@rules
def test_a_pending_point_lowers_the_values_near_it(rule: AcquisitionRule) -> None:
    known, X = data(), RNG(1).random((200, 2))
    model = GaussianProcess().fit(known, rng=RNG(0))
    free = rule.build(model, known, rng=RNG(0))
    best = X[[int(np.argmax(free(X)))]]
    busy = rule.build(model, replace(known, X_pending=best), rng=RNG(0))
    assert float(busy(best)[0]) < float(free(best)[0]) - 0.1
    # Somewhere else it changes less.
    other = X[[int(np.argmax(np.linalg.norm(X - best, axis=1)))]]
    assert float(free(best)[0] - busy(best)[0]) > float(free(other)[0] - busy(other)[0])


@pytest.mark.parametrize("rule", RULES[:2], ids=["ei", "pi"])
def test_further_points_never_lower_the_value_of_a_batch(rule: AcquisitionRule) -> None:
    known, batches = data(), RNG(1).random((25, 4, 2))
    acquisition = rule.build(GaussianProcess().fit(known, rng=RNG(0)), known, rng=RNG(0))
    values = np.stack([acquisition(batches[:, :q]) for q in (1, 2, 3, 4)])
    assert np.all(np.diff(values, axis=0) >= -1e-9)


@rules
def test_the_same_generator_gives_the_same_values(rule: AcquisitionRule) -> None:
    known = data(X_pending=np.array([[0.2, 0.8]]))
    model = GaussianProcess().fit(known, rng=RNG(0))
    X = RNG(1).random((5, 2))
    one, same, other = (rule.build(model, known, rng=RNG(seed)) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one(X), same(X))
    assert not np.array_equal(one(X), other(X))
    np.testing.assert_array_equal(one(X), one(X))  # and values may be compared between calls
    np.testing.assert_allclose(one(X)[2:4], one(X[2:4]), rtol=1e-9)


@rules
@pytest.mark.parametrize("power", [-990, 100, 990])
@pytest.mark.parametrize("pending", [False, True])
def test_the_scale_of_the_outcomes_does_not_change_the_order(rule: AcquisitionRule, power: int, pending: bool) -> None:
    X = RNG(1).random((40, 2))
    busy = {"X_pending": np.array([[0.5, 0.5]])} if pending else {}
    values = []
    for scale in (1.0, 2.0**power):
        known = data(scale=scale, **busy)
        model = GaussianProcess().fit(known, rng=RNG(0))
        values.append(rule.build(model, known, rng=RNG(0))(X))
    assert np.isfinite(values).all()
    shift = 0.0 if isinstance(rule, ProbabilityOfImprovement) else power * np.log(2)
    np.testing.assert_allclose(values[1], values[0] + shift, rtol=1e-6, atol=1e-5)


@rules
@pytest.mark.parametrize("y", [[3.0] * 4, [0.0] * 4, [1e300, -1e300, 1e300, 0.0], [1e-300, 2e-300, 0.0, 1e-300]])
def test_odd_outcomes_give_finite_values(rule: AcquisitionRule, y: list[float]) -> None:
    for pending in (np.empty((0, 2)), np.array([[0.5, 0.5]])):
        known = Dataset(X=RNG(0).random((4, 2)), Y=np.array(y)[:, None], X_pending=pending)
        model = GaussianProcess().fit(known, rng=RNG(0))
        acquisition = rule.build(model, known, rng=RNG(0))
        assert np.isfinite(acquisition(RNG(1).random((20, 2)))).all()
        assert np.isfinite(acquisition(RNG(1).random((20, 3, 2)))).all()


def test_with_points_pending_certainty_is_not_mistaken_for_improvement() -> None:
    """Smoothing of sampled improvements must not make the incumbent itself look promising."""
    x = np.linspace(0, 1, 15)[:, None]
    known = Dataset(X=x, Y=1e-2 * -np.square(x - 0.45) + np.where(x < 0.02, -10.0, 0.0), Y_var=np.full((15, 1), 1e-10))
    known = replace(known, X_pending=np.array([[0.0]]))
    model = GaussianProcess().fit(known, rng=RNG(0))
    busy = ExpectedImprovement(draws=2048).build(model, known, rng=RNG(0))
    free = ExpectedImprovement().build(model, replace(known, X_pending=np.empty((0, 1))), rng=RNG(0))
    grid = np.linspace(0.1, 1, 181)[:, None]
    # The pending point is far away and hopeless: it should hardly matter.
    found, best = grid[int(np.argmax(busy(grid)))], grid[int(np.argmax(free(grid)))]
    distribution = model.predict(np.stack([found, best]), latent=True)
    true = distribution.expected_improvement(incumbent(model, known))
    assert true[0] > 0.5 * true[1]


def test_probability_of_improvement_still_slopes_far_from_the_optimum() -> None:
    x = np.array([[0.0], [0.5], [1.0]])
    known = Dataset(X=x, Y=np.array([[0.0], [100.0], [-1.0]]), Y_var=np.full((3, 1), 1e-12))
    model = GaussianProcess().fit(known, rng=RNG(0))
    values = ProbabilityOfImprovement().build(model, known, rng=RNG(0))(np.array([[1e-6], [1e-5], [1e-4]]))
    assert np.all(np.diff(values) > 0)


def test_a_margin_lowers_the_probability() -> None:
    known, X = data(), RNG(1).random((100, 2))
    model = GaussianProcess().fit(known, rng=RNG(0))
    small, large = (ProbabilityOfImprovement(m).build(model, known, rng=RNG(0))(X) for m in (0.0, 1.0))
    assert np.all(large <= small) and np.any(large < small - 0.1)


def joint(model: Posterior, X: Array, draws: int, seed: int) -> Array:
    """Joint draws of f at the points, draws x q, from the mean and covariance written out."""
    scaled = [(P / model.theta.lengthscales) for P in (X, model.X)]

    def covariance(A: Array, B: Array) -> Array:
        r = np.sqrt(5.0 * np.square(A[:, None] - B[None]).sum(-1))
        return model.theta.outputscale * (1 + r + r**2 / 3) * np.exp(-r)

    cross = covariance(scaled[0], scaled[1])
    A = covariance(scaled[1], scaled[1]) + np.diag(model.noise)
    mean = model.theta.mean + cross @ np.linalg.solve(A, model.units.forward(model.y) - model.theta.mean)
    K = covariance(scaled[0], scaled[0]) - cross @ np.linalg.solve(A, cross.T)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return model.units.backward(mean + RNG(seed).standard_normal((draws, len(X))) @ root.T)


def test_noisy_improvement_equals_joint_draws_from_the_definition() -> None:
    known = data(10, noise=0.3)
    model = GaussianProcess().fit(known, rng=RNG(0))
    X, draws = RNG(2).random((12, 2)), 40_000
    f = joint(model, np.vstack([X, known.X]), draws, 3)
    gain = np.maximum(f[:, :12] - f[:, 12:].max(axis=1, keepdims=True), 0.0)
    acquisition = NoisyExpectedImprovement(draws=16_384, contenders=10).build(model, known, rng=RNG(4))
    width = 0.01 * known.Y.std()
    error = 5.0 * gain.std(axis=0) * np.sqrt(1 / draws + 1 / 16_384)
    # Smoothing by softplus adds at most width log 2.
    assert (np.abs(np.exp(acquisition(X)) - gain.mean(axis=0)) < error + width * np.log(2)).all()
    assert gain.mean(axis=0).max() > 5 * width


def test_a_conformal_distribution_weights_the_candidate_in_its_joint_draws() -> None:
    """p(f) p_alpha / p at the candidate alone, everything else given f(x): importance weights on joint draws."""
    known = data(10, noise=0.3)
    base = GaussianProcess().fit(known, rng=RNG(0))
    model = ConformalModel(base, 0.3, ConformalBayes(GaussianProcess(), 0.3).fit(known, rng=RNG(0)).score)  # type: ignore[union-attr]
    draws = 40_000
    acquisition = NoisyExpectedImprovement(draws=16_384, contenders=10).build(model, known, rng=RNG(4))
    checked = 0
    for x in RNG(2).random((6, 1, 2)):
        f = joint(base, np.vstack([x, known.X]), draws, 3)
        distribution, plain = model.predict(x, latent=True), base.predict(x, latent=True)
        weights = np.array(
            np.exp(distribution.over_samples().logpdf(f[:, :1]) - plain.over_samples().logpdf(f[:, :1]))
        )[:, 0]
        assert weights.mean() == pytest.approx(1.0, abs=0.05)
        gain = weights / weights.mean() * np.maximum(f[:, 0] - f[:, 1:].max(axis=1), 0.0)
        error = 5.0 * gain.std() * np.sqrt(1 / draws + 1 / 16_384)
        assert abs(float(np.exp(acquisition(x)[0])) - gain.mean()) < error + 0.01 * known.Y.std()
        checked += abs(weights - 1.0).max() > 0.1
    assert checked >= 3


def test_without_noise_noisy_improvement_is_the_plain_one() -> None:
    known = replace(data(10, noise=0.0), Y_var=np.zeros((10, 1)))
    model = GaussianProcess().fit(known, rng=RNG(0))
    X = RNG(2).random((40, 2))
    plain = np.exp(ExpectedImprovement().build(model, known, rng=RNG(1))(X))
    noisy = np.exp(NoisyExpectedImprovement(draws=8192).build(model, known, rng=RNG(1))(X))
    np.testing.assert_allclose(noisy, plain, atol=0.02 * plain.max() + 0.01 * known.Y.std())
    assert plain.max() > 0.02


@weighted
def test_noisy_improvement_with_pending_points_and_batches(surrogate: Surrogate) -> None:
    """Up to sampling error, since the draws of the contenders differ between batches of different sizes."""
    known, batches, pending = data(10, noise=0.3), RNG(2).random((30, 3, 2)), RNG(3).random((3, 2))
    model = surrogate.fit(known, rng=RNG(0))
    busy = [
        NoisyExpectedImprovement().build(model, replace(known, X_pending=pending[:k]), rng=RNG(1))(batches[:, 0])
        for k in range(4)
    ]
    improvement = np.exp(busy)
    assert all((after <= before + 0.1).all() for before, after in itertools.pairwise(improvement))
    assert improvement[3].mean() < improvement[0].mean() and (busy[3] < busy[0] - 1e-6).any()
    acquisition = NoisyExpectedImprovement().build(model, known, rng=RNG(1))
    np.testing.assert_allclose(acquisition(batches[:, 0]), acquisition(batches[:, :1]))
    one, two, three = (np.exp(acquisition(batches[:, :q])) for q in (1, 2, 3))
    assert (two > one - 0.03).all() and (three > two - 0.03).all() and three.mean() > two.mean() > one.mean()


class Known(Model):
    """A model that knows its distribution at four points."""

    mean = np.array([0.0, 3.0, 2.9, 3.05])

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        return Gaussian(self.mean, np.array([0.1, 0.3, 0.3, 0.3]))


def test_contenders_are_those_that_may_be_the_best() -> None:
    X = np.arange(4.0)[:, None]
    kept = contenders(Known(), X, 10, 0)
    assert sorted(kept[:, 0]) == [1.0, 2.0, 3.0]
    # The most frequent winner first; with room for one, that one.
    np.testing.assert_array_equal(contenders(Known(), X, 1, 0), kept[:1])
    assert kept[0, 0] == 3.0


def test_noisy_improvement_of_one_observation_and_of_replicates() -> None:
    for known in (data(1), Dataset(X=np.repeat(data(3).X, 5, axis=0), Y=RNG(0).standard_normal((15, 1)))):
        model = GaussianProcess().fit(known, rng=RNG(0))
        assert np.isfinite(NoisyExpectedImprovement().build(model, known, rng=RNG(0))(RNG(1).random((10, 2)))).all()


class TestImprovementByNoise:
    """The share of noise is judged at the best points, relative to the good outcomes, and decides the rule."""

    @staticmethod
    def noisy_data(noise: float, n: int = 60, scale: float = 1.0) -> Dataset:
        rng = np.random.default_rng(3)
        X = rng.random((n, 1))
        return Dataset(X=X, Y=scale * (np.sin(6.0 * X) + noise * rng.standard_normal((n, 1))))

    @staticmethod
    def model(data: Dataset) -> Model:
        return GaussianProcess(noise=NoisePrior.wide()).fit(data, rng=np.random.default_rng(0))

    def test_the_share_is_that_of_the_noise(self) -> None:
        data = self.noisy_data(0.3)
        y = data.Y[:, 0]
        good = y[y >= np.median(y)] - np.median(y)
        assert noise_share(self.model(data), data) == pytest.approx(0.3 / np.sqrt(np.mean(good**2)), rel=0.2)

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_it_does_not_depend_on_units(self, scale: float) -> None:
        one, other = self.noisy_data(0.3), self.noisy_data(0.3, scale=scale)
        assert noise_share(self.model(one), one) == pytest.approx(noise_share(self.model(other), other), rel=1e-3)

    def test_an_outcome_far_beyond_all_others_does_not_overflow(self) -> None:
        data = self.noisy_data(0.3)
        far = replace(data, Y=np.where(np.arange(60)[:, None] == 7, -1e300, 1e-9 * data.Y))
        with np.errstate(all="raise", under="ignore"):
            assert np.isfinite(noise_share(self.model(far), far))

    def test_outcomes_that_are_all_alike_have_none(self) -> None:
        data = Dataset(X=np.linspace(0.0, 1.0, 12)[:, None], Y=np.full((12, 1), 2.0))
        assert noise_share(self.model(data), data) == 0.0

    @pytest.mark.parametrize(
        ("noise", "n", "rule"),
        [(0.0, 40, ExpectedImprovement), (0.5, 40, ImprovementInTurns), (0.5, 9, ExpectedImprovement)],
    )
    def test_the_rule_follows(self, noise: float, n: int, rule: type[AcquisitionRule]) -> None:
        data = self.noisy_data(noise, n)
        model, by_noise = self.model(data), ImprovementByNoise()
        chosen = by_noise.chosen(model, data)
        assert type(chosen) is rule
        X = np.linspace(0.0, 1.0, 7)[:, None]
        built, same = (one.build(model, data, rng=np.random.default_rng(1))(X) for one in (by_noise, chosen))
        np.testing.assert_array_equal(built, same)

    def test_other_rules_do_not_choose(self) -> None:
        data = self.noisy_data(0.5)
        assert ProbabilityOfImprovement().chosen(self.model(data), data) == ProbabilityOfImprovement()

    def test_only_rules_of_improvement_are_taken(self) -> None:
        with pytest.raises(RecipeError, match="noisy must be a rule of improvement"):
            ImprovementByNoise(noisy=ThompsonSampling())
        with pytest.raises(RecipeError, match="exact"):
            ImprovementByNoise(exact="ei")  # pyright: ignore[reportArgumentType]
        with pytest.raises(RecipeError, match="odd must be a rule of improvement"):
            ImprovementInTurns(odd=ThompsonSampling())

    @pytest.mark.parametrize(("n", "rule"), [(40, NoisyExpectedImprovement(draws=64)), (41, ExpectedImprovement())])
    def test_under_noise_two_rules_take_turns(self, n: int, rule: AcquisitionRule) -> None:
        data = self.noisy_data(0.5, n)
        model, X = self.model(data), np.linspace(0.0, 1.0, 7)[:, None]
        built, same = (one.build(model, data, rng=np.random.default_rng(1))(X) for one in (ImprovementByNoise(), rule))
        np.testing.assert_array_equal(built, same)
