"""The door: values, directions and records become a dataset in which larger is better."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.errors import RecipeError, ValueRejected
from calibo.optimize import Direction, Record, State, dataset, finite_value, turned

MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


@pytest.mark.parametrize(
    "value",
    [1, 1.5, np.float32(2), np.int64(-3), np.array(4.0), decimal.Decimal("0.5"), fractions.Fraction(1, 3), -0.0],
)
def test_numbers_are_taken(value: Any) -> None:
    assert finite_value(value) == float(value) and type(finite_value(value)) is float


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -float("inf"), np.nan, np.float32("inf"), None, "1.0", b"1", "", True, False),
        *(np.bool_(True), np.array(True), [1.0], (1.0,), {}, object(), 1j, np.array([1.0, 2.0]), np.array([]), 10**400),
        *(decimal.Decimal("NaN"), np.datetime64("2020-01-01")),
    ],
    ids=lambda v: repr(v)[:20],
)
def test_what_is_no_finite_number_is_rejected_by_name(value: Any) -> None:
    with pytest.raises(ValueRejected, match="must be a finite number"):
        finite_value(value)


def test_the_message_names_what_it_is_about() -> None:
    with pytest.raises(ValueRejected, match="the standard error must be a finite number, got nan"):
        finite_value(float("nan"), "the standard error")


@pytest.mark.parametrize("name", ["minimize", "MINIMIZE", "min", MIN])
def test_directions(name: Any) -> None:
    assert Direction.of(name) is MIN
    assert Direction.of("maximize") is Direction.of("max") is MAX


@pytest.mark.parametrize("name", ["down", "", None, 1, "minimum", ["min"]])
def test_unknown_directions(name: Any) -> None:
    with pytest.raises(RecipeError, match='"minimize" or "maximize"'):
        Direction.of(name)


def records() -> list[Record]:
    forecast = (Forecast((Marginal(1.0, 0.5),)),)
    return [
        Record(np.array([0.1, 0.2]), State.TOLD, (3.0,), forecasts=forecast),
        Record(np.array([0.3, 0.4]), State.PENDING, forecasts=forecast),
        Record(np.array([0.5, 0.6]), State.TOLD, (-1.0,), variances=(0.25,)),
        Record(np.array([0.7, 0.8]), State.FAILED),
    ]


@pytest.mark.parametrize("direction", [MIN, MAX])
def test_records_become_a_dataset(direction: Direction) -> None:
    data = dataset(records(), directions=[direction], categories=(0, 2), hyperparameters=((1.0,),))
    np.testing.assert_array_equal(data.X, [[0.1, 0.2], [0.5, 0.6]])
    np.testing.assert_array_equal(data.Y, direction.value * np.array([[3.0], [-1.0]]))
    np.testing.assert_array_equal(data.Y_var, [[np.nan], [0.25]])
    np.testing.assert_array_equal(data.X_pending, [[0.3, 0.4]])
    np.testing.assert_array_equal(data.X_failed, [[0.7, 0.8]])
    assert data.categories == (0, 2) and data.hyperparameters == ((1.0,),)
    assert data.forecasts[0] is not None and data.forecasts[1] is None
    assert data.forecasts[0][0].raw.mean == direction.value * 1.0


def test_no_variance_known_and_nothing_told() -> None:
    data = dataset([records()[0]], directions=[MAX], categories=(0, 0))
    assert data.Y_var is None
    empty = dataset([], directions=[MIN], categories=(0, 0, 0))
    assert empty.X.shape == (0, 3) and empty.Y.shape == (0, 1)


def test_turning_twice_changes_nothing() -> None:
    forecasts = (Forecast((Marginal(1.0, 0.5), Marginal(2.0, 0.1))), Forecast((Marginal(3.0, 1.0),)))
    once = turned(forecasts, [MIN, MAX])
    assert once is not None and once[0].raw.mean == -1.0 and once[1].raw.mean == 3.0
    assert turned(once, [MIN, MAX]) == forecasts and turned(None, [MIN]) is None
