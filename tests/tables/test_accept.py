"""Rows accepted within an error budget, from tables and their study files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError, RecipeError
from calibo.tables import accept, rank


@pytest.fixture
def truth() -> pd.DataFrame:
    """A table with all its results."""
    rng = np.random.default_rng(0)
    x = rng.random((400, 2)).round(4)
    return pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "y": x[:, 0] ** 2 + 0.02 * rng.standard_normal(400)})


@pytest.fixture
def drawn(truth: pd.DataFrame, tmp_path: Path) -> Callable[[], pd.DataFrame]:
    """Return a function that measures 8 rows, then 40 drawn at random."""

    def make() -> pd.DataFrame:
        table = truth.assign(y=truth["y"].where(truth.index < 8))
        batch = rank(table, target="y", n=40, method="gp_ei", at_random=True, study=tmp_path / "study.json")
        assert set(batch["reason"]) == {"drawn at random"}
        table.loc[batch.index, "y"] = truth.loc[batch.index, "y"]
        return table

    return make


def test_rows_drawn_at_random_are_known_by_the_study(
    truth: pd.DataFrame, drawn: Callable[[], pd.DataFrame], tmp_path: Path
) -> None:
    table, study = drawn(), tmp_path / "study.json"
    before = study.read_bytes()
    found = accept(table, target="y", threshold=0.25, error_budget=0.1, study=study)
    about = found.attrs["calibo"]
    assert len(found) > 100 and about["accepted"] == len(found) and about["candidates"] == 352
    assert about["trained_on"] == about["checked_by"] == 24, "8 others and 16 of 40 train, the other 24 check"
    assert np.mean(truth["y"].to_numpy()[found.index] < 0.25) < 0.15
    assert bool(found["y"].isna().all()) and found["probability"].is_monotonic_decreasing
    assert study.read_bytes() == before, "the study is not changed"
    low = accept(table.assign(y=-table["y"]), target="y", threshold=-0.25, direction="min", drawn="all")
    assert len(low) > 100


def test_batches_and_the_order_of_rows_do_not_matter(truth: pd.DataFrame) -> None:
    table = truth.assign(y=truth["y"].where(truth.index < 80))
    whole = accept(table, target="y", threshold=0.3, drawn="all")
    parts = accept(table.sample(frac=1.0, random_state=1), target="y", threshold=0.3, drawn="all", batch_size=50)
    assert sorted(whole.index) == sorted(parts.index) and len(whole) > 0


def test_what_is_no_random_sample_is_refused(
    drawn: Callable[[], pd.DataFrame], truth: pd.DataFrame, tmp_path: Path
) -> None:
    study = tmp_path / "study.json"
    with pytest.raises(DataError, match="no rows were drawn at random"):
        accept(truth.assign(y=truth["y"].where(truth.index < 80)), target="y", threshold=0.3)
    table = drawn()
    measured = table["y"].notna().to_numpy()
    mine = [i for i in np.flatnonzero(measured) if i >= 8]
    with pytest.raises(DataError, match="1 of the 40 rows drawn at random are not measured"):
        accept(table.assign(y=table["y"].where(table.index != mine[0])), target="y", threshold=0.3, study=study)
    table.loc[int(np.flatnonzero(~measured)[0]), "y"] = 0.5
    with pytest.raises(DataError, match="results other than those of the rows drawn at random"):
        accept(table, target="y", threshold=0.3, study=study)


def test_other_suggestions_in_between_leave_the_draw_alone(
    drawn: Callable[[], pd.DataFrame], truth: pd.DataFrame, tmp_path: Path
) -> None:
    study = tmp_path / "study.json"
    table = truth.assign(y=truth["y"].where(truth.index < 8))
    first = rank(table, target="y", n=30, method="gp_ei", at_random=True, study=study)
    rank(table, target="y", n=30, method="gp_ei", study=study)
    table.loc[first.index, "y"] = truth.loc[first.index, "y"]
    assert accept(table, target="y", threshold=0.25, error_budget=0.2, study=study).attrs["calibo"]["checked_by"] == 19


def test_nothing_can_be_vouched_for(truth: pd.DataFrame) -> None:
    table = truth.assign(y=truth["y"].where(truth.index < 30))
    found = accept(table, target="y", threshold=0.9, drawn="all")
    assert len(found) == 0
    assert "15 rows drawn at random can vouch only for 232 or more of the 370" in found.attrs["calibo"]["message"]


@pytest.mark.parametrize("settings", [{"error_budget": 0.0}, {"threshold": float("nan")}])
def test_settings_that_cannot_be(truth: pd.DataFrame, settings: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(settings))):
        accept(truth, target="y", drawn="all", **({"threshold": 0.5} | settings))
