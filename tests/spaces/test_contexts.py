"""Contexts: declared, given, observed outside of their range, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from calibo.errors import ContextWarning, RecipeError, SpaceError
from calibo.spaces import (
    Categorical,
    Context,
    Float,
    Int,
    ProductSpace,
    as_space,
    check_no_contexts,
    checked_context,
    held_values,
    space_from_dict,
)

SPACE = ProductSpace(
    {
        "x": Float(0, 1),
        "t": Context(Float(10, 40)),
        "n": Context(Int(0, 9)),
        "day": Context(Categorical(["wet", "dry"])),
    }
)
GIVEN = {"t": 21.5, "n": 3, "day": "dry"}


def test_contexts_are_columns_that_the_space_names() -> None:
    assert SPACE.contexts == ("t", "n", "day") and SPACE.context_columns == (1, 2, 3)
    assert SPACE.parameters["t"] == Float(10, 40)
    assert repr(SPACE).startswith("ProductSpace({'x': Float(0.0, 1.0), 't': Context(Float(10.0, 40.0))")
    assert SPACE.subspace(["x", "t"]) == ProductSpace({"x": Float(0, 1), "t": Context(Float(10, 40))})
    assert ProductSpace(SPACE.parameters) != SPACE
    spec = {"x": {"type": "float", "low": 0, "high": 1}, "t": {"type": "int", "low": 1, "high": 3, "context": True}}
    assert space_from_dict(spec).contexts == ("t",)
    assert SPACE.holding({"x": 0.5}).contexts == SPACE.contexts


def test_values_outside_count_as_the_nearest_with_a_warning() -> None:
    assert checked_context(SPACE, GIVEN) == GIVEN
    with pytest.warns(ContextWarning, match=r"context 't' is 44.0, outside of Float\(10.0, 40.0\)"):
        assert checked_context(SPACE, GIVEN | {"t": 44.0})["t"] == 40.0
    assert checked_context(SPACE, GIVEN | {"n": 2.6})["n"] == 3
    stepped = as_space({"x": Float(0, 1), "t": Context(Float(0, 1, step=0.25))})
    assert checked_context(stepped, {"t": 0.3}) == {"t": 0.25}


@pytest.mark.parametrize(
    ("context", "says"),
    [
        (None, "the context 't', 'n', 'day' must be given: context="),
        ({"t": 20, "n": 1}, "the context 'day' must be given"),
        (GIVEN | {"x": 0.5}, "'x' is no context of the space"),
        (GIVEN | {"day": "foggy"}, "context 'day': 'foggy' is not a choice"),
        (GIVEN | {"t": "warm"}, "context 't': 'warm' is not a number"),
        (GIVEN | {"t": float("nan")}, "context 't'"),
        (21.5, "a context is a dict by name"),
    ],
)
def test_bad_contexts_are_refused(context: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        checked_context(SPACE, context)


def test_what_is_held_is_fixed_or_observed() -> None:
    assert held_values(SPACE, {"x": 0.5}, GIVEN) == {"x": 0.5, **GIVEN}
    with pytest.raises(SpaceError, match="'t' is a context: give it by context="):
        held_values(SPACE, {"t": 20.0}, GIVEN)
    with pytest.raises(SpaceError, match="fixed values are a dict"):
        held_values(SPACE, "x=1", GIVEN)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match=r"the best depends on the context \(t, n, day\): do else"):
        check_no_contexts(SPACE, "the best", "do else")


def test_spaces_that_cannot_be() -> None:
    with pytest.raises(SpaceError, match="nothing is left to choose"):
        ProductSpace({"t": Context(Float(0, 1))})
    with pytest.raises(SpaceError, match="write Context once"):
        Context(Context(Float(0, 1)))
    with pytest.raises(SpaceError, match="context must be true or false, got 1"):
        space_from_dict({"x": {"type": "float", "low": 0, "high": 1, "context": 1}})
