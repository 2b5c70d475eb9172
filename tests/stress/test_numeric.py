"""Outcomes at the edge of what a float holds: a short version of stress/numeric.py."""

from __future__ import annotations

import pytest

from stress.numeric import cell


@pytest.mark.parametrize(
    ("method", "stream", "space", "place"),
    [
        ("auto", "+-1.7e308", "box", "spread"),
        ("ocbo", "one outlier -1.7e308", "box", "spread"),
        ("cqr", "+-1.7e308", "tiny range", "spread"),
        ("lfbo", "+-1.7e308", "tiny range", "same point"),
        ("risk_averse", "+-1e308 and small", "tiny range", "n = 1"),
        ("gp_ei", "denormals", "mixed", "spread"),
        ("locbo", "all 1.7e308", "box", "n = 1"),
    ],
)
def test_no_method_refuses_or_predicts_values_that_are_not_finite(
    method: str, stream: str, space: str, place: str
) -> None:
    assert cell(method, stream, space, place, asks=1) == "ok"
