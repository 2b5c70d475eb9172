"""What all figures share: colours, layout, menus, ranges of axes and thinning."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from calibo.report import figure as shared
from calibo.report.figure import (
    FEWER_TRIALS,
    MOST_TRIALS,
    around,
    close_view,
    evenly,
    few_choices,
    log_spaced,
    log_ticks,
    numeric,
    scale,
    suits_log_axis,
    thinned,
    tint,
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
