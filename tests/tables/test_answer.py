"""The answer: chances, reasons and columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from calibo.data import Forecast, Marginal
from calibo.tables.answer import answer
from calibo.trials import Direction


def test_columns_in_the_sign_of_the_user() -> None:
    rows = pd.DataFrame({"x": [1.0, 2.0]}, index=[7, 3])
    forecasts = [(Forecast((Marginal(9.0, 9.0), Marginal(-2.0, 1.0))),), (Forecast((Marginal(-1.0, 2.0),)),)]
    frame = answer(rows, forecasts, ["a", "b"], np.array([[-1.5]]), targets=["y"], directions=[Direction.MINIMIZE])
    assert list(frame) == ["x", "mean", "low_80", "high_80", "probability_of_improvement", "reason"]
    assert list(frame.index) == [7, 3] and list(frame["reason"]) == ["a", "b"]
    np.testing.assert_allclose(frame["mean"], [2.0, 1.0])
    np.testing.assert_allclose(frame["low_80"], [2 - norm.ppf(0.9), 1 - 2 * norm.ppf(0.9)])
    np.testing.assert_allclose(frame["probability_of_improvement"], [norm.cdf(1.5 - 2.0), norm.cdf((1.5 - 1.0) / 2)])


def test_columns_of_the_table_are_never_replaced() -> None:
    rows = pd.DataFrame({"mean": [5.0], "reason": ["mine"], "low_80": [1.0], "calibo_low_80": [2.0]})
    frame = answer(rows, None, ["ours"], np.empty((0, 1)), targets=["y"], directions=[Direction.MAXIMIZE])
    assert frame["mean"].iloc[0] == 5.0 and np.isnan(frame["calibo_mean"].iloc[0])
    assert frame["reason"].iloc[0] == "mine" and frame["calibo_reason"].iloc[0] == "ours"
    assert frame["calibo_low_80"].iloc[0] == 2.0 and np.isnan(frame["calibo_calibo_low_80"].iloc[0])
