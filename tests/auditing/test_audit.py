"""Audits of real studies."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import optuna
import pytest

import calibo
from calibo.auditing.audit import LIMITS, START, Audit, audit
from calibo.auditing.forecasters import has_botorch
from calibo.errors import ArgumentError, DataError, FallbackWarning, MissingExtra, StudyError
from tests.auditing.conftest import made_by_tpe, mixed


@pytest.fixture(scope="module")
def found(study: optuna.Study) -> Audit:
    return audit(study, methods=["ocbo"], progress=False)


def test_the_table_has_every_forecaster_on_the_same_results(found: Audit) -> None:
    frame = found.to_frame().set_index("forecaster")
    assert set(frame.index) == {"ocbo", "gp_ei"} and (frame["results"] == 24 - START).all()
    assert frame.loc["gp_ei", "relative_crps"] == 1.0 and frame.loc["gp_ei", "compared"] == "reference"
    assert (frame["low_80"] <= frame["coverage_80"]).all() and (frame["coverage_80"] <= frame["high_80"]).all()
    assert found.headline().startswith("Of 2 forecasters judged on 19 results, ")
    assert found.sentences()[-1] == LIMITS


def test_it_prints_in_80_columns(found: Audit) -> None:
    lines = repr(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("gp_ei ") for line in lines) and "What a replay cannot show" in repr(found)
    assert "<table" in found._repr_html_() and "What a replay cannot show" in found._repr_html_()


def test_history_has_every_forecast_in_the_users_sign(study: optuna.Study, found: Audit) -> None:
    history = found.history()
    raw = history[history["forecaster"] == "gp_ei"]
    assert raw["number"].tolist() == list(range(START, 24))
    assert raw["value"].tolist() == [trial.value for trial in study.trials[START:]]
    inside = ((raw["low_80"] <= raw["value"]) & (raw["value"] <= raw["high_80"])).mean()
    assert inside == pytest.approx(found.to_frame().set_index("forecaster").loc["gp_ei", "coverage_80"])


def test_directions_are_mirror_images(study: optuna.Study, found: Audit) -> None:
    mirrored = optuna.create_study(direction="maximize")
    for trial in study.trials:
        mirrored.add_trial(
            optuna.trial.create_trial(params=trial.params, distributions=trial.distributions, value=-trial.values[0])
        )
    other = audit(mirrored, methods=["ocbo"], progress=False).to_frame()
    assert np.allclose(other["crps"], found.to_frame()["crps"])
    assert other["coverage_80"].tolist() == found.to_frame()["coverage_80"].tolist()


def test_stored_forecasts_are_judged_too() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=calibo.CalibratedSampler("gp_ei", seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", -1, 2) - 0.4) ** 2, n_trials=16)
    found = audit(study, methods=["stored"], progress=False)
    frame = found.to_frame().set_index("forecaster")
    assert "stored with the trials before they ran, by gp_ei" in frame.loc["stored", "about"]
    # The same forecaster replayed, but for hyperparameters that were fitted from other starts.
    assert frame.loc["stored", "relative_crps"] == pytest.approx(1.0, abs=0.1)
    assert "stored" not in audit(study, methods=["gp_ei"], progress=False).forecasts
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    study.optimize(lambda trial: (trial.suggest_float("x", -1, 2) - 0.4) ** 2, n_trials=4)
    later = audit(study, methods=["stored"], progress=False)
    assert later.notes()[1].startswith(f"stored made {frame.loc['stored', 'results']} of 15 forecasts: its coverage")
    assert set(audit(study, methods={"then": "stored"}, progress=False).forecasts) == {"gp_ei", "then"}


def test_what_is_no_study_and_no_path(found: Audit) -> None:
    with pytest.raises(
        StudyError, match=r"expected a study or its storage, got None: give what create_study\(\) returned"
    ):
        audit(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="write_forecasters: path must be"):
        found.report(None)  # pyright: ignore[reportArgumentType]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_outcomes_are_judged_as_they_were_learned_from() -> None:
    def penalized(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -1, 1)
        return sys.float_info.max if trial.number in (3, 7, 9) else x**2

    with pytest.warns(FallbackWarning, match="beyond 1e\\+300 count as that"):
        frame = audit(made_by_tpe(penalized, 16), methods=["gp_ei", "ocbo"], progress=False).to_frame()
    scores = frame[["crps", "relative_crps", "interval_score_80", "relative_interval_score_80"]]
    assert np.isfinite(scores.to_numpy()).all()


def test_a_study_without_stored_forecasts(study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    # The package has the function under the name of the module.
    monkeypatch.setattr(
        sys.modules["calibo.auditing.audit"], "replayed", lambda *_, **__: pytest.fail("replayed before it is known")
    )
    with pytest.raises(DataError, match="has a stored forecast"):
        audit(study, methods=["stored"], progress=False)


def test_from_a_storage_by_name(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    made_by_tpe(mixed, 12, storage=storage, study_name="mine")
    by_name = audit(tmp_path / "studies.db", "mine", methods=["gp_ei"], progress=False)
    alone = audit(storage, methods=["gp_ei"], progress=False)
    assert by_name.to_frame().equals(alone.to_frame())
    with pytest.raises(StudyError, match="no study 'yours'"):
        audit(storage, "yours", methods=["gp_ei"])
    mine = optuna.load_study(storage=storage, study_name="mine")
    with pytest.raises(StudyError, match="the study given is 'mine', not 'yours'"):
        audit(mine, "yours", methods=["gp_ei"])


def test_the_report_is_one_file(found: Audit, tmp_path: Path) -> None:
    path = found.report(tmp_path / "audit.html")
    text = path.read_text(encoding="utf-8")
    assert (
        "Audit of study" in text and LIMITS.replace("'", "&#x27;") in text and "src=" not in text.split("<script>")[0]
    )
    assert len(found.figure().data) > 4
    with pytest.raises(StudyError, match="cannot be written"):
        found.report(tmp_path / "missing" / "audit.html")


def test_a_progress_bar_on_request(study: optuna.Study, capsys: pytest.CaptureFixture[str]) -> None:
    audit(study, methods=["gp_ei"], progress=True)
    assert "19 of 19 trials" in capsys.readouterr().err


@pytest.mark.extras
def test_botorch_is_a_forecaster(study: optuna.Study) -> None:
    found = audit(study, methods=["botorch"], progress=False)
    frame = found.to_frame().set_index("forecaster")
    assert set(frame.index) == {"botorch", "gp_ei"} and 0.3 < frame.loc["botorch", "relative_crps"] < 3.0


@pytest.mark.skipif(has_botorch(), reason="BoTorch is installed")
def test_botorch_without_its_extra(study: optuna.Study) -> None:
    with pytest.raises(MissingExtra, match="calibo\\[botorch\\]"):
        audit(study, methods=["botorch"], progress=False)
