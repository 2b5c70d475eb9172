"""Transforms made to suit outcomes: ranks and scores below the median, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata, yeojohnson_normmax

from calibo.distributions import LowerTailPower, YeoJohnson
from calibo.models.outcome_transforms import FEWEST_OUTCOMES, OutcomeShape, good_half, half_rank

RNG = np.random.default_rng
#: Ties among them, but no values that differ by rounding.
outcomes = st.lists(st.integers(-4000, 4000).map(lambda k: k / 8.0), min_size=FEWEST_OUTCOMES, max_size=30)


def test_the_worse_half_becomes_normal_scores_of_its_ranks() -> None:
    y = -np.exp(3.0 * RNG(0).standard_normal(31))
    transform = half_rank(y)
    assert transform is not None
    median, good = np.median(y), y >= np.median(y)
    unit = np.sqrt(np.mean(np.square(y[good] - median)))
    expected = np.where(good, (y - median) / unit, norm.ppf((rankdata(y) - 0.5) / len(y)))
    np.testing.assert_allclose(transform.forward(y), expected, atol=1e-12)


@given(y=outcomes, scale=st.sampled_from([2.0**-200, 1.0, 2.0**200]), shift=st.integers(-3, 3))
def test_it_does_not_depend_on_units(y: list[float], scale: float, shift: float) -> None:
    known = np.array(y)
    one, other = half_rank(known), half_rank(scale * (known + shift))
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        np.testing.assert_allclose(one.forward(known), other.forward(scale * (known + shift)), atol=1e-9)


@given(y=outcomes)
def test_the_order_of_outcomes_is_kept(y: list[float]) -> None:
    known = np.array(y)
    transform = half_rank(known)
    if transform is not None:
        order = np.argsort(known)
        assert (np.diff(transform.forward(known[order])) >= -1e-12).all()


@pytest.mark.parametrize("shape", list(OutcomeShape))
@pytest.mark.parametrize(
    "y",
    [
        np.arange(FEWEST_OUTCOMES - 1.0),
        np.full(20, 3.0),
        np.linspace(-1.0, 1.0, 20) * 1e150,
        7.0 + 1e-15 * np.arange(20.0),
    ],
    ids=["too few", "all alike", "too large", "rounding"],
)
def test_some_outcomes_are_left_as_they_are(shape: OutcomeShape, y: np.ndarray) -> None:
    assert shape.transform(y) is None


def test_the_identity_is_no_transform_and_the_lower_tail_is_a_power() -> None:
    y = -np.exp(3.0 * RNG(1).standard_normal(31))
    assert OutcomeShape.IDENTITY.transform(y) is None
    assert isinstance(OutcomeShape.LOWER_TAIL.transform(y), LowerTailPower)


def test_half_of_the_outcomes_alike_leave_no_ranks() -> None:
    """More than half equal the best: the good half has no spread."""
    assert half_rank(np.array([1.0] * 12 + [0.0, -1.0, -2.0])) is None


@pytest.mark.parametrize("penalty", [1e6, 1e13, 1e20, 1e99, 1e160, 1e300])
@pytest.mark.parametrize("spread", [1.0, 1e-7])
def test_one_very_bad_outcome_changes_nothing_above_it(penalty: float, spread: float) -> None:
    """However large a penalty is, and however close the search has come, the others keep their ranks."""
    y = spread * np.arange(20.0)
    y[0] = -spread
    plain, bad = half_rank(y), half_rank(np.append(y[1:], -penalty))
    assert plain is not None and bad is not None
    np.testing.assert_allclose(bad.forward(y[1:]), plain.forward(y[1:]), atol=1e-6)
    np.testing.assert_allclose(bad.inverse(bad.forward(y[1:])), y[1:], rtol=1e-6, atol=1e-12 * spread)


def test_more_than_half_of_the_outcomes_far_beyond_the_others_leave_no_ranks() -> None:
    assert half_rank(np.append(-1e300 * np.arange(1.0, 12.0), np.arange(9.0))) is None


def test_the_good_half_does_not_overflow() -> None:
    median, spread = good_half(np.array([1.7e308, 1.6e308, 1.5e308, -1.7e308]))
    assert np.isfinite(median) and spread == pytest.approx(
        np.hypot(1.7e308 - 1.55e308, 1.6e308 - 1.55e308) / np.sqrt(2.0)
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_power_of_both_tails_is_the_most_likely_one(sign: float) -> None:
    """Within the grid of powers, against scipy's; a tail on either side is drawn in."""
    y = sign * np.exp(RNG(2).standard_normal(200))
    transform = OutcomeShape.YEO_JOHNSON.transform(y)
    assert isinstance(transform, YeoJohnson)
    likely = yeojohnson_normmax((y - transform.location) / transform.scale)
    assert transform.power == pytest.approx(np.clip(likely, 0.0, 2.0), abs=0.03)
    skewness = lambda v: np.mean(((v - v.mean()) / v.std()) ** 3)
    assert abs(skewness(transform.forward(y))) < 0.3 * abs(skewness(y))


def test_the_distance_to_the_best_counts_by_its_logarithm() -> None:
    y = -(10.0 ** np.linspace(-6.0, 3.0, 41))
    transform = OutcomeShape.LOG_DISTANCE.transform(y)
    assert transform is not None
    scale = y.max() - np.quantile(y, 0.75)
    np.testing.assert_allclose(transform.forward(y), -np.log1p((y.max() - y) / scale))
    assert transform.linear_above == y.max()


@pytest.mark.parametrize("shape", [OutcomeShape.LOWER_TAIL, OutcomeShape.YEO_JOHNSON])
def test_of_very_many_outcomes_some_tell_the_power(shape: OutcomeShape, monkeypatch: pytest.MonkeyPatch) -> None:
    y = -np.exp(RNG(3).standard_normal(20_000))
    some = shape.transform(y)
    monkeypatch.setattr("calibo.models.outcome_transforms._MOST_SHAPED", len(y))
    whole = shape.transform(y)
    assert isinstance(some, LowerTailPower | YeoJohnson) and isinstance(whole, LowerTailPower | YeoJohnson)
    assert some.power == pytest.approx(whole.power, abs=0.051) and some.low == whole.low == y.min()
