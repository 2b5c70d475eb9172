"""Measured values: finite numbers, or rejected with a reason."""

from __future__ import annotations

import decimal
import fractions
import math
from typing import Any

import numpy as np
import pytest

from calibo.errors import ValueRejected
from calibo.trials.values import finite_constraints, finite_value, finite_values, standard_errors


@pytest.mark.parametrize(
    "value", [1, 1.5, np.float32(2), np.int64(-3), np.array(4.0), decimal.Decimal("0.5"), fractions.Fraction(1, 3)]
)
def test_numbers_are_taken(value: Any) -> None:
    assert finite_value(value) == float(value) and type(finite_value(value)) is float


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), -float("inf"), np.float32("inf"), None, "1.0", b"1", True, np.bool_(True), np.array(True)),
        *([1.0], {}, object(), 1j, np.array([1.0, 2.0]), 10**400, decimal.Decimal("NaN"), np.datetime64("2020-01-01")),
    ],
    ids=lambda v: repr(v)[:20],
)
def test_what_is_no_finite_number_is_rejected(value: Any) -> None:
    with pytest.raises(ValueRejected, match="the noise must be a finite number"):
        finite_value(value, "the noise")


def test_one_value_for_each_objective() -> None:
    assert finite_values(1, 1) == (1.0,) and finite_values(np.array([1, 2]), 2) == (1.0, 2.0)
    for wrong in (1.0, [1.0], "ab"):
        with pytest.raises(ValueRejected, match="must be 2 numbers"):
            finite_values(wrong, 2)


def test_values_by_name() -> None:
    names = ("error", "latency")
    assert finite_values({"latency": 2, "error": 0.5}, 2, names) == (0.5, 2.0)
    assert finite_values({"error": 0.5}, 1, ("error",)) == (0.5,)
    assert standard_errors({"latency": 0.2, "error": 0.1}, 2, names) == (0.1, 0.2)
    for wrong in ({"error": 0.5}, {"error": 0.5, "time": 2.0}, {"error": 0.5, "latency": 2.0, "more": 1.0}):
        with pytest.raises(ValueRejected, match="exactly the names of the objectives \\('error', 'latency'\\)"):
            finite_values(wrong, 2, names)
    with pytest.raises(ValueRejected, match="none: name them"):
        finite_values({"error": 0.5, "latency": 1.0}, 2)
    with pytest.raises(ValueRejected, match="finite number"):
        finite_values({"error": 0.5, "latency": math.nan}, 2, names)


def test_constraints_have_names() -> None:
    assert finite_constraints(None) == {}
    assert finite_constraints([1, -2]) == {"0": 1.0, "1": -2.0}
    assert finite_constraints({"a": 1}) == {"a": 1.0}
    with pytest.raises(ValueRejected, match="constraint 'a' must be a finite number"):
        finite_constraints({"a": None})
    with pytest.raises(ValueRejected, match="numbers by name"):
        finite_constraints(1.0)


def test_standard_errors() -> None:
    assert standard_errors(None, 2) is None
    assert standard_errors(0.5, 1) == (0.5,) and standard_errors([0.5, 0], 2) == (0.5, 0.0)
    for wrong in (-0.1, 1e-200, 1e200, float("nan"), [0.5]):
        with pytest.raises(ValueRejected, match="standard error"):
            standard_errors(wrong, 1)
    with pytest.raises(ValueRejected, match="each of 2 objectives"):
        standard_errors(0.5, 2)
