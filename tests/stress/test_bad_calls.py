"""Bad calls end in named errors: a short version of stress/bad_calls.py, and checks of its own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from calibo import Categorical, Float, LinearConstraint, Mixture, Optimizer
from calibo.diagnostics.anytime import confidence_sequence, count_band, log_wealth
from calibo.distributions.transforms import YeoJohnson
from calibo.errors import CaliboError
from calibo.spaces import as_space, check_no_contexts, moved_point
from calibo.study.attributes import write_context
from calibo.trials.judging import outcome_of
from stress.bad_calls import Call, Tally, hammer, outcome, surface
from stress.odd_values import BadComparison, BadMapping, BadRepr, BadSequence


def test_no_bad_call_ends_in_a_raw_error() -> None:
    tally = hammer(250, seed=7)
    assert not tally.raw, tally.raw
    assert tally.total("named") > 100 and tally.total("slow") == 0


SPACE = as_space({"x": Float(0, 1)})


@pytest.mark.parametrize(
    "call",
    [
        lambda: moved_point(SPACE, 0.5, {"x": 1}),  # pyright: ignore[reportArgumentType]
        lambda: moved_point(SPACE, np.array([0.5]), {"z": 1}),
        lambda: check_no_contexts(slice(1), "a", "b"),  # pyright: ignore[reportArgumentType]
        lambda: write_context("1.5", 0.5),  # pyright: ignore[reportArgumentType]
        lambda: as_space(BadSequence([1.0])),
        lambda: as_space({"x": BadRepr()}),
        lambda: as_space({"x": BadMapping(type="range")}),
        lambda: LinearConstraint(BadRepr(), -1, 0.5),  # pyright: ignore[reportArgumentType]
        lambda: LinearConstraint({"x": 1}, BadComparison(), 0.5),  # pyright: ignore[reportArgumentType]
        lambda: Mixture(BadMapping(x=1)),
        lambda: Categorical(["a", "b"], descriptors=BadSequence([1.0])),
        lambda: as_space([{"x": 10**400}, {"x": 1}]),
        lambda: Optimizer(SPACE, directions=BadMapping(x=1)),
        lambda: Optimizer(SPACE, reference=BadMapping(x=1), directions=["min", "max"]).ask(),
        lambda: Optimizer(SPACE).tell({"x": 0.5}, BadMapping(x=1)),
        lambda: Optimizer(SPACE).tell_failed(BadMapping(x=1)),
        lambda: Optimizer(SPACE).tell({"x": 0.5}, 1.0, constraints=100_000 * [0.0]),
        lambda: outcome_of("a", 0.5),  # pyright: ignore[reportArgumentType]
        lambda: YeoJohnson(0.5, 0.5, 0.5, 0, [0.0]),  # pyright: ignore[reportArgumentType]
        lambda: confidence_sequence([1, 2], np.zeros((0, 3))),
        lambda: log_wealth([1, 2], np.zeros((0, 3)), 0.5),
        lambda: count_band(-math.inf, 0.5),
    ],
)
def test_calls_that_once_ended_in_errors_of_pythons_own(call: Callable[[], object]) -> None:
    with pytest.raises(CaliboError):
        call()


def test_the_surface_has_the_public_names() -> None:
    names = set(surface())
    assert {"calibo.Float", "calibo.Optimizer", "models.GaussianProcess", "diagnostics.crps", "methods.lfbo"} <= names
    assert len(names) > 200


def test_endings_are_told_apart() -> None:
    def named() -> None:
        raise CaliboError("no")

    def raw() -> None:
        raise AttributeError("inside")

    def takes_one(a: int) -> int:
        return a

    assert outcome(lambda: 1) == ("accepted", None)
    assert outcome(named) == ("named", None)
    assert outcome(raw)[0] == "raw"
    assert outcome(functools.partial(surface()["diagnostics.crps"], no_such=1)) == ("python", None)
    tally = Tally()
    tally.add(Call("raw", raw, "nothing"))
    assert tally.total("raw") == 1 and len(tally.raw) == 1
