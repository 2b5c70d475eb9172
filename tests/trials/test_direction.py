"""Directions, and the conversion between the user's sign and the internal one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.errors import DataError, RecipeError
from calibo.trials import Direction, convert_forecasts, objective_names, outcome_directions, reference_values
from calibo.trials.direction import convert_values

MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


@pytest.mark.parametrize("name", ["minimize", "MINIMIZE", "min", MIN])
def test_names(name: Any) -> None:
    assert Direction.of(name) is MIN
    assert Direction.several(name) == (MIN,)
    assert Direction.several([name, "max"]) == (MIN, MAX)


@pytest.mark.parametrize("name", ["down", None, ["min"]])
def test_unknown_names(name: Any) -> None:
    with pytest.raises(RecipeError, match='"minimize" or "maximize"'):
        Direction.of(name)
    with pytest.raises(RecipeError):
        Direction.several([])


def test_constraints_are_minimized() -> None:
    assert outcome_directions([MAX], ["a", "b"]) == (MAX, MIN, MIN)


def test_values_have_no_negative_zeros() -> None:
    converted = convert_values([(1.0, 0.0), (2.0, -3.0)], [MAX, MIN])
    assert converted.tolist() == [[1.0, 0.0], [2.0, 3.0]] and not np.signbit(converted[0, 1])
    assert convert_values([], [MAX, MIN]).shape == (0, 2)


def test_forecasts_converted_twice_are_the_same() -> None:
    forecasts = (Forecast((Marginal(1.0, 0.5), Marginal(2.0, 0.1))), None, Forecast((Marginal(3.0, 1.0),)))
    once = convert_forecasts(forecasts, [MIN, MIN, MAX])
    assert once is not None and once[0] is not None and once[0].raw.mean == -1.0
    assert once[1] is None and once[2] is forecasts[2]
    assert convert_forecasts(once, [MIN, MIN, MAX]) == forecasts and convert_forecasts(None, [MIN]) is None
    with pytest.raises(DataError, match="each of 1 outcomes, got 3"):
        convert_forecasts(forecasts, [MIN])


def test_reference_points() -> None:
    assert reference_values((1.0, 2.0), [MIN, MAX]) == (-1.0, 2.0)
    assert reference_values(None, [MIN, MAX]) == ()
    for wrong in (3, (1.0,), (1.0, float("nan")), "ab"):
        with pytest.raises(RecipeError, match="one finite value for each"):
            reference_values(wrong, [MIN, MAX])  # pyright: ignore[reportArgumentType]


def test_directions_by_name() -> None:
    given = {"error": "minimize", "speed": Direction.MAXIMIZE}
    assert Direction.several(given) == (Direction.MINIMIZE, Direction.MAXIMIZE)
    assert objective_names(given) == ("error", "speed") and objective_names(["minimize"]) == ()
    for wrong in ({"": "minimize"}, {3: "minimize"}, {"0": "minimize"}):
        with pytest.raises(RecipeError, match="directions by name"):
            objective_names(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="a direction is"):
        Direction.several({"error": "down"})
    with pytest.raises(RecipeError, match="directions are a list"):
        Direction.several({})


def test_a_reference_point_by_name() -> None:
    ways, names = (Direction.MINIMIZE, Direction.MAXIMIZE), ("error", "speed")
    assert reference_values({"speed": 2.0, "error": 1.0}, ways, names) == (-1.0, 2.0)
    with pytest.raises(RecipeError, match="'error', 'speed'"):
        reference_values({"speed": 2.0, "loss": 1.0}, ways, names)
