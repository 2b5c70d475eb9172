"""Reports of studies, with several objectives, constraints, and methods without forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from calibo import Float, Outcome, minimize
from calibo.errors import CaliboWarning, DataError, ObjectiveError, RecipeError, StudyError, TrialFailedWarning
from calibo.methods import gp_ei, ocbo
from calibo.models import GaussianProcess
from calibo.pareto import hypervolume
from calibo.search import RandomDraw
from calibo.spaces import Space
from calibo.study import CalibratedSampler, load_result

SPACE = {"a": Float(0, 1), "b": Float(0, 1)}
OCBO, GP_EI = ocbo(search=RandomDraw(64, 32)), gp_ei(search=RandomDraw(64, 32))


def goals(params: dict[str, Any]) -> tuple[float, float]:
    return params["a"] + (params["b"] - 0.3) ** 2, (params["a"] - 0.8) ** 2 + params["b"]


def limited(params: dict[str, Any]) -> Outcome:
    return Outcome(params["a"] - params["b"], {"low": 0.3 - params["a"], "high": params["b"] - 0.6})


def test_two_objectives_from_a_storage(tmp_path: Path) -> None:
    where = dict(storage=tmp_path / "s.db", study_name="s", directions=["minimize", "minimize"], progress=False)
    first = minimize(goals, SPACE, n_trials=9, method="ocbo", seed=1, reference=(2.0, 1.5), **where)  # type: ignore[arg-type]
    again = minimize(goals, SPACE, n_trials=3, method="ocbo", **where)  # type: ignore[arg-type]
    assert again.reference == (2.0, 1.5) and len(again.trials) == 12
    read = load_result(tmp_path / "s.db")
    front = read.pareto_front
    Y = -front[["value_0", "value_1"]].to_numpy()
    volumes = read.hypervolume()
    assert volumes.iloc[-1] == pytest.approx(hypervolume(Y, np.array([-2.0, -1.5])))
    assert (np.diff(volumes) >= -1e-12).all() and len(volumes) == 12
    assert {t.number for t in read.study.best_trials} == set(front["number"])
    assert {"value_0", "value_1", "forecast_0_mean", "raw_1_q97.5"} <= set(read.history.columns)
    assert "on the Pareto front" in repr(read)
    with pytest.raises(RecipeError, match="ask for pareto_front"):
        first.best_value
    assert {"0_mean", "1_mean_high_95"} <= set(read.predict([{"a": 0.5, "b": 0.5}]).columns)
    data = read.report_data()
    assert len(data.objectives) == 2 and data.reference == (2.0, 1.5)
    assert read.report(tmp_path / "r.html").stat().st_size > 10_000
    with pytest.raises(StudyError, match="minimizes and minimizes, but you asked to minimize and maximize"):
        minimize(goals, SPACE, 1, storage=tmp_path / "s.db", study_name="s", directions=["min", "max"], progress=False)


def test_constraints_returned_by_the_objective(tmp_path: Path) -> None:
    result = minimize(limited, SPACE, n_trials=14, method=OCBO, seed=1, storage=tmp_path / "s.db", progress=False)
    assert result.constraints == ("high", "low")
    assert result.best_params["a"] >= 0.3 and result.best_params["b"] <= 0.6
    assert {"value", "constraint_high", "forecast_mean", "forecast_constraint_high_mean"} <= set(result.history.columns)
    assert sum(row.of for row in result.feasibility().rows) == 11
    assert result.calibration("low").rows[0].of == 11
    with pytest.raises(RecipeError, match="no constraint 'other'"):
        result.calibration("other")
    assert [one.name for one in result.report_data().constraints] == ["high", "low"]
    assert result.report(tmp_path / "r.html").exists()
    assert "feasible" in result.predict([{"a": 0.5, "b": 0.5}]).columns


@pytest.mark.parametrize("method", [OCBO, GP_EI], ids=["ocbo", "gp_ei"])
def test_a_report_fits_the_model_of_each_outcome_once(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def objective(params: dict[str, Any]) -> Outcome:
        return Outcome(goals(params), {"low": 0.1 - params["a"]})

    result = minimize(objective, SPACE, 6, method=method, directions=["min", "min"], seed=0, progress=False)
    fits: list[int] = []
    fit = GaussianProcess.fit

    def counted(self: GaussianProcess, data: Any, **given: Any) -> Any:
        fits.append(len(data))
        return fit(self, data, **given)

    monkeypatch.setattr(GaussianProcess, "fit", counted)
    data = result.report_data()
    assert fits == [6, 6, 6]
    assert all(len(objective.slices) == 2 for objective in data.objectives)
    result.predict([{"a": 0.5, "b": 0.5}])
    assert len(fits) == 3


def test_a_report_of_a_space_of_ones_own(tmp_path: Path) -> None:
    class Half(Space):
        """Pairs of which the second is not larger than the first."""

        names = ("a", "b")  # type: ignore[assignment]
        columns = (Float(0, 1), Float(0, 1))  # type: ignore[assignment]

        def encode(self, params: Any) -> np.ndarray:
            return self.from_values(params)

        def decode(self, X: Any) -> list[dict[str, Any]]:
            return self.values(X)

        def valid(self, X: np.ndarray) -> np.ndarray:
            return X[:, 1] <= X[:, 0]

    result = minimize(lambda p: p["a"] - p["b"] ** 2, Half(), 6, method=GP_EI, seed=0, progress=False)
    best = result.best_params
    first, second = result.report_data().objectives[0].slices
    assert min(first.values) >= best["b"] and max(second.values) <= best["a"]
    assert result.report(tmp_path / "r.html").exists()


def test_constraints_set_in_an_optuna_objective() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=CalibratedSampler(OCBO, seed=0, space=SPACE)
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        a, b = trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)
        trial.set_constraint("sum", a + b - 1.0)
        return a**2 + b, b - a * b

    study.optimize(objective, n_trials=12)
    read = load_result(study._storage, method=OCBO)
    assert all(row <= 0.0 for row in read.pareto_front["constraint_sum"])
    assert read.calibration("sum").rows[0].of == read.calibration(1).rows[0].of == 9
    assert read.data().constraints == 1


def test_nothing_feasible_has_no_best() -> None:
    result = minimize(lambda p: Outcome(p["a"], {"c": 1.0 + p["b"]}), SPACE, 5, method=GP_EI, seed=0, progress=False)
    with pytest.raises(DataError, match="none of 5 complete trials meets all constraints"):
        result.best_value
    assert "best" not in repr(result) and len(result.pareto_front) == 0
    assert result.report_data().objectives[0].slices == ()


def test_a_pool_has_no_slices() -> None:
    pool = minimize(lambda row: row["x"], [{"x": i / 3} for i in range(9)], 4, GP_EI, progress=False)
    assert pool.report_data().objectives[0].slices == ()


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ((1.0,), "must return 2 finite numbers"),
        ((1.0, float("nan")), "must return 2 finite numbers"),
        (Outcome((1.0, 2.0), {"c": float("nan")}), "constraint 'c'"),
        (Outcome((1.0, 2.0), sem=(0.1, -1.0)), "standard error"),
    ],
)
def test_wrong_outcomes_fail_the_trial(returned: Any, reason: str) -> None:
    with pytest.warns(TrialFailedWarning), pytest.raises(ObjectiveError, match=f"none of 5 trials succeeded.*{reason}"):
        minimize(lambda p: returned, SPACE, 8, method=GP_EI, seed=0, progress=False, directions=["min", "min"])


@pytest.mark.parametrize("method", ["lfbo", "bore"])
def test_a_method_without_forecasts_says_so_instead_of_waiting(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from calibo.cli.output import show_result

    result = minimize(lambda p: goals(p)[0], SPACE, 8, method=method, seed=0, progress=False)
    assert all(entry.forecasts is None for entry in result.trials)
    show_result(result)
    printed = capsys.readouterr().out
    assert (
        "makes no forecasts" in printed
        and "cannot be judged yet" not in printed
        and "not yet calibrated" not in printed
    )
    page = result.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "makes no forecasts" in page and "no trial with a forecast has a result" not in page
    with pytest.raises(RecipeError, match="without a predictive distribution"):
        result.predict([{"a": 0.1, "b": 0.2}])


def test_a_reference_point_of_any_array_is_kept_and_a_change_is_announced(tmp_path: Path) -> None:
    where = dict(storage=tmp_path / "s.db", study_name="s", directions=["min", "min"], progress=False, method="gp_ei")
    first = minimize(goals, SPACE, 2, seed=0, reference=np.array([2, 3], dtype=np.float32), **where)  # type: ignore[arg-type]
    assert first.reference == (2.0, 3.0)
    with pytest.warns(CaliboWarning, match="goes on with the reference point"):
        assert minimize(goals, SPACE, 1, reference=(2.5, 3.0), **where).reference == (2.5, 3.0)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="one finite value for each"):
        minimize(goals, SPACE, 1, reference=(1.0,), **where)  # type: ignore[arg-type]


def named_goals(params: dict[str, Any]) -> dict[str, float]:
    cost, loss = goals(params)
    return {"loss": loss, "cost": cost}


def test_names_of_objectives_are_stored_and_shown(tmp_path: Path) -> None:
    where = dict(storage=tmp_path / "s.db", study_name="s", progress=False)
    ways = {"cost": "minimize", "loss": "minimize"}
    minimize(named_goals, SPACE, n_trials=6, method="ocbo", seed=1, directions=ways, **where)  # type: ignore[arg-type]
    # The names of the study hold where none are given.
    again = minimize(named_goals, SPACE, n_trials=2, directions=["minimize"] * 2, **where)  # type: ignore[arg-type]
    assert again.names == ("cost", "loss") and len(again.trials) == 8
    assert again.study.metric_names == ["cost", "loss"]
    read = load_result(tmp_path / "s.db")
    assert {"value_cost", "value_loss", "forecast_cost_mean", "raw_loss_q97.5"} <= set(read.history.columns)
    assert {"cost_mean", "loss_mean_high_95"} <= set(read.predict([{"a": 0.5, "b": 0.5}]).columns)
    assert read.calibration("loss").headline() == read.calibration(1).headline()
    values = read.trials[0].values
    assert values == pytest.approx(goals(dict(read.trials[0].params)))
    page = read.report(tmp_path / "report.html").read_text()
    assert "Objective: cost" in page and "objective 0" not in page
    assert [one.name for one in read.report_data().objectives] == ["cost", "loss"]
    with pytest.raises(StudyError, match="'cost', 'loss', but you gave 'loss', 'cost'"):
        minimize(goals, SPACE, 1, directions={"loss": "min", "cost": "min"}, **where)  # type: ignore[arg-type]


def test_values_by_wrong_names_are_failures() -> None:
    ways = {"cost": "minimize", "time": "minimize"}
    with pytest.warns(TrialFailedWarning), pytest.raises(ObjectiveError, match="exactly the names of the objectives"):
        minimize(named_goals, SPACE, 3, "gp_ei", directions=ways, progress=False)


def test_standard_errors_by_name() -> None:
    def noisy(params: dict[str, Any]) -> Outcome:
        return Outcome(named_goals(params), sem={"loss": 0.1, "cost": 0.2})

    result = minimize(noisy, SPACE, 2, "gp_ei", directions={"cost": "min", "loss": "min"}, progress=False)
    assert result.trials[0].sem == (0.2, 0.1)
    assert list(result.history[["sem_cost", "sem_loss"]].iloc[0]) == [0.2, 0.1]
