"""What all figures share: colours, layout, menus, ranges of axes and thinning."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from calibo.report import figure as shared
from calibo.report.figure import (
    FEWER_TRIALS,
    MOST_TRIALS,
    Zoom,
    add_views,
    around,
    band,
    close_view,
    drawable,
    evenly,
    few_choices,
    log_spaced,
    log_ticks,
    numeric,
    scale,
    segments,
    suits_log_axis,
    thinned,
    tint,
    undrawable_note,
    upper_part,
    zoom,
)

blank: Any = shared.blank  # figures are too dynamic for a type checker
COLORS = [shared.CALIBRATED, shared.RAW, shared.OUTCOME, shared.MISS, shared.BEST, shared.ACQUISITION, shared.FAINT]


def _luminance(color: str) -> float:
    """Relative luminance of the Web Content Accessibility Guidelines."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colors_are_distinct_and_have_contrast() -> None:
    assert len(set(COLORS)) == len(COLORS)
    for color in COLORS:
        if color != shared.FAINT:
            assert 1.05 / (_luminance(color) + 0.05) > 3.0, color  # the contrast required of graphics
    for one, other in itertools.combinations((shared.CALIBRATED, shared.MISS, shared.OUTCOME), 2):
        blues = [int(color[5:7], 16) for color in (one, other)]  # what colour-blind readers see
        assert abs(blues[0] - blues[1]) > 100 or abs(_luminance(one) - _luminance(other)) > 0.1
    assert tint("#0072B2", 0.25) == "rgba(0,114,178,0.25)"


def test_blank_and_empty_figures() -> None:
    figure = blank("What", x="trial", y="value", height=300)
    layout = figure.layout
    assert (layout.title.text, layout.xaxis.title.text, layout.yaxis.title.text) == ("What", "trial", "value")
    assert (layout.height, len(figure.data), len(layout.annotations)) == (300, 0, 0)
    shared.subtitle(figure, "in a sentence")
    assert (layout.title.text, layout.title.subtitle.text) == ("What", "in a sentence")
    (note,) = shared.empty(figure, "no result yet").layout.annotations
    assert note.text == "<b>Not yet</b><br>no result yet" and (note.xref, note.showarrow) == ("paper", False)
    assert not layout.xaxis.visible and not layout.yaxis.visible


@pytest.mark.parametrize(("largest", "step"), [(12, 1), (13, None)])
def test_few_trials_have_a_tick_each(largest: int, step: int | None) -> None:
    figure = blank("What", x="trial", y="y")
    shared.whole_numbers(figure, largest)
    assert figure.layout.xaxis.dtick == step


def test_segments_and_bands() -> None:
    assert segments([3, 5], [(0.0, 1.0), (2.0, np.inf)]) == {
        "x": [3, 3, None, 5, 5, None],
        "y": [0.0, 1.0, None, 2.0, None, None],
    }
    assert segments([], []) == {"x": [], "y": []}
    low, high = band([0, 1], [1.0, 2.0], [3.0, 4.0], color="red", name="range")
    assert (low.y, high.y, high.fill, high.name) == ((1.0, 2.0), (3.0, 4.0), "tonexty", "range")
    assert not low.showlegend and low.legendgroup == high.legendgroup == "band"


def test_views_of_a_menu() -> None:
    figure = blank("What", x="x", y="y")
    views = [[go.Scatter(name="a")], [go.Scatter(name="b"), go.Scatter(name="c")]]
    add_views(figure, views, ["first", "second"], [{"height": 100}, {"height": 200}], first=1, dropdown=True)
    assert [t.visible for t in figure.data] == [False, True, True] and figure.layout.height == 200
    (menu,) = figure.layout.updatemenus
    assert (menu.type, menu.active, [b.label for b in menu.buttons]) == ("dropdown", 1, ["first", "second"])
    assert list(menu.buttons[0].args) == [{"visible": [True, False, False]}, {"height": 100}]


@pytest.mark.parametrize("needed", [False, True])
def test_zoom_menu(needed: bool) -> None:
    figure = blank("What", x="x", y="y")
    shared.zoom_menu(figure, Zoom(low=-1.0, high=2.0, needed=needed), marks=3)
    (menu,) = figure.layout.updatemenus
    near, far = menu.buttons
    assert (near.label, far.label) == ("most results", "everything")
    assert menu.buttons[menu.active] == (near if needed else far)
    assert figure.layout.yaxis.range == ((-1.0, 2.0) if needed else None)
    assert list(near.args[1]["yaxis.range"]) == [-1.0, 2.0] and near.args[1]["yaxis.autorange"] is False
    assert far.args[1] == {"yaxis.autorange": True}
    # Marks of results beyond the range are hidden while everything is shown.
    assert (near.args[0], far.args[0]) == ({"visible": True}, {"visible": False})
    assert [list(button.args[2]) for button in (near, far)] == [[3], [3]]


def test_values_that_cannot_be_drawn() -> None:
    assert drawable([1.0, np.inf, np.nan, -1.7e308, 1e300]) == [1.0, None, None, None, 1e300]
    assert undrawable_note([1.0, 2.0]) == ""
    assert undrawable_note([1.0, 1e308]) == " 1 result is beyond 1e+304 and cannot be drawn."


def test_zoom() -> None:
    values = np.linspace(0.0, 1.0, 30)
    assert zoom(values) is None and zoom([1.0]) is None and zoom([]) is None and zoom([2.0] * 9) is None
    found = zoom([*values, 1e300])
    assert found is not None and found.needed
    assert -2.0 < found.low <= 0.0 and 1.0 <= found.high < 3.0
    offered = zoom(values, [-10.0, 10.0])
    assert offered is not None and not offered.needed
    view = close_view([*values.tolist(), 1e6], [-3.0, 2.5])
    assert view is not None and view.needed and view.low < -3.0 and 2.5 < view.high < 10.0
    assert close_view(values.tolist(), [0.5]) is None


def test_ranges_of_axes() -> None:
    assert around([0.0, 1.0], [2.0]) is None and around([], [2.0]) is None and around([1.0, 1.0], [1e9]) is None
    assert around([0.0, 1.0], [1e9]) == [-0.05, 1.05]
    curve = np.concatenate([np.linspace(-3.0, 0.0, 20), [-1e5]])
    found = upper_part(curve)
    assert found is not None and -10.0 < found[0] < -1.5 and found[1] > 0.0
    assert upper_part(curve[:-1]) is None and upper_part([]) is None and upper_part([1.0, 1.0]) is None


@pytest.mark.parametrize(
    ("values", "log"),
    [
        (np.geomspace(1e-5, 1.0, 50).tolist(), True),
        (np.linspace(1.0, 100.0, 50).tolist(), False),
        ([16, 32, 64, 128], True),
        ([1, 2, 3, 4, 5, 6], False),
        ([0.0, 1.0, 10.0], False),
        (["a", "b", "c"], False),
        ([1.0, 2.0], False),
    ],
)
def test_log_spacing(values: list[object], log: bool) -> None:
    assert log_spaced(values) is log


def test_log_axes_and_choices() -> None:
    assert suits_log_axis([1e-4, 1.0]) and not suits_log_axis([0.0, 1e9]) and not suits_log_axis([1.0, 10.0])
    assert scale([1.0, 1e4], [2e4])["type"] == "log" and scale([1.0, 1e4], [0.0])["type"] == "linear"
    assert log_ticks([1.0, 1e5]) == 1.0 and log_ticks([1e-300, 1e300]) == 75.0 and log_ticks([1.0, 5.0]) is None
    assert few_choices(["a"] * 40) and few_choices(range(5)) and not few_choices(range(40))
    assert numeric([1, 2.0, np.float64(3.0)]) and not numeric([True, False]) and not numeric([1, None])


def test_thinning_keeps_the_ends_and_the_misses() -> None:
    np.testing.assert_array_equal(thinned(MOST_TRIALS, keep=[3]), np.arange(MOST_TRIALS))
    found = evenly(1000, 11)
    assert found[0] == 0 and found[-1] == 999 and len(found) == 11 and len(evenly(5, 9)) == 5
    misses = list(range(0, 5000, 17))
    shown = thinned(5000, keep=misses)
    assert set(misses) <= set(shown.tolist()) and len(shown) == FEWER_TRIALS and np.all(np.diff(shown) > 0)
    assert len(thinned(5000, keep=range(5000))) <= FEWER_TRIALS
    mostly_misses = thinned(5000, keep=range(4900))
    assert len(mostly_misses) <= FEWER_TRIALS and set(mostly_misses.tolist()) & set(range(4900, 5000))
