"""Report data: consistency checks, and what is derived from the trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.errors import DataError
from calibo.pareto import hypervolume, inferred_reference, pareto_mask
from calibo.report import OutcomeData, ReportData
from calibo.trials import Direction, State

Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]
STANDARD = Marginal(0.0, 1.0)
MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


def test_forecasted_trials_have_a_value_and_a_forecast(outcome: Outcome) -> None:
    data = outcome([1.0, None, 3.0, 4.0], distributions=[None, STANDARD, STANDARD, STANDARD])
    assert data.finished == (0, 2, 3)
    assert data.forecasted == (2, 3)
    np.testing.assert_array_equal(data.outcomes, [3.0, 4.0])
    assert data.calibrated == (STANDARD, STANDARD)
    assert data.raw == (Marginal(0.0, 0.5), Marginal(0.0, 0.5))
    assert repr(data) == "OutcomeData('value', minimized, 3 of 4 trials with a value)"


def test_the_best_trial_depends_on_direction_and_feasibility(outcome: Outcome) -> None:
    data = outcome([2.0, 1.0, 3.0, None])
    assert (data.best_value, data.best_params, data.constrained) == (1.0, {"x": 1.0}, False)
    assert replace(data, directions=(MAX,)).best_value == 3.0
    limited = outcome([2.0, 1.0, 3.0, None], feasible=(True, False, True, False))
    assert (limited.best_value, limited.best_params, limited.eligible) == (2.0, {"x": 0.0}, (0, 2))
    for nothing in (outcome([2.0], feasible=(False,)), outcome([None, None])):
        assert nothing.best_params is None and nothing.best_value is None


def test_raw_counts_only_with_a_calibrator(outcome: Outcome, real: OutcomeData) -> None:
    assert outcome([0.1]).recalibrated
    (trial,) = outcome([0.1]).trials
    suggestion = replace(trial.suggestion, forecasts=(Forecast((STANDARD,)),))
    plain = replace(outcome([0.1]), trials=(replace(trial, suggestion=suggestion),))
    assert not plain.recalibrated and plain.calibration.rows[0].raw_contained is None
    assert outcome([None]).calibration.rows[0].of == 0
    assert real.calibration.rows[1].of == len(real.forecasted) == 30 - 2 - sum(f is None for f in real.forecasts)


def test_feasible_infeasible_or_incomplete(report: Report) -> None:
    data = report([[1.0, 2.0, None, 4.0, 5.0]], [[0.0, 0.1, -1.0, -1.0, None], [-1.0, -1.0, -1.0, 1e-9, -1.0]])
    assert data.results == (0, 1, 3) and data.met == (0,)
    assert data.objectives[0].best_value == 1.0
    assert repr(data) == "ReportData('Made up', objectives 'objective 0', 2 constraints, 3 of 5 trials complete)"
    free = report([[1.0, None]])
    assert free.results == free.met == (0,) and not free.constraints


def test_the_front_is_of_feasible_results(report: Report) -> None:
    values = [[1.0, 2.0, 3.0, 3.0, 0.0, None], [3.0, 2.0, 1.0, 3.0, 0.0, 0.0]]
    assert report(values).front == (4,)
    assert report(values, [[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]).front == (0, 1, 2)
    assert report(values, [[1.0] * 6]).front == ()


def test_directions_and_the_reference_point_are_in_the_users_sign(report: Report) -> None:
    values = [[1.0, 3.0], [10.0, 30.0]]
    assert report(values, directions=(MAX, MAX)).front == (1,)
    inferred = report(values, directions=(MIN, MAX))
    assert inferred.front == (0, 1)
    assert inferred.reference_point == pytest.approx((3.2, 8.0))
    assert inferred.hypervolumes[-1] == pytest.approx(2.2 * 2.0 + 0.2 * 20.0)
    given = report(values, directions=(MIN, MAX), reference=(4.0, 0.0))
    assert given.reference_point == (4.0, 0.0)
    np.testing.assert_allclose(given.hypervolumes, [30.0, 50.0])


def test_hypervolume_after_each_trial(simulated: ReportData) -> None:
    signs = np.array([-1.0, 1.0, -1.0])
    reference = signs * np.array(simulated.reference_point)
    for end in (1, 8, 9, 31, 45):
        met = [i for i in simulated.met if i < end]
        Y = np.array([[s.value(i) for s in simulated.objectives] for i in met]).reshape(-1, 3) * signs
        assert simulated.hypervolumes[end - 1] == pytest.approx(hypervolume(Y, reference), rel=1e-12, abs=1e-12)
    Y = np.array([[s.value(i) for s in simulated.objectives] for i in simulated.met]) * signs
    assert [simulated.met[k] for k in np.flatnonzero(pareto_mask(Y))] == list(simulated.front)
    np.testing.assert_allclose(reference, inferred_reference(Y))
    assert 0 < len(simulated.front) < len(simulated.met) < len(simulated.results) == 43


def test_empty_and_overflowing_fronts(report: Report) -> None:
    for data in (report([[], []]), report([[None], [1.0]]), report([[1.0], [1.0]], [[1.0]])):
        assert data.reference_point is None and data.front == ()
        assert data.hypervolumes.tolist() == [0.0] * len(data)
    huge = report([[1.5e308, -1.5e308], [-1.5e308, 1.5e308]])
    assert huge.front == (0, 1) and not np.isfinite(huge.hypervolumes[-1])


def test_feasibility_counts_results_with_all_forecasts(simulated: ReportData, report: Report) -> None:
    assert sum(row.of for row in simulated.feasibility.rows) == 45 - 4 - 2
    assert sum(row.met for row in simulated.feasibility.rows) == sum(i >= 4 for i in simulated.met)
    assert sum(row.of for row in report([[1.0] * 10]).feasibility.rows) == 0


def test_inconsistent_data(report: Report) -> None:
    data = report([[1.0, 2.0], [1.0, 2.0]], [[0.0, 0.0]])
    with pytest.raises(DataError, match="at least one objective"):
        replace(data, directions=())
    with pytest.raises(DataError, match="2 objectives but 1 names"):
        replace(data, names=("loss",))
    with pytest.raises(DataError, match=r"complete and failed trials only; leave out the trials \[0, 1\]"):
        replace(data, trials=tuple(replace(trial, state=State.RUNNING) for trial in data.trials))
    with pytest.raises(DataError, match="2 trials but 1 expected_best"):
        replace(data.objectives[0], expected_best=(1.0,))
