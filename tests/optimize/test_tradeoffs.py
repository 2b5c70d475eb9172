"""Several objectives and constraints through the whole loop: strategy, records and optimizer together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from calibo import Float, Optimizer
from calibo.acquisition import ExpectedImprovement, UpperQuantile
from calibo.data import Dataset
from calibo.errors import CaliboWarning, DataError, RecipeError, ValueRejected
from calibo.methods import cbo, gp_ei, locbo, ocbo
from calibo.models import GaussianProcess
from calibo.optimize.strategy import ModelBased
from calibo.pareto import hypervolume, pareto_mask
from calibo.search import RandomDraw

SPACE = {"a": Float(0, 1), "b": Float(0, 1)}
QUICK = RandomDraw(96, 48)
METHODS = {
    "gp_ei": gp_ei(search=QUICK),
    "ocbo": ocbo(search=QUICK),
    "locbo": locbo(search=QUICK),
    "cbo": cbo(ratio=None, search=QUICK),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")
RNG = np.random.default_rng


def goals(params: Any) -> tuple[float, float]:
    """Both to be minimized; the front is the segment from (0, 0.4) to (0.8, 0)."""
    a, b = params["a"], params["b"]
    return a + 0.5 * (b - 0.3) ** 2, 0.5 * (a - 0.8) ** 2 + (b - 0.3) ** 2


def observed(optimizer: Optimizer, steps: int, **constraints: Any) -> Optimizer:
    for _ in range(steps):
        suggestion = optimizer.ask()
        optimizer.tell(
            suggestion, goals(suggestion.params), **{k: f(suggestion.params) for k, f in constraints.items()}
        )
    return optimizer


# One method for each kind of distribution: a Gaussian, one with other levels, a flat set.
@pytest.mark.parametrize("method", ["gp_ei", "ocbo", "cbo", pytest.param("locbo", marks=pytest.mark.slow)])
def test_methods_trade_two_objectives_off(method: str) -> None:
    optimizer = observed(Optimizer(SPACE, METHODS[method], directions=["min", "min"], reference=(1.2, 0.6), seed=1), 22)
    front = optimizer.pareto_front
    Y = -np.array([values for _, values in front])
    assert pareto_mask(Y).all() and len(front) >= 6
    random = RNG(0).random((22, 2))
    chance = -np.array([goals({"a": a, "b": b}) for a, b in random])
    reference = np.array([-1.2, -0.6])
    assert hypervolume(Y, reference) > hypervolume(chance, reference) + 0.01
    for objective in (0, 1):
        assert optimizer.calibration(objective).rows[0].of == 19
    batch = optimizer.ask(4)
    assert pdist([s.x for s in batch]).min() > 1e-6
    assert all(s.forecasts is not None and len(s.forecasts) == 2 for s in batch)


def test_directions_only_turn_signs() -> None:
    both = Optimizer(SPACE, METHODS["gp_ei"], directions=["min", "min"], reference=(1.2, 0.6), seed=1)
    other = Optimizer(SPACE, METHODS["gp_ei"], directions=["min", "max"], reference=(1.2, -0.6), seed=1)
    for _ in range(12):
        one, two = both.ask(), other.ask()
        np.testing.assert_allclose(one.x, two.x, atol=1e-9)
        first, second = goals(one.params)
        both.tell(one, (first, second))
        other.tell(two, (first, -second))
    assert one.forecasts is not None and two.forecasts is not None
    assert two.forecasts[1].raw.mean == pytest.approx(-one.forecasts[1].raw.mean)


@pytest.mark.parametrize("method", ["gp_ei", "ocbo", "cbo", pytest.param("locbo", marks=pytest.mark.slow)])
def test_constraints_are_met_and_learned(method: str) -> None:
    optimizer = Optimizer(SPACE, METHODS[method], seed=3)
    for _ in range(24):
        s = optimizer.ask()
        a, b = s.params["a"], s.params["b"]
        optimizer.tell(s, (a - 0.9) ** 2 + (b - 0.9) ** 2, constraints={"sum": a + b - 1.0, "gap": a - b - 0.3})
    assert optimizer.constraints == ("gap", "sum")
    params, value = optimizer.best
    assert params["a"] + params["b"] <= 1.0 and 0.32 <= value < 0.36
    table = optimizer.feasibility()
    assert sum(row.of for row in table.rows) == 21  # three are chosen without a model
    assert optimizer.calibration("sum").rows[0].of == 21
    predicted = optimizer.predict([{"a": 0.2, "b": 0.2}, {"a": 0.95, "b": 0.95}])
    assert predicted["feasible"][0] > 0.8 and predicted["feasible"][1] < 0.2
    assert {"mean", "constraint_gap_mean", "constraint_sum_mean", "constraint_sum_measured_low_80"} <= set(
        predicted.columns
    )


def test_several_objectives_with_constraints() -> None:
    optimizer = Optimizer(SPACE, METHODS["ocbo"], directions=["min", "min"], seed=1)
    observed(optimizer, 18, constraints=lambda p: [0.4 - p["a"]])
    assert all(params["a"] >= 0.4 for params, _ in optimizer.pareto_front)
    assert optimizer.constraints == ("0",)
    late = [s.params["a"] >= 0.35 for s in optimizer.ask(3)]
    assert all(late)


def test_without_a_feasible_point_feasibility_is_climbed() -> None:
    X = RNG(0).random((8, 2)) * [0.5, 1.0]
    data = Dataset(X=X, Y=np.column_stack([X[:, 1], X[:, 0] - 0.9]), constraints=1)
    assert not data.feasible.any()
    for rule in (ExpectedImprovement(), UpperQuantile()):
        plan = ModelBased(GaussianProcess(), rule).plan(data, rng=RNG(0))
        values = plan.acquisition(np.array([[0.1, 0.9], [0.95, 0.1]]))
        assert values[1] > values[0] + 1.0
        # The anchors are the points that lack least.
        assert plan.anchors[0, 0] == X[:, 0].max()
    optimizer = Optimizer(SPACE, METHODS["gp_ei"], seed=0)
    optimizer.tell({"a": 0.1, "b": 0.1}, 1.0, constraints=[2.0])
    with pytest.raises(DataError, match="none of 1 complete trials meets all constraints"):
        optimizer.best


def test_learning_models_learn_alike_for_all_outcomes() -> None:
    X = RNG(0).random((14, 2))
    Y = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1]])
    plan = cbo().plan(Dataset(X=X, Y=Y), rng=RNG(0))
    assert plan.learn is not None and len(plan.models) == 2
    learned = plan.learned(0.8 + 0.2 * RNG(1).random((200, 2)), rng=RNG(2))
    points = RNG(3).random((5, 2))
    first, second = (model.in_distribution(points) for model in learned.models)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(first, second)
    assert np.isfinite(learned.acquisition(points)).any()


def test_pending_points_are_respected() -> None:
    optimizer = observed(Optimizer(SPACE, METHODS["locbo"], directions=["min", "min"], seed=1), 8)
    assert pdist([optimizer.ask().x for _ in range(5)]).min() > 1e-6


def test_the_same_seed_gives_the_same_suggestions() -> None:
    optimizers = [Optimizer(SPACE, METHODS["ocbo"], directions=["min", "min"], seed=4) for _ in range(2)]
    first, again = (observed(optimizer, 8, constraints=lambda p: [p["a"] - 0.9]) for optimizer in optimizers)
    np.testing.assert_array_equal(first.ask().x, again.ask().x)
    np.testing.assert_array_equal(first.data().Y, again.data().Y)


def test_bad_outcomes_are_rejected_and_lose_nothing() -> None:
    optimizer = Optimizer(SPACE, METHODS["gp_ei"], directions=["min", "max"], seed=0)
    suggestion = optimizer.ask()
    for value, options, message in (
        (1.0, {}, "2 numbers, one for each direction"),
        ((1.0, 2.0), {"constraints": "yes"}, "constraints are numbers by name"),
        ((1.0, 2.0), {"sem": 0.1}, "each of 2 objectives"),
    ):
        with pytest.raises(ValueRejected, match=message):
            optimizer.tell(suggestion, value, **options)  # type: ignore[arg-type]
    optimizer.tell(suggestion, (1.0, 2.0), sem=(0.1, 0.2))
    assert optimizer.data().Y_var is not None


def test_judgements_of_several_objectives_say_what_to_ask_for() -> None:
    with pytest.raises(RecipeError, match="a reference point has one finite value for each"):
        Optimizer(SPACE, directions=["min", "min"], reference=(1.0,))
    both = Optimizer(SPACE, directions=["min", "min"])
    both.tell({"a": 0.1, "b": 0.2}, (1.0, 2.0))
    with pytest.raises(RecipeError, match="ask for pareto_front"):
        both.best
    with pytest.raises(RecipeError, match="counted from 0 to 1"):
        both.calibration(2)


@pytest.mark.parametrize("method", ["turbo", "risk_averse"])
def test_methods_of_one_objective_say_so(method: str) -> None:
    with pytest.raises(RecipeError, match=f"{method} optimizes one objective without constraints, got 2 objectives"):
        Optimizer(SPACE, method, directions=["min", "min"], seed=0)
    with pytest.raises(RecipeError, match="got 1 constraints"):
        Optimizer(SPACE, method, seed=0).tell({"a": 0.5, "b": 0.5}, 1.0, constraints=[0.1])


def test_forecasts_made_before_a_constraint_was_known_still_count() -> None:
    optimizer = Optimizer(SPACE, METHODS["ocbo"], seed=0, n_initial=3)
    early = [optimizer.ask() for _ in range(3)]
    optimizer.tell(early[0], 1.0, constraints={"c": -1.0})
    optimizer.tell(early[1], 2.0, constraints={"c": 0.5})
    optimizer.tell(early[2], 3.0, constraints={"c": 0.0})
    later = optimizer.ask()
    assert later.constraints == ("c",) and later.forecasts is not None and len(later.forecasts) == 2
    optimizer.tell(later, 0.5, constraints={"b": -1.0, "c": -2.0})
    with pytest.warns(CaliboWarning):
        forecasts = optimizer.data().forecasts
    assert forecasts[-1] is not None and [f is None for f in forecasts[-1]] == [False, True, False]


@pytest.mark.extras
def test_more_objectives_through_boxes_of_botorch() -> None:
    strategy = gp_ei(search=RandomDraw(32, 16))
    optimizer = Optimizer(SPACE, strategy, directions=["min", "min", "max"], seed=1)
    for _ in range(8):
        s = optimizer.ask()
        optimizer.tell(s, (*goals(s.params), s.params["a"] * s.params["b"]))
    assert len(optimizer.pareto_front[0][1]) == 3
    assert pdist([s.x for s in optimizer.ask(2)]).min() > 1e-6
    assert replace(strategy, name="x").tradeoff == strategy.tradeoff


@pytest.mark.parametrize("method", ["gp_ei", "locbo"])
@pytest.mark.parametrize("shift", [0.2, -0.2], ids=["feasible", "not yet"])
def test_a_batch_under_constraints_is_spread(method: str, shift: float) -> None:
    """Neither where the constraints are met nor before any point meets them do further points become copies."""
    optimizer = Optimizer(SPACE, METHODS[method], seed=2)
    for _ in range(7):
        s = optimizer.ask()
        a, b = s.params["a"], s.params["b"]
        optimizer.tell(s, a + b, constraints=[abs(a - 0.6) + abs(b - 0.5) - shift])
    assert pdist([s.x for s in optimizer.ask(4)]).min() > 0.01
    waiting = [optimizer.ask() for _ in range(4)]
    assert pdist([s.x for s in waiting]).min() > 1e-3


def test_infeasible_points_are_neither_front_nor_incumbent() -> None:
    X = RNG(0).random((10, 2))
    good = np.column_stack([X[:, 0], X[:, 1], np.ones(10)])
    beyond = np.vstack([good, [[50.0, 50.0, -1.0]]])
    at = np.vstack([X, [[0.5, 0.5]]])
    points = RNG(1).random((30, 2))
    for columns in ([0, 1, 2], [0, 2]):
        data = Dataset(X=at, Y=beyond[:, columns], constraints=1)
        plan = gp_ei().plan(data, rng=RNG(0))
        reached = replace(data.without_constraints().rows(np.arange(10)))
        rule = gp_ei().tradeoff if len(columns) == 3 else gp_ei().rule
        model = plan.models[: data.objectives] if len(columns) == 3 else plan.models[0]
        expected = rule.build(model, reached, rng=RNG(0))(points)  # type: ignore[arg-type]
        feasible = np.log(np.maximum(1.0 - plan.models[-1].predict(points, latent=False).cdf(0.0), 1e-300))
        np.testing.assert_allclose(plan.acquisition(points), expected + feasible, rtol=1e-6, atol=1e-6)


def test_pending_points_count_when_some_points_are_infeasible() -> None:
    X = RNG(0).random((9, 2))
    data = Dataset(X=X, Y=np.column_stack([X[:, 0], X[:, 1] - 0.5]), constraints=1)
    assert 0 < data.feasible.sum() < 9
    points = RNG(1).random((50, 2))
    free = gp_ei().plan(data, rng=RNG(0)).acquisition(points)
    best = points[[int(np.argmax(free))]]
    busy = gp_ei().plan(replace(data, X_pending=best), rng=RNG(0)).acquisition(best)
    assert busy[0] < free.max() - 2.0


def test_feasibility_is_judged_by_what_was_forecast() -> None:
    optimizer = Optimizer(SPACE, METHODS["ocbo"], seed=0, n_initial=3)
    for i in range(12):
        s = optimizer.ask()
        late = {"z": 1.0} if i == 11 else {}
        optimizer.tell(s, s.params["a"], constraints={"c": -1.0} | late)
    table = optimizer.feasibility()
    assert sum(row.met for row in table.rows) == sum(row.of for row in table.rows) == 9


def test_objectives_have_names() -> None:
    ways = {"cost": "minimize", "loss": "minimize"}
    named = Optimizer(SPACE, METHODS["gp_ei"], directions=ways, reference={"loss": 1.0, "cost": 2.0}, seed=3)
    plain = Optimizer(SPACE, METHODS["gp_ei"], directions=["minimize"] * 2, reference=(2.0, 1.0), seed=3)
    for _ in range(7):
        suggestion = named.ask()
        cost, loss = goals(suggestion.params)
        named.tell(suggestion, {"loss": loss, "cost": cost}, {"loss": 0.1, "cost": 0.2})
        plain.tell(plain.ask(), (cost, loss), (0.2, 0.1))
    assert named.ask().params == plain.ask().params
    assert named.trials[0].values == plain.trials[0].values and named.trials[0].sem == (0.2, 0.1)
    assert "minimize cost and minimize loss over" in repr(named)
    assert {"cost_mean", "loss_measured_low_80"} <= set(named.predict([{"a": 0.5, "b": 0.5}]).columns)
    assert named.calibration("loss").headline() == plain.calibration(1).headline()
    with pytest.raises(ValueRejected, match="'cost', 'loss'"):
        named.tell(named.ask(), {"cost": 1.0, "time": 2.0})
    with pytest.raises(RecipeError, match="no objective and no constraint 'time'"):
        named.calibration("time")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_ends_of_a_front_are_found_without_a_reference_point(sign: float) -> None:
    way = "minimize" if sign > 0 else "maximize"
    optimizer = Optimizer(SPACE, METHODS["gp_ei"], directions=[way, "minimize"], seed=2)
    for _ in range(20):
        suggestion = optimizer.ask()
        first, second = goals(suggestion.params)
        optimizer.tell(suggestion, (sign * first, second))
    front = np.array([values for _, values in optimizer.pareto_front]) * [sign, 1.0]
    assert front[:, 0].min() < 0.03 and front[:, 1].min() < 0.01


def test_a_measurement_that_went_wrong_does_not_end_the_search_for_a_front() -> None:
    optimizer = Optimizer(SPACE, METHODS["ocbo"], directions=["minimize"] * 2, seed=2)
    for step in range(20):
        suggestion = optimizer.ask()
        first, second = goals(suggestion.params)
        optimizer.tell(suggestion, (1e12 if step == 3 else first, second))
    front = np.array([values for _, values in optimizer.pareto_front])
    assert front[:, 0].min() < 0.15 and front[:, 1].min() < 0.1
