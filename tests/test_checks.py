"""Settings that make no sense are refused where they are given."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.checks import (
    check_between,
    check_flag,
    check_instance,
    check_name,
    check_one_of,
    check_seed,
    check_whole,
    did_you_mean,
    message_of,
    shown,
)
from calibo.errors import RecipeError, SpaceError
from calibo.spaces import Float, ProductSpace, Space


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_whole_numbers_pass_as_python_ints(value: object) -> None:
    assert check_whole("folds", value) == value and type(check_whole("folds", value)) is int


@pytest.mark.parametrize("value", [0, 2.0, "3", None, True])
def test_others_do_not(value: object) -> None:
    with pytest.raises(RecipeError, match="folds must be a whole number of at least 1"):
        check_whole("folds", value)


def test_whole_numbers_have_bounds_and_an_error_of_their_own() -> None:
    assert check_whole("nodes", 3, least=3, most=3) == 3 and check_seed(np.uint8(0)) == 0
    with pytest.raises(SpaceError, match="nodes must be a whole number from 3 to 9, got 10"):
        check_whole("nodes", 10, least=3, most=9, error=SpaceError)
    with pytest.raises(RecipeError, match="seed must be a whole number of at least 0, got -1"):
        check_seed(-1)


def test_instances_of_a_base_class() -> None:
    space = ProductSpace({"x": Float(0, 1)})
    assert check_instance("space", space, Space, "ProductSpace(...)") is space
    with pytest.raises(RecipeError, match=r"space must be a Space such as ProductSpace\(\.\.\.\), got 3"):
        check_instance("space", 3, Space, "ProductSpace(...)")
    with pytest.raises(RecipeError, match=r"got the class ProductSpace, which needs \(\)"):
        check_instance("space", ProductSpace, Space, "ProductSpace(...)")


def test_numbers_lie_strictly_between() -> None:
    check_between("fraction", 0.5, 0.0, 1.0)
    for value in (0.0, 1.0, float("nan"), "0.5", None, True):
        with pytest.raises(RecipeError, match="fraction must be a number between 0 and 1"):
            check_between("fraction", value, 0.0, 1.0)


def test_an_end_may_be_included() -> None:
    check_between("share", 1, 0.0, 1.0, including="high")
    check_between("penalty", 0.0, 0.0, np.inf, including="low")
    with pytest.raises(RecipeError, match="share must be a number between 0 and 1, 1 included, got 0.0"):
        check_between("share", 0.0, 0.0, 1.0, including="high")
    for value in (-1.0, np.inf, True):
        with pytest.raises(RecipeError, match="between 0 and inf, 0 included"):
            check_between("penalty", value, 0.0, np.inf, including="low")


def test_flags_are_true_or_false() -> None:
    check_flag("double", True)
    check_flag("double", np.bool_(False))
    for value in ("no", 1, None):
        with pytest.raises(RecipeError, match="double must be True or False"):
            check_flag("double", value)


def test_names_are_among_those_known() -> None:
    check_one_of("loss", "mae", ("mae", "mse"))
    for value in ("huber", None, ["mae"], "m"):
        with pytest.raises(RecipeError, match="loss must be one of 'mae', 'mse', got"):
            check_one_of("loss", value, ("mae", "mse"))


# --- names, and what is shown ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["x", "é", "a b", "'; drop table trials;--", "<script>", "\u200b", "a" * 512, "\U0001f600"]
)
def test_names_that_every_storage_takes(name: str) -> None:
    assert check_name("a name", name) == name


@pytest.mark.parametrize(
    "name", ["", "a" * 513, "\x00", "x\ny", "\x1b[31m", "\ud800", "\x7f", "\u2028", 1, None, b"x", ("a",)]
)
def test_names_that_are_refused(name: object) -> None:
    with pytest.raises(RecipeError, match="a name must"):
        check_name("a name", name)


class _Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def test_names_that_are_alike() -> None:
    known = ["train:objective", "Other", "other_2"]
    assert did_you_mean("tran:objective", known) == "; did you mean 'train:objective'?"
    assert did_you_mean("OTHER-2", known) == "; did you mean 'other_2'?"
    assert did_you_mean("nothing alike", known) == did_you_mean("", known) == did_you_mean("x", []) == ""


def test_what_cannot_be_shown_is_named_by_its_type() -> None:
    assert shown(_Unshowable()) == "a _Unshowable that cannot be shown"
    assert message_of(_Unshowable()) == "its message cannot be shown" and message_of(ValueError("a")) == "a"
    assert (
        len(shown("x" * 10_000)) == 200
        and "\ud800" not in shown("\ud800")
        and "\ud800" not in message_of(ValueError("\ud800"))
    )
