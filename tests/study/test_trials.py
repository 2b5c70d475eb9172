"""Trials as entries and as a dataset: what counts as told, failed or pending, and in which order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Forecast, Marginal
from calibo.optimize import Direction
from calibo.spaces import Categorical, Float, ProductSpace
from calibo.study.attributes import ERROR, INTERRUPTED, Stamp, write_stamp
from calibo.study.distributions import optuna_space
from calibo.study.trials import completed, completed_in_order, directions_of, entries, forecast_stamp, known_of

SPACE = optuna_space(ProductSpace({"x": Float(0.0, 10.0), "c": Categorical([(1,), (1, 2)])}))
NOON = datetime(2024, 1, 1, 12)
FORECAST = Forecast((Marginal(1.0, 0.5), Marginal(1.5, 1.0)))


def _trial(
    number: int, state: TrialState, x: float = 5.0, *, value: float | None = None, minute: int = 0, **attributes: Any
) -> FrozenTrial:
    """A trial as a storage gives it; the choice is stored by its label."""
    return FrozenTrial(
        number=number,
        trial_id=number,
        state=state,
        value=value,
        datetime_start=NOON,
        datetime_complete=NOON + timedelta(minutes=minute) if state.is_finished() else None,
        params={"x": x, "c": "(1,)"},
        distributions=dict(SPACE.distributions),
        user_attrs=attributes,
        system_attrs={},
        intermediate_values={},
    )


def _dataset(*trials: FrozenTrial, direction: Direction = Direction.MAXIMIZE, asking: int | None = None) -> Any:
    return known_of(trials, SPACE, [direction], asking=asking).data


def _stamped(x: float, stamp: Stamp, value: float | None = None) -> FrozenTrial:
    """A trial with ``x`` that was published with a stamp, and finished if there is a value."""
    study = optuna.create_study()
    study.enqueue_trial({"x": x, "c": "(1,)"})
    trial = study.ask()
    write_stamp(study, study.trials[0], stamp)
    for name, one in SPACE.distributions.items():
        trial._suggest(name, one)
    if value is not None:
        study.tell(trial, value)
    return study.trials[0]


@pytest.mark.parametrize(
    ("trial", "told", "failed", "pending"),
    [
        (_trial(0, TrialState.COMPLETE, value=1.0), 1, 0, 0),
        (_trial(0, TrialState.COMPLETE, value=float("inf")), 0, 1, 0),
        (_trial(0, TrialState.FAIL), 0, 1, 0),
        (_trial(0, TrialState.FAIL, **{INTERRUPTED: True}), 0, 0, 0),
        (_trial(0, TrialState.PRUNED), 0, 1, 0),
        (_trial(0, TrialState.PRUNED, value=2.0), 0, 1, 0),  # Optuna keeps the last report as a pruned trial's value
        (_trial(0, TrialState.RUNNING), 0, 0, 1),
        (_trial(0, TrialState.WAITING), 0, 0, 0),
        (_trial(0, TrialState.COMPLETE, x=11.0, value=1.0), 0, 0, 0),
        (_trial(0, TrialState.PRUNED, x=11.0), 0, 0, 0),
    ],
    ids=["told", "infinite", "failed", "stopped", "pruned", "reported", "running", "waiting", "outside", "far pruned"],
)
def test_what_becomes_of_a_trial(trial: FrozenTrial, told: int, failed: int, pending: int) -> None:
    data = _dataset(trial)
    assert (len(data), len(data.X_failed), len(data.X_pending)) == (told, failed, pending)


def test_one_outside_the_space_takes_no_other_with_it() -> None:
    outside, inside = (_trial(i, TrialState.COMPLETE, x=x, value=float(i)) for i, x in enumerate((11.0, 2.5)))
    data = _dataset(outside, inside)
    assert data.X[:, 0].tolist() == [0.25]
    assert data.Y.tolist() == [[1.0]]


def test_outcomes_come_in_the_order_of_completion_then_of_numbers() -> None:
    trials = [_trial(i, TrialState.COMPLETE, value=float(i), minute=minute) for i, minute in enumerate((2, 1, 1, 0))]
    order = [3, 1, 2, 0]
    assert _dataset(*trials).Y[:, 0].tolist() == order
    assert _dataset(*trials, direction=Direction.MINIMIZE).Y[:, 0].tolist() == [-y for y in order]
    assert [trial.number for trial in completed([*trials, _trial(4, TrialState.PRUNED)])] == order
    assert [entry.number for entry in completed_in_order(entries(reversed(trials)))] == order


def test_a_trial_is_not_pending_for_itself() -> None:
    trials = [_trial(0, TrialState.RUNNING, 1.0), _trial(1, TrialState.RUNNING, 2.0)]
    assert _dataset(*trials, asking=1).X_pending[:, 0].tolist() == [0.1]


def test_entries_speak_the_users_terms() -> None:
    trials = [
        _trial(3, TrialState.COMPLETE, value=float("-inf")),
        _trial(2, TrialState.FAIL, **{ERROR: "ValueError: no"}),
        _trial(1, TrialState.FAIL, **{INTERRUPTED: True}),
        _trial(0, TrialState.COMPLETE, value=1.5, minute=3),
        _trial(4, TrialState.PRUNED, value=2.0),
    ]
    found = entries(trials, SPACE)
    assert [(e.number, e.state, e.value, e.error) for e in found] == [
        (0, "complete", 1.5, None),
        (1, "interrupted", None, None),
        (2, "failed", None, "ValueError: no"),
        (3, "failed", None, "the value is -inf"),
        (4, "pruned", None, None),
    ]
    assert found[0].params == {"x": 5.0, "c": (1,)}
    assert entries(trials)[0].params == {"x": 5.0, "c": "(1,)"}
    assert found[0].finished == NOON + timedelta(minutes=3)


def test_a_forecast_belongs_to_the_parameters_it_was_made_for() -> None:
    stamp = Stamp(0, {"x": 2.0, "c": 0.0}, (FORECAST,), ((0.5, 0.25),))
    own, other = _stamped(2.0, stamp, 1.0), _stamped(2.5, stamp, 1.0)
    stamp = forecast_stamp(own)
    assert stamp is not None and stamp.forecasts == (FORECAST,)
    assert forecast_stamp(other) is None
    assert forecast_stamp(_trial(0, TrialState.COMPLETE, value=1.0)) is None
    assert entries([own])[0].forecast == FORECAST
    assert _dataset(own).forecasts == ((FORECAST,),)
    assert _dataset(own, direction=Direction.MINIMIZE).forecasts == ((FORECAST.negated(),),)
    assert _dataset(other).forecasts == (None,)


def test_the_next_fit_starts_where_the_latest_over_these_columns_ended() -> None:
    stamp = Stamp(0, {"x": 2.0, "c": 0.0}, (FORECAST,), ((0.5, 0.25),))
    assert _dataset(_stamped(2.0, stamp, 1.0)).hyperparameters == ((0.5, 0.25),)
    assert _dataset(_stamped(2.0, Stamp(0, {"x": 2.0}, (FORECAST,), ((0.5,),)), 1.0)).hyperparameters == ()


def test_a_running_trial_stands_where_it_was_suggested() -> None:
    study = optuna.create_study()
    trial = study.ask()
    write_stamp(study, study.trials[0], Stamp(0, {"x": 2.0, "c": 1.0}))
    assert trial.params == {}
    expected = SPACE.encode([{"x": 2.0, "c": "(1, 2)"}]).tolist()
    assert _dataset(study.trials[0]).X_pending.tolist() == expected
    write_stamp(study, study.trials[0], Stamp(0, {"x": 2.0, "c": 7.0}))  # a choice that there is no longer
    assert len(_dataset(study.trials[0]).X_pending) == 0


def test_studies_have_directions() -> None:
    assert directions_of(optuna.create_study(direction="maximize")) == (Direction.MAXIMIZE,)
    both = optuna.create_study(directions=["minimize", "maximize"])
    assert directions_of(both) == (Direction.MINIMIZE, Direction.MAXIMIZE)
