"""Averages of quantiles: all that a distribution promises, against closed forms, and far out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array
from calibo.distributions import (
    Gaussian,
    Levels,
    LowerTailPower,
    QuantileAverage,
    QuantileTable,
    Stretched,
    StretchedScores,
    Transformed,
    relevel,
)
from calibo.errors import RecipeError
from calibo.testing import DistributionSuite

MEAN, STD = np.array([-1.0, 0.3, 1.5]), np.array([0.8, 0.3, 0.5])
STRETCH = StretchedScores(np.array([0.5, 1.5]), np.array([0.9, 4.0]), 0.3)
#: Nearly a logarithm, over ten orders of magnitude.
DEEP = LowerTailPower(0.0, -1.0, 1e-3, -1e7)


def gaussian(*batch: int, shift: float = 0.0, factor: float = 1.0) -> Gaussian:
    return Gaussian(np.broadcast_to(MEAN + shift, (*batch, 3)), np.broadcast_to(factor * STD, (*batch, 3)))


class TestGaussians(DistributionSuite):
    def distribution(self, *batch: int) -> QuantileAverage:
        return QuantileAverage((gaussian(*batch), gaussian(*batch, shift=1.0, factor=2.0)), (0.7, 0.3))


class TestCalibratedShapes(DistributionSuite):
    """As the default method shows them: outcomes as they are, and with their bad tail drawn in, each calibrated."""

    #: Improvement and moments of parts with kinks are integrals over levels.
    tolerance = 2e-3

    def distribution(self, *batch: int) -> QuantileAverage:
        tail = Transformed(Stretched(gaussian(*batch), STRETCH), LowerTailPower(0.2, -1.0, 2.0, -60.0))
        return QuantileAverage((Stretched(gaussian(*batch, factor=0.5), STRETCH), tail), (0.4, 0.6))


def test_of_gaussians_it_is_the_gaussian_of_the_mean_parameters() -> None:
    parts = (gaussian(), gaussian(shift=1.0, factor=2.0))
    average, expected = QuantileAverage(parts, (0.7, 0.3)), gaussian(shift=0.3, factor=1.3)
    y = np.linspace(-9.0, 9.0, 13)[:, None]
    np.testing.assert_allclose(
        average.over_samples().normal_scores(y), expected.over_samples().normal_scores(y), rtol=1e-9
    )
    np.testing.assert_allclose(average.icdf(0.2), expected.icdf(0.2), rtol=1e-12)
    for found, closed in zip(average.median_and_spread, expected.median_and_spread, strict=True):
        np.testing.assert_allclose(found, closed, rtol=1e-12)


@given(
    st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(-20.0, 5.0), st.floats(0.05, 5.0), st.floats(0.01, 0.99),
    st.floats(-7.5, 7.5),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_normal_scores_invert_the_quantiles(
    mean: float, std: float, deep_mean: float, deep_std: float, weight: float, z: float
) -> None:
    """Also where one part spans orders of magnitude and the other does not."""
    deep = Transformed(Gaussian(np.array([deep_mean]), np.array([deep_std])), DEEP)
    average = QuantileAverage((Gaussian(np.array([mean]), np.array([std])), deep), (weight, 1.0 - weight))
    y = average.at_scores(z)
    assert average.at_scores(average.normal_scores(y)) == pytest.approx(y, rel=1e-9, abs=1e-8 * std)


def test_calibrated_parts_of_one_form_stay_calibrated() -> None:
    """With a mixture of the same two forecasts 80 % intervals would hold more."""
    rng = np.random.default_rng(0)
    truth, errors = rng.standard_normal(40_000), rng.standard_normal((2, 40_000))
    # Two forecasters with errors of the same size, each right by itself, and with the same error half of the time.
    errors[1] = np.where(rng.random(40_000) < 0.5, errors[0], errors[1])
    parts = tuple(Gaussian(0.5 * (truth + error), np.full(40_000, np.sqrt(0.5))) for error in errors)
    inside = [np.mean(np.abs(part.normal_scores(truth)) < 1.2816) for part in parts]
    low, high = QuantileAverage(parts, (0.5, 0.5)).interval(0.8)
    assert inside == pytest.approx([0.8, 0.8], abs=0.01)
    assert 0.8 < np.mean((low < truth) & (truth < high)) < 0.86


def test_scores_far_out_are_finite_and_right() -> None:
    average = QuantileAverage((gaussian(), gaussian(factor=0.5)), (0.5, 0.5))
    for z in (-300.0, -40.0, 40.0, 300.0):
        np.testing.assert_allclose(average.normal_scores(average.at_scores(z)), z, rtol=1e-9)


def test_a_value_has_the_same_score_alone_and_among_many() -> None:
    rng = np.random.default_rng(0)
    m, s = rng.normal(size=400), np.exp(3.0 * rng.normal(size=400))
    deep = Transformed(Gaussian(4.0 * rng.normal(size=400), np.exp(rng.normal(size=400))), DEEP)
    average = QuantileAverage((Gaussian(m, s), deep), (0.3, 0.7))
    y = average.at_scores(3.0 * rng.normal(size=400))
    together = average.normal_scores(y)
    for i in range(0, 400, 37):
        parts = Gaussian(m[[i]], s[[i]]), Transformed(Gaussian(deep.base.mean[[i]], deep.base.std[[i]]), DEEP)
        assert QuantileAverage(parts, (0.3, 0.7)).normal_scores(y[[i]]) == pytest.approx(
            together[i], rel=1e-12, abs=1e-12
        )


def test_scores_are_found_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, counted = np.random.default_rng(1), [0]
    gaussian = Gaussian(rng.normal(size=200), np.exp(rng.normal(size=200)))
    deep = Transformed(Gaussian(4.0 * rng.normal(size=200), np.exp(rng.normal(size=200))), DEEP)
    average = QuantileAverage((gaussian, deep), (0.5, 0.5))
    y, inner = average.at_scores(2.0 * rng.normal(size=200)), QuantileAverage.at_scores

    def at_scores(self: QuantileAverage, z: Array | float) -> Array:
        counted[0] += 1
        return inner(self, z)

    monkeypatch.setattr(QuantileAverage, "at_scores", at_scores)
    average.normal_scores(y)
    assert counted[0] < 60


@pytest.mark.parametrize("stds", [(1e-6, 3.0), (1e-150, 1e150), (1e-300, 2.0)])
def test_scales_far_apart(stds: tuple[float, float]) -> None:
    average = QuantileAverage(tuple(Gaussian(np.zeros(3), np.full(3, std)) for std in stds), (0.5, 0.5))
    y = np.array([-1.0, 0.0, 1.0]) * max(stds)
    np.testing.assert_allclose(average.normal_scores(y), y / (0.5 * sum(stds)), rtol=1e-9)
    assert average.cdf(np.array([-np.inf, 0.0, np.inf])).tolist() == [0.0, 0.5, 1.0]


def test_what_one_part_does_not_support_is_not_supported() -> None:
    table = QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[-1.0, 0.0, 1.0]]), (0.1, 0.9))
    average = QuantileAverage((Gaussian(np.zeros(1), np.ones(1)), table), (0.5, 0.5))
    assert average.backed == (0.1, 0.9) and not np.isinf(average.interval(0.8)).any()
    assert np.isinf(average.interval(0.95)).all() and np.isfinite(average.at_levels(0.99)).all()


def test_levels_are_mapped_as_of_any_distribution() -> None:
    average = QuantileAverage((gaussian(), gaussian(shift=1.0)), (0.5, 0.5))
    levels = Levels(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.3, 1.0]))
    np.testing.assert_allclose(relevel(average, levels).median, average.icdf(0.3), rtol=1e-12)


@pytest.mark.parametrize(
    ("count", "weights", "expected"),
    [
        (1, (1.0,), "two or more parts, got 1 and 1"),
        (2, (1.0,), "two or more parts, got 2 and 1"),
        (2, (0.5, 0.6), "sum 1, got (0.5, 0.6)"),
        (2, (1.0, 0.0), "must be positive"),
    ],
)
def test_weights_that_are_none_are_refused(count: int, weights: tuple[float, ...], expected: str) -> None:
    with pytest.raises(RecipeError) as error:
        QuantileAverage((gaussian(),) * count, weights)
    assert expected in str(error.value)
