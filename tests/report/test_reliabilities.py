"""The reliability figure draws the diagnostics' staircase and band."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from calibo import report
from calibo.diagnostics import pit, reliability_curve
from calibo.report import Story

Find = Callable[[Any, str], Any]
reliability: Any = report.reliability  # figures are too dynamic for a type checker


def test_curves_are_the_sorted_pits(real: Story, trace_of: Find) -> None:
    figure = reliability(real)
    for name, distributions in (("calibrated", real.distributions), ("raw model", real.raw_laws)):
        expected = reliability_curve(pit(distributions, real.outcomes))
        curve = trace_of(figure, name)
        np.testing.assert_array_equal(curve.x[1:-1], expected.levels)
        np.testing.assert_array_equal(curve.y[1:-1], expected.observed)
        assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
        assert curve.line.shape == "hv"


def test_the_band_is_simultaneous(real: Story) -> None:
    curve = reliability_curve(pit(real.distributions, real.outcomes))
    low, high = [t for t in reliability(real).data if t.legendgroup == "band"]
    np.testing.assert_allclose(np.stack([low.y, high.y], axis=1), curve.band(np.array(low.x)))
    assert "(95 % band)" in high.name


def test_the_diagonal_is_there(real: Story, trace_of: Find) -> None:
    diagonal = trace_of(reliability(real), "exactly right")
    assert diagonal.x == diagonal.y == (0, 1)


def test_words_follow_the_curves(tell: Callable[..., Story]) -> None:
    said = reliability(tell(ndtri((np.arange(200) + 0.5) / 200).tolist())).layout.title.subtitle.text
    assert said == (
        "After 200 results the calibrated curve stays inside the band, while the raw model's leaves the band."
    )
    said = reliability(tell([9.0] * 30)).layout.title.subtitle.text
    assert said == "After 30 results the calibrated curve leaves the band, as the raw model's does."


def test_too_few_results(tell: Callable[..., Story]) -> None:
    figure = reliability(tell([0.1, 0.2, 0.3]))
    assert "needs at least 4 results with a forecast, 3 so far" in figure.layout.annotations[0].text
    assert not figure.data


def test_without_a_calibrator(uncalibrated: Story) -> None:
    figure = reliability(uncalibrated)
    assert "raw model" not in [t.name for t in figure.data]
    assert figure.layout.title.text == "Reliability of the forecasts"
