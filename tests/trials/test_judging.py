"""The best trials, and how forecasts came out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal, Suggestion
from calibo.errors import DataError, RecipeError
from calibo.trials import (
    Direction,
    State,
    Trial,
    best_trial,
    calibration_by_place_of,
    calibration_of,
    feasibility_of,
    feasible,
    hypervolume_after,
    pareto_trials,
)

MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


def trial(number: int, *values: float, forecasts: Any = None, known: Any = (), **constraints: float) -> Trial:
    suggestion = Suggestion({"x": number}, forecasts=forecasts, number=number, constraints=known)
    return Trial(suggestion, State.COMPLETE if values else State.FAILED, values or None, constraints=constraints)


def numbers(trials: list[Trial]) -> list[int]:
    return [one.number for one in trials]


def test_the_best_is_feasible_and_the_earliest() -> None:
    trials = [trial(0, 3.0, a=0.0), trial(1), trial(2, 1.0, a=0.5), trial(3, 2.0, a=-1.0), trial(4, 2.0, a=-1.0)]
    assert numbers(feasible(trials)) == [0, 3, 4]
    assert best_trial(trials, [MIN]).number == 3 and best_trial(trials, [MAX]).number == 0
    assert numbers(feasible([*trials, trial(5, 0.0)])) == [0, 3, 4]  # its constraint was not measured


def test_without_a_best_the_reason_is_given() -> None:
    with pytest.raises(DataError, match="no trial is complete yet"):
        best_trial([trial(0)], [MIN])
    with pytest.raises(DataError, match="none of 1 complete trials meets all constraints"):
        best_trial([trial(0, 1.0, a=1.0)], [MIN])
    with pytest.raises(RecipeError, match="2 objectives, so there is no single best trial"):
        best_trial([trial(0, 1.0, 2.0)], [MIN, MIN])
    with pytest.raises(RecipeError, match="from 0 to 1, got 2"):
        best_trial([trial(0, 1.0, 2.0)], [MIN, MIN], 2)


def test_several_objectives() -> None:
    trials = [trial(0, 1.0, 1.0), trial(1, 2.0, 2.0), trial(2, 3.0, 1.0), trial(3)]
    assert numbers(pareto_trials(trials, [MIN, MAX])) == [0, 1] and pareto_trials([trial(0)], [MIN, MAX]) == []
    assert best_trial(trials, [MIN, MAX], 1).number == 1
    np.testing.assert_allclose(hypervolume_after(trials, [MIN, MAX], (4.0, 0.0)), [3.0, 5.0, 5.0])
    limited = [trial(0, 1.0, 1.0, a=0.0), trial(1, 2.0, 2.0, a=1.0)]
    np.testing.assert_allclose(hypervolume_after(limited, [MIN, MAX], (4.0, 0.0)), [3.0, 3.0])


def test_forecasts_are_compared_with_what_was_known_then() -> None:
    def forecast(mean: float) -> Forecast:
        return Forecast((Marginal(mean, 1.0),))

    trials = [
        trial(0, 9.0, a=1.0),
        trial(1, 0.0, forecasts=(forecast(0.0), forecast(-3.0)), known=("a",), a=-2.9, b=5.0),
        trial(2, 9.0, forecasts=(forecast(0.0), forecast(3.0)), known=("a",), a=3.1, b=5.0),
        trial(3, 0.1, forecasts=(forecast(0.0),), a=0.0, b=0.0),
    ]
    assert [(row.of, row.contained) for row in calibration_of(trials, [MIN]).rows] == [(3, 2)] * 3
    assert [(row.of, row.contained) for row in calibration_of(trials, [MIN], "a").rows] == [(2, 2)] * 3
    assert calibration_of(trials, [MIN], "b").rows[0].of == 0
    rows = feasibility_of(trials, [MIN]).rows
    assert sum(row.of for row in rows) == 2 and sum(row.met for row in rows) == 1
    with pytest.raises(RecipeError, match="no constraint 'c'; constraints recorded so far: 'a', 'b'"):
        calibration_of(trials, [MIN], "c")


def test_places_are_told_apart_by_the_outcomes_with_a_forecast() -> None:
    narrow, wide = (Forecast((Marginal(0.0, std), Marginal(0.0, 5.0))) for std in (0.1, 1.0))
    start = [trial(i, (-1.0) ** i, forecasts=(wide,)) for i in range(4)]
    later = [trial(4, 0.0, forecasts=(narrow,)), trial(5, 0.0), trial(6, 9.0, forecasts=(wide,))]
    assert [row.of for row in calibration_by_place_of([*start, *later], [MIN]).rows] == [1, 0, 5]
    assert [row.of for row in calibration_by_place_of(later, [MIN]).rows] == [0, 0, 2]
    with pytest.raises(RecipeError, match="no constraint 'c'"):
        calibration_by_place_of(start, [MIN], "c")


def test_outcomes_beyond_the_largest_count_as_that() -> None:
    """They are compared as they were learned from, and neither volumes nor mean scores overflow."""
    forecast = (Forecast((Marginal(0.0, 1e299), Marginal(0.0, 5e299))),)
    trials = [trial(i, (-1.0) ** i * 1.7e308, forecasts=forecast) for i in range(8)]
    comparison = calibration_of(trials, [MIN]).comparison
    assert comparison is not None and np.isfinite(comparison.crps)
    assert len(calibration_by_place_of(trials, [MIN]).rows) > 0
    front = [trial(i, share * 1.7e308, (1.0 - share) * 1e-300) for i, share in enumerate((-0.9, 0.1, 0.9))]
    volumes = hypervolume_after(front, [MIN, MIN])
    assert np.isfinite(volumes).all() and np.isfinite(hypervolume_after(front, [MIN, MIN], [1.7e308, 1.0])).all()
