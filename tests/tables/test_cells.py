"""Cells that people have filled in."""

from __future__ import annotations

from typing import Any

import pytest

from calibo.errors import ValueRejected
from calibo.spaces import Categorical, Float, Int, Ordinal
from calibo.tables.cells import Blank, read_number, read_outcome, read_parameter


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        (3, ".", 3.0),
        ("1.5", ".", 1.5),
        ("1,5", ",", 1.5),
        ("1,5", ".", 1.5),
        ("1.234,5", ",", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("1,234,567", ".", 1234567.0),
        ("-1.234.567", ",", -1234567.0),
        ("1,234", ",", 1.234),
        ("1.234", ".", 1.234),
        ("0,125", ".", 0.125),
        ("0.125", ",", 0.125),
        ("1,234", ".", None),
        ("1.234", ",", None),
        ("+1,234", ".", None),
        ("+1.234", ",", None),
        ("+1,234.5", ".", 1234.5),
        ("1,2,3", ".", None),
        ("2e-3", ",", 0.002),
        ("12,5 %", ",", 12.5),
        ("−3", ".", -3.0),
        ("about 3", ".", None),
        (True, ".", None),
        (None, ".", None),
    ],
)
def test_numbers(cell: Any, decimal: str, number: float | None) -> None:
    assert read_number(cell, decimal) == number


def test_parameters() -> None:
    assert read_parameter("21,5", Float(0, 100), ",") == 21.5
    whole = read_parameter("3", Int(1, 5))
    assert whole == 3 and isinstance(whole, int)
    assert read_parameter(3.0, Int(1, 5)) == 3 and read_parameter("3.5", Int(1, 5)) == 3.5
    assert read_parameter("koh", Categorical(["KOH", "NaOH"])) == "KOH"
    assert read_parameter("16", Ordinal([16, 32])) == 16 and read_parameter(0.1, Ordinal([0.1, 0.2])) == 0.1
    assert read_parameter("True", Categorical([True, False])) is True
    assert read_parameter("FALSCH", Categorical([True, False])) is False
    assert read_parameter("b", Categorical([None, "b"])) == "b"
    assert read_parameter("wahr", Categorical(["wahr", "falsch"])) == "wahr"
    assert read_parameter("milk", Categorical(["KOH", "NaOH"])) == "milk"
    assert read_parameter("1,200", Categorical(["1,200", "1,300"])) == "1,200"
    with pytest.raises(ValueRejected, match="write 1200 or 1.200"):
        read_parameter("1,200", Float(0, 5000))


def test_outcomes() -> None:
    assert read_outcome("81,5", ",") == 81.5 and read_outcome(0) == 0.0
    for empty in (None, "", " ", "NaN", "n/a", "pending"):
        assert read_outcome(empty) is Blank.PENDING
    for failed in ("failed", "FAILED ", "fehlgeschlagen"):
        assert read_outcome(failed) is Blank.FAILED
    for unclear, decimal, clear in (("1,200", ".", "1200 or 1.200"), ("1.200", ",", "1200 or 1,200")):
        with pytest.raises(ValueRejected, match=f"could have thousands or decimals: write {clear}"):
            read_outcome(unclear, decimal)
    for wrong in ("good", "inf", float("inf"), True):
        with pytest.raises(ValueRejected, match="the word failed"):
            read_outcome(wrong)
