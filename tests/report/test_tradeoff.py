"""The record of several outcomes: who is feasible, who is on the front, and the volume after each trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Marginal
from calibo.errors import DataError
from calibo.optimize import Direction
from calibo.pareto import hypervolume, inferred_reference, pareto_mask
from calibo.report import Tradeoff

Trade = Callable[..., Tradeoff]
MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


def test_a_trial_is_feasible_not_or_neither(trade: Trade) -> None:
    told = trade([[1.0, 2.0, None, 4.0, 5.0]], [[0.0, 0.1, -1.0, -1.0, None], [-1.0, -1.0, -1.0, 1e-9, -1.0]])
    assert told.feasible == (True, False, None, False, None)
    assert told.results == (0, 1, 3) and told.met == (0,)
    assert trade([[1.0, None]]).feasible == (True, None)


def test_the_front_is_of_feasible_results(trade: Trade) -> None:
    values = [[1.0, 2.0, 3.0, 3.0, 0.0, None], [3.0, 2.0, 1.0, 3.0, 0.0, 0.0]]
    assert trade(values).front == (4,)
    assert trade(values, [[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]).front == (0, 1, 2)
    assert trade(values, [[1.0] * 6]).front == ()


def test_directions_are_the_users(trade: Trade) -> None:
    values = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert trade(values, directions=(MIN, MAX)).front == (0, 1, 2)
    assert trade(values, directions=(MAX, MAX)).front == (2,)
    assert trade(values, directions=(MIN, MIN)).front == (0,)


def test_the_reference_is_in_the_users_sign(trade: Trade) -> None:
    values = [[1.0, 3.0], [10.0, 30.0]]
    inferred = trade(values, directions=(MIN, MAX))
    assert inferred.reference_point == pytest.approx((3.2, 8.0))
    assert inferred.hypervolumes[-1] == pytest.approx(2.2 * 2.0 + 0.2 * 20.0)
    given = trade(values, directions=(MIN, MAX), reference=(4.0, 0.0))
    assert given.reference_point == (4.0, 0.0)
    np.testing.assert_allclose(given.hypervolumes, [30.0, 50.0])


def test_the_volume_after_each_trial(simulated: Tradeoff) -> None:
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


def test_nothing_is_made_of_nothing(trade: Trade) -> None:
    for told in (trade([[], []]), trade([[None], [1.0]]), trade([[1.0], [1.0]], [[1.0]])):
        assert told.reference_point is None and told.front == ()
        assert told.hypervolumes.tolist() == [0.0] * len(told)
        assert all(row.of == 0 for row in trade([[], []]).feasibility.rows)


def test_values_beyond_all_volumes(trade: Trade) -> None:
    told = trade([[1e300, -1e300], [-1e300, 1e300]])
    assert told.front == (0, 1)
    assert not np.isfinite(told.hypervolumes[-1])
    extremes = trade([[1.5e308, -1.5e308], [-1.5e308, 1.5e308]])
    assert extremes.front == (0, 1) and not np.isfinite(extremes.hypervolumes[-1])


def test_feasibility_counts_results_with_all_forecasts(simulated: Tradeoff, trade: Trade) -> None:
    assert sum(row.of for row in simulated.feasibility.rows) == 45 - 4 - 2
    assert sum(row.met for row in simulated.feasibility.rows) == sum(i >= 4 for i in simulated.met)
    sure = trade([[1.0] * 10], [[-1.0] * 10], distributions=[Marginal(-5.0, 1.0)] * 10)
    assert sure.feasibility.headline().startswith("Of 10 points called feasible with at least 90 %, 10 met")
    assert sum(row.of for row in trade([[1.0] * 10]).feasibility.rows) == 0


def test_the_best_of_an_objective_is_feasible(trade: Trade) -> None:
    told = trade([[1.0, 2.0, 3.0]], [[1.0, -1.0, -1.0]])
    assert told.objectives[0].best_value == 2.0 and told.objectives[0].best_params == {"x": 1.0}
    nobody = trade([[1.0, 2.0]], [[1.0, 1.0]])
    assert nobody.objectives[0].best_value is None and nobody.objectives[0].best_params is None
    free = trade([[1.0, 2.0, 3.0]])
    assert free.objectives[0].best_value == 1.0 and free.objectives[0].feasible is None


def test_what_does_not_fit_together(trade: Trade) -> None:
    told = trade([[1.0, 2.0], [1.0, 2.0]], [[0.0, 0.0]])
    with pytest.raises(DataError, match="at least one objective"):
        replace(told, objectives=())
    with pytest.raises(DataError, match="'objective 1' is told of other trials"):
        replace(told, objectives=(told.objectives[0], replace(told.objectives[1], numbers=(0, 5))))
    with pytest.raises(DataError, match="'limit 0' must be minimised"):
        replace(told, constraints=(replace(told.constraints[0], direction=MAX),))
    for reference in ((1.0,), (1.0, float("inf")), (float("nan"), 1.0)):
        with pytest.raises(DataError, match="one finite value for each of 2 objectives"):
            replace(told, reference=reference)
