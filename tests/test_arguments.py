"""Arguments and fields are checked against their annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from calibo.arguments import check_fields, checked
from calibo.data import Array
from calibo.errors import ArgumentError, DataError, RecipeError
from calibo.trials import Direction
from stress.odd_values import BadComparison, BadMapping, BadRepr, BadSequence, BadText, nested


@checked
def called(
    number: float = 1.0,
    whole: int = 1,
    flag: bool = True,
    text: str = "a",
    kind: Literal["a", "b"] = "a",
    array: npt.ArrayLike = (),
    several: Sequence[float] = (),
    pair: tuple[int, str] = (1, "a"),
    named: Mapping[str, float] | None = None,
    function: Callable[[int], int] | None = None,
    way: Direction = Direction.MINIMIZE,
    things: Iterable[int] = (),
    anything: Any = None,
) -> list[int]:
    """Return the things as a list."""
    return list(things)


GOOD: list[dict[str, Any]] = [
    {"number": 3},
    {"number": np.float32(2)},
    {"number": float("nan")},
    {"whole": np.int8(3)},
    {"flag": np.True_},
    {"text": np.str_("x")},
    {"kind": "b"},
    {"array": [[1, 2]]},
    {"array": 3},
    {"several": np.arange(3.0)},
    {"several": [1, 2.5]},
    {"pair": [2, "b"]},
    {"named": {"a": 1}},
    {"named": None},
    {"function": len},
    {"things": iter([1, 2])},
    {"anything": BadRepr()},
]
BAD: list[dict[str, Any]] = [
    {"number": "1"},
    {"number": True},
    {"number": 10**400},
    {"number": np.array([1.0])},
    {"number": np.longdouble(1.0)},
    {"whole": 1.0},
    {"whole": 2**63},
    {"flag": 1},
    {"text": b"x"},
    {"text": BadText("a")},
    {"kind": "c"},
    {"kind": BadComparison()},
    {"array": "x"},
    {"array": [[1], [2, 3]]},
    {"array": nested(2000)},
    {"several": "12"},
    {"several": BadSequence([1.0])},
    {"several": np.zeros((2, 2))},
    {"several": {1.0}},
    {"pair": (1,)},
    {"pair": (1, 2)},
    {"named": {1: 2.0}},
    {"named": BadMapping(a=1.0)},
    {"function": 3},
    {"way": "minimize"},
    {"things": 3},
    {"things": ["a"]},
    {"number": BadRepr()},
]


@pytest.mark.parametrize("arguments", GOOD)
def test_good_arguments_pass(arguments: dict[str, Any]) -> None:
    called(**arguments)


@pytest.mark.parametrize("arguments", BAD)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(ArgumentError, match=f"^called: {name} must be .*, got ") as caught:
        called(**arguments)
    assert isinstance(caught.value, DataError) and isinstance(caught.value, RecipeError)
    assert len(str(caught.value)) < 600


def test_iterables_are_read_once() -> None:
    assert called(things=(i for i in range(3))) == [0, 1, 2]


@checked
def given(several: Sequence[float] | None = None, X: Array | None = None, seed: int = 0) -> tuple[Any, ...]:
    """Return the arguments as they come in."""
    return several, X, seed


def test_arrays_are_sequences_with_a_truth_value_and_lists_become_arrays() -> None:
    several, X, seed = given(np.arange(2.0), [[1], [2]], 2**100)  # pyright: ignore[reportArgumentType]
    assert several == [0.0, 1.0] and isinstance(several, list) and seed == 2**100
    np.testing.assert_array_equal(X, [[1.0], [2.0]])
    assert X.dtype == np.float64 and given() == (None, None, 0)


def test_python_refuses_unknown_arguments_itself() -> None:
    with pytest.raises(TypeError, match="no_such"):
        called(no_such=1)  # pyright: ignore[reportCallIssue]
    assert called.__name__ == "called" and (called.__doc__ or "").startswith("Return the things")


@dataclass(frozen=True)
class _Recipe:
    steps: int = 3
    weights: Array = field(default_factory=lambda: np.ones(1))
    unknown: NoSuchName = None  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    def __post_init__(self) -> None:
        check_fields(self)


def test_fields() -> None:
    assert _Recipe(4, unknown=object()).steps == 4
    assert _Recipe(weights=[1, 2]).weights.dtype == np.float64  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="_Recipe: steps must be a whole number, got 'x'"):
        _Recipe("x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="the class int, which needs"):
        _Recipe(int)  # pyright: ignore[reportArgumentType]
