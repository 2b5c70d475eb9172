from __future__ import annotations

import math

from calibo.data import Forecast, Marginal
from calibo.study.history import LEVELS, history_table
from calibo.study.trials import Entry

FORECAST = Forecast((Marginal(1.0, 2.0), Marginal(3.0, 0.5)), ("a", "b"))


def test_one_objective_has_plain_names() -> None:
    done = Entry(0, "complete", {"x": 1}, values=(0.5,), forecasts=(FORECAST,))
    table = history_table([done, Entry(1, "failed", {"x": 2}, error="no")], 1)
    assert list(table.columns[:3]) == ["number", "state", "value"] and table["params_x"].tolist() == [1, 2]
    assert (table["forecast_mean"][0], table["raw_mean"][0]) == (3.0, 1.0)
    assert table["forecast_q50"][0] == 3.0 and math.isnan(table["forecast_q50"][1]) and len(LEVELS) == 5
    assert math.isnan(table["value"][1]) and table["error"][1] == "no"


def test_several_objectives_and_constraints_never_share_a_column() -> None:
    entry = Entry(
        0,
        "complete",
        {"x": 1},
        values=(0.5, 7.0),
        constraints={"0": -1.0, "late": 2.0},
        forecasts=(FORECAST, FORECAST, FORECAST),
        forecast_constraints=("0",),
    )
    table = history_table([entry], 2)
    assert table.columns.is_unique
    assert table[["value_0", "value_1", "constraint_0", "constraint_late"]].iloc[0].tolist() == [0.5, 7.0, -1.0, 2.0]
    assert table["forecast_constraint_0_mean"][0] == 3.0 and math.isnan(table["forecast_constraint_late_mean"][0])


def test_nothing_is_an_empty_table() -> None:
    assert len(history_table([], 1)) == 0
