"""The first pass: the same findings whatever the batches and the order of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.errors import FallbackWarning, ValueRejected
from calibo.tables.columns import Kind
from calibo.tables.reading import open_table
from calibo.tables.survey import Question, Survey, outcomes, surveyed

COLUMNS = ("heat", "dose", "solvent")


def plain(parts: Any, what: str) -> Any:
    return parts


def survey(frame: Any, batch: int = 1000, **settings: Any) -> Survey:
    question = Question(columns=COLUMNS, targets=("yield",), signs=(1.0,), **settings)
    return surveyed(open_table(frame, batch=batch), question, plain)[0]


def test_what_is_found(candidates: Callable[..., pd.DataFrame]) -> None:
    frame = candidates()
    found = survey(frame)
    assert (found.rows, found.measured, found.partial, found.candidates) == (120, 12, 0, 108)
    assert found.profiles["heat"].kind is Kind.NUMBER and found.profiles["heat"].high == frame["heat"].max()
    assert found.profiles["solvent"].choices == {"water", "ethanol", "none"}
    assert sorted(found.labels.frame.index) == list(range(12)) and len(found.seen) == 12
    assert set(found.sample.frame.index) == set(range(12, 120))


def test_the_fingerprint_is_of_the_outcomes(candidates: Callable[..., pd.DataFrame]) -> None:
    frame, other = candidates(), candidates()
    other.loc[3, "yield"] += 1e-9
    assert survey(frame).fingerprint != survey(other).fingerprint
    assert survey(frame).fingerprint != survey(candidates(measured=13)).fingerprint


@pytest.mark.parametrize("batch", [40, 1000])
def test_many_measured_rows_are_thinned(candidates: Callable[..., pd.DataFrame], batch: int) -> None:
    frame = candidates(rows=500, measured=450)
    with pytest.warns(FallbackWarning, match="450 rows are measured.*50 rows, are used"):
        found = survey(frame, batch, most_labels=50)
    kept = found.labels.frame["yield"].to_numpy()
    order = np.sort(frame["yield"].dropna())[::-1]
    assert len(kept) == 50 and set(order[:25]) <= set(kept) and len(found.seen) == 450
    with pytest.warns(FallbackWarning):
        whole = survey(frame, most_labels=50)
    pd.testing.assert_frame_equal(found.labels.frame, whole.labels.frame)


def test_rows_with_forecasts_are_not_thinned_away(candidates: Callable[..., pd.DataFrame]) -> None:
    frame = candidates(rows=500, measured=450)
    worst = int(frame["yield"].idxmin())
    question = Question(COLUMNS, ("yield",), (1.0,), key_columns=COLUMNS)
    key = int(question.study_keys(question(frame.loc[[worst]]).seen)[0])
    with pytest.warns(FallbackWarning):
        found = survey(frame, most_labels=50, key_columns=COLUMNS, known=frozenset([key]))
    assert worst in found.labels.frame.index


def test_numbers_and_words_in_one_column(tmp_path: Any) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("heat,dose,solvent,yield\n" + "".join(f"{i},{i},{i / 2},\n" for i in range(6)) + "6,6,none,1\n")
    for batch in (2, 100):
        found = survey(path, batch)
        assert found.profiles["solvent"].choices == {"0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "none"}


def test_partly_measured_rows_are_announced() -> None:
    frame = pd.DataFrame(
        {"heat": [1, 2, 3], "dose": 1.0, "solvent": "a", "yield": [1, 2, None], "cost": [1, None, None]}
    )
    question = Question(COLUMNS, ("yield", "cost"), (1.0, -1.0))
    with pytest.warns(FallbackWarning, match="1 rows have some of the targets yield, cost"):
        found = surveyed(open_table(frame), question, plain)[0]
    assert (found.measured, found.partial, found.candidates) == (1, 1, 1)
    assert list(found.sample.frame.index) == [2]


def test_outcomes_as_text() -> None:
    frame = pd.DataFrame({"y": ["1.5", " ", None, "2"]})
    np.testing.assert_array_equal(outcomes(frame, ["y"])[:, 0], [1.5, np.nan, np.nan, 2])
    np.testing.assert_array_equal(outcomes(pd.DataFrame({"y": [True, False]}), ["y"])[:, 0], [1, 0])
    with pytest.raises(ValueRejected, match="row 1, target 'y'.*'failed'"):
        outcomes(pd.DataFrame({"y": ["1", "failed"]}), ["y"])
    with pytest.raises(ValueRejected, match="row 7, target 'y'.*inf"):
        outcomes(pd.DataFrame({"y": [1.0, np.inf]}, index=[3, 7]), ["y"])
