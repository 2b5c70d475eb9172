"""What notebooks show of suggestions and forecasts."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from calibo import Float, Optimizer
from calibo.data import Forecast, Marginal, Suggestion
from calibo.errors import DataError
from calibo.notebooks import interval_svg


def parsed(fragment: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{fragment}</div>")


def test_a_suggestion_shows_its_parameters_its_intervals_and_why() -> None:
    optimizer = Optimizer({"x<1>": Float(0, 10)}, seed=0)
    for _ in range(6):
        asked = optimizer.ask()
        optimizer.tell(asked, (asked.params["x<1>"] - 3) ** 2, constraints={"limit": asked.params["x<1>"] - 5})
    shown = parsed(optimizer.ask()._repr_html_())
    text = " ".join(shown.itertext())
    assert "x<1>" in text and "Suggestion 6" in text and "constraint limit" in text and "before calibration" in text
    assert len(list(shown.iter("svg"))) == 4
    assert "expected improvement" in text


def test_a_point_of_the_initial_design_says_that_it_has_no_forecast() -> None:
    shown = Suggestion({"x": 1.0}, number=0)._repr_html_()
    assert "No forecast yet" in shown


def test_bars_are_nested_and_to_scale() -> None:
    drawn = interval_svg(Marginal(mean=0.0, std=1.0), (-2.0, 2.0))
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    lefts = [float(left) for left in re.findall(r'<rect x="([\d.]+)"', drawn)]
    assert widths == sorted(widths, reverse=True) and lefts == sorted(lefts)
    # 1.96 of the 2 on either side of the median.
    assert widths[0] == pytest.approx(0.98 * 320 * 0.92, abs=0.2)


@pytest.mark.parametrize(
    "marginal",
    [
        Marginal(mean=1e308, std=1e308),
        Marginal(mean=0.0, std=0.0, quantiles=(0.0,) * 33),
        Marginal(mean=0.0, std=1.0, backed=(0.1, 0.9)),
    ],
    ids=["huge", "a point", "without ends"],
)
def test_whatever_the_distribution_the_picture_is_finite(marginal: Marginal) -> None:
    shown = Forecast((marginal,))._repr_html_()
    drawn = [float(value) for value in re.findall(r' (?:x|x1|width)="([^"]+)"', shown)]
    assert drawn and all(math.isfinite(value) for value in drawn)


def test_forecasts_give_their_mean_median_and_intervals() -> None:
    forecast = Forecast((Marginal(0.0, 9.0), Marginal(2.0, 1.0)))
    assert (forecast.mean, forecast.median) == (2.0, 2.0)
    assert forecast.interval() == forecast.calibrated.interval(0.8)
    with pytest.raises(DataError, match="coverage must be a number between 0 and 1, such as 0.8, got 80"):
        forecast.interval(80)
