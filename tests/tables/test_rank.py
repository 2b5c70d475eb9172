"""Ranking a table: the answer, and a named error or a sensible answer for every bad table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibo
from calibo.errors import DataError, FallbackWarning, MissingExtra, RecipeError
from calibo.tables.rank import rank
from calibo.tables.study_file import StudyFile

Candidates = Callable[..., pd.DataFrame]
OURS = ["mean", "low_80", "high_80", "probability_of_improvement", "reason"]


def quick(table: Any, **settings: Any) -> pd.DataFrame:
    return rank(table, **({"target": "yield", "n": 3, "method": "gp_ei", "progress": False} | settings))


def test_the_answer(candidates: Candidates) -> None:
    frame = candidates(measured=30)
    before = frame.copy()
    answer = calibo.rank(frame, target="yield", n=4, method="gp_ei", progress=False)
    pd.testing.assert_frame_equal(frame, before)
    assert list(answer) == ["heat", "dose", "solvent", "yield", *OURS] and len(answer) == 4
    pd.testing.assert_frame_equal(answer[["heat", "dose", "solvent", "yield"]], frame.loc[answer.index])
    assert answer["yield"].isna().all() and answer.index.is_unique
    assert (answer["low_80"] < answer["mean"]).all() and (answer["mean"] < answer["high_80"]).all()
    assert answer["probability_of_improvement"].between(0, 1).all()
    # What is good is found: ethanol at middling heat.
    assert (answer["solvent"] == "ethanol").any() and abs(answer["heat"].iloc[0] - 60) < 15
    about = answer.attrs["calibo"]
    assert (about["round"], about["measured"], about["candidates"], about["study"]) == (1, 30, 90, None)


@pytest.mark.parametrize("method", ["cbo", "ocbo", "locbo", "ocbo_local", "conformal-ensemble", "cqr"])
@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
def test_methods_with_calibration(candidates: Candidates, method: str) -> None:
    answer = quick(candidates(rows=60, measured=20), method=method)
    assert len(answer) == 3 and answer[OURS[:4]].notna().all(axis=None)


@pytest.mark.parametrize("method", ["ocbo", "locbo", "ocbo_local"])
def test_intervals_of_a_steep_target_are_nested(candidates: Candidates, tmp_path: Path, method: str) -> None:
    """Yields over several orders of magnitude, and rows far from those measured."""
    frame = candidates(rows=60, measured=20)
    frame["yield"] = np.exp(2.0 * frame["yield"])
    answer = quick(frame, method=method, n=8, study=tmp_path / "s.json")
    assert (answer["low_80"] < answer["high_80"]).all() and np.isfinite(answer[OURS[:4]]).all(axis=None)
    for row in StudyFile.open(tmp_path / "s.json").rows.values():
        marginal = row.forecasts["yield"].calibrated
        quantiles = [marginal.icdf(u) for u in np.linspace(0.01, 0.99, 99)]
        assert np.isfinite(quantiles).all() and np.all(np.diff(quantiles) > 0.0)


def test_minimising_is_maximising_the_opposite(candidates: Candidates) -> None:
    frame = candidates()
    up, down = quick(frame), quick(frame.assign(**{"yield": -frame["yield"]}), direction="min")
    assert list(up.index) == list(down.index)
    np.testing.assert_allclose(up["low_80"], -down["high_80"])
    np.testing.assert_allclose(up["probability_of_improvement"], down["probability_of_improvement"])


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".xlsx"])
def test_files_give_the_same_answer_and_are_not_changed(candidates: Candidates, tmp_path: Path, kind: str) -> None:
    frame = candidates()
    path = tmp_path / f"candidates{kind}"
    {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".xlsx": frame.to_excel}[kind](path, index=False)
    before = path.read_bytes()
    answer, whole = quick(path), quick(frame)
    pd.testing.assert_frame_equal(answer, whole, check_dtype=False, check_index_type=False)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, f"{path.name}.calibo.json"]


@pytest.mark.parametrize("method", ["gp_ei", "cbo"])
@pytest.mark.filterwarnings("ignore:.*could not be calibrated:calibo.errors.FallbackWarning")
def test_neither_batches_nor_the_order_of_rows_matter(candidates: Candidates, method: str) -> None:
    frame = candidates(rows=2500, measured=15).drop_duplicates(["heat", "dose", "solvent"])
    whole = quick(frame, method=method)
    for table, size in ((frame, 300), (frame, 1111), (frame.sample(frac=1.0, random_state=3), 900)):
        other = quick(table, method=method, batch_size=size)
        pd.testing.assert_frame_equal(other, whole, rtol=1e-6)


def test_the_seed_and_nothing_else_is_random(candidates: Candidates) -> None:
    frame = candidates()
    state = np.random.get_state()[1].tolist()  # type: ignore[union-attr]
    pd.testing.assert_frame_equal(quick(frame, seed=5), quick(frame, seed=5))
    assert np.random.get_state()[1].tolist() == state  # type: ignore[union-attr]


def test_near_duplicates_are_not_all_chosen() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([0.7 + 1e-4 * rng.random(40), rng.random(40)])
    known = np.linspace(0, 1, 9)
    frame = pd.DataFrame({"x": [*known, *x], "y": [*np.sin(4 * known + 5), *[np.nan] * 80]})
    frame["y"] += np.where(frame["y"].notna(), 0.02 * rng.standard_normal(len(frame)), 0.0)
    answer = rank(frame, target="y", n=5, method="gp_ei", progress=False)
    assert answer["x"].between(0.7, 0.7001).sum() < 5


def test_two_targets(candidates: Candidates) -> None:
    frame = candidates(measured=20)
    frame["cost"] = np.where(frame["yield"].notna(), frame["dose"] + frame["heat"] / 50, np.nan)
    answer = quick(frame, target=["yield", "cost"], direction=["max", "min"])
    assert [f"{t}_{c}" for t in ("yield", "cost") for c in OURS[:3]] == list(answer)[5:11]
    assert answer["probability_of_improvement"].between(0, 1).all() and answer["reason"].str.len().gt(0).all()
    np.testing.assert_allclose(answer["cost_mean"], answer["dose"] + answer["heat"] / 50, atol=0.3)


def test_measured_points_are_not_suggested_again(candidates: Candidates) -> None:
    frame = candidates(rows=40)
    again = frame[:12].assign(**{"yield": np.nan})
    frame = pd.concat([frame, again, frame[20:25]], ignore_index=True)
    with pytest.warns(FallbackWarning, match="measured: 12, not measured: 5"):
        answer = quick(frame, n=28)
    assert set(answer.index) == set(range(12, 40)) and not answer.duplicated(["heat", "dose", "solvent"]).any()


# Bad tables.


def test_nothing_is_measured(candidates: Candidates) -> None:
    answer = quick(candidates(measured=0), n=6)
    assert set(answer["reason"]) == {"nothing is measured yet: spread over the table"}
    assert answer[OURS[:4]].isna().all(axis=None)
    assert answer["solvent"].nunique() == 3 and answer["heat"].max() - answer["heat"].min() > 50


@pytest.mark.parametrize("measured", [1, 2])
@pytest.mark.parametrize("method", ["gp_ei", "cbo"])
@pytest.mark.filterwarnings("ignore:.*could not be calibrated:calibo.errors.FallbackWarning")
def test_hardly_anything_is_measured(candidates: Candidates, measured: int, method: str) -> None:
    answer = quick(candidates(measured=measured), n=6, method=method)
    assert set(answer["reason"]) == {"too little is measured yet: spread over the table"}
    assert answer[OURS[:4]].notna().all(axis=None) and answer["solvent"].nunique() == 3


@pytest.mark.parametrize("method", ["gp_ei", "cbo"])
@pytest.mark.filterwarnings("ignore:.*could not be calibrated:calibo.errors.FallbackWarning")
def test_all_outcomes_are_equal(candidates: Candidates, method: str) -> None:
    frame = candidates()
    frame.loc[frame["yield"].notna(), "yield"] = 3.0
    answer = quick(frame, method=method)
    assert len(answer) == 3 and np.isfinite(answer[OURS[:4]].to_numpy(dtype=float)).all()


def test_everything_is_measured(candidates: Candidates) -> None:
    with pytest.raises(DataError, match="nothing is left to suggest: of 12 rows 12 are measured"):
        quick(candidates(rows=12))
    frame = candidates(rows=12)
    again = pd.concat([frame, frame.assign(**{"yield": np.nan})], ignore_index=True)
    with pytest.raises(DataError, match="has the features of a measured one"):
        quick(again)


def test_more_rows_are_asked_for_than_there_are(candidates: Candidates) -> None:
    with pytest.warns(FallbackWarning, match="50 rows were asked for, but there are only 8"):
        answer = quick(candidates(rows=20), n=50)
    assert sorted(answer.index) == list(range(12, 20))
    with pytest.warns(FallbackWarning, match="only 8"):
        assert len(quick(candidates(rows=8, measured=0), n=50)) == 8


def test_gaps_infinities_constants_and_identifiers(candidates: Candidates) -> None:
    frame = candidates()
    frame["heat"] = frame["heat"].astype(float)
    frame.loc[[2, 50], "heat"] = np.nan
    frame.loc[[3, 60], "dose"] = np.inf
    frame.loc[[4, 70], "solvent"] = None
    frame = frame.assign(lab="north", sample=[f"s{i}" for i in range(len(frame))])
    with pytest.warns(FallbackWarning) as warned:
        answer = quick(frame)
    messages = [str(one.message) for one in warned]
    assert any("2 in 'dose'" in one for one in messages) and any("column 'sample'" in one for one in messages)
    about = answer.attrs["calibo"]
    assert about["features"] == ["heat", "dose", "solvent"] and "column lab is the same" in about["notes"][0]
    assert "sample" in answer and "lab" in answer
    twice = pd.concat([frame, frame.iloc[[0]].assign(**{"yield": 0.1})], ignore_index=True)
    with pytest.warns(FallbackWarning) as warned:
        about = quick(twice).attrs["calibo"]
    assert any("'sample' has a different value in almost every row" in str(one.message) for one in warned)
    assert about["features"] == ["heat", "dose", "solvent"] and about["identifiers"] == ["sample"]


def test_late_rounds_say_that_more_is_unlikely_to_pay(candidates: Candidates) -> None:
    early, late = candidates(measured=12), candidates(measured=60)
    late.loc[5, "yield"] = 9.0  # far better than the rest could be
    assert quick(early).attrs["calibo"]["outlook"] is None
    words = quick(late).attrs["calibo"]["outlook"]
    assert words is not None and words.startswith("Measuring more is unlikely to pay")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"target": "purity"}, DataError, "no target column 'purity'; the columns are 'heat', 'dose'"),
        ({"target": None}, DataError, "say which column"),
        ({"features": ["heat", "cold"]}, DataError, "no column 'cold'"),
        ({"features": "heat"}, DataError, r"write \['heat'\]"),
        ({"features": ["yield"]}, DataError, "not targets"),
        ({"method": "magic"}, RecipeError, "unknown method 'magic'"),
        ({"method": "turbo"}, RecipeError, "'turbo' is not one"),
        ({"direction": "up"}, RecipeError, "direction"),
        ({"direction": ["max", "min"]}, RecipeError, "one for each of the 1 targets"),
        ({"n": 0}, RecipeError, "n must be a whole number"),
    ],
)
def test_settings_that_cannot_be(candidates: Candidates, settings: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        quick(candidates(), **settings)


@pytest.mark.parametrize("content", [b"", b"heat,yield\n", b"\x89PNG\r\n\x1a\n" + bytes(99)])
def test_files_that_are_no_tables_stay_as_they_are(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "candidates.csv"
    path.write_bytes(content)
    with pytest.raises(DataError):
        quick(path)
    assert path.read_bytes() == content and list(tmp_path.iterdir()) == [path]


def test_molecules_need_an_extra(candidates: Candidates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    frame = candidates().rename(columns={"solvent": "solvent_SMILES"})
    with pytest.raises(MissingExtra, match=r"column 'solvent_SMILES'.*pip install 'calibo\[chem\]'"):
        quick(frame)
    assert len(quick(frame, smiles=[])) == 3
