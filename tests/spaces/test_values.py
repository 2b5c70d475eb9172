"""Columns as numbers: coordinates and values, between the values of finite columns too."""

from __future__ import annotations

import numpy as np
import pytest

from calibo import Categorical, Float, Int, Ordinal
from calibo.errors import SpaceError
from calibo.spaces import Parameter
from calibo.spaces.values import values_of

COLUMNS: list[Parameter] = [
    Float(-2, 5),
    Float(1e-4, 10, log=True),
    Float(0, 1, step=0.1),
    Int(3, 11, step=2),
    Int(1, 1000, log=True),
    Ordinal([0.5, 0.1, 2.0]),
    Categorical([4, 1, 9]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_values_are_those_that_the_column_decodes(column: Parameter) -> None:
    values = values_of("x", column, "a row")
    u = np.random.default_rng(0).random(50)
    decoded = np.array([column.decode(float(one)) for one in u], dtype=float)
    assert (values.low <= decoded).all() and (decoded <= values.high).all()
    np.testing.assert_array_equal(values.rounded(decoded), decoded)
    encoded = np.array([column.encode(one) for one in (decoded if not values.finite else map(column.decode, u))])
    np.testing.assert_allclose(values.at(decoded), encoded, atol=2e-3)
    if not values.finite:
        np.testing.assert_allclose(values.of(u), decoded, rtol=1e-12)


@pytest.mark.parametrize("column", COLUMNS[:5], ids=repr)
def test_slopes_are_derivatives(column: Parameter) -> None:
    values = values_of("x", column, "a row")
    u = np.array([0.3, 0.5, 0.7])
    v = values.of(u)
    # Between the whole numbers of a log scale the slope is that of the scale, about.
    rough = 0.3 if isinstance(column, Int) and column.log else 1e-5
    np.testing.assert_allclose((values.of(u + 1e-6) - values.of(u - 1e-6)) / 2e-6, values.slope(v), rtol=rough)


def test_steps_end_at_the_last_value() -> None:
    at = np.array([3.0, 7.0, 11.0])
    assert values_of("x", Int(3, 11, step=2), "").next(at, 1).tolist() == [5.0, 9.0, 11.0]
    assert values_of("x", Int(3, 11, step=2), "").next(at, -2).tolist() == [3.0, 3.0, 7.0]
    # Listed numbers go by size, not by place.
    assert values_of("x", Categorical([4, 1, 9]), "").next(np.array([1.0, 4.0, 9.0]), 1).tolist() == [4.0, 9.0, 9.0]
    # As decoding gives them: three steps of 0.1 are 0.3.
    assert values_of("x", Float(0, 1, step=0.1), "").next(np.array([0.2]), 1)[0] == 0.3


@pytest.mark.parametrize("column", [Categorical(["a", "b"]), Ordinal(["s", "m"]), Categorical([True, False])], ids=repr)
def test_what_is_no_number_is_refused(column: Parameter) -> None:
    with pytest.raises(SpaceError, match=r"'a \+ b <= 1' needs numbers, but 'k' is"):
        values_of("k", column, "a + b <= 1")
