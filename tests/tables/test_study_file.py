"""The study file: what is written is what is read, and what is not ours is never touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import STORED_LEVELS, Forecast, Marginal
from calibo.errors import StudyError
from calibo.tables.study_file import FORMAT, VERSION, Round, StudyFile, SuggestedRow

numbers = st.floats(allow_nan=False, allow_infinity=False)
distributions = st.builds(
    Marginal,
    numbers,
    st.floats(1e-300, 1e300),
    st.none()
    | st.lists(numbers, min_size=len(STORED_LEVELS), max_size=len(STORED_LEVELS)).map(lambda q: tuple(sorted(q))),
)
forecasts = st.builds(
    Forecast, st.lists(distributions, min_size=1, max_size=3).map(tuple), st.just(("GaussianProcess", "Temperature"))
)
FIRST = Round(17, "cbo", 3, ("x", "w"), ("y",), ((0.1, -2.5),))


@given(st.dictionaries(st.integers(0, 2**64 - 1), forecasts, max_size=3))
def test_floats_come_back_exactly(tmp_path_factory: pytest.TempPathFactory, stored: dict[int, Forecast]) -> None:
    path = tmp_path_factory.mktemp("study") / "t.csv.calibo.json"
    rows = {key: SuggestedRow(1, i, {"y": one}, measured=2) for i, (key, one) in enumerate(stored.items())}
    study = StudyFile(path, ("x", "w"), (FIRST,), rows)
    study.write()
    assert StudyFile.open(path) == study
    assert os.listdir(path.parent) == [path.name]


def test_rounds_follow_the_measurements(tmp_path: Path) -> None:
    study = StudyFile.open(tmp_path / "new.json")
    assert study.number(17) == 1 and study.start(1, ("x", "w"), ("y",)) == ()
    study = study.after(1, FIRST, {5: SuggestedRow(1, 0), 6: SuggestedRow(1, 1)})
    assert study.number(17) == 1 and study.number(18) == 2
    assert study.start(2, ("x", "w"), ("y",)) == ((0.1, -2.5),)
    assert study.start(2, ("x",), ("y",)) == () and study.start(2, ("x", "w"), ("z",)) == ()
    assert study.start(1, ("x", "w"), ("y",)) == ()  # as it was the first time
    again = study.after(1, FIRST, {6: SuggestedRow(1, 0)})
    assert len(again.rounds) == 1 and set(again.rows) == {5, 6}
    later = study.measured([6, 99], 2)
    assert later.rows[6].measured == 2 and later.rows[5].measured is None
    assert later.measured([6], 3).rows[6].measured == 2


def test_forecasts_of_some_targets() -> None:
    distribution = Forecast((Marginal(0.0, 1.0),))
    row = SuggestedRow(1, 0, {"a": distribution})
    assert row.of(["a"]) == (distribution,) and row.of(["b", "a"]) == (None, distribution) and row.of(["b"]) is None


GOOD = {"format": FORMAT, "version": VERSION, "key_columns": ["x"], "rounds": [], "rows": {}}


@pytest.mark.parametrize(
    "content",
    [
        b"x,y\n1,2\n",
        b"[1, 2]",
        b"\x89PNG\x00\xff",
        json.dumps(GOOD | {"version": 99}).encode(),
        json.dumps(GOOD | {"rows": {"zz": {}}}).encode(),
        json.dumps(GOOD | {"key_columns": "x"}).encode(),
        json.dumps({k: v for k, v in GOOD.items() if k != "rounds"}).encode(),
    ],
)
def test_a_file_that_is_not_a_study_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv.calibo.json"
    path.write_bytes(content)
    with pytest.raises(StudyError, match="calibo.json"):
        StudyFile.open(path)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudyError, match="there is no folder .*study=False"):
        StudyFile.open(tmp_path / "no folder" / "s.json")
    with pytest.raises(StudyError, match="cannot be"):
        StudyFile.open(tmp_path)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StudyError, match="No space left"):
        StudyFile(tmp_path / "s.json", ("z",)).write()
