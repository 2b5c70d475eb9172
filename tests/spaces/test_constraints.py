"""Linear constraints as text and as objects."""

from __future__ import annotations

import math
from typing import Any

import pytest

from calibo import CaliboError, LinearConstraint
from calibo.errors import SpaceError
from calibo.spaces.constraints import as_constraints


@pytest.mark.parametrize(
    ("text", "terms", "relation", "bound"),
    [
        ("a + b + c == 1", {"a": 1, "b": 1, "c": 1}, "==", 1),
        ("2*a - b <= 3", {"a": 2, "b": -1}, "<=", 3),
        ("a >= b", {"a": 1, "b": -1}, ">=", 0),
        ("3*(a - 2) / 2 <= b + 1", {"a": 1.5, "b": -1}, "<=", 4),
        ("0.2 <= a", {"a": 1}, ">=", 0.2),
        ("1 == a + b", {"a": -1, "b": -1}, "==", -1),
        ("-a*2 + 1e-3 <= 'part B'", {"a": -2, "part B": -1}, "<=", -1e-3),
        ("model.lr + x <= 1", {"model.lr": 1, "x": 1}, "<=", 1),
        ("a + b - a <= 1", {"b": 1}, "<=", 1),
    ],
)
def test_text_is_read(text: str, terms: dict[str, float], relation: str, bound: float) -> None:
    (found,) = LinearConstraint.parse(text)
    assert dict(found.terms) == terms and (found.relation, found.bound) == (relation, bound)
    assert LinearConstraint.parse(str(found)) == (found,), "what is shown can be read again"


def test_a_chain_is_two_constraints() -> None:
    assert [str(one) for one in LinearConstraint.parse("0.2 <= a + b <= 0.8")] == ["a + b >= 0.2", "a + b <= 0.8"]


def test_bounds_follow_from_the_relation() -> None:
    lower, upper, equal = (LinearConstraint({"a": 1}, relation, 2) for relation in (">=", "<=", "=="))
    assert (lower.lower, lower.upper) == (2, math.inf) and (upper.lower, upper.upper) == (-math.inf, 2)
    assert (equal.lower, equal.upper) == (2, 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("a + b", "has no relation"),
        ("a = 1", 'write "==" for an equality'),
        ("a < 1", "write <= for <"),
        ("a*b <= 1", r"'a \* b' is not linear"),
        ("1/a <= 1", "is not linear"),
        ("a/0 <= 1", "other than 0"),
        ("a**2 <= 1", "where=lambda p"),
        ("sum(a) <= 1", "is not linear"),
        ("a + <= 1", 'write it like "2'),
        ("a + b => 1", 'write "<=" and ">="'),
        ("H2O + EtOH = 1", 'write "==" for an equality'),
        ("1e-3*a + b = 1", 'write "==" for an equality'),
        ("'water %' + 'salt %' = 100", 'write "==" for an equality'),
        ("a + b <= 0,8", "decimal point"),
        ("a + b <= 80%", "percentages as numbers"),
        ("a + b ≤ 1", 'write "<=" and ">="'),
        ("2a + b <= 1", r'"\*" between a number and a name'),
        ("part A + b <= 1", "written in quotes"),
        ("1 <= 2", "needs a parameter"),
        ("a - a <= 2", "needs a parameter"),
        ("a <= 1e999", "finite number, got -?inf"),
        (3, "is text such as"),
    ],
)
def test_bad_text_is_refused(given: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        as_constraints([given])
    assert isinstance(caught.value, CaliboError)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({"a": math.nan}, "<=", 1), "coefficient of 'a' must be a finite number"),
        (({"a": "2"}, "<=", 1), "finite number, got '2'"),
        (({"a": 0}, "<=", 1), "other than 0"),
        (({3: 1}, "<=", 1), "non-empty strings, got 3"),
        (({"a": 1}, "<", 1), 'is "<=", ">=" or "=="'),
        (({"a": 1}, "<=", None), "bound of a constraint must be a finite number"),
        ((["a"], "<=", 1), "coefficients by name"),
    ],
)
def test_bad_objects_are_refused(arguments: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        LinearConstraint(*arguments)


def test_one_constraint_needs_no_list() -> None:
    assert as_constraints("a <= 1") == as_constraints([LinearConstraint({"a": 1}, "<=", 1)])
    with pytest.raises(SpaceError, match="a list of text"):
        as_constraints({"a": 1})
