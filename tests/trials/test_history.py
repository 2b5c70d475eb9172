from __future__ import annotations

import math

from calibo.data import Forecast, Marginal, Suggestion
from calibo.trials import State, Trial, history_table
from calibo.trials.history import LEVELS

FORECAST = Forecast((Marginal(1.0, 2.0), Marginal(3.0, 0.5)), ("a", "b"))


def test_one_objective_has_plain_names() -> None:
    done = Trial(Suggestion({"x": 1}, forecasts=(FORECAST,), number=0), State.COMPLETE, (0.5,))
    table = history_table([done, Trial(Suggestion({"x": 2}, number=1), State.FAILED, error="no")], 1)
    assert list(table.columns[:3]) == ["number", "state", "value"] and table["params_x"].tolist() == [1, 2]
    assert table["state"].tolist() == ["complete", "failed"]
    assert (table["forecast_mean"][0], table["raw_mean"][0]) == (3.0, 1.0)
    assert table["forecast_q50"][0] == 3.0 and math.isnan(table["forecast_q50"][1]) and len(LEVELS) == 5
    assert math.isnan(table["value"][1]) and table["error"][1] == "no"


def test_several_objectives_and_constraints_never_share_a_column() -> None:
    suggestion = Suggestion({"x": 1}, forecasts=(FORECAST, FORECAST, FORECAST), number=0, constraints=("0",))
    trial = Trial(suggestion, State.COMPLETE, (0.5, 7.0), constraints={"0": -1.0, "late": 2.0})
    table = history_table([trial], 2)
    assert table.columns.is_unique
    assert table[["value_0", "value_1", "constraint_0", "constraint_late"]].iloc[0].tolist() == [0.5, 7.0, -1.0, 2.0]
    assert table["forecast_constraint_0_mean"][0] == 3.0 and math.isnan(table["forecast_constraint_late_mean"][0])


def test_standard_errors_are_shown_if_any_trial_has_one() -> None:
    one = Trial(Suggestion({"x": 1}, number=0), State.COMPLETE, (0.5,), sem=(0.25,))
    bare = Trial(Suggestion({"x": 2}, number=1), State.COMPLETE, (1.5,))
    table = history_table([one, bare], 1)
    assert list(table.columns[:4]) == ["number", "state", "value", "sem"]
    assert table["sem"][0] == 0.25 and math.isnan(table["sem"][1])
    assert "sem" not in history_table([bare], 1).columns
    two = Trial(Suggestion({"x": 1}, number=0), State.COMPLETE, (0.5, 1.0), sem=(0.25, 0.0))
    assert history_table([two], 2)[["sem_0", "sem_1"]].iloc[0].tolist() == [0.25, 0.0]
    assert "value 0.5; sem 0.25" in repr(one) and "sem (0.25, 0)" in repr(two) and "sem" not in repr(bare)


def test_no_trials_are_an_empty_table() -> None:
    assert len(history_table([], 1)) == 0
