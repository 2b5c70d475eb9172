"""Quantiles of past errors of like forecasts: the closed form, its limits, and coverage where forecasts err by reach."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import t

from calibo.calibration import Calibrated, ConditionalQuantile, Evidence, OutcomeScale, Similarity, StoredAndLeaveOneOut
from calibo.calibration.conditional_quantile import ConditionalMap
from calibo.calibration.nearness import Nearness
from calibo.calibration.reach import Reach
from calibo.data import Array, Dataset
from calibo.distributions import Composed, Gaussian, Levels, LowerTailPower, Relevelled, Stretched, Transformed
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Surrogate
from calibo.testing import CalibratorSuite, SurrogateSuite

SHOWN = np.linspace(0.001, 0.999, 333)


class TestConditionalQuantile(CalibratorSuite):
    #: How wide intervals are depends on how far they reach, so on the units.
    equivariant = False

    def recalibrator(self) -> ConditionalQuantile:
        return ConditionalQuantile()


class TestCalibratedProcess(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut())


def stream(n: int, seed: int = 0, error: object = None, d: int = 1) -> Evidence:
    """Forecasts of spreads over two orders of magnitude; ``error`` says how many times as far as forecast outcomes lie."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), np.exp(rng.uniform(-4.0, 0.5, n))
    factor = np.ones(n) if error is None else error(std)  # type: ignore[operator]
    return Evidence(rng.random((n, d)), mean + factor * std * rng.standard_normal(n), Gaussian(mean, std))


def fitted(by: ConditionalQuantile, evidence: Evidence) -> ConditionalMap:
    level_map = by.fit(evidence)
    assert isinstance(level_map, ConditionalMap)
    return level_map


# --- the closed form ----------------------------------------------------------------------------------------------------


def by_definition(
    by: ConditionalQuantile, evidence: Evidence, mean: float, std: float, coverage: float
) -> tuple[float, float]:
    """Return the shift at one forecast, and the solution of G(a) = coverage, by sums over the evidence and bisection."""
    y, base, n = evidence.y, evidence.distribution, len(evidence)
    order = np.sort(y)
    rank = lambda m: float(np.interp(m, order, ndtri((np.arange(n) + 0.5) / n)))
    z = (y - base.mean) / base.std
    own = 1.0 + by.small_sample * evidence.X.shape[1] / n
    counts = np.ones(n) if evidence.weights is None else evidence.weights

    def weights(mean: float, std: float, wider: float = 1.0) -> Array:
        spread = [np.log(std / s) / by.similarity.spread / wider for s in base.std]
        median = [(rank(mean) - rank(m)) / by.similarity.rank / wider for m in base.mean]
        return counts * np.exp(-0.5 * np.square(spread) - 0.5 * np.square(median))

    def shift(w: Array) -> float:
        return float(w @ np.clip(z, -3.0, 3.0) / (by.steady + w.sum()))

    others = [np.where(np.arange(n) == i, 0.0, weights(base.mean[i], base.std[i])) for i in range(n)]
    left = np.clip(np.abs(z - np.array([shift(w) for w in others])), 1e-5, by.largest)
    w, less = weights(mean, std), weights(mean, std, 3.0)

    def G(log_a: float) -> float:
        model, below = 2.0 * t.cdf(np.exp(log_a) / own, 2) - 1.0, ndtr((log_a - np.log(left)) / by.smoothing)
        F = (by.prior * model + less @ below) / (by.prior + less.sum())
        return float((F + by.prior * model + w @ below) / (1.0 + by.prior + w.sum()))

    return shift(w), float(np.exp(brentq(lambda v: G(v) - coverage, -12.0, 6.0)))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 60),
    mean=st.floats(-2.0, 2.0),
    log_std=st.floats(-5.0, 1.0),
    coverage=st.sampled_from([0.1, 0.5, 0.8, 0.95, 0.99]),
    weighted=st.booleans(),
)
def test_half_widths_are_quantiles_of_the_weighted_errors(
    seed: int, n: int, mean: float, log_std: float, coverage: float, weighted: bool
) -> None:
    evidence = stream(n, seed)
    if weighted:
        evidence = Evidence(evidence.X, evidence.y, evidence.distribution, weights=np.linspace(0.1, 1.0, n))
    by, std = ConditionalQuantile(), float(np.exp(log_std))
    shown = by.fit(evidence)(Gaussian(np.array([mean]), np.array([std])), np.zeros((1, 1)))
    low, high = shown.interval(coverage)
    shift, expected = by_definition(by, evidence, mean, std, coverage)
    # The distribution function is interpolated between 72 sizes.
    assert float(high[0] - low[0]) / (2.0 * std) == pytest.approx(expected, rel=0.05)
    assert float(high[0] + low[0]) / 2.0 == pytest.approx(mean + std * shift, abs=1e-9 * (std + abs(mean)))
    unmoved = ConditionalQuantile(steady=np.inf).fit(evidence)(
        Gaussian(np.array([mean]), np.array([std])), np.zeros((1, 1))
    )
    assert unmoved.median[0] == mean


def test_errors_of_one_sign_move_the_median_and_narrow_the_intervals() -> None:
    """Far forecasts that all expected too much by 1.5 standard deviations: those like them expect less, and are surer."""
    rng = np.random.default_rng(0)
    past = Gaussian(rng.normal(size=40), np.repeat([0.05, 1.0], 20))
    z = np.r_[rng.standard_normal(20), rng.normal(-1.5, 0.2, 20)]
    evidence = Evidence(rng.random((40, 1)), past.mean + past.std * z, past)
    at, X = Gaussian(np.zeros(2), np.array([0.05, 1.0])), np.zeros((2, 1))
    moved, unmoved = (ConditionalQuantile(steady=steady).fit(evidence)(at, X) for steady in (1.0, np.inf))
    assert abs(moved.median[0]) < 0.04 and -1.5 < moved.median[1] < -1.0
    widths = [np.ptp(np.array(shown.interval(0.8)), axis=0) for shown in (moved, unmoved)]
    assert widths[0][1] < 0.6 * widths[1][1] and widths[0][0] == pytest.approx(widths[1][0], rel=0.25)
    latent = ConditionalQuantile().fit(evidence)(Gaussian(np.zeros(2), at.std, noise_std=0.01), X)
    np.testing.assert_array_equal(latent.mean, 0.0, err_msg="what searches act on stays where it is")


def test_where_no_forecast_is_similar_less_similar_ones_decide() -> None:
    """All known errors are small or large; a forecast with twice the spread of any known one follows them."""
    rng, at = np.random.default_rng(0), Gaussian(np.zeros(1), np.array([1.0]))
    past = Gaussian(rng.normal(size=30), np.full(30, 0.3))
    widths = []
    for factor in (0.3, 3.0):
        y = past.mean + factor * past.std * rng.standard_normal(30)
        shown = ConditionalQuantile().fit(Evidence(rng.random((30, 1)), y, past))(at, np.zeros((1, 1)))
        widths.append(float(np.ptp(shown.interval(0.8))))
    assert widths[0] < 1.5 and widths[1] > 4.0


@pytest.mark.parametrize(("size", "count"), [(0.2, 2), (0.2, 40), (3.0, 2)], ids=["small", "small and many", "large"])
def test_past_errors_narrow_an_interval_if_they_are_many_and_widen_it_if_they_are_large(
    size: float, count: int
) -> None:
    rng = np.random.default_rng(0)
    X, z = rng.random((count, 2)), size * np.resize([1.0, -1.0], count)
    mean = rng.normal(size=count)
    evidence = Evidence(X, mean + z, Gaussian(mean, np.ones(count)))
    width = (
        fitted(ConditionalQuantile(small_sample=0.0), evidence).stretched(Reach(np.zeros(1), np.zeros(1))).values[0, 7]
    )
    if size > 1.0:
        assert width > 1.5
    else:
        assert width < 0.4 if count > 2 else 0.4 < width < 1.3


def test_an_error_does_not_move_its_own_forecast() -> None:
    """Stored and left-out forecasts of one outcome are one experience: alone they leave all of their error."""
    twice = Gaussian(np.zeros(2), np.ones(2))
    both = fitted(ConditionalQuantile(), Evidence(np.full((2, 1), 0.5), np.full(2, 2.0), twice))
    np.testing.assert_array_equal(both.left, 2.0)
    apart = fitted(ConditionalQuantile(), Evidence(np.array([[0.2], [0.7]]), np.full(2, 2.0), twice))
    np.testing.assert_allclose(apart.left, 1.0)


def test_of_many_past_forecasts_some_stand_for_all() -> None:
    """With 600 errors of a mean of one, each is moved by nearly as much as new forecasts are."""
    rng = np.random.default_rng(0)
    past = Gaussian(rng.normal(size=600), np.ones(600))
    z = rng.normal(1.0, 0.1, 600)
    level_map = fitted(ConditionalQuantile(), Evidence(rng.random((600, 1)), past.mean + z, past))
    assert np.median(level_map.left) < 0.15


def test_without_like_forecasts_the_intervals_are_students_with_two_degrees_of_freedom() -> None:
    evidence = stream(50, error=lambda std: 0.2 + 0.0 * std)
    by = ConditionalQuantile(small_sample=0.0)
    # A thousand times as far as any forecast before.
    strange = Gaussian(np.zeros(1), np.full(1, 2e3))
    shown = by.fit(evidence)(strange, np.zeros((1, 1)))
    for coverage in (0.1, 0.5, 0.8, 0.95, 0.99):
        np.testing.assert_allclose(shown.interval(coverage)[1], 2e3 * t.ppf(0.5 + 0.5 * coverage, 2), rtol=0.03)
    few = ConditionalQuantile().fit(evidence)(strange, np.zeros((1, 1)))
    np.testing.assert_allclose(few.interval(0.8)[1], (1.0 + 4.0 / 50) * shown.interval(0.8)[1], rtol=0.03)


@pytest.mark.parametrize(("n", "d"), [(2, 200), (3, 50), (9, 20)])
def test_few_forecasts_in_many_columns_leave_a_distribution_of_the_same_shape(n: int, d: int) -> None:
    """However uncertain the model is taken to be, wider coverages have visibly wider intervals."""
    shown = ConditionalQuantile().fit(stream(n, d=d))(Gaussian(np.zeros(1), np.full(1, 1e4)), np.zeros((1, d)))
    widths = np.array([np.ptp(shown.interval(c)) for c in (0.1, 0.5, 0.8, 0.95, 0.99)])
    students = t.ppf(0.5 + 0.5 * np.array([0.1, 0.5, 0.8, 0.95, 0.99]), 2)
    np.testing.assert_allclose(widths / widths[2], students / students[2], rtol=0.03)


# --- coverage -----------------------------------------------------------------------------------------------------------


def near_too_wide_far_too_narrow(std: Array) -> Array:
    return np.where(std < 0.15, 0.35, 2.5)


@pytest.mark.parametrize("seed", range(3))
def test_coverage_where_forecasts_err_by_their_reach(seed: int) -> None:
    """Near forecasts three times too wide, far ones too narrow: 80 % intervals hold .67 to .93 of the outcomes of each.

    Seeded; the share of 3000 outcomes has a standard error below .01, so that the margin is what 200 forecasts leave.
    """
    level_map = ConditionalQuantile().fit(stream(200, seed, near_too_wide_far_too_narrow))
    fresh = stream(8000, 100 + seed, near_too_wide_far_too_narrow)
    assert isinstance(fresh.distribution, Gaussian)
    for coverage, margin in ((0.5, 0.15), (0.8, 0.13), (0.95, 0.05)):
        low, high = level_map(fresh.distribution, fresh.X).interval(coverage)
        raw = fresh.distribution.interval(coverage)
        for group in (fresh.distribution.std < 0.12, fresh.distribution.std > 0.2):
            inside = lambda ends, group=group: float(np.mean(((fresh.y >= ends[0]) & (fresh.y <= ends[1]))[group]))
            assert abs(inside((low, high)) - coverage) < margin
            assert abs(inside((low, high)) - coverage) < abs(inside(raw) - coverage)


def test_weights_say_how_much_a_forecast_counts() -> None:
    """Half of the forecasts came out far off, but count nothing."""
    one, other = stream(60, 0), stream(60, 1, lambda std: 5.0 + 0.0 * std)
    both = Gaussian(
        np.r_[one.distribution.mean, other.distribution.mean], np.r_[one.distribution.std, other.distribution.std]
    )
    counted = Evidence(np.zeros((120, 1)), np.r_[one.y, other.y], both, weights=np.r_[np.ones(60), np.zeros(60)])
    equal = Evidence(np.zeros((120, 1)), np.r_[one.y, other.y], both)
    X, unit = np.zeros((1, 1)), Gaussian(np.zeros(1), np.full(1, 0.3))
    widths = [float(np.ptp(ConditionalQuantile().fit(e)(unit, X).interval(0.8))) / 0.3 for e in (counted, equal)]
    assert 1.8 < widths[0] < 3.5 < widths[1]


# --- what is shown --------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    size=st.sampled_from([1e-300, 1.0, 1e290]),
    scores=st.lists(st.one_of(st.floats(-9, 9), st.sampled_from([0.0, 1e-12, 1e6, -1e300])), min_size=1, max_size=30),
    seed=st.integers(0, 10**6),
)
def test_shown_quantiles_increase_strictly_whatever_came_out(size: float, scores: list[float], seed: int) -> None:
    rng, n = np.random.default_rng(seed), len(scores)
    mean, std = size * rng.normal(size=n), size * np.exp(rng.uniform(-3.0, 1.0, n))
    with np.errstate(over="ignore"):
        y = np.clip(mean + std * np.array(scores), -1e300, 1e300)
    at = Gaussian(size * np.array([0.0, 1.0, -5.0, 100.0]), size * np.array([1e-4, 0.1, 1.0, 300.0]))
    shown = ConditionalQuantile().fit(Evidence(np.zeros((n, 2)), y, Gaussian(mean, std)))(at, np.zeros((4, 2)))
    assert isinstance(shown, Stretched)
    scores_shown = shown.levels.stretch(ndtri(SHOWN)[:, None])
    assert (np.diff(scores_shown, axis=0) > 0.0).all() and np.isfinite(scores_shown).all()
    for low, high in (shown.interval(coverage) for coverage in (0.01, 0.5, 0.99)):
        assert ((low <= shown.median) & (shown.median <= high)).all()
    assert (np.abs(shown.levels.shift) < 3.0).all() and np.isfinite(shown.std / size).all()


@pytest.mark.parametrize("y", [np.zeros(1), np.full(3, 7.0), np.full(30, -1e300), np.full(4, 1e-300)])
def test_constant_outcomes_are_survived(y: Array) -> None:
    std = np.full(len(y), float(np.abs(y).max()) or 1.0)
    level_map = ConditionalQuantile().fit(Evidence(np.zeros((len(y), 1)), y, Gaussian(y, std)))
    for noise in (0.0, float(std[0])):
        shown = level_map(Gaussian(y[:1], std[:1], noise_std=noise), np.zeros((1, 1)))
        low, high = shown.interval(0.8)
        assert np.isfinite([low, high]).all() and (shown.std > 0.0).all() and (low <= high).all()


# --- latent values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_latent_factors_from_the_table_agree_with_the_exact_ones(seed: int) -> None:
    level_map = fitted(ConditionalQuantile(), stream(80, seed, near_too_wide_far_too_narrow))
    rng = np.random.default_rng(seed)
    latent = Gaussian(rng.normal(size=400), np.exp(rng.uniform(-7.0, 4.0, 400)), noise_std=0.02)
    shown = level_map(latent, np.zeros((400, 1)))
    assert isinstance(shown, Gaussian), (
        "a latent Gaussian stays Gaussian: acquisition functions keep their closed forms"
    )
    exact = level_map.latent_factors(level_map.scale.reach(latent))
    error = np.abs(np.log(shown.std / latent.std / exact))
    # The table is of quantiles without smoothing; where the errors of forecasts jump with the spread it is coarse.
    assert error.max() < 0.45 and np.quantile(error, 0.95) < 0.2 and error.mean() < 0.08
    np.testing.assert_allclose(shown.noise_std, shown.std / latent.std * 0.02, err_msg="the noise is scaled alike")


def test_far_from_all_forecasts_latent_values_keep_the_models_own_scale() -> None:
    """A hundred near forecasts that were far too wide do not narrow a value that nothing like it was forecast of."""
    rng = np.random.default_rng(0)
    near = Gaussian(rng.normal(size=100), np.full(100, 0.02))
    past = Evidence(np.zeros((100, 1)), near.mean + 0.002 * rng.standard_normal(100), near)
    by = ConditionalQuantile(small_sample=0.0)
    latent = Gaussian(np.zeros(2), np.array([0.02, 5.0]), noise_std=1e-6)
    factors = by.fit(past)(latent, np.zeros((2, 1))).std / latent.std
    assert factors[0] < 0.2 and factors[1] == pytest.approx(1.0, abs=0.03)


def test_the_factor_of_a_latent_value_is_that_of_its_measurements_80_percent_interval() -> None:
    """Up to the tails and the weight of what is not known, of which there is little among 80 forecasts."""
    level_map = fitted(ConditionalQuantile(steady=np.inf), stream(80, 0, near_too_wide_far_too_narrow))
    latent = Gaussian(np.array([0.3]), np.array([0.3]), noise_std=0.4)
    measured = level_map(latent.measurement, np.zeros((1, 1)))
    width = float(np.ptp(measured.interval(0.8))) / (2.0 * 0.5 * ndtri(0.9))
    assert float(level_map.latent_factors(level_map.scale.reach(latent))[0]) == pytest.approx(width, rel=0.05)


def test_bandwidths_too_narrow_for_a_table_are_exact() -> None:
    level_map = fitted(ConditionalQuantile(Similarity(1e-3, 1e-3)), stream(40))
    latent = Gaussian(np.zeros(5), np.linspace(0.1, 1.0, 5), noise_std=0.1)
    shown = level_map(latent, np.zeros((5, 1)))
    np.testing.assert_array_equal(shown.std / latent.std, level_map.latent_factors(level_map.scale.reach(latent)))


# --- shapes and kinds -----------------------------------------------------------------------------------------------------


def test_batches_are_mapped_point_by_point() -> None:
    level_map = ConditionalQuantile().fit(stream(60, 0, near_too_wide_far_too_narrow))
    rng = np.random.default_rng(1)
    for noise in (0.0, 0.1):
        batch = Gaussian(rng.normal(size=(2, 4, 3)), np.exp(rng.uniform(-4.0, 0.0, (2, 4, 3))), noise_std=noise)
        flat = Gaussian(batch.mean.ravel(), batch.std.ravel(), noise_std=noise)
        shown, reference = level_map(batch, np.zeros((2, 4, 3, 1))), level_map(flat, np.zeros((24, 1)))
        for u in (0.05, 0.5, 0.9):
            np.testing.assert_allclose(shown.icdf(u).ravel(), reference.icdf(u), rtol=1e-9)
            np.testing.assert_allclose(shown.over_samples().icdf(np.array([[u], [u]]))[:, :, 1], shown.icdf(u))
        np.testing.assert_allclose(shown.negated().icdf(0.1), -shown.icdf(0.9), rtol=1e-9)
        assert shown.draws(rng.standard_normal((5, 3))).shape == (2, 4, 5, 3)


def test_more_points_than_are_weighed_at_a_time() -> None:
    level_map, rng = fitted(ConditionalQuantile(), stream(10)), np.random.default_rng(0)
    many = Gaussian(rng.normal(size=5000), np.exp(rng.uniform(-4.0, 0.0, 5000)))
    whole = level_map(many, np.zeros((5000, 1))).icdf(0.9)
    part = level_map(Gaussian(many.mean[4000:4010], many.std[4000:4010]), np.zeros((10, 1))).icdf(0.9)
    np.testing.assert_allclose(whole[4000:4010], part, rtol=1e-12)
    assert level_map(Gaussian(np.empty(0), np.empty(0)), np.zeros((0, 1))).icdf(0.9).shape == (0,)


def test_other_distributions_are_mapped_in_their_normal_scores() -> None:
    level_map, X = ConditionalQuantile().fit(stream(60, 0, near_too_wide_far_too_narrow)), np.zeros((2, 1))
    gaussian = Gaussian(np.array([0.0, 1.0]), np.array([0.1, 0.8]))
    other = level_map(Relevelled(gaussian, Levels.identity()), X)
    assert isinstance(other, Composed)
    np.testing.assert_allclose(other.icdf(0.9), level_map(gaussian, X).icdf(0.9), rtol=1e-6)
    linear = Transformed(gaussian, LowerTailPower(1.0, 0.0, 1.0, -9.0))
    shown = level_map(linear, X)
    assert isinstance(shown, Transformed) and isinstance(shown.base, Stretched)
    np.testing.assert_allclose(shown.icdf(0.9), level_map(gaussian, X).icdf(0.9), rtol=1e-9)


def test_it_is_pickled() -> None:
    level_map = fitted(ConditionalQuantile(), stream(30))
    latent = Gaussian(np.zeros(3), np.ones(3), noise_std=0.1)
    expected = level_map(latent, np.zeros((3, 1))).std
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(level_map))(latent, np.zeros((3, 1))).std, expected)


def test_similar_forecasts_are_counted() -> None:
    rng = np.random.default_rng(0)
    data = Dataset(X=rng.random((20, 2)), Y=rng.standard_normal((20, 1)))
    model = Calibrated(GaussianProcess(), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut()).fit(data, rng=rng)
    X = rng.random((7, 2))
    found = model.similar_forecasts(X)
    scale = OutcomeScale(data.Y[:, 0])
    past = scale.reach(model.evidence.distribution, model.evidence.log_distance)
    at = scale.reach(model.base.predict(X, latent=False), Nearness.of(data)(X))
    np.testing.assert_allclose(found, Similarity().weights(at, past).sum(axis=-1))
    assert (found > 0.0).all() and (found <= 20.0).all()
    twice = Calibrated(
        model_surrogate := Calibrated(GaussianProcess(), by=ConditionalQuantile()), by=ConditionalQuantile()
    )
    assert (twice.fit(data, rng=rng).similar_forecasts(X) == 0.0).all() and model_surrogate.stage_names[
        0
    ] == "GaussianProcess"


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": 0.0},
        {"smoothing": -1.0},
        {"largest": 0.0},
        {"small_sample": -0.1},
        {"similarity": 0.35},
        {"steady": 0.0},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        ConditionalQuantile(**wrong)  # type: ignore[arg-type]
