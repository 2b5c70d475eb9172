"""No cell that is written is taken for a formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibo.formulas import inert, inert_table


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\tx", "\rx", " =1", "=cmd|'/c calc'!A0", "-", "＝1"]
)
def test_formulas_become_text(text: str) -> None:
    assert inert(text) == f"'{text}"


@pytest.mark.parametrize("value", ["", "a", "a=1", "-1.5", "+3", "-1e-5", "-inf", 3, -2.5, None, float("nan")])
def test_everything_else_is_left(value: object) -> None:
    assert inert(value) is value


def test_tables() -> None:
    table = pd.DataFrame(
        {"=name": ["=1", "b", None], "dose": [-1.0, np.nan, 2.0], "k": ["-3", "+x", 5]}, index=[4, 5, 6]
    )
    safe = inert_table(table)
    assert list(safe.columns) == ["'=name", "dose", "k"] and list(safe.index) == [4, 5, 6]
    assert safe["'=name"].tolist()[:2] == ["'=1", "b"] and safe["k"].tolist() == ["-3", "'+x", 5]
    pd.testing.assert_series_equal(safe["dose"], table["dose"])
    assert table.iloc[0, 0] == "=1"  # the caller's table is left alone
    twice = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert inert_table(twice).iloc[0].tolist() == ["'=a", "'=b"]
