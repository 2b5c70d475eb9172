"""Optuna's trials as calibo's and as a dataset: what counts as complete, failed or pending, and in which order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Forecast, Marginal, Suggestion
from calibo.spaces import Categorical, Float, ProductSpace
from calibo.study.attributes import write_suggestion
from calibo.study.distributions import optuna_space
from calibo.study.leases import ERROR, INTERRUPTED
from calibo.study.trials import completed_frozen, read_trials, study_data
from calibo.trials import Direction, in_order_of_completion

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
    return study_data(trials, SPACE, [direction], asking=asking)[0]


def _suggested(params: dict[str, float], hyperparameters: tuple[float, ...] = (0.5, 0.25)) -> Suggestion:
    return Suggestion(params, forecasts=(FORECAST,), hyperparameters=(hyperparameters,), number=0)


def _run(x: float, suggestion: Suggestion, value: float | None = None) -> FrozenTrial:
    """A trial with ``x`` for which something was suggested, finished if there is a value."""
    study = optuna.create_study()
    study.enqueue_trial({"x": x, "c": "(1,)"})
    trial = study.ask()
    write_suggestion(study, study.trials[0], suggestion)
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
    assert [trial.number for trial in completed_frozen([*trials, _trial(4, TrialState.PRUNED)])] == order
    assert [trial.number for trial in in_order_of_completion(read_trials(reversed(trials)))] == order


def test_times_with_and_without_a_zone_are_one_order() -> None:
    mine = [_trial(number, TrialState.COMPLETE, value=1.0, minute=2 * number) for number in range(3)]
    theirs = _trial(3, TrialState.COMPLETE, value=1.0)
    theirs.datetime_start = NOON.astimezone(UTC)
    theirs.datetime_complete = (NOON + timedelta(minutes=3)).astimezone(UTC)
    assert [trial.number for trial in completed_frozen([*mine, theirs])] == [0, 1, 3, 2]
    read = in_order_of_completion(read_trials([*mine, theirs], SPACE))
    assert [trial.number for trial in read] == [0, 1, 3, 2]
    assert (read[2].started, read[2].finished) == (NOON, NOON + timedelta(minutes=3))


def test_a_trial_is_not_pending_for_itself() -> None:
    trials = [_trial(0, TrialState.RUNNING, 1.0), _trial(1, TrialState.RUNNING, 2.0)]
    assert _dataset(*trials, asking=1).X_pending[:, 0].tolist() == [0.1]


def test_trials_are_in_the_users_terms() -> None:
    trials = [
        _trial(3, TrialState.COMPLETE, value=float("-inf")),
        _trial(2, TrialState.FAIL, **{ERROR: "ValueError: no"}),
        _trial(1, TrialState.FAIL, **{INTERRUPTED: True}),
        _trial(0, TrialState.COMPLETE, value=1.5, minute=3),
        _trial(4, TrialState.PRUNED, value=2.0),
    ]
    found = read_trials(trials, SPACE)
    assert [(e.number, e.state, e.value, e.error) for e in found] == [
        (0, "complete", 1.5, None),
        (1, "interrupted", None, None),
        (2, "failed", None, "ValueError: no"),
        (3, "failed", None, "the value is -inf"),
        (4, "pruned", None, None),
    ]
    assert found[0].params == {"x": 5.0, "c": (1,)}
    assert read_trials(trials)[0].params == {"x": 5.0, "c": "(1,)"}
    assert found[0].finished == NOON + timedelta(minutes=3)


def test_a_forecast_belongs_to_the_parameters_it_was_made_for() -> None:
    suggestion = _suggested({"x": 2.0, "c": 0.0})
    own, other = _run(2.0, suggestion, 1.0), _run(2.5, suggestion, 1.0)
    assert read_trials([own])[0].forecasts == (FORECAST,)
    assert read_trials([other])[0].forecasts is None
    assert read_trials([_trial(0, TrialState.COMPLETE, value=1.0)])[0].forecasts is None
    assert _dataset(own).forecasts == ((FORECAST,),)
    assert _dataset(own, direction=Direction.MINIMIZE).forecasts == ((FORECAST.negated(),),)
    assert _dataset(other).forecasts == (None,)


def test_a_forecast_for_other_parameters_is_shown_but_not_learned_from() -> None:
    part = _run(2.0, _suggested({"x": 2.0}), 1.0)
    assert read_trials([part])[0].forecasts == (FORECAST,)
    assert _dataset(part).forecasts == (None,)


def test_the_next_fit_starts_where_the_latest_over_these_columns_ended() -> None:
    assert _dataset(_run(2.0, _suggested({"x": 2.0, "c": 0.0}), 1.0)).hyperparameters == ((0.5, 0.25),)
    assert _dataset(_run(2.0, _suggested({"x": 2.0}, (0.5,)), 1.0)).hyperparameters == ()


def test_a_running_trial_stands_where_it_was_suggested() -> None:
    study = optuna.create_study()
    trial = study.ask()
    write_suggestion(study, study.trials[0], Suggestion({"x": 2.0, "c": 1.0}, number=0))
    assert trial.params == {}
    expected = SPACE.encode([{"x": 2.0, "c": "(1, 2)"}]).tolist()
    assert _dataset(study.trials[0]).X_pending.tolist() == expected
    assert read_trials(study.trials, SPACE)[0].params == {"x": 2.0, "c": (1, 2)}
    gone = Suggestion({"x": 2.0, "c": 7.0}, number=0)  # a choice that there is no longer
    write_suggestion(study, study.trials[0], gone)
    assert len(_dataset(study.trials[0]).X_pending) == 0
