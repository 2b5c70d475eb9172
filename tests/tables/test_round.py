"""Rounds: what was forecast is remembered, and the next round learns from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from calibo.calibration import Calibrated
from calibo.data import Dataset
from calibo.errors import FallbackWarning
from calibo.methods import gp_ei, ocbo
from calibo.optimize import ModelBased, Plan
from calibo.tables.rank import rank
from calibo.tables.study_file import StudyFile

Candidates = Callable[..., pd.DataFrame]


class Watching(ModelBased):
    """A strategy that lets a test see the data it was given."""

    seen: ClassVar[list[Dataset]] = []

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        Watching.seen.append(data)
        return super().plan(data, rng=rng)


def watching(strategy: ModelBased) -> Watching:
    Watching.seen.clear()
    return Watching(strategy.surrogate, strategy.rule, name=strategy.name)


def measured(frame: pd.DataFrame, rows: Any, value: float = 0.5) -> pd.DataFrame:
    """The table after some rows were measured."""
    frame = frame.copy()
    frame.loc[rows, "yield"] = value + 0.01 * np.arange(len(rows))
    return frame


def quick(table: Any, study: Path, **settings: Any) -> pd.DataFrame:
    return rank(table, **({"target": "yield", "n": 4, "method": "ocbo", "progress": False, "study": study} | settings))


def test_the_same_question_has_the_same_answer(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    first = quick(frame, study)
    kept = study.read_bytes()
    pd.testing.assert_frame_equal(quick(frame, study), first)
    assert study.read_bytes() == kept
    second = measured(frame, first.index)
    answer = quick(second, study)
    assert answer.attrs["calibo"]["round"] == 2 and not set(answer.index) & set(first.index)
    kept = study.read_bytes()
    pd.testing.assert_frame_equal(quick(second, study), answer)
    assert study.read_bytes() == kept


def test_forecasts_are_those_that_were_shown(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    answer = quick(frame, study, direction="min")
    stored = sorted(StudyFile.open(study).rows.values(), key=lambda row: row.place)
    distributions = [row.forecasts["yield"].calibrated for row in stored]
    assert [distribution.mean for distribution in distributions] == list(answer["mean"])
    assert [distribution.interval(0.8)[1] for distribution in distributions] == list(answer["high_80"])
    stages = ("WarpedGaussianProcess", "ConditionalQuantile", "GroupedQuantile")
    assert stored[0].forecasts["yield"].stage_names == stages


@pytest.mark.parametrize("direction", ["max", "min"])
def test_the_next_round_is_calibrated_by_the_last(candidates: Candidates, tmp_path: Path, direction: str) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    strategy = watching(ocbo())
    first = quick(frame, study, method=strategy, direction=direction)
    assert all(f is None for f in Watching.seen[-1].forecasts) and Watching.seen[-1].hyperparameters == ()
    late, early = first.index[0], first.index[1:]
    frame = measured(frame, early)
    second = quick(frame, study, method=strategy, direction=direction)
    data = Watching.seen[-1]
    assert len(data) == 15 and [f is not None for f in data.forecasts] == [False] * 12 + [True] * 3
    sign = 1.0 if direction == "max" else -1.0
    np.testing.assert_allclose(data.Y[12:, 0], sign * (0.5 + 0.01 * np.arange(3)))
    assert [f[0].calibrated.mean for f in data.forecasts[12:]] == list(sign * first.loc[early, "mean"])  # type: ignore
    assert len(data.hyperparameters) == 1
    # A row that comes late has its outcome after those of its round that came in time.
    other = next(row for row in second.index if row != late)
    quick(measured(measured(frame, [late], 0.9), [other], 0.7), study, method=strategy, direction=direction)
    observed = (sign * Watching.seen[-1].Y[12:, 0]).round(6).tolist()
    assert observed[:3] == [0.5, 0.51, 0.52] and sorted(observed[3:]) == [0.7, 0.9]
    assert isinstance(strategy.surrogate, Calibrated)


def test_results_are_counted(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    first = quick(frame, study)
    assert first.attrs["calibo"]["calibration"] == {}
    values = first["mean"].to_numpy().copy()
    values[0] = first["high_80"].iloc[0] + 10.0
    frame.loc[first.index, "yield"] = values
    found = quick(frame, study).attrs["calibo"]["calibration"]["yield"]
    assert found["of"] == 4 and found["contained"]["0.8"] == 3 and "too early" in found["headline"]


def test_rows_are_known_however_the_table_is_stored(candidates: Candidates, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = candidates()
    frame.to_csv(path, index=False)
    first = rank(path, target="yield", n=4, method="ocbo", progress=False)
    later = measured(frame, first.index).sample(frac=1.0, random_state=0)
    later[["yield", "solvent", "dose", "heat"]].astype({"heat": float}).assign(note="").to_parquet(
        tmp_path / "t.parquet"
    )
    study = tmp_path / "t.csv.calibo.json"
    answer = rank(tmp_path / "t.parquet", target="yield", n=4, method="ocbo", progress=False, study=study)
    assert answer.attrs["calibo"]["calibration"]["yield"]["of"] == 4


def test_another_number_or_method_in_the_same_round(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    quick(frame, study, n=2)
    quick(frame, study, n=5, method=gp_ei())
    kept = StudyFile.open(study)
    assert len(kept.rounds) == 1 and kept.rounds[0].method == "gp_ei"
    assert {row.round for row in kept.rows.values()} == {1} and 5 <= len(kept.rows) <= 7


def test_no_labels_are_remembered_too(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(measured=0), tmp_path / "s.json"
    first = quick(frame, study)
    kept = json.loads(study.read_text())
    assert len(kept["rows"]) == 4 and all(row["forecasts"] == {} for row in kept["rows"].values())
    answer = quick(measured(frame, first.index), study)
    assert answer.attrs["calibo"]["round"] == 2 and answer.attrs["calibo"]["calibration"] == {}


def test_two_targets_are_remembered(candidates: Candidates, tmp_path: Path) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    frame["cost"] = frame["yield"] * 2.0
    both = {"target": ["yield", "cost"], "direction": ["max", "min"], "method": "gp_ei"}
    first = quick(frame, study, **both)
    frame.loc[first.index, ["yield", "cost"]] = [0.1, 0.2]
    second = quick(frame, study, **both)
    assert {name: c["of"] for name, c in second.attrs["calibo"]["calibration"].items()} == {"yield": 4, "cost": 4}
    # With one of them fewer, or one more, what is known is still used.
    frame["third"] = frame["yield"]
    with pytest.warns(FallbackWarning, match="no sampled candidate has a value in 'yield'"):
        found = quick(frame, study, target=["cost", "third"], method="gp_ei").attrs["calibo"]["calibration"]
    assert set(found) == {"cost"}


@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
@pytest.mark.parametrize(("error", "wider"), [(8.0, True), (0.0, False)])
def test_intervals_of_cbo_are_corrected_by_earlier_rounds(
    candidates: Candidates, tmp_path: Path, error: float, wider: bool
) -> None:
    frame, study = candidates(), tmp_path / "s.json"
    for _ in range(3):
        batch = quick(frame, study, method="cbo", n=6)
        width = (batch["high_80"] - batch["low_80"]).to_numpy()
        frame.loc[batch.index, "yield"] = batch["mean"] + error * width * np.tile([1.0, -1.0], 3)
    quick(frame, study, method="cbo", n=6)
    stored = StudyFile.open(study)
    latest = [row.forecasts["yield"] for row in stored.rows.values() if row.round == len(stored.rounds)]
    assert all(f.stage_names == ("GaussianProcess", "ConformalBayes", "Temperature") for f in latest)
    conformal, shown = (np.array([np.subtract(*f.stages[k].interval(0.8)[::-1]) for f in latest]) for k in (1, 2))
    assert (shown > 1.5 * conformal).all() if wider else (shown < 0.8 * conformal).all()


@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
def test_large_batches_are_chosen_in_parts_given_the_means_of_earlier_ones(candidates: Candidates) -> None:
    watched = watching(gp_ei())
    batch = rank(candidates(), target="yield", n=40, method=watched, progress=False)
    assert len(set(batch.index)) == 40
    assert [len(data) for data in Watching.seen] == [12, 28, 44]
    np.testing.assert_allclose(Watching.seen[1].Y[12:, 0], Watching.seen[2].Y[12:28, 0])
