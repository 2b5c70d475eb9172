"""Coverage over time draws the diagnostics' curves and bands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import report
from calibo.diagnostics import binomial_band, covered
from calibo.errors import RecipeError
from calibo.report import Story

Find = Callable[[Any, str], Any]
coverage_over_time: Any = report.coverage_over_time  # figures are too dynamic for a type checker


def test_curves_are_running_means(real: Story, trace_of: Find) -> None:
    figure = coverage_over_time(real)
    count = np.arange(1, len(real.judged) + 1)
    for name, distributions in (("calibrated", real.distributions), ("raw model", real.raw_laws)):
        curve = trace_of(figure, name)
        np.testing.assert_array_equal(curve.x, count)
        np.testing.assert_allclose(curve.y, np.cumsum(covered(distributions, real.outcomes, 0.8)) / count)
    assert trace_of(figure, "raw model").line.dash == "dash"


def test_the_band_is_exact(real: Story) -> None:
    low, high = [t for t in coverage_over_time(real).data if t.legendgroup == "band" and t.visible]
    n = len(real.judged)
    bands = np.array([binomial_band(k, 0.8) for k in range(1, n + 1)]) / np.arange(1, n + 1)[:, None]
    np.testing.assert_allclose(low.y, bands[:, 0])
    np.testing.assert_allclose(high.y, bands[:, 1])
    assert high.fill == "tonexty"


def test_buttons_switch_the_coverage(real: Story) -> None:
    figure = coverage_over_time(real)
    buttons = figure.layout.updatemenus[0].buttons
    assert [b.label for b in buttons] == ["50 %", "80 %", "95 %"]
    assert figure.layout.updatemenus[0].active == 1
    for button in buttons:
        shown = [t for t, visible in zip(figure.data, button.args[0]["visible"], strict=True) if visible]
        promised = next(t for t in shown if (t.name or "").startswith("promised"))
        assert promised.name == f"promised: {button.label}"
        assert [t.name for t in shown][-1] == "calibrated"


def test_too_early_is_said_and_no_curve_drawn(tell: Callable[..., Story]) -> None:
    figure = coverage_over_time(tell([0.1] * 7), coverages=(0.95,))
    assert "95 % intervals need at least<br>19 results, 7 so far" in figure.layout.annotations[0].text
    assert {t.name for t in figure.data} & {"calibrated", "raw model"} == set()
    assert not figure.layout.updatemenus
    assert "Not yet" in coverage_over_time(tell([])).layout.annotations[0].text


def test_without_a_calibrator_there_is_one_curve(uncalibrated: Story) -> None:
    names = [t.name for t in coverage_over_time(uncalibrated, coverages=(0.8,)).data]
    assert "forecasts" in names and "raw model" not in names


def test_a_coverage_of_ones_own(real: Story, trace_of: Find) -> None:
    assert trace_of(coverage_over_time(real, coverages=(0.6,)), "promised").y == (0.6, 0.6)
    with pytest.raises(RecipeError, match="at least one coverage"):
        coverage_over_time(real, coverages=())


def test_long_studies_are_thinned_to_curves_of_the_same_shape(tell: Callable[..., Story], trace_of: Find) -> None:
    story = tell(np.random.default_rng(0).standard_normal(3000).tolist())
    curve = trace_of(coverage_over_time(story), "calibrated")
    assert len(curve.x) == 200 and curve.x[-1] == 3000
    assert curve.y[-1] == pytest.approx(covered(story.distributions, story.outcomes, 0.8).mean())
