"""Regret curves, by hand and by their properties."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.diagnostics import area_under_curve, best_so_far, cumulative_regret, simple_regret
from calibo.errors import DataError, RecipeError

VALUES = [5.0, 7.0, 3.0, 4.0, 1.0]

value_lists = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30)


def test_curves_by_hand() -> None:
    assert best_so_far(VALUES).tolist() == [5, 5, 3, 3, 1]
    assert best_so_far(VALUES, direction="maximize").tolist() == [5, 7, 7, 7, 7]
    assert simple_regret(VALUES, 1.0).tolist() == [4, 4, 2, 2, 0]
    assert simple_regret(VALUES, 7.0, direction="maximize").tolist() == [2, 0, 0, 0, 0]
    assert cumulative_regret(VALUES, 1.0).tolist() == [4, 10, 12, 15, 15]
    assert cumulative_regret(VALUES, 7.0, direction="maximize").tolist() == [2, 2, 6, 9, 15]


def test_area_by_hand() -> None:
    assert area_under_curve(VALUES, lower=1, upper=9) == pytest.approx((4 + 4 + 2 + 2 + 0) / 5 / 8)
    assert area_under_curve(VALUES, lower=-1, upper=7, direction="maximize") == pytest.approx(2 / 5 / 8)
    assert area_under_curve([100.0, 1.0], lower=1, upper=9) == 0.5


def test_runs_are_leading_axes() -> None:
    runs = np.array([VALUES, VALUES[::-1]])
    assert best_so_far(runs).tolist() == [[5, 5, 3, 3, 1], [1, 1, 1, 1, 1]]
    assert np.asarray(area_under_curve(runs, lower=1, upper=9)).tolist() == [0.3, 0.0]


@given(value_lists)
def test_maximizing_is_minimizing_the_negative(values: list[float]) -> None:
    y = np.array(values)
    np.testing.assert_array_equal(best_so_far(y, direction="maximize"), -best_so_far(-y))
    np.testing.assert_array_equal(simple_regret(y, 1e3, direction="maximize"), simple_regret(-y, -1e3))
    area = area_under_curve(y, lower=-1e3, upper=1e3, direction="maximize")
    np.testing.assert_allclose(area, area_under_curve(-y, lower=-1e3, upper=1e3))


@given(value_lists)
def test_regret_never_rises_and_its_sum_never_falls(values: list[float]) -> None:
    regret = simple_regret(values, -1e3)
    assert np.all(np.diff(regret) <= 0) and np.all(regret >= 0)
    assert np.all(np.diff(cumulative_regret(values, -1e3)) >= 0)


@given(value_lists, st.floats(0.1, 10), st.floats(-100, 100))
def test_area_is_a_fraction_and_knows_no_units(values: list[float], scale: float, shift: float) -> None:
    area = area_under_curve(values, lower=-1e3, upper=1e3)
    assert 0 <= area <= 1
    changed = scale * np.array(values) + shift
    lower, upper = -1e3 * scale + shift, 1e3 * scale + shift
    assert area_under_curve(changed, lower=lower, upper=upper) == pytest.approx(area, abs=1e-9)


def test_mistakes_are_explained() -> None:
    assert best_so_far([]).shape == simple_regret([], 0.0).shape == (0,)
    with pytest.raises(DataError, match="at least one value"):
        area_under_curve([], lower=0, upper=1)
    with pytest.raises(RecipeError, match="'minimize', 'maximize'"):
        best_so_far(VALUES, direction=cast(Any, "min"))
    with pytest.raises(RecipeError, match="lower bound must be below"):
        area_under_curve(VALUES, lower=2, upper=1)
    with pytest.raises(DataError, match="finite"):
        best_so_far([1.0, float("nan")])
