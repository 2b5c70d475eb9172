"""What a table is checked for before its rows are ranked: its columns, and the study file beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibo
from calibo.errors import CaliboError, DataError, FallbackWarning
from calibo.tables.rank import rank

Candidates = Callable[..., pd.DataFrame]
OURS = ["mean", "low_80", "high_80", "probability_of_improvement", "reason"]


def quick(table: Any, **settings: Any) -> pd.DataFrame:
    return rank(table, **({"target": "yield", "n": 3, "method": "gp_ei", "progress": False} | settings))


def test_the_study_cannot_be_the_table(candidates: Candidates, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    candidates().to_csv(path, index=False)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the table"):
        quick(path, study=path)
    other = tmp_path / "other.txt"
    other.write_text("mine")
    with pytest.raises(CaliboError, match="left as it is"):
        quick(path, study=other)
    assert path.read_bytes() == before and other.read_text() == "mine"


def test_an_earlier_answer_in_the_table_describes_nothing(candidates: Candidates) -> None:
    frame = candidates()
    whole = frame.join(quick(frame)[OURS])
    with pytest.warns(FallbackWarning, match="come from an earlier ranking"):
        answer = quick(whole)
    assert answer.attrs["calibo"]["features"] == ["heat", "dose", "solvent"]
    assert list(answer)[-5:] == [f"calibo_{name}" for name in OURS]
    assert len(quick(whole, features=["heat", "dose", "mean"])) == 3


def test_a_column_that_no_candidate_has_is_not_a_feature() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(60), "z": np.nan, "y": np.nan})
    table.loc[:9, "y"] = table.loc[:9, "x"] ** 2
    table.loc[:9, "z"] = -table.loc[:9, "x"]
    with pytest.warns(FallbackWarning, match="no sampled candidate has a value in 'z'"):
        found = calibo.rank(table, target="y", n=3, method="gp_ei", progress=False)
    same = calibo.rank(table, ["x"], "y", n=3, method="gp_ei", progress=False)
    assert list(found.index) == list(same.index)


def test_a_table_without_the_columns_of_the_study(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    quick(frame, study=study)
    with pytest.raises(DataError, match="has no 'dose'"):
        quick(frame.drop(columns="dose"), study=study)
    # Other features are fine as long as the rows can be distinguished.
    assert quick(frame, study=study, features=["heat", "dose"]).attrs["calibo"]["features"] == ["heat", "dose"]
