"""Numbers of trials for loggers."""

from __future__ import annotations

import pytest

from calibo import Float, Outcome, minimize
from calibo.study import trial_metrics


def test_several_objectives_constraints_and_noise() -> None:
    def objective(params: dict[str, float]) -> Outcome:
        x = params["x"]
        return Outcome({"error": x, "speed": -x}, {"memory": x - 2}, {"error": 0.1, "speed": 0.2})

    ways = {"error": "minimize", "speed": "maximize"}
    result = minimize(objective, {"x": Float(0, 1)}, 7, "gp_ei", seed=0, directions=ways, progress=False)
    first, last = (trial_metrics(result.study, result.study.trials[number]) for number in (0, -1))
    observed = {"value_error", "value_speed", "sem_error", "sem_speed", "constraint_memory"}
    assert set(first) == observed
    numbers = {f"forecast_{name}_{what}" for name in ("error", "speed") for what in ("mean", "low_80", "high_80")}
    limits = {f"forecast_constraint_memory_{what}" for what in ("mean", "low_80", "high_80")}
    inside = {"inside_error_80", "inside_speed_80", "inside_constraint_memory_80"}
    assert set(last) == observed | numbers | limits | inside
    forecast = result.trials[-1].forecasts[1].calibrated  # pyright: ignore
    assert (last["forecast_speed_low_80"], last["forecast_speed_high_80"]) == tuple(forecast.interval(0.8))
    assert last["inside_speed_80"] == float(
        forecast.interval(0.8)[0] <= last["value_speed"] <= forecast.interval(0.8)[1]
    )


@pytest.mark.filterwarnings("ignore::calibo.errors.TrialFailedWarning")
def test_a_failed_trial_has_no_value() -> None:
    def objective(params: dict[str, float]) -> float:
        if params["x"] < 0.6:
            raise ValueError
        return 1.0

    result = minimize(objective, {"x": Float(0, 1)}, 4, "gp_ei", seed=0, progress=False)
    failed = [trial_metrics(result.study, result.study.trials[trial.number]) for trial in result.failures]
    assert failed and all(one == {} for one in failed)
