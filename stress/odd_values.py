"""Values that nobody means well: wrong types, extremes, strange text, objects whose methods raise."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pandas as pd


class Refusal(RuntimeError):
    """What the methods of the objects below raise."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise Refusal("this method raises")


class BadRepr:
    """Cannot be shown."""

    __repr__ = __str__ = _refuse


class BadNumber:
    """Says that it is a number, but cannot be converted."""

    __float__ = __int__ = __index__ = _refuse


class BadComparison:
    """Cannot be compared or hashed."""

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = _refuse
    __hash__ = None  # pyright: ignore[reportAssignmentType]


class BadSequence(list[Any]):
    """A list that cannot be read."""

    __len__ = __iter__ = __getitem__ = __bool__ = _refuse


class BadMapping(dict[str, Any]):
    """A mapping that cannot be read."""

    __len__ = __iter__ = __getitem__ = keys = items = get = __contains__ = _refuse


class BadArray:
    """Cannot be made an array."""

    __array__ = __len__ = __iter__ = _refuse


class BadText(str):
    """Text that cannot be read."""

    __eq__ = __str__ = __len__ = __contains__ = lower = split = endswith = _refuse
    __hash__ = str.__hash__


class Index:
    """Can be used as an index, but is no number."""

    def __index__(self) -> int:
        return 3


def nested(depth: int) -> list[Any]:
    """Return a list in a list in a list ..."""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


NUMBERS: list[Any] = [
    *(float("nan"), float("inf"), -float("inf"), 0, -0.0, 0.0, 1, -1, 0.5, 1.5, 1e308, -1e308, 1.7976931348623157e308),
    *(
        5e-324,
        1e-300,
        1e-16,
        2**31 - 1,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63),
        10**400,
        -(10**400),
        True,
        False,
        3,
        10,
        100,
    ),
    *(
        np.float64("nan"),
        np.float32(1.5),
        np.float16(2),
        np.int64(3),
        np.int8(-5),
        np.uint64(2**64 - 1),
        np.bool_(True),
    ),
    *(np.array(1.0), np.array([1.0]), np.longdouble("1e4000"), Decimal("NaN"), Decimal("sNaN"), Decimal("1.5")),
    *(Decimal("Infinity"), Fraction(1, 3), Fraction(10**400, 3)),
]

OTHERS: list[Any] = [
    *(
        None,
        "",
        "1",
        "1.5",
        "abc",
        "x",
        "\x00",
        "\ud800",
        "é" * 600,
        "\u202eabc",
        "a\nb",
        "{x}",
        "%s",
        b"x",
        bytearray(b"x"),
    ),
    *(
        [],
        [1],
        [1, 2],
        [[1], [2]],
        [[1], [2, 3]],
        ["a"],
        [None],
        {},
        {"a": 1},
        {"x": 1},
        {1: 2},
        (),
        (1, 2),
        object(),
        len,
    ),
    *(1 + 2j, np.array([1, 2]), np.array([]), np.array([[1.0]]), np.array(["a"]), np.array([None]), np.zeros((0, 3))),
    *(
        range(3),
        {1, 2},
        frozenset("a"),
        datetime.datetime(2020, 1, 1),
        pd.NA,
        pd.NaT,
        float,
        type,
        Ellipsis,
        NotImplemented,
    ),
    *(
        pd.Series([1.0]),
        pd.DataFrame({"x": [1]}),
        memoryview(b"ab"),
        slice(1),
        nested(5000),
        10**5 * [0.0],
        lambda *a, **k: 1 / 0,
    ),
    *(
        BadRepr(),
        BadNumber(),
        BadComparison(),
        BadSequence([1.0]),
        BadMapping(x=1),
        BadArray(),
        BadText("minimize"),
        Index(),
    ),
]

#: Names of studies, parameters and constraints that are no names, or strange ones.
NAMES: list[Any] = [
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "a" * 1000,
        "x\ny",
        "'; drop table trials;--",
        "<script>",
        1,
        None,
        ("a",),
        True,
        b"x",
        "é",
    ),
    *("{x}", "a:b", "../x", "\x1b[31m", "\u2028", "\x7f", BadText("x"), BadRepr()),
]


class Odd:
    """Draws odd values, reproducibly."""

    def __init__(self, seed: int) -> None:
        self.random: random.Random = random.Random(seed)

    def value(self) -> Any:
        """Return any odd value."""
        return self.random.choice(NUMBERS if self.random.random() < 0.4 else OTHERS)

    def name(self) -> Any:
        """Return an odd name."""
        return self.random.choice(NAMES)

    def mostly(self, good: list[Any], share: float = 0.5) -> Any:
        """Return one of the good values with this probability, else an odd one."""
        return self.random.choice(good) if self.random.random() < share else self.value()


def shown(value: Any, length: int = 90) -> str:
    """Return a value for a message, also if it cannot be shown."""
    try:
        return repr(value)[:length]
    except Exception:
        return f"<{type(value).__name__}>"
