"""Conformal calibration: exact ranks, reference cases, agreement with brute force, and what too few scores promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from calibo.calibration import Conformal, Evidence, QuantileShift, Recalibrator, Residual
from calibo.calibration.conformal import conformal_quantile
from calibo.data import Marginal
from calibo.distributions import Gaussian, QuantileTable, from_marginals
from calibo.errors import RecipeError
from calibo.testing import CalibratorSuite


class TestScaledResidual(CalibratorSuite):
    finite = False

    def recalibrator(self) -> Recalibrator:
        return Conformal()


class TestSymmetricShift(TestScaledResidual):
    equivariant = False

    def recalibrator(self) -> Recalibrator:
        return Conformal(QuantileShift())


class TestOneSidedShift(TestSymmetricShift):
    def recalibrator(self) -> Recalibrator:
        return Conformal(QuantileShift(symmetric=False))


def evidence_of(y: list[float], distributions: list[Marginal]) -> Evidence:
    return Evidence(np.zeros((len(y), 1)), np.array(y), from_marginals(distributions))


def table(levels: list[float], values: list[list[float]]) -> list[Marginal]:
    return list(QuantileTable(np.array(levels), np.array(values)).marginals())


def test_ranks_are_the_reference_ones(golden: Callable[[str], Any]) -> None:
    case = golden("conformal_quantiles")
    scores = np.array(case["scores"])
    for one in case["split"]:
        assert conformal_quantile(scores, 1 - one["tau"]) == one["exact_rank"]


def test_ensemble_split_is_the_reference_one(golden: Callable[[str], Any]) -> None:
    case = golden("conformal_quantiles")
    one = case["ensemble_split"]
    evidence = evidence_of(case["scores"], [Marginal(0.0, 1.0)] * len(case["scores"]))
    distribution = Gaussian(np.array([one["mean"]]), np.array([one["std"]]))
    levels = tuple(round(p, 12) for p in one["levels"])
    moved = Conformal(Residual(), levels).fit(evidence)(distribution, np.zeros((1, 1)))
    for p, expected in zip(levels, one["quantiles_exact_rank"], strict=True):
        np.testing.assert_allclose(moved.icdf(p), expected, rtol=1e-12, err_msg=f"level {p}")


@pytest.mark.parametrize("symmetric", [True, False])
def test_quantile_shifts_are_the_reference_ones(golden: Callable[[str], Any], symmetric: bool) -> None:
    case = golden("conformal_quantiles")["cqr"]
    rows = [[low, (low + high) / 2, high] for low, high in zip(case["lower_pred"], case["upper_pred"], strict=True)]
    evidence = evidence_of(case["y"], table([0.1, 0.5, 0.9], rows))
    distribution = QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[0.0, 1.0, 2.0]]))
    moved = Conformal(QuantileShift(symmetric), (0.1, 0.5, 0.9)).fit(evidence)(distribution, np.zeros((1, 1)))
    lower, upper = (case[f"offset_{'symmetric' if symmetric else side}_exact_rank"] for side in ("lower", "upper"))
    np.testing.assert_allclose(moved.icdf(0.1), 0.0 - lower, rtol=1e-9)
    np.testing.assert_allclose(moved.icdf(0.9), 2.0 + upper, rtol=1e-9)
    np.testing.assert_allclose(moved.icdf(0.5), 1.0, rtol=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_the_rank_is_the_smallest_that_covers(scores: list[float], coverage: float) -> None:
    """Brute force: the smallest of the scores and infinity with at least coverage (t + 1) of the t + 1 at or below it."""
    ordered = [*sorted(scores), np.inf]
    needed = coverage * (len(scores) + 1) - 1e-9
    expected = next(s for k, s in enumerate(ordered, start=1) if k >= needed)
    assert conformal_quantile(np.array(scores), coverage) == expected


@pytest.mark.parametrize("t", [1, 2, 4, 9])
def test_too_few_scores_promise_nothing_far_out(t: int) -> None:
    evidence = evidence_of([0.3] * t, [Marginal(0.0, 1.0)] * t)
    distribution = Conformal().fit(evidence)(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1)))
    widest = t / (t + 1)
    for coverage in (0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        assert np.isfinite(distribution.interval(coverage)).all() == (coverage <= widest + 1e-9), coverage
    assert np.isfinite([distribution.mean, distribution.std]).all()
    assert np.isfinite(distribution.draws(np.array([[-6.0], [6.0]]))).all()


def test_one_sided_quantiles_need_more_scores() -> None:
    evidence = evidence_of([0.3], [Marginal(0.0, 1.0)])
    distribution = Conformal(QuantileShift(symmetric=False)).fit(evidence)(
        Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1))
    )
    assert distribution.interval(0.2) == (-np.inf, np.inf) and np.isfinite([distribution.mean, distribution.std]).all()


def test_the_dependence_between_points_is_kept() -> None:
    distribution = Gaussian(np.zeros(2), np.ones(2), lambda: np.array([[1.0, 0.99], [0.99, 1.0]]))
    evidence = evidence_of(list(np.linspace(-2, 2, 30)), [Marginal(0.0, 1.0)] * 30)
    moved = Conformal().fit(evidence)(distribution, np.zeros((2, 1)))
    assert np.corrcoef(moved.draws(np.random.default_rng(0).standard_normal((400, 2))).T)[0, 1] > 0.9


def test_batches_of_points_are_moved_alike() -> None:
    evidence = evidence_of(list(np.linspace(-2, 2, 30)), [Marginal(0.0, 1.0)] * 30)
    single = Gaussian(np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    batch = Gaussian(np.tile(single.mean, (4, 1)), np.tile(single.std, (4, 1)))
    for score in (Residual(), Residual(scaled=False), QuantileShift(), QuantileShift(symmetric=False)):
        mapped = Conformal(score).fit(evidence)
        one, many = mapped(single, np.zeros((2, 1))), mapped(batch, np.zeros((4, 2, 1)))
        np.testing.assert_allclose(many.icdf(0.9), np.tile(one.icdf(0.9), (4, 1)))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RecipeError, match="mirror"):
        Conformal(levels=(0.1, 0.5, 0.8))
    with pytest.raises(RecipeError, match="levels must increase"):
        Conformal(levels=(0.6, 0.9))
    with pytest.raises(RecipeError, match="KFold"):
        Conformal(plus=True).fit(evidence_of([0.0], [Marginal(0.0, 1.0)]))


def test_any_levels_can_be_shifted() -> None:
    y = np.random.default_rng(0).normal(size=40)
    evidence = Evidence(np.zeros((40, 1)), y, Gaussian(np.zeros(40), np.ones(40)))
    level_map = Conformal(QuantileShift(), (0.123, 0.5, 0.877)).fit(evidence)
    low, high = level_map(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1))).interval(0.754)
    # Of 40 scores max(q - y, y - q') the ceil(.754 x 41) = 31st moves both quantiles.
    quantile = norm.ppf(0.877)
    moved = quantile + np.sort(np.maximum(-quantile - y, y - quantile))[30]
    np.testing.assert_allclose([low[0], high[0]], [-moved, moved], rtol=1e-9)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("t", [3, 10, 57])
@pytest.mark.filterwarnings("ignore:the no. of calibration examples")
def test_intervals_are_those_of_crepes(scaled: bool, t: int) -> None:
    import crepes

    rng = np.random.default_rng(t)
    mean, std, y = rng.normal(size=t), rng.uniform(0.5, 2, t), rng.normal(size=t) * 3
    theirs = crepes.ConformalRegressor().fit(residuals=y - mean, sigmas=std if scaled else None)
    evidence = evidence_of(y.tolist(), [Marginal(float(m), float(s)) for m, s in zip(mean, std, strict=True)])
    distribution = Gaussian(np.array([1.0, -2.0]), np.array([0.7, 1.9]))
    ours = Conformal(Residual(scaled)).fit(evidence)(distribution, np.zeros((2, 1)))
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        expected = theirs.predict_int(
            distribution.mean, sigmas=distribution.std if scaled else None, confidence=coverage
        )
        np.testing.assert_allclose(np.column_stack(ours.interval(coverage)), expected, rtol=1e-9)


def test_an_outcome_too_far_away_for_a_float_leaves_the_median_where_it_is() -> None:
    evidence = Evidence(np.zeros((40, 1)), np.full(40, 1e200), Gaussian(np.zeros(40), np.full(40, 1e-200)))
    found = Conformal().fit(evidence)(Gaussian(np.array([1.0]), np.array([2.0])), np.zeros((1, 1)))
    assert found.median == pytest.approx([1.0])
    assert np.isfinite(found.interval(0.8)).all()
