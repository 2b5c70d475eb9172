"""Stopping rules in studies: the run ends, the reason is stored, and a resumed study decides the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo import CalibratedSampler, Float, Optimizer, Patience, RegretBelow, StopWhen, maximize, methods, minimize
from calibo.errors import RecipeError
from calibo.search import RandomDraw
from calibo.study import Interrupted, Result, load_result, open_storage

SPACE = {"x": Float(-1.0, 1.0)}
OCBO, GP_EI = methods.ocbo(search=RandomDraw(64, 32)), methods.gp_ei(search=RandomDraw(64, 32))


def bowl(params: dict[str, Any]) -> float:
    return (params["x"] - 0.3) ** 2


def run(n_trials: int = 40, **options: Any) -> Result:
    return minimize(bowl, SPACE, n_trials, **{"method": OCBO, "seed": 3, "progress": False} | options)


def test_a_run_ends_as_soon_as_the_regret_is_small(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="calibo"):
        result = run(stop=RegretBelow(0.05))
    assert f"stopped: {result.stopped}" in caplog.messages
    assert 5 <= len(result.trials) < 40
    assert result.stopped is not None
    assert result.stopped.startswith(f"after {len(result.trials)} results, with probability 0.9")
    assert result.best_value < 0.05
    # The rule said no after every trial before.
    optimizer = Optimizer(SPACE, OCBO, seed=3)
    for number in range(len(result.trials)):
        assert not optimizer.stopping(RegretBelow(0.05)).stop
        suggestion = optimizer.ask()
        assert suggestion.params == result.trials[number].params
        optimizer.tell(suggestion, bowl(dict(suggestion.params)))
    assert optimizer.stopping(RegretBelow(0.05)).sentence == result.stopped


def test_without_a_rule_nothing_is_stopped() -> None:
    assert run(6).stopped is None
    assert run(6, stop=RegretBelow(1e-9)).stopped is None


def test_maximize_and_a_list_of_rules() -> None:
    result = maximize(lambda p: 1.0, SPACE, 40, GP_EI, seed=0, progress=False, stop=[RegretBelow(1e-9), Patience(4)])
    assert result.stopped == "no improvement in the last 4 trials"
    assert len(result.trials) == 5


def test_a_resumed_study_decides_as_one_that_was_never_interrupted(tmp_path: Path) -> None:
    rule = RegretBelow(0.05)
    whole = run(stop=rule)
    where: dict[str, Any] = {"storage": str(tmp_path / "study.db"), "study_name": "parts", "stop": rule}
    parts = run(4, **where)
    assert parts.stopped is None
    while parts.stopped is None:
        parts = run(2, **where)
    assert [t.params for t in parts.trials] == [t.params for t in whole.trials]
    assert parts.stopped == whole.stopped
    assert load_result(where["storage"], "parts").stopped == whole.stopped


def test_a_study_that_is_done_stays_as_it_is_until_more_is_asked_for(tmp_path: Path) -> None:
    where: dict[str, Any] = {"storage": str(tmp_path / "study.db"), "study_name": "done"}
    first = run(stop=RegretBelow(0.05), **where)
    again = run(stop=RegretBelow(0.05), **where)
    assert len(again.trials) == len(first.trials)
    assert again.stopped == first.stopped
    more = run(2, **where)
    assert len(more.trials) == len(first.trials) + 2
    assert more.stopped is None
    assert load_result(where["storage"], "done").stopped is None


def test_a_worker_that_comes_late_leaves_the_reason_as_it_is(tmp_path: Path) -> None:
    where: dict[str, Any] = {"storage": str(tmp_path / "study.db"), "study_name": "stopped"}
    first = run(stop=Patience(1), **where)
    late = run(2, total=len(first.trials), **where)
    assert len(late.trials) == len(first.trials)
    assert late.stopped == first.stopped == load_result(where["storage"], "stopped").stopped
    # A trial that waits changes nothing either, but one that is begun does.
    study = optuna.load_study(study_name="stopped", storage=open_storage(where["storage"]))
    study.enqueue_trial({"x": 0.5})
    assert load_result(where["storage"], "stopped").stopped == first.stopped
    study.ask()
    assert load_result(where["storage"], "stopped").stopped is None


def test_the_reason_survives_an_interruption_of_a_later_run(tmp_path: Path) -> None:
    def stops(params: dict[str, Any]) -> float:
        raise KeyboardInterrupt

    where: dict[str, Any] = {"storage": str(tmp_path / "study.db"), "study_name": "stopped"}
    run(stop=Patience(1), **where)
    with pytest.raises(Interrupted) as caught:
        minimize(stops, SPACE, 3, OCBO, seed=3, progress=False, **where)
    assert caught.value.result.stopped is None


def test_the_bar_shows_how_sure_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    run(7, stop=RegretBelow(1e-9), progress=True)
    assert "sure=0.00" in capsys.readouterr().err


@pytest.mark.parametrize("options", [{"directions": ["minimize", "maximize"]}, {"method": "bore"}])
def test_a_rule_that_cannot_work_is_refused_before_the_first_trial(options: dict[str, Any]) -> None:
    def never(params: dict[str, Any]) -> float:
        raise AssertionError

    with pytest.raises(RecipeError, match="RegretBelow (is for one objective|needs a predictive)"):
        minimize(never, SPACE, 5, progress=False, stop=RegretBelow(0.1), **options)


def test_a_resumed_study_of_another_method_is_checked_too(tmp_path: Path) -> None:
    where: dict[str, Any] = {"storage": str(tmp_path / "study.db"), "study_name": "lfbo", "progress": False}
    minimize(bowl, SPACE, 5, "bore", seed=0, **where)
    with pytest.raises(RecipeError, match="bore has none"):
        minimize(bowl, SPACE, 5, stop=RegretBelow(0.1), **where)
    assert len(load_result(where["storage"], "lfbo").trials) == 5


class TestStopWhen:
    @pytest.fixture(autouse=True)
    def quiet(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def test_a_study_of_optunas(self) -> None:
        study = optuna.create_study(sampler=CalibratedSampler(OCBO, seed=0))
        watching = StopWhen([RegretBelow(0.05), Patience(30)])
        study.optimize(lambda t: (t.suggest_float("x", -1, 1) - 0.3) ** 2, n_trials=40, callbacks=[watching])
        assert len(study.trials) < 40
        assert watching.verdict.stop
        assert study.best_value < 0.05

    def test_failures_before_the_first_result(self) -> None:
        study = optuna.create_study(sampler=CalibratedSampler(OCBO, seed=0))

        def fails(trial: optuna.Trial) -> float:
            trial.suggest_float("x", -1, 1)
            raise ValueError

        watching = StopWhen(Patience(1))
        study.optimize(fails, n_trials=2, callbacks=[watching], catch=(ValueError,))
        assert watching.verdict.sentence == "there is no result yet"

    def test_another_sampler_is_refused(self) -> None:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        with pytest.raises(RecipeError, match="RandomSampler: make the study with"):
            study.optimize(lambda t: t.suggest_float("x", -1, 1), n_trials=1, callbacks=[StopWhen(Patience(1))])

    @pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
    def test_a_space_with_branches_is_judged_as_a_whole(self) -> None:
        def objective(trial: optuna.Trial) -> float:
            if trial.suggest_categorical("kind", ["x", "y"]) == "x":
                return trial.suggest_float("x", -1, 1) ** 2
            return 1.0 + trial.suggest_float("y", 0, 1)

        study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0))
        stop = StopWhen(RegretBelow(0.3))
        study.optimize(objective, n_trials=30, callbacks=[stop])
        assert len(study.trials) < 30 and stop.verdict.probability is not None
        assert study.best_value < 0.3
