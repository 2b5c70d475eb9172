"""Mixtures: what they are made of, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo import Float, Int, Mixture, ProductSpace
from calibo.errors import SpaceError
from calibo.spaces import as_space

RECIPE = Mixture({"water": (0.2, 0.8), "salt": (0, 0.3), "sugar": (0, 0.3)})


def test_components_are_parameters_of_the_space() -> None:
    space = ProductSpace({"recipe": RECIPE, "temperature": Float(20, 90)})
    assert space.names == ("water", "salt", "sugar", "temperature")
    for params in space.decode(space.sample(200, np.random.default_rng(0))):
        assert params["water"] + params["salt"] + params["sugar"] == pytest.approx(1.0, abs=1e-12)
        assert 0.2 <= params["water"] <= 0.8 and 20 <= params["temperature"] <= 90


def test_a_mixture_is_a_space_of_its_own() -> None:
    assert as_space(RECIPE).names == ("water", "salt", "sugar")
    again = eval(repr(RECIPE), {"Mixture": Mixture, "Float": Float})
    assert again == RECIPE and hash(again) == hash(RECIPE)


def test_present_components_keep_their_smallest_amount() -> None:
    space = as_space(Mixture(dict.fromkeys("abcde", (0.1, 0.7)), at_most=3))
    amounts = np.array([list(p.values()) for p in space.decode(space.sample(500, np.random.default_rng(0)))])
    present = amounts > 0
    assert np.abs(amounts.sum(axis=1) - 1).max() < 1e-12
    assert present.sum(axis=1).max() == 3 and amounts[present].min() >= 0.1 - 1e-12
    assert len(np.unique(present, axis=0)) >= 15, "all subsets of two and three components occur"


def test_amounts_may_have_steps() -> None:
    parts = {name: Float(0, 100, step=5) for name in "abc"}
    space = as_space(Mixture({**parts, "d": Int(0, 10)}, total=100, at_most=2))
    for p in space.decode(space.sample(100, np.random.default_rng(0))):
        assert sum(p.values()) == 100 and sum(v > 0 for v in p.values()) <= 2 and p["a"] % 5 == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({"a": (0, 1)},), "two or more components"),
        (([("a", 0, 1)],), "two or more components"),
        (({"a": (0, 1), "b": 0.5},), "component 'b' of a mixture takes its smallest and largest amount"),
        (({"a": (0, 1), "b": (1, 0)},), "component 'b': Float: low must lie below high"),
        (({"a": (0, 1), "b": (0.2, 0.2)},), "'b' always has the amount 0.2: leave it out of the mixture"),
        (({"a": (0, 1), "b": (None, None)},), "component 'b': Float: low must be"),
        (({"a": (0, 1), 2: (0, 1)},), "non-empty strings, got 2"),
        (({"a": (0, 1), "b": (0, 1)}, "1"), "total of a mixture must be a finite number"),
        (({"a": (0, 1), "b": (0, 1)}, 1.0, 0), "at_most of a mixture must be a whole number of at least 1"),
        (({"a": (-1, 1), "b": (0, 1)}, 1.0, 1), "needs an amount of 0 when it is absent"),
        (({"a": Float(0.1, 1, log=True), "b": (0, 1)}, 1.0, 1), "needs an amount of 0 when it is absent"),
    ],
)
def test_bad_mixtures_are_refused(arguments: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        Mixture(*arguments)


def test_a_name_stands_once() -> None:
    for order in (("salt", "recipe"), ("recipe", "salt")):
        with pytest.raises(SpaceError, match="'salt' is given twice, in the mixture 'recipe' and beside it"):
            ProductSpace({name: {"salt": Float(0, 1), "recipe": RECIPE}[name] for name in order})
    with pytest.raises(SpaceError, match="in the mixture 'one' and mixture 'two'"):
        ProductSpace({"one": RECIPE, "two": RECIPE})
