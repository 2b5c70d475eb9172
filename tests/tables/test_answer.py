"""The answer: chances, reasons and columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calibo.data import Forecast, Marginal
from calibo.tables.answer import BOTH, GOOD, UNCERTAIN, answer, chance_beyond, reasons
from calibo.trials import Direction


def test_the_chance_of_one_outcome_is_that_above_the_best() -> None:
    assert chance_beyond([norm.cdf], np.array([[0.3], [1.0]])) == pytest.approx(norm.sf(1.0))
    assert chance_beyond([norm.cdf], np.empty((0, 1))) == 1.0


@given(st.integers(2, 3), st.lists(st.tuples(*[st.floats(-2, 2)] * 3), min_size=1, max_size=6))
def test_the_chance_of_several_outcomes_is_that_of_draws(m: int, points: list[tuple[float, ...]]) -> None:
    """4,000 draws: five standard errors are .04."""
    front = np.array(points)[:, :m]
    draws = np.random.default_rng(0).standard_normal((4000, m))
    free = ~(front[None] >= draws[:, None]).all(axis=-1).any(axis=1)
    assert chance_beyond([norm.cdf] * m, front) == pytest.approx(free.mean(), abs=0.04)


def test_reasons() -> None:
    others = np.linspace(0, 1, 101)[:, None], np.linspace(0, 1, 101)[:, None]
    means, widths = np.array([[0.95], [0.95], [0.2], [0.5]]), np.array([[0.1], [0.6], [0.9], [0.4]])
    assert reasons((means, widths), others) == [GOOD, BOTH, UNCERTAIN, GOOD]


def test_a_trade_off_that_nothing_beats_is_good() -> None:
    rng = np.random.default_rng(0)
    others = rng.random((200, 2)), np.ones((200, 2))
    assert reasons((np.array([[1.1, 0.0]]), np.full((1, 2), 0.5)), others) == [GOOD]


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
