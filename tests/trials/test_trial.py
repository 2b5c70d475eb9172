"""Trials, and trials as a dataset in the internal sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal, Suggestion
from calibo.errors import DataError, FallbackWarning
from calibo.trials import Direction, State, Trial, constraint_names, dataset

MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE
FORECAST = Forecast((Marginal(1.0, 0.5),))


def trial(x: float, state: State = State.COMPLETE, forecasts: Any = None, known: Any = (), **outcome: Any) -> Trial:
    return Trial(Suggestion({"x": x}, np.array([x, x]), forecasts, number=3, constraints=known), state, **outcome)


def trials() -> list[Trial]:
    return [
        trial(0.1, forecasts=(FORECAST,), values=(3.0,)),
        trial(0.3, State.RUNNING, forecasts=(FORECAST,)),
        trial(0.5, values=(-1.0,), sem=(0.5,)),
        trial(0.7, State.FAILED),
        trial(0.8, State.PRUNED, intermediate=(4.0,)),
        trial(0.9, State.INTERRUPTED),
        trial(1.0, State.WAITING),
    ]


@pytest.mark.parametrize("direction", [MIN, MAX])
def test_trials_become_a_dataset(direction: Direction) -> None:
    data = dataset(trials(), directions=[direction], categories=(0, 2), hyperparameters=((1.0,),))
    np.testing.assert_array_equal(data.X, [[0.1, 0.1], [0.5, 0.5]])
    np.testing.assert_array_equal(data.Y, direction.value * np.array([[3.0], [-1.0]]))
    np.testing.assert_array_equal(data.Y_var, [[np.nan], [0.25]])
    np.testing.assert_array_equal(data.X_pending, [[0.3, 0.3]])
    np.testing.assert_array_equal(data.X_failed, [[0.7, 0.7], [0.8, 0.8]])
    np.testing.assert_array_equal(data.Y_failed, [[np.nan], [4.0 * direction.value]])
    assert data.categories == (0, 2) and data.hyperparameters == ((1.0,),)
    assert data.forecasts[0] is not None and data.forecasts[1] is None
    assert data.forecasts[0][0].raw.mean == direction.value * 1.0


def test_no_noise_known_and_nothing_complete() -> None:
    assert dataset([trials()[0]], directions=[MAX], categories=(0, 0)).Y_var is None
    empty = dataset([], directions=[MIN], categories=(0, 0, 0))
    assert empty.X.shape == (0, 3) and empty.Y.shape == (0, 1)


def test_constraints_are_columns_and_trials_without_one_are_left_out() -> None:
    both = trial(0.1, forecasts=(FORECAST,) * 2, known=("b",), values=(1.0,), constraints={"b": 2.0, "a": 0.0})
    some = trial(0.2, values=(1.0,), constraints={"a": 0.0})
    with pytest.warns(FallbackWarning, match="1 of 2 trials were recorded without all of the constraints 'a', 'b'"):
        data = dataset([both, some], directions=[MAX], categories=(0, 0))
    assert data.Y.tolist() == [[1.0, 0.0, -2.0]] and data.constraints == 2
    assert data.forecasts == ((FORECAST, None, FORECAST.negated()),)
    assert constraint_names([both, some, trial(0.3, State.FAILED, constraints={"z": 1.0})]) == ("a", "b")


def test_vectors_have_one_length() -> None:
    data = dataset(
        [trial(0.1, values=(1.0,), vector=(1.0, 2.0)), trial(0.2, values=(1.0,))], directions=[MAX], categories=(0, 0)
    )
    np.testing.assert_array_equal(data.H, [[1.0, 2.0], [np.nan, np.nan]])
    uneven = [trial(0.1, values=(1.0,), vector=(1.0,) * n) for n in (1, 2)]
    with pytest.raises(DataError, match="different lengths"):
        dataset(uneven, directions=[MAX], categories=(0, 0))


def test_outcomes_by_index_and_name() -> None:
    other = Forecast((Marginal(2.0, 0.5),))
    found = trial(0.1, forecasts=(FORECAST, other), known=("a",), values=(1.5,), constraints={"a": -1.0, "b": 1.0})
    assert (found.value, found.forecast, found.number) == (1.5, FORECAST, 3)
    assert (found.observed("a"), found.observed("c"), found.forecast_of("a", 1)) == (-1.0, None, other)
    assert found.forecast_of("b", 1) is None and trials()[3].observed(0) is None
    assert found.meets(["a"]) and not found.meets(["a", "b"]) and not found.meets(["c"]) and found.meets([])


def test_they_are_shown_in_words() -> None:
    found = trial(0.123456789, values=(1.5, 2.0), constraints={"a": -1.0})
    assert repr(found) == "Trial(3: x=0.123457; complete; value (1.5, 2); constraints a=-1)"
    assert repr(Trial(Suggestion({"c": "red"}), State.FAILED, error="no")) == "Trial(c='red'; failed; error 'no')"


def test_forgotten_forecasts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.data._FORGOTTEN", 2)
    told = [trial(0.1 * i, forecasts=(FORECAST,), values=(float(i),)) for i in range(5)]
    data = dataset(told, directions=(MAX,), categories=(0, 0))
    assert data.forecasts == (None, None, (FORECAST,), (FORECAST,), (FORECAST,))
