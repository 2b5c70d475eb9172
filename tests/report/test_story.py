"""The story: what fits together, and what it derives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.errors import DataError
from calibo.optimize import Direction
from calibo.report import Story

STANDARD = Marginal(0.0, 1.0)


def test_judged_are_those_with_a_value_and_a_forecast(tell: Callable[..., Story]) -> None:
    story = tell([1.0, None, 3.0, 4.0], distributions=[None, STANDARD, STANDARD, STANDARD])
    assert story.finished == (0, 2, 3)
    assert story.judged == (2, 3)
    np.testing.assert_array_equal(story.outcomes, [3.0, 4.0])
    assert story.distributions == (STANDARD, STANDARD)
    assert story.raw_laws == (Marginal(0.0, 0.5), Marginal(0.0, 0.5))


@pytest.mark.parametrize(("direction", "best"), [(Direction.MINIMIZE, 1), (Direction.MAXIMIZE, 2)])
def test_the_best_is_found_unless_given(tell: Callable[..., Story], direction: Direction, best: int) -> None:
    story = tell([2.0, 1.0, 3.0, None], direction=direction)
    assert story.best_value == story.values[best]
    assert story.best_params == story.params[best]
    assert tell([2.0, 1.0], best_value=1.5, best_params={"x": 9.0}).best_params == {"x": 9.0}


def test_without_values_there_is_no_best(tell: Callable[..., Story]) -> None:
    story = tell([None, None])
    assert story.best_params is None and story.best_value is None
    assert story.calibration.rows[0].of == 0


def test_the_raw_model_is_counted_only_if_there_was_a_calibrator(tell: Callable[..., Story]) -> None:
    assert tell([0.1]).recalibrated
    plain = tell([0.1], forecasts=(Forecast((STANDARD,)),))
    assert not plain.recalibrated
    assert plain.calibration.rows[0].raw_contained is None


def test_the_calibration_is_the_optimizers(real: Story) -> None:
    assert real.calibration.rows[1].of == len(real.judged) == 30 - 2 - sum(f is None for f in real.forecasts)


def test_only_feasible_trials_can_be_the_best(tell: Callable[..., Story]) -> None:
    story = tell([1.0, 2.0, 3.0])
    assert story.counting == (0, 1, 2)
    held = story.constrained((False, True, True))
    assert (held.best_value, held.best_params, held.counting) == (2.0, {"x": 1.0}, (1, 2))
    nobody = story.constrained((False,) * 3)
    assert nobody.best_value is None and nobody.best_params is None and nobody.finished == (0, 1, 2)
    assert tell([None]).constrained((False,)).best_value is None
    given = tell([1.0, 2.0, 3.0], best_params={"x": 7.0}, best_value=0.5).constrained((False, True, True))
    assert (given.best_params, given.best_value) == ({"x": 7.0}, 0.5)


@pytest.mark.parametrize("column", ["params", "values", "forecasts", "expected_best", "feasible"])
def test_columns_must_fit(tell: Callable[..., Story], column: str) -> None:
    with pytest.raises(DataError, match=f"2 trial numbers but 1 {column}"):
        replace(tell([1.0, 2.0]), **{column: (None,)})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_must_be_finite(tell: Callable[..., Story], value: float) -> None:
    with pytest.raises(DataError, match="give None where an evaluation failed"):
        tell([1.0, value])


def test_asking_for_what_is_not_there_is_an_error(tell: Callable[..., Story]) -> None:
    story = tell([None], distributions=[None])
    with pytest.raises(DataError, match="no forecast"):
        story.forecast(0)
    with pytest.raises(DataError, match="no value"):
        story.value(0)
