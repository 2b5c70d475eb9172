"""Impossible and nearly empty sets are noticed at once, and the constraints in conflict are named."""

from __future__ import annotations

import re

import pytest

from calibo import Categorical, Float, Int, Mixture, Ordinal, ProductSpace
from calibo.errors import SpaceError, SpaceWarning

UNIT = {"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 1)}


def test_the_constraints_in_conflict_are_named_and_no_others() -> None:
    with pytest.raises(SpaceError, match="no values meet 'a \\+ b >= 1.5' and 'b <= 0.2' together") as caught:
        ProductSpace(UNIT, constraints=["a + b >= 1.5", "a - c <= 0.5", "b <= 0.2", "c >= 0.1"])
    assert "a - c" not in str(caught.value) and "c >= 0.1" not in str(caught.value)
    assert "a from 0 to 1, b from 0 to 1: change or drop one of these constraints" in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "constraints", "says"),
    [
        (UNIT, ["a + b + c == 4"], "no values meet 'a + b + c == 4', with"),
        (UNIT, ["a + b >= 3"], "change or drop this constraint, or widen the ranges"),
        ({"m": Mixture({"x": (0, 0.3), "y": (0, 0.3)})}, [], "no values meet 'x + y == 1'"),
        ({"m": Mixture(dict.fromkeys("wxyz", (0, 0.3)), at_most=3)}, [], "and 'at most 3 of w, x, y, z present'"),
        ({"n": Int(0, 5), "k": Int(0, 5)}, ["2*n + 4*k == 7"], "no values meet '2*n + 4*k == 7'"),
        ({"n": Int(0, 5), "o": Ordinal([1, 2.5])}, ["n + o == 3.2"], "no values meet 'n + o == 3.2'"),
        ({"s": Float(0, 1, step=0.25), "n": Int(0, 3)}, ["s + n == 0.6"], "no values meet 's + n == 0.6'"),
    ],
)
def test_impossible_sets_are_refused(parameters: dict, constraints: list[str], says: str) -> None:
    with pytest.raises(SpaceError, match=re.escape(says)):
        ProductSpace(parameters, constraints=constraints)


@pytest.mark.parametrize("constraints", [["a + b <= 0"], ["a + b == 2"], ["a <= b", "b <= a", "c >= 0.1"]])
def test_sets_without_room_are_refused(constraints: list[str]) -> None:
    with pytest.raises(SpaceError, match="hardly any values") as caught:
        ProductSpace(UNIT, constraints=constraints)
    assert "c >= 0.1" not in str(caught.value)


def test_an_equality_may_fix_a_parameter() -> None:
    assert ProductSpace(UNIT, constraints=["a == 0.25", "b == c"]).decode([[0.9, 0.4, 0.4]])  # no error


@pytest.mark.parametrize(
    ("constraints", "says"),
    [
        (["a + d <= 1"], r"constraint 'a \+ d <= 1' names \['d'\], but the parameters are \['a', 'b', 'k'\]"),
        (["a + k <= 1"], r"needs numbers, but 'k' is Categorical"),
    ],
)
def test_names_that_are_no_numbers_are_refused(constraints: list[str], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        ProductSpace({"a": Float(0, 1), "b": Int(0, 3), "k": Categorical(["x", "y"])}, constraints=constraints)


def never(params: dict) -> bool:
    return params["a"] > 2


def test_a_predicate_that_never_holds_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"none of \d+ random points meets the predicate never"):
        ProductSpace(UNIT, where=never)


def test_a_predicate_that_hardly_ever_holds_is_announced() -> None:
    with pytest.warns(SpaceWarning, match=r"of \d+ random points meet the predicate"):
        space = ProductSpace(UNIT, where=lambda p: abs(p["a"] - 0.5) < 0.001)
    import numpy as np

    assert space.valid(space.sample(50, np.random.default_rng(0))).all()


def test_a_predicate_that_fails_is_an_error_of_the_space() -> None:
    with pytest.raises(SpaceError, match="the predicate <lambda> failed for .*KeyError: 'z'"):
        ProductSpace(UNIT, where=lambda p: p["z"])
    with pytest.raises(SpaceError, match="where must be a function"):
        ProductSpace(UNIT, where="a > 1")  # pyright: ignore[reportArgumentType]
