"""Forecasts of CBO learn from those of earlier rounds; those of other methods are left as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.data import STORED_LEVELS, Dataset, Forecast, Marginal
from calibo.distributions import QuantileTable
from calibo.methods import cbo, gp_ei, ocbo
from calibo.optimize import ModelBased, Plan
from calibo.tables.recalibration import corrected, tempered


def known(error: float | None = None) -> Dataset:
    """20 points; if ``error`` is given, the last 12 were forecast that many standard deviations off."""
    rng = np.random.default_rng(0)
    X = rng.random((20, 2))
    data = Dataset(X=X, Y=np.sin(4 * X[:, :1]) + X[:, 1:])
    if error is None:
        return data
    made = ("GaussianProcess", "ConformalBayes", "Temperature")
    distributions = [Marginal(float(y) + (-1) ** i * error, 1.0) for i, y in enumerate(data.Y[:, 0])]
    stored = tuple(
        None if i < 8 else (Forecast((Marginal(0.0, 1.0), distribution, distribution), made),)
        for i, distribution in enumerate(distributions)
    )
    return replace(data, forecasts=stored)


def planned(strategy: ModelBased, data: Dataset) -> tuple[Plan, Plan]:
    plan = strategy.plan(data, rng=np.random.default_rng(0))
    return plan, corrected(plan, strategy.surrogate, data, np.random.default_rng(0))


def widths(plan: Plan) -> np.ndarray:
    assert plan.forecaster is not None
    forecasts = plan.forecaster(np.random.default_rng(1).random((5, 2)))
    return np.array([np.subtract(*f[0].calibrated.interval(0.8)[::-1]) for f in forecasts])


pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated:calibo.errors.FallbackWarning")


def test_intervals_widen_if_forecasts_failed_and_narrow_if_they_were_too_wide() -> None:
    plan, other = planned(cbo(ratio=None), known(error=3.0))
    assert (widths(other) > 1.5 * widths(plan)).all()
    plan, other = planned(cbo(ratio=None), known(error=0.1))
    assert (widths(other) < 0.8 * widths(plan)).all()
    assert other.acquisition is plan.acquisition


def test_without_evidence_nothing_changes_but_the_stage_is_there() -> None:
    plan, other = planned(cbo(ratio=None), known())
    np.testing.assert_allclose(widths(other), widths(plan))
    assert other.forecaster is not None
    forecast = other.forecaster(np.full((1, 2), 0.5))[0][0]
    assert forecast.stage_names == ("GaussianProcess", "ConformalBayes", "Temperature") and len(forecast.stages) == 3


@pytest.mark.parametrize("strategy", [gp_ei(), ocbo()], ids=lambda s: s.name)
def test_other_methods_are_left_as_they_are(strategy: ModelBased) -> None:
    plan, other = planned(strategy, known())
    assert other is plan


def test_a_tempered_law() -> None:
    assert tempered(Marginal(1.0, 2.0), 1.5) == Marginal(1.0, 3.0)
    # A Gaussian distribution stored by its quantiles must come out as the same distribution tempered in closed form.
    normal = Marginal(1.0, 2.0)
    stored = Marginal(1.0, 2.0, tuple(normal.icdf(u) for u in STORED_LEVELS))
    for factor in (0.3, 1.0, 1.7, 5.0):
        distribution = tempered(stored, factor)
        assert distribution.mean == pytest.approx(1.0) and distribution.std == pytest.approx(2.0 * factor)
        assert distribution.interval(0.8) == pytest.approx(Marginal(1.0, 2.0 * factor).interval(0.8))


def test_what_is_not_backed_stays_so() -> None:
    distribution = QuantileTable(
        np.array([0.2, 0.5, 0.8]), np.array([[-1.0, 0.0, 1.0]]), backed=(0.2, 0.8)
    ).marginals()[0]
    assert tempered(distribution, 2.0).interval(0.9) == (-np.inf, np.inf)
