"""Splits, folds and bootstrap samples: reference cases, who forecasts whom, plus variants by brute force."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from calibo.calibration import (
    ACI,
    AgACI,
    Bootstrap,
    Calibrated,
    Conformal,
    DtACI,
    KFold,
    OnlineQuantile,
    Prequential,
    QuantileShift,
    Residual,
    Split,
    Temperature,
    TimeSeries,
)
from calibo.data import Array, Dataset, Forecast, Marginal
from calibo.distributions import Distribution, FlatSet, Gaussian, QuantileTable
from calibo.errors import RecipeError
from calibo.models import (
    GaussianProcess,
    Model,
    NeuralEnsemble,
    Perceptron,
    QuantileForest,
    QuantileTrees,
    Surrogate,
)
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


@dataclass(frozen=True)
class Line(Surrogate):
    """A surrogate: least squares with the residuals' standard deviation, remembering which points it has seen."""

    quantiles: bool = False

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        slope, start = np.polyfit(data.X[:, 0], data.Y[:, 0], 1) if len(data) > 1 else (0.0, data.Y[0, 0])
        return LineModel(slope, start, frozenset(data.X[:, 0].tolist()), self.quantiles)


@dataclass(frozen=True)
class LineModel(Model):
    slope: float
    start: float
    seen: frozenset[float]
    quantiles: bool

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        mean = self.slope * X[..., 0] + self.start
        if not self.quantiles:
            return Gaussian(mean, np.full(mean.shape, 0.1))
        return QuantileTable(np.array([0.1, 0.5, 0.9]), mean[..., None] + 0.1 * np.array([-1.0, 0.0, 1.0]))


def dataset(n: int = 30, seed: int = 0) -> Dataset:
    rng = RNG(seed)
    X = rng.random((n, 1))
    return Dataset(X=X, Y=2 * X + 0.2 * rng.standard_normal((n, 1)))


class FixedFolds:
    """A generator whose permutation is the identity, so that folds are contiguous as in the reference."""

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)


class FixedDraws:
    """A generator that draws given samples."""

    def __init__(self, sets: list[list[int]]) -> None:
        self.sets = iter(sets)

    def integers(self, n: int, size: int) -> np.ndarray:
        return np.array(next(self.sets))


def test_cross_conformal_and_cv_plus_are_the_reference_ones(golden: Callable[[str], Any]) -> None:
    case = golden("conformal_quantiles")["crossval"]
    data = Dataset(X=np.array(case["x"])[:, None], Y=np.array(case["y"])[:, None])
    model, evidence = KFold(3).fit(Line(), data, rng=FixedFolds())  # type: ignore[arg-type]
    query = np.array([[case["x_query"]]])
    residuals = np.abs(evidence.y - evidence.distribution.mean)
    np.testing.assert_allclose(residuals, case["abs_residuals"], rtol=1e-9)
    tau = case["tau"]
    levels = (tau / 2, 0.5, 1 - tau / 2)
    distribution = Conformal(Residual(scaled=False), levels).fit(evidence)(model.predict(query, latent=False), query)
    expected = case["cross_conformal_thesis"]
    low, high = (float(end[0]) for end in distribution.interval(1 - tau))
    assert (low + high) / 2 == pytest.approx(expected["center"])
    assert (high - low) / 2 == pytest.approx(expected["halfwidth_exact_rank"])
    plus = Conformal(Residual(scaled=False), levels, plus=True).fit(evidence)(model.predict(query, latent=False), query)
    low, high = (float(end[0]) for end in plus.interval(1 - tau))
    assert (low, high) == pytest.approx((case["cv_plus"]["lower"], case["cv_plus"]["upper"]))


def test_bootstrap_is_the_reference_one(golden: Callable[[str], Any]) -> None:
    reference = golden("conformal_quantiles")
    case, points = reference["bootstrap"], reference["crossval"]
    data = Dataset(X=np.array(points["x"])[:, None], Y=np.array(points["y"])[:, None])
    sets = case["index_sets"]
    model, evidence = Bootstrap(len(sets)).fit(Line(), data, rng=FixedDraws(sets))  # type: ignore[arg-type]
    np.testing.assert_allclose(evidence.X[:, 0], data.X[case["included_points"], 0])
    np.testing.assert_allclose(np.abs(evidence.y - evidence.distribution.mean), case["scores"], rtol=1e-9)
    query = np.array([[points["x_query"]]])
    raw = model.predict(query, latent=False)
    np.testing.assert_allclose(raw.mean, case["center"], rtol=1e-9)
    levels = (case["tau"] / 2, 0.5, 1 - case["tau"] / 2)
    low, high = Conformal(Residual(scaled=False), levels).fit(evidence)(raw, query).interval(1 - case["tau"])
    np.testing.assert_allclose(high - low, 2 * case["halfwidth_exact_rank"], rtol=1e-9)


def test_a_split_forecasts_what_the_model_has_not_seen() -> None:
    data = dataset()
    model, evidence = Split(0.4).fit(Line(), data, rng=RNG(0))
    model = model.stages[0]
    assert isinstance(model, LineModel) and len(evidence) == 12 and len(model.seen) == 18
    assert not model.seen & set(evidence.X[:, 0].tolist())
    assert model.seen | set(evidence.X[:, 0].tolist()) == set(data.X[:, 0].tolist())


def test_every_fold_is_forecast_by_the_others() -> None:
    data = dataset(20)
    model, evidence = KFold(4).fit(Line(), data, rng=RNG(0))
    seen = [part.seen for part in model.models]  # type: ignore[attr-defined]
    assert len(evidence) == 20 and [len(s) for s in seen] == [15] * 4
    everything = set(data.X[:, 0].tolist())
    held = [everything - s for s in seen]
    assert sum(len(h) for h in held) == 20 and set().union(*held) == everything
    assert evidence.left_out is not None
    others = evidence.left_out(np.array([[0.5]])).mean[:, 0]
    for x, other in zip(evidence.X[:, 0], others, strict=True):
        fold = next(i for i, h in enumerate(held) if x in h)
        rows = [i for i, value in enumerate(data.X[:, 0]) if value in seen[fold]]
        refitted = Line().fit(data.rows(np.array(rows)), rng=RNG(0)).predict(np.array([[0.5]]), latent=False)
        np.testing.assert_allclose(other, refitted.mean[0])


def test_a_refit_sees_all_points() -> None:
    data = dataset(12)
    model, evidence = KFold(3, refit=True).fit(Line(), data, rng=RNG(0))
    assert isinstance(model, LineModel) and len(model.seen) == 12 and evidence.left_out is None


def test_the_average_of_folds_has_the_average_of_their_quantiles() -> None:
    data = dataset(12)
    for surrogate in (Line(), Line(quantiles=True)):
        model, _ = KFold(3).fit(surrogate, data, rng=RNG(0))
        X = np.linspace(0, 1, 4)[:, None]
        parts = [part.predict(X, latent=False) for part in model.models]  # type: ignore[attr-defined]
        for u in (0.1, 0.37, 0.9):
            expected = np.mean([part.icdf(u) for part in parts], axis=0)
            np.testing.assert_allclose(model.predict(X, latent=False).icdf(u), expected, rtol=1e-9)


def test_disagreement_of_bootstrap_models_is_uncertainty() -> None:
    model, _ = Bootstrap(8).fit(Line(), dataset(12), rng=RNG(0))
    X = np.array([[0.2], [3.0]])
    means = np.array([part.predict(X, latent=False).mean for part in model.models])  # type: ignore[attr-defined]
    distribution = model.predict(X, latent=False)
    np.testing.assert_allclose(distribution.std, np.sqrt(0.01 + means.var(axis=0)), rtol=1e-9)
    joint = distribution.draws(RNG(1).standard_normal((4000, 2)))
    covariance = np.cov(means.T, ddof=0)[0, 1]
    assert np.cov(joint.T)[0, 1] == pytest.approx(covariance, abs=0.1 * distribution.std.prod())


@pytest.mark.parametrize("score", [Residual(), Residual(scaled=False), QuantileShift(), QuantileShift(symmetric=False)])
@pytest.mark.parametrize("resampler", [KFold(4), Bootstrap(10)], ids=repr)
def test_plus_equals_brute_force(score: Any, resampler: Any) -> None:
    data, level = dataset(25, seed=3), 0.1
    model, evidence = resampler.fit(Line(), data, rng=RNG(2))
    X = np.array([[0.1], [0.7], [1.5]])
    distribution = Conformal(score, (level, 0.5, 1 - level), plus=True).fit(evidence)(model.predict(X, latent=False), X)
    assert evidence.left_out is not None
    others, t = evidence.left_out(X), len(evidence)
    scores = score.scores(evidence, np.array([level, 0.5, 1 - level]))
    coverage = score.coverage(np.array([level]))[0]
    scaled = isinstance(score, Residual) and score.scaled
    base = (others.mean, others.mean) if isinstance(score, Residual) else (others.icdf(level), others.icdf(1 - level))
    width = others.std if scaled else np.ones_like(others.mean)
    low = np.sort(base[0] - scores[:, [0]] * width, axis=0)[int(np.floor((1 - coverage) * (t + 1) + 1e-9)) - 1]
    high = np.sort(base[1] + scores[:, [2]] * width, axis=0)[int(np.ceil(coverage * (t + 1) - 1e-9)) - 1]
    np.testing.assert_allclose(distribution.interval(0.8), (low, high), rtol=1e-9)
    if isinstance(score, Residual):
        np.testing.assert_allclose(distribution.median, np.median(others.mean, axis=0))


def test_cv_plus_is_that_of_mapie() -> None:
    from mapie import regression
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import KFold as Folds

    data, X = dataset(31, seed=4), np.linspace(-0.5, 1.5, 7)[:, None]
    # Contiguous folds in both, of points in order.
    data = data.rows(np.argsort(data.X[:, 0]))
    model, evidence = KFold(4).fit(Line(), data, rng=FixedFolds())  # type: ignore[arg-type]
    distribution = Conformal(Residual(scaled=False), plus=True).fit(evidence)(model.predict(X, latent=False), X)
    theirs = regression.CrossConformalRegressor(
        LinearRegression(), confidence_level=[0.5, 0.8, 0.9], method="plus", cv=Folds(4)
    )
    theirs.fit_conformalize(data.X, data.Y[:, 0])
    _, ends = theirs.predict_interval(X)
    for i, coverage in enumerate((0.5, 0.8, 0.9)):
        np.testing.assert_allclose(np.column_stack(distribution.interval(coverage)), ends[:, :, i], rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("resampler", [Split(), KFold(3), Bootstrap(5)], ids=repr)
def test_few_points_are_survived_and_one_or_two_promise_nothing(resampler: Any, n: int) -> None:
    model, evidence = resampler.fit(Line(), dataset(n), rng=RNG(0))
    calibrated = Calibrated(Line(), by=Conformal(), evidence=resampler).fit(dataset(n), rng=RNG(0))
    distribution = calibrated.predict(np.array([[0.3]]), latent=False)
    assert np.isfinite([distribution.mean, distribution.std, distribution.log_expected_improvement(3.0)]).all()
    if n <= 2:
        assert len(evidence) == 0 and isinstance(model, LineModel)
        assert distribution.interval(0.5) == (-np.inf, np.inf)


def test_batches_of_points_are_calibrated_alike() -> None:
    X = RNG(5).random((3, 2, 1))
    model = Calibrated(Line(), by=Conformal(plus=True), evidence=KFold(3)).fit(dataset(), rng=RNG(0))
    one_by_one = np.array([model.predict(x, latent=False).icdf(0.9) for x in X])
    np.testing.assert_allclose(model.predict(X, latent=False).icdf(0.9), one_by_one)


def test_conformal_calibration_from_stored_forecasts_needs_no_resampling() -> None:
    """As long as no forecast has met its result nothing is promised; then as much as ranks allow."""
    data, surrogate = dataset(12), Calibrated(Line(), by=Conformal(), evidence=Prequential())
    X = np.array([[0.3]])
    before = surrogate.fit(data, rng=RNG(0)).predict(X, latent=False)
    assert before.interval(0.2) == (-np.inf, np.inf) and np.isfinite([before.mean, before.std]).all()
    stored = tuple((Forecast((Marginal(2 * float(x), 0.1),), ("Line",)),) for x in data.X[:, 0])
    after = surrogate.fit(replace(data, forecasts=stored), rng=RNG(0)).predict(X, latent=False)
    assert np.isfinite(after.interval(0.9)).all() and after.interval(0.95) == (-np.inf, np.inf)


def test_many_points_of_plus_are_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Calibrated(Line(), by=Conformal(plus=True), evidence=KFold(3)).fit(dataset(), rng=RNG(0))
    X = RNG(1).random((40, 1))
    whole = model.predict(X, latent=False).icdf(0.8)
    monkeypatch.setattr("calibo.calibration.conformal._MOST_SUMS", 2000)
    np.testing.assert_array_equal(model.predict(X, latent=False).icdf(0.8), whole)


def test_folds_of_a_conformal_surrogate_share_what_levels_they_can() -> None:
    inner = Calibrated(Line(), by=Conformal(), evidence=Split(0.4))
    model = Calibrated(inner, by=Conformal(), evidence=KFold(3)).fit(dataset(32), rng=RNG(0))
    distribution = model.predict(np.array([[0.3]]), latent=False)
    assert np.isfinite([distribution.mean, distribution.std]).all() and np.isfinite(distribution.interval(0.8)).all()


@pytest.mark.parametrize(
    "by", [ACI(), DtACI(), AgACI(), OnlineQuantile(), Temperature(), Conformal(QuantileShift())], ids=repr
)
def test_any_recalibrator_around_a_conformal_one(by: Any) -> None:
    """What is not backed inside is not backed outside, and all else is finite."""
    inner = Calibrated(Line(), by=Conformal(), evidence=Split(0.3))
    data, X = dataset(24), np.linspace(-0.5, 1.5, 6)[:, None]
    distributions = inner.fit(data, rng=RNG(1)).predict(data.X, latent=False).marginals()
    stored = tuple((Forecast((Marginal(0.0, 1.0), one), ("Line", "Conformal")),) for one in distributions)
    distribution = Calibrated(inner, by=by).fit(replace(data, forecasts=stored), rng=RNG(0)).predict(X, latent=False)
    improvements = (distribution.log_expected_improvement(best) for best in (3.0, 0.0))
    assert np.isfinite([distribution.mean, distribution.std, *improvements]).all()
    assert np.isfinite(distribution.draws(RNG(2).standard_normal((50, 6)))).all()
    first = distribution.marginals()[0]
    assert first.interval(0.99) == (-np.inf, np.inf) and np.isfinite([first.mean, first.std]).all()
    assert first.quantiles is not None and np.isfinite(first.quantiles).all()


def test_distributions_that_cannot_be_averaged_are_named() -> None:
    @dataclass(frozen=True)
    class Odd(Surrogate):
        def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
            return OddModel()

    class OddModel(Model):
        def predict(self, X: Array, *, latent: bool) -> Distribution:
            base = Gaussian(X[..., 0], np.ones(X.shape[:-1]))
            return FlatSet(base, base.mean[..., None], base.mean[..., None] + 1, 0.2)

    with pytest.raises(RecipeError, match="cannot be averaged"):
        KFold(3).fit(Odd(), dataset(), rng=RNG(0))
    # The way out that the message names.
    _, evidence = KFold(3, refit=True).fit(Odd(), dataset(), rng=RNG(0))
    assert len(evidence) == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("resampler", "plus", "least"),
    [(Split(), False, 0.8), (KFold(4), False, 0.77), (KFold(4), True, 0.77), (Bootstrap(12), True, 0.77)],
    ids=["split", "cross", "CV+", "J+aB"],
)
def test_coverage_on_exchangeable_data(resampler: Any, plus: bool, least: float) -> None:
    """Nominal 80 % intervals on fresh points of 400 data sets of 40: the mean over 20 points each.

    The standard error of a data set's coverage is about .08, of the mean of 400 .004; split conformal may fall short
    of .8 by 4 of these (false alarms: 1 in 30,000), the others, which promise .6 only, are asked for .77.
    """
    held: list[float] = []
    for seed in range(400):
        rng = RNG(seed)
        X = rng.random((60, 1))
        y = np.sin(3 * X) + (0.1 + X) * rng.standard_t(4, size=X.shape)
        model = Calibrated(Line(), by=Conformal(plus=plus), evidence=resampler).fit(
            Dataset(X=X[:40], Y=y[:40]), rng=rng
        )
        low, high = model.predict(X[40:], latent=False).interval(0.8)
        held.append(float(np.mean((y[40:, 0] >= low) & (y[40:, 0] <= high))))
    assert least - 0.016 <= np.mean(held) <= 0.9


def test_samples_that_leave_no_point_out_promise_nothing() -> None:
    data = dataset(3)
    everything = FixedDraws([[0, 1, 2], [0, 1, 2]])
    model, evidence = Bootstrap(2).fit(Line(), data, rng=everything)  # type: ignore[arg-type]
    assert len(evidence) == 0 and np.isfinite(model.predict(data.X, latent=False).mean).all()
    for seed in range(5):
        distribution = Calibrated(QuantileTrees(), by=Conformal(), evidence=Bootstrap(2)).fit(data, rng=RNG(seed))
        assert np.isfinite(distribution.predict(data.X, latent=False).mean).all()


@pytest.mark.parametrize(
    "make",
    [lambda: Split(1.0), lambda: KFold(1), lambda: Bootstrap(2.5), lambda: TimeSeries(0)],
)
def test_settings_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(RecipeError, match="number"):
        make()


class TestConformalSplit(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=Conformal(), evidence=Split())


class TestConformalFolds(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=Conformal(), evidence=KFold(3))


class TestConformalBootstrap(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        forest = QuantileTrees(QuantileForest(trees=10))
        return Calibrated(forest, by=Conformal(QuantileShift()), evidence=Bootstrap(5))


def test_a_point_that_only_one_model_left_out_gets_the_spread_of_others() -> None:
    """Else its score, an error in units of no spread, would make intervals absurdly wide."""
    data, network = dataset(60), NeuralEnsemble(1, Perceptron(1, 8, 20))
    wide = []
    for samples in (3, 5, 40):
        surrogate = Calibrated(network, by=Conformal(), evidence=Bootstrap(samples))
        low, high = surrogate.fit(data, rng=RNG(0)).predict(data.X, latent=False).interval(0.8)
        wide.append(float(np.median(high - low)))
    assert max(wide[:2]) < 3.0 * wide[2]


@pytest.mark.parametrize("scale", [1e-200, 1e250])
def test_samples_survive_any_scale(scale: float) -> None:
    data = dataset(30)
    scaled = Dataset(X=data.X, Y=data.Y * scale)
    surrogate = Calibrated(NeuralEnsemble(2, Perceptron(1, 8, 10)), by=Conformal(), evidence=Bootstrap(5))
    low, high = surrogate.fit(scaled, rng=RNG(0)).predict(data.X, latent=False).interval(0.5)
    assert np.isfinite([low, high]).all() and (low < high).all()


@pytest.mark.parametrize("resampler", [KFold(3), Bootstrap(4)], ids=repr)
def test_what_was_learned_can_be_pickled(resampler: Any) -> None:
    surrogate = Calibrated(GaussianProcess(), by=Conformal(plus=True), evidence=resampler)
    model = surrogate.fit(dataset(), rng=RNG(0))
    X = np.linspace(0, 1, 5)[:, None]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict(X, latent=False).interval(0.8), model.predict(X, latent=False).interval(0.8)
    )
