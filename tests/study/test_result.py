"""Results: the best, the history, predictions and calibration, from a run or from its storage alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest

from calibo.errors import DataError, StudyError
from calibo.methods import ocbo
from calibo.search import RandomDraw
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace, Space
from calibo.study import CalibratedSampler, Interrupted, Result, load_result, maximize, minimize, open_storage
from calibo.trials import Direction

SPACE = {"x": Float(-5.0, 10.0), "k": Int(0, 6), "s": Ordinal(["s", "m", "l"])}
OCBO = ocbo(search=RandomDraw(64, 32))


def _objective(params: dict[str, Any]) -> float:
    return (params["x"] - 1.0) ** 2 + params["k"] + "sml".index(params["s"])


@pytest.fixture(scope="module")
def result() -> Result:
    return minimize(_objective, SPACE, n_trials=14, method=OCBO, seed=4, progress=False)


def test_the_history_has_a_row_for_every_trial(result: Result) -> None:
    history = result.history
    assert history is result.history
    assert list(history["number"]) == list(range(14))
    assert set(history["state"]) == {"complete"}
    values = [_objective({name: row[f"params_{name}"] for name in SPACE}) for _, row in history.iterrows()]
    assert list(history["value"]) == values
    assert history["forecast_mean"].isna().tolist() == [True] * 3 + [False] * 11
    made = history[3:]
    quantiles = ["forecast_q2.5", "forecast_q10", "forecast_q50", "forecast_q90", "forecast_q97.5"]
    assert (made[quantiles].diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    last = result.trials[-1].forecast
    assert last is not None
    assert made["raw_mean"].iloc[-1] == last.raw.mean
    assert made["forecast_q90"].iloc[-1] == last.calibrated.icdf(0.9)
    assert (history["finished"] >= history["started"]).all()


def test_the_best_trial_may_have_been_told_without_its_parameters(tmp_path: Path) -> None:
    sampler = CalibratedSampler("gp_ei", seed=0, space={"x": Float(0.0, 1.0)})
    study = optuna.create_study(storage=open_storage(tmp_path / "a.db"), study_name="s", sampler=sampler)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0.0, 1.0))
    study.tell(study.ask(), -5.0)
    found = load_result(tmp_path / "a.db", "s", space={"x": Float(0.0, 1.0)}, method="gp_ei")
    assert found.best_value == -5.0 and found.best_params == {}
    assert found.report(tmp_path / "r.html").exists()


def test_predictions_are_in_the_users_sign(result: Result) -> None:
    points = [result.best_params, {"x": 10.0, "k": 6, "s": "l"}]
    table = result.predict(points)
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 2
    assert table["mean"][0] < 10.0 < table["mean"][1]
    assert (table["measured_low_80"] <= table["measured_high_80"]).all()
    mirrored = maximize(lambda p: -_objective(p), SPACE, n_trials=14, method=OCBO, seed=4, progress=False)
    assert [e.params for e in mirrored.trials] == [e.params for e in result.trials]
    pairs = [(e.forecast, m.forecast) for e, m in zip(result.trials, mirrored.trials, strict=True) if e.forecast]
    assert all(m is not None and e.raw.mean == pytest.approx(-m.raw.mean, rel=1e-9) for e, m in pairs)
    assert max(e.raw.mean for e, _ in pairs) > 10.0  # a large value was expected of a bad point, in the user's sign
    highs = (-mirrored.predict(points)["measured_low_80"]).tolist()
    assert highs == pytest.approx(table["measured_high_80"].tolist(), rel=1e-9)


def test_a_study_is_read_from_its_storage_alone(tmp_path: Path) -> None:
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    run = minimize(_objective, SPACE, 7, "gp_ei", seed=1, progress=False, **kept)
    before = (tmp_path / "a.db").read_bytes()
    read = load_result(tmp_path / "a.db")
    assert read.trials == run.trials
    assert (read.method, read.seed, read.directions, read.space) == ("gp_ei", 1, (Direction.MINIMIZE,), run.space)
    points = [read.best_params]
    pd.testing.assert_frame_equal(read.predict(points), run.predict(points))
    assert (tmp_path / "a.db").read_bytes() == before


def test_the_result_of_a_study_at_hand() -> None:
    """One in memory has no storage that could be named."""
    study = optuna.create_study(
        study_name="s", sampler=CalibratedSampler("gp_ei", seed=0, space={"x": Float(0.0, 1.0)})
    )
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=5)
    found = load_result(study)
    assert found.best_params == study.best_params and found.trials[-1].forecast is not None
    with pytest.raises(StudyError, match="the study given is 's', not 't'"):
        load_result(study, "t")


def test_a_study_of_another_version_is_neither_read_nor_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    with monkeypatch.context() as earlier:
        earlier.setattr("calibo.study.attributes.VERSION", 1)
        minimize(_objective, SPACE, 2, "gp_ei", seed=1, progress=False, **kept)
        sampled = optuna.create_study(
            storage=open_storage(tmp_path / "b.db"), sampler=CalibratedSampler("gp_ei", space=SPACE)
        )
        sampled.ask().suggest_float("x", -5.0, 10.0)
    for method in (None, "gp_ei"):
        with pytest.raises(StudyError, match="format version 1, and this calibo reads version 2"):
            load_result(**kept, method=method)
        with pytest.raises(StudyError, match="format version 1"):
            minimize(_objective, SPACE, 1, method, progress=False, **kept)
        with pytest.raises(StudyError, match="format version 1"):
            load_result(tmp_path / "b.db", method=method)
    with pytest.raises(StudyError, match="format version 1"):
        sampled.ask().suggest_float("x", -5.0, 10.0)


class Circle(Space):
    names = ("angle",)
    columns = (Float(0.0, 2.0 * math.pi),)

    def encode(self, params: Any) -> Any:
        return self.from_values([{"angle": math.atan2(p["y"], p["x"]) % (2.0 * math.pi)} for p in params])

    def decode(self, X: Any) -> list[dict[str, Any]]:
        return [{"x": math.cos(v["angle"]), "y": math.sin(v["angle"])} for v in self.values(X)]


@pytest.mark.parametrize(
    ("space", "columns"),
    [(Circle(), ["angle"]), (PoolSpace([{"x": i, "y": i / 20} for i in range(20)], features=["y"]), ["y"])],
    ids=["own decode", "pool"],
)
def test_trials_have_the_parameters_that_the_objective_took(space: Space, columns: list[str], tmp_path: Path) -> None:
    taken: list[dict[str, Any]] = []

    def objective(params: dict[str, Any]) -> float:
        taken.append(dict(params))
        if len(taken) == 7:
            raise KeyboardInterrupt
        return params["x"]

    with pytest.raises(Interrupted) as caught:
        minimize(objective, space, 8, "gp_ei", seed=0, progress=False)
    result = caught.value.result
    assert [trial.params for trial in result.trials] == taken and list(taken[0]) == ["x", "y"]
    assert len(result.predict([trial.params for trial in result.trials])) == 7
    assert [name for name in result.history.columns if name.startswith("params_")] == [f"params_{n}" for n in columns]
    assert len(result.report_data()) == 6 == len(result.report_data().expected_best or ())
    assert result.report(tmp_path / "r.html").exists()


def test_what_a_storage_does_not_tell(tmp_path: Path) -> None:
    space = {"x": Float(0, 1), "layers": Categorical([(1,), (2,)])}
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    run = minimize(lambda p: p["x"] * len(p["layers"]), space, 6, method=OCBO, seed=1, progress=False, **kept)
    read = load_result(**kept)
    assert read.best_value == run.best_value
    assert read.best_params["layers"] == repr(run.best_params["layers"])
    with pytest.raises(StudyError, match=r"the space of study 's' is not known.*space=\.\.\."):
        read.predict([run.best_params])
    with pytest.raises(StudyError, match=r"the method of study 's' is not known.*method=\.\.\."):
        load_result(**kept, space=space).predict([run.best_params])
    told = load_result(**kept, space=space, method=OCBO)
    assert told.best_params == run.best_params
    assert told.predict([run.best_params])["mean"][0] == run.predict([run.best_params])["mean"][0]


def test_a_study_without_a_completed_trial(tmp_path: Path) -> None:
    optuna.create_study(storage=open_storage(tmp_path / "a.db"), study_name="s")
    read = load_result(tmp_path / "a.db", "s")
    with pytest.raises(DataError, match="no trial is complete yet"):
        read.best_value
    assert "0 of 0 trials" in repr(read)
    assert len(read.history) == 0
    assert read.calibration().rows[0].of == 0


def test_a_study_that_only_a_sampler_made_can_be_read_with_its_method_and_space(tmp_path: Path) -> None:
    study = optuna.create_study(
        storage=open_storage(tmp_path / "a.db"), sampler=CalibratedSampler("gp_ei", seed=0), study_name="s"
    )
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2 + trial.suggest_int("n", 1, 3), n_trials=7)
    found = load_result(tmp_path / "a.db")
    assert found.method == "gp_ei" and found.space == ProductSpace({"n": Int(1, 3), "x": Float(0.0, 1.0)})
    assert len(found.predict([found.best_params])) == 1 and found.best_params == study.best_params
    assert found.calibration().rows[0].of == sum(trial.forecast is not None for trial in found.trials) > 0
    assert sum(row.of for row in found.calibration_by_place().rows) > 0
    assert [one.name for one in found.report_data().objectives[0].slices] == ["n", "x"]


def test_results_are_shown_in_words_and_as_a_table(result: Result) -> None:
    assert _objective(result.best_params) == result.best_value == result.history["value"].min()
    # Nobody has given it a name.
    assert repr(result).startswith("Result(14 of 14 trials complete, best value ")
    assert result.title == "Study without a name" and "no-name" not in result._repr_html_()
    shown = result._repr_html_()
    assert "14 of 14 trials complete" in shown and "The latest 10:" in shown and shown.count("<svg") == 10
    both = minimize(
        lambda p: (p["x"], -p["x"]), {"x": Float(0, 1)}, 2, "gp_ei", progress=False, directions=["min", "max"]
    )
    assert "2 of 2 trials complete, 1 on the Pareto front" in repr(both) and "<table" in both._repr_html_()
