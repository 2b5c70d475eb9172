"""What of an axis is shown, and on which scale."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.report.ranges import (
    around,
    drawable,
    few_choices,
    log_spaced,
    log_ticks,
    log_worthwhile,
    numeric,
    undrawable_note,
    upper_part,
    zoom,
)


def test_drawable_leaves_out_what_no_browser_draws() -> None:
    assert drawable([1.0, np.inf, np.nan, -1.7e308, 1e300]) == [1.0, None, None, None, 1e300]
    assert undrawable_note([1.0, 2.0]) == ""
    assert undrawable_note([1.0, 1e308]) == " 1 result is beyond 1e+304 and cannot be drawn."


def test_no_zoom_into_ordinary_values() -> None:
    assert zoom(np.linspace(0.0, 1.0, 30)) is None
    assert zoom([1.0]) is None and zoom([]) is None and zoom([2.0] * 9) is None


def test_a_single_extreme_value_does_not_flatten_the_rest() -> None:
    found = zoom([*np.linspace(0.0, 1.0, 30), 1e300])
    assert found is not None and found.needed
    assert -2.0 < found.low <= 0.0 and 1.0 <= found.high < 3.0


def test_wide_intervals_offer_a_zoom_that_is_not_forced() -> None:
    found = zoom(np.linspace(0.0, 1.0, 30), [-10.0, 10.0])
    assert found is not None and not found.needed


def test_what_matters_is_not_flattened_by_the_rest() -> None:
    assert around([0.0, 1.0], [2.0]) is None and around([], [2.0]) is None and around([1.0, 1.0], [1e9]) is None
    assert around([0.0, 1.0], [1e9]) == [-0.05, 1.05]


def test_the_upper_part_of_a_logarithm() -> None:
    curve = np.concatenate([np.linspace(-3.0, 0.0, 20), [-1e5]])
    found = upper_part(curve)
    assert found is not None and -10.0 < found[0] < -1.5 and found[1] > 0.0
    assert upper_part(np.linspace(-3.0, 0.0, 20)) is None
    assert upper_part([]) is None and upper_part([1.0, 1.0]) is None


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
def test_spacing_tells_the_scale(values: list[object], log: bool) -> None:
    assert log_spaced(values) is log


def test_numbers_and_choices() -> None:
    assert few_choices(["a"] * 40) and few_choices(range(5)) and not few_choices(range(40))
    assert numeric([1, 2.0, np.float64(3.0)]) and not numeric([True, False]) and not numeric([1, None])


def test_log_axes() -> None:
    assert log_worthwhile([1e-4, 1.0]) and not log_worthwhile([0.0, 1e9]) and not log_worthwhile([1.0, 10.0])
    assert log_ticks([1.0, 1e5]) == 1.0 and log_ticks([1e-300, 1e300]) == 75.0 and log_ticks([1.0, 5.0]) is None
