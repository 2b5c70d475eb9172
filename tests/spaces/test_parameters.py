"""Parameters: what they refuse, how values are encoded, and that every value is decoded again."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calibo.errors import DataError, SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.parameters import NO_DEFAULT

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)

# Calls a type checker would already refuse.
AnyFloat: Any = Float
AnyInt: Any = Int
AnyCategorical: Any = Categorical


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AnyFloat(1, 0), "low must lie below high"),
        (lambda: AnyFloat(1, 1), "outside of the space"),
        (lambda: AnyFloat(math.nan, 1), "low must be a finite number, got nan"),
        (lambda: AnyFloat(0, 10**400), "high must be a finite number"),
        (lambda: AnyInt(True, 3), "low must be a finite number, got True"),
        (lambda: AnyInt(0.5, 3), "low must be an integer, got 0.5"),
        (lambda: AnyInt(0, 3, step=0), "step must be positive"),
        (lambda: AnyFloat(0, 1, step=2), "leaves one value"),
        (lambda: AnyFloat(0, 1, log=True), "log scale needs low > 0"),
        (lambda: AnyFloat(0.1, 1, log=True, step=0.1), "log and step cannot go together"),
        (lambda: AnyFloat(0, 1, log="yes"), "log must be True or False"),
        (lambda: AnyFloat(-1.7e308, 1.7e308), "too long"),
        (lambda: AnyFloat(1e300, math.nextafter(1e300, 2e300), log=True), "too short"),
        (lambda: AnyFloat(1e16, 2e16, step=0.1), "enlarge it"),
        (lambda: AnyInt(0, 10**20), "more values than float64 can tell apart"),
        (lambda: AnyInt(1, 10**14, log=True), "high / step"),
        (lambda: AnyCategorical([]), "at least one"),
        (lambda: AnyCategorical("abc"), "must be a list or tuple, got 'abc'"),
        (lambda: AnyCategorical(["a", "b", "a"]), "'a' is given twice"),
        (lambda: AnyCategorical([[1], [2], [1]]), r"\[1\] is given twice"),
        (lambda: Ordinal([1, np.int64(1)]), "1 is given twice"),
        (lambda: AnyCategorical([1.0, math.nan]), "NaN cannot be a choice"),
    ],
)
def test_bad_parameters_are_refused(make: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        make()


@pytest.mark.parametrize(
    ("parameter", "value", "place"),
    [
        (Float(1e-5, 10.0, log=True), 9.999999999999999e-06, 0.0),
        (Float(1e-5, 10.0, log=True), math.nextafter(10.0, 11.0), 1.0),
        (Float(0.0, 1.0), 0.3 - 3 * 0.1, 0.0),
    ],
)
def test_numbers_that_rounding_put_beyond_a_bound_are_at_the_bound(parameter: Float, value: Any, place: float) -> None:
    assert not parameter.low <= value <= parameter.high
    assert parameter.encode(value) == place


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        (Float(0, 1), 1.5, "outside"),
        (Float(0, 1), math.nan, "not a number"),
        (Float(0, 1), True, "not a number"),
        (Float(0, 1, step=0.25), 0.3, "its nearest is 0.25"),
        (Float(0, 1, step=0.25), 1.25, "outside"),
        (Int(1, 9), 10**400, "outside"),
        (Int(1, 9), 2.5, "not an integer"),
        (Int(1, 9), math.inf, "not an integer"),
        (Int(1, 9), True, "not a number"),
        (Int(1, 9, step=2), 4, "3 or 5"),
        (Categorical([0, 1]), True, "not a choice"),
        (Categorical([[1], [2]]), [3], "not a choice"),
        (Categorical([1, 1.0]), Fraction(1), "not a choice"),
        (Ordinal(["a"]), math.nan, "not a choice"),
    ],
)
def test_values_outside_are_refused(parameter: Any, value: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        parameter.encode(value)


@given(finite, finite, st.floats(0, 1))
def test_continuous_values_are_decoded_again(a: float, b: float, u: float) -> None:
    low, high = min(a, b), max(a, b)
    assume(low < high and math.isfinite(high - low))
    parameter = Float(low, high)
    value = parameter.decode(u)
    assert type(value) is float and low <= value <= high
    again = parameter.decode(parameter.encode(value))
    assert low <= again <= high
    assert math.isclose(again, value, rel_tol=1e-12, abs_tol=1e-15 * max(-low, high))
    assert parameter.decode(0.0) == low and parameter.decode(1.0) == high
    assert parameter.encode(low) == 0.0 and parameter.encode(high) == 1.0


@given(st.floats(1e-300, 1e300), st.floats(1.0001, 1e6), st.floats(0, 1))
def test_log_values_are_decoded_again(low: float, ratio: float, u: float) -> None:
    parameter = Float(low, low * ratio, log=True)
    value = parameter.decode(u)
    assert parameter.low <= value <= parameter.high
    assert math.isclose(parameter.decode(parameter.encode(value)), value, rel_tol=1e-12)
    assert (parameter.decode(0), parameter.decode(1)) == (parameter.low, parameter.high)


@given(st.integers(-(10**18), 10**18), st.integers(1, 2**50 - 1), st.integers(1, 10**6), st.data())
def test_integers_are_decoded_again(low: int, span: int, step: int, data: st.DataObject) -> None:
    parameter = Int(low, low + span * step, step=step)
    value = low + data.draw(st.integers(0, span)) * step
    back = parameter.decode(parameter.encode(value))
    assert back == value and type(back) is int


@given(st.integers(1, 10**12), st.integers(1, 9 * 10**12), st.integers(1, 1000), st.data())
def test_log_integers_are_decoded_again(low: int, span: int, step: int, data: st.DataObject) -> None:
    parameter = Int(low, low + span * step, log=True, step=step)
    value = low + data.draw(st.integers(0, span)) * step
    u = parameter.encode(value)
    assert 0 < u < 1 and parameter.decode(u) == value


@given(st.decimals(-1000, 1000, places=3), st.decimals("0.001", 10, places=3), st.integers(1, 10**6), st.data())
def test_stepped_floats_have_no_rounding_error(low: Any, step: Any, span: int, data: st.DataObject) -> None:
    parameter = Float(float(low), float(low + span * step), step=float(step))
    assert parameter.cells == span + 1
    index = data.draw(st.integers(0, span))
    value = parameter.decode(float(parameter.position(index)))
    assert value == float(low + index * step)
    assert parameter.decode(parameter.encode(value)) == value


@given(finite, st.floats(1e-6, 1e6), st.integers(1, 1000))
def test_any_stepped_float_is_decoded_again(low: float, step: float, span: int) -> None:
    assume(step >= 32 * math.ulp(abs(low) + step * span))
    parameter = Float(low, low + step * span, step=step)
    assert parameter.cells in (span, span + 1)
    assert replace(parameter) == parameter
    for index in range(0, span, 1 + span // 10):
        value = parameter.decode(float(parameter.position(index)))
        assert parameter.decode(parameter.encode(value)) == value


choice = st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.none())


@given(st.lists(choice, min_size=1, max_size=20, unique_by=lambda c: (type(c), c)))
def test_choices_are_decoded_again(choices: list[Any]) -> None:
    for parameter in (Categorical(choices), Ordinal(choices)):
        for choice in choices:
            back = parameter.decode(parameter.encode(choice))
            assert back == choice and type(back) is type(choice)


def test_tenths_are_tenths() -> None:
    parameter = Float(0, 1, step=0.1)
    values = [parameter.decode(float(u)) for u in parameter.position(np.arange(11))]
    assert values == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert parameter.decode(parameter.encode(0.1 + 0.2)) == 0.3
    assert parameter.decode(parameter.encode(np.float32(0.1))) == 0.1


@pytest.mark.parametrize(
    ("parameter", "high", "cells"),
    [
        (Float(0, 1, step=0.3), 0.9, 4),
        (Float(0.1, 0.3, step=0.2), 0.3, 2),
        (Int(0, 10, step=4), 8, 3),
        (AnyInt(1.0, np.int32(5)), 5, 5),
        (Float(0, 1), 1.0, None),
    ],
)
def test_high_is_the_last_value_reached(parameter: Any, high: float, cells: int | None) -> None:
    assert parameter.high == high and parameter.cells == cells and parameter.categories == 0


@pytest.mark.parametrize(
    "parameter",
    [
        *(Int(-3, 3), Int(1, 64, log=True), Int(1, 101, log=True, step=10), Int(10, 50, log=True, step=20)),
        *(Float(-1, 1, step=0.125), Categorical(list("abcde")), Ordinal([1, 10, 100]), Categorical(["only"])),
    ],
)
def test_cells_and_positions_are_inverse(parameter: Any) -> None:
    index = np.arange(parameter.cells)
    u = parameter.position(index)
    assert u.dtype == np.float64 and (np.diff(u) > 0).all() and u[0] > 0 and u[-1] < 1
    np.testing.assert_array_equal(parameter.cell(u), index)
    np.testing.assert_array_equal(parameter.round(u), u)
    np.testing.assert_array_equal([parameter.encode(parameter.decode(v)) for v in u], u)
    grid = np.linspace(0, 1, 60).reshape(3, 20)
    assert parameter.round(grid).shape == (3, 20) and (np.diff(parameter.cell(grid).ravel()) >= 0).all()
    np.testing.assert_array_equal(np.unique(parameter.cell([-0.5, 0, 1, 1.5])), np.unique([0, parameter.cells - 1]))


def test_log_integers_are_log_uniform() -> None:
    parameter = Int(1, 1000, log=True)
    values = np.array([parameter.decode(u) for u in np.linspace(0, 1, 4001)])
    assert abs((values <= 31).mean() - math.log(31.5 / 0.5) / math.log(1000.5 / 0.5)) < 1e-3
    assert parameter.encode(1) == pytest.approx(math.log(2) / math.log(2001))


def test_one_true_and_one_point_zero_are_three_choices() -> None:
    parameter = Categorical([1, True, 1.0])
    assert [type(parameter.decode(parameter.encode(v))) for v in (1, True, 1.0)] == [int, bool, float]
    assert [type(parameter.decode(parameter.encode(v))) for v in (np.int8(1), np.True_)] == [int, bool]


def test_equal_values_are_a_choice() -> None:
    assert Ordinal([1, 2, 4]).decode(Ordinal([1, 2, 4]).encode(2.0)) == 2
    assert AnyCategorical(np.array(["a", "b"])).choices == ("a", "b")
    assert type(AnyCategorical(np.arange(3)).choices[0]) is int


def test_unhashable_and_incomparable_choices_work() -> None:
    layers = Categorical([[64], [64, 64], {"depth": 3}])
    assert layers.decode(layers.encode([64, 64])) == [64, 64]
    assert layers.decode(layers.encode({"depth": 3})) == {"depth": 3}
    arrays = [np.zeros(2), np.ones(2)]
    parameter = Categorical(arrays)
    assert parameter.decode(parameter.encode(arrays[1])) is arrays[1]


def test_continuous_floats_have_no_cells() -> None:
    parameter = Float(0, 1)
    np.testing.assert_array_equal(parameter.round([-1, 0.3, 2]), [0, 0.3, 1])
    with pytest.raises(SpaceError, match="continuous"):
        parameter.cell(0.5)
    with pytest.raises(SpaceError, match="continuous"):
        parameter.position(0)


def test_coordinates_and_cells_are_checked() -> None:
    for parameter in (Float(0, 1), Int(1, 5, log=True), Categorical(["a"])):
        with pytest.raises(DataError, match="NaN"):
            parameter.decode(math.nan)
    with pytest.raises(DataError, match="from 0 to 5"):
        Int(0, 5).position([0, 6])


@pytest.mark.parametrize("parameter", [Float(0, 1, step=0.1), Int(1, 9, log=True), Categorical(["a", None])])
def test_parameters_are_values(parameter: Any) -> None:
    assert eval(repr(parameter)) == parameter
    parameter.decode(0.3)
    assert pickle.loads(pickle.dumps(parameter)) == parameter == replace(parameter)
    assert hash(parameter) == hash(replace(parameter))


@pytest.mark.parametrize(
    ("parameter", "shown"),
    [
        (Float(0, 1, default=0.5), "Float(0.0, 1.0, default=0.5)"),
        (Int(1, 8, log=True, default=np.int64(4)), "Int(1, 8, log=True, default=4)"),
        (Categorical(["a", None], default=None), "Categorical(('a', None), default=None)"),
        (Ordinal([1, 2], default=2), "Ordinal((1, 2), default=2)"),
        (Float(0, 1), "Float(0.0, 1.0)"),
    ],
)
def test_defaults_are_shown_and_compared(parameter: Parameter, shown: str) -> None:
    assert repr(parameter) == shown and eval(shown) == parameter
    assert (parameter.default is NO_DEFAULT) == ("default" not in shown)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Float(0, 1, default=2),
        lambda: Float(0, 1, step=0.5, default=0.3),
        lambda: Int(1, 8, default=2.5),
        lambda: Categorical(["a"], default=None),
        lambda: Ordinal([1, 2], default="1"),
    ],
)
def test_a_default_is_one_of_the_values(build: Callable[[], Parameter]) -> None:
    with pytest.raises(SpaceError, match="default must be one of the values: "):
        build()
