"""Bad calls end in named errors: a short version of stress/bad_calls.py, and checks of its own."""

from __future__ import annotations

import functools

from calibo.errors import CaliboError
from stress.bad_calls import Call, Tally, hammer, outcome, surface


def test_no_bad_call_ends_in_a_raw_error() -> None:
    tally = hammer(250, seed=7)
    assert not tally.raw, tally.raw
    assert tally.total("named") > 100 and tally.total("slow") == 0


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
