"""Digits of numbers that are read side by side."""

from __future__ import annotations

import math

import pytest

from calibo.digits import interval_text, shared_digits, side_by_side


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.251119, 0.753341), "0.2511 to 0.7533"),
        ((-13245.678, -13245.671), "-13245.678 to -13245.671"),
        ((273.1512, 273.1604), "273.1512 to 273.1604"),
        ((0.1 + 0.2, 0.3), "0.3 to 0.3"),
        ((2.0, 2.0), "2 to 2"),
        ((-math.inf, 1.5), "-inf to 1.5"),
        ((-1e308, 1e308), "-1e+308 to 1e+308"),
    ],
)
def test_the_ends_of_an_interval_are_told_apart(ends: tuple[float, float], text: str) -> None:
    assert interval_text(*ends) == text


def test_numbers_that_are_read_together_have_the_same_digits() -> None:
    assert side_by_side(1500.12345, 1500.1, 1500.2, least=3) == ["1500.123", "1500.1", "1500.2"]
    assert side_by_side() == [] and side_by_side(math.nan) == ["nan"]
    assert shared_digits([math.nan, 3.0]) == 0 and shared_digits([1000.0, 1001.0]) == 4
