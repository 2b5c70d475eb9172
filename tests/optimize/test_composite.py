"""Composite objectives through ask and tell: what is measured, what is suggested, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from calibo import Categorical, Float, Int, Optimizer
from calibo.classifiers.composite import CompositeNetwork
from calibo.data import Dataset
from calibo.errors import FallbackWarning, RecipeError, ValueRejected
from calibo.methods import composite_lfbo, strategy
from calibo.optimize.composite import Negated, composed, finite_vector
from calibo.optimize.likelihood_free import CompositeLikelihoodFree
from calibo.problems.environmental import environmental
from calibo.trials import Direction

pytestmark = pytest.mark.extras

MODEL = environmental()
CUBE = {"x": Float(0, 1), "y": Float(0, 1)}
TARGET = torch.tensor([0.3, 0.7], dtype=torch.float64)


def loss(h: Any) -> Any:
    return ((h - TARGET) ** 2).sum(-1)


def gain(h: Any) -> Any:
    return -loss(h)


def vector(params: Any) -> list[float]:
    return [params["x"] ** 2 + 0.1 * params["y"], params["y"] + 0.3 * params["x"]]


def run(optimizer: Optimizer, n: int, measure: Any = vector) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, measure(suggestion.params))
        asked.append(dict(suggestion.params))
    return asked


# --- it optimizes -----------------------------------------------------------------------------------------------------


def test_it_calibrates_the_environmental_model() -> None:
    optimizer = Optimizer(MODEL.problem.space(), composite=MODEL.loss, seed=0)
    run(optimizer, 20, MODEL.measure)
    params, value = optimizer.best
    # The best of the 8 points of the design is about 0.1 to 1.
    assert 0.0 <= value < 5e-3
    assert value == pytest.approx(-MODEL.problem.objective(params), rel=1e-9)


def test_vectors_are_kept_exactly_and_values_are_what_is_shown() -> None:
    optimizer = Optimizer(CUBE, composite=loss, seed=0)
    asked = run(optimizer, 4)
    data = optimizer.data()
    H = np.array([vector(params) for params in asked])
    np.testing.assert_array_equal(data.H, H)
    np.testing.assert_allclose(data.Y[:, 0], -loss(torch.tensor(H)).numpy(), rtol=1e-14)
    assert optimizer.best[1] == -data.Y.max()


@pytest.mark.parametrize(
    "other",
    [
        {"composite": gain, "direction": "maximize"},
        {"method": "composite_lfbo", "composite": gain, "direction": "max"},
        {"method": composite_lfbo(outer=gain)},
        {"method": composite_lfbo(outer=gain), "direction": "maximize"},
    ],
    ids=["composite", "by name", "outer", "outer maximized"],
)
def test_signs(other: dict[str, Any]) -> None:
    """A loss that is minimized and a gain that is maximized are the same; ``outer`` is always larger is better."""
    reference, optimizer = Optimizer(CUBE, composite=loss, seed=3), Optimizer(CUBE, seed=3, **other)
    asked = run(reference, 8)
    assert run(optimizer, 8) == asked
    np.testing.assert_array_equal(optimizer.data().Y, reference.data().Y)
    sign = -1.0 if other.get("direction") else 1.0
    assert optimizer.best == (reference.best[0], sign * reference.best[1])


@pytest.mark.parametrize(
    "space",
    [
        {"x": Float(0, 1), "i": Int(0, 5), "c": Categorical(["a", "b", "c"])},
        [{"x": i / 20, "i": i % 6, "c": "abc"[i % 3]} for i in range(20)],
    ],
    ids=["mixed", "pool"],
)
def test_spaces_of_all_kinds(space: Any) -> None:
    def measure(p: Any) -> list[float]:
        return [p["x"] + 0.1 * p["i"], float(p["c"] == "b")]

    optimizer = Optimizer(space, composite=lambda h: (h[:, 0] - 0.7) ** 2 + (h[:, 1] - 1) ** 2, seed=0)
    run(optimizer, 14, measure)
    assert len(np.unique(optimizer.data().X, axis=0)) == 14
    assert optimizer.best[0]["c"] == "b" and optimizer.best[1] < 0.02


@pytest.mark.parametrize(
    "measure",
    [
        lambda p, i: [3.0, 3.0],
        lambda p, i: [5e-324 * (i % 3), 0.0],
        lambda p, i: [(-1) ** i * 10.0 ** (300 - 60 * (i % 11)), p["y"]],
        lambda p, i: [1e250 if i == 4 else p["x"], p["y"]],
        lambda p, i: [1e15 + p["x"], p["y"]],
    ],
    ids=["equal", "subnormal", "huge and tiny", "outlier", "offset"],
)
def test_degenerate_vectors_never_stop_it(measure: Any) -> None:
    optimizer = Optimizer(CUBE, composite=lambda h: h[:, 0] + h[:, 1], seed=0)
    for i in range(8):
        suggestion = optimizer.ask()
        assert np.isfinite(suggestion.x).all()
        optimizer.tell(suggestion, measure(suggestion.params, i))


# --- batches, pending and failed points -------------------------------------------------------------------------------


def test_batches_and_pending_points_are_all_different() -> None:
    optimizer = Optimizer(CUBE, composite=loss, seed=0)
    run(optimizer, 6)
    waiting = [optimizer.ask(), *optimizer.ask(q=3)]
    X = np.array([s.x for s in waiting])
    assert (np.abs(X[:, None] - X[None]).max(axis=-1) + np.eye(4)).min() > 1e-4
    assert all(s.forecasts is None for s in waiting)


def test_failures_steer_away() -> None:
    """The best outcomes lie beside where evaluations fail: over three studies most of the last points do not fail."""
    late = 0
    for seed in range(3):
        optimizer = Optimizer(CUBE, composite=lambda h: h[:, 0] + (h[:, 1] - 0.5) ** 2, seed=seed)
        failed = []
        for _ in range(16):
            suggestion = optimizer.ask()
            failed.append(suggestion.params["x"] < 0.4)
            if failed[-1]:
                optimizer.tell_failed(suggestion)
            else:
                optimizer.tell(suggestion, [suggestion.params["x"], suggestion.params["y"]])
        late += sum(failed[-5:])
        assert sum(failed) >= 1
        assert 0.4 <= optimizer.best[0]["x"] < 0.6
    assert late <= 9


def test_many_failures_are_negatives() -> None:
    rng = np.random.default_rng(0)
    H = rng.random((5, 2))
    data = Dataset(X=H, Y=-loss(torch.tensor(H)).numpy()[:, None], H=H, X_failed=rng.random((300, 2)) * [0.5, 1.0])
    acquisition = composite_lfbo(outer=gain).plan(data, rng=np.random.default_rng(0)).acquisition
    left, right = (acquisition(np.array([[x, y] for y in np.linspace(0, 1, 9)])).mean() for x in (0.25, 0.75))
    assert np.isfinite([left, right]).all() and left < right


def test_pruned_points_count_with_what_was_measured_last() -> None:
    rng = np.random.default_rng(0)
    H = rng.random((6, 2))
    known = Dataset(X=H, Y=-loss(torch.tensor(H)).numpy()[:, None], H=H)
    X = rng.random((1, 2))
    lead = []
    for y in (0.0, 1.2 * known.Y.min()):
        data = Dataset(X=H, Y=known.Y, H=H, X_failed=X, Y_failed=np.array([[y]]))
        log_u = composite_lfbo(outer=gain).plan(data, rng=np.random.default_rng(0)).acquisition(np.vstack([X, H]))
        lead.append(log_u[0] - log_u[1:].mean())
    assert lead[0] > lead[1]


# --- randomness -------------------------------------------------------------------------------------------------------


def test_the_same_seed_the_same_suggestions_and_nothing_global_changes() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]
    one = run(Optimizer(CUBE, composite=loss, seed=7), 8)
    assert torch.equal(torch.get_rng_state(), before[0]) and (np.random.get_state()[1] == before[1]).all()  # type: ignore[index]
    torch.rand(3)
    assert run(Optimizer(CUBE, composite=loss, seed=7), 8) == one
    assert run(Optimizer(CUBE, composite=loss, seed=8), 8)[5:] != one[5:]


# --- vectors that are no vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ([1.0, 2.0, 3.0], "a row of 2 finite numbers, as those before, got 3"),
        ([1.0, float("nan")], "got nan at place 1"),
        (3.0, "a row of 2 finite numbers, got a float: 3.0"),
        (None, "got a NoneType"),
        *((wrong, "got a list") for wrong in ([], [[1.0, 2.0]], [True, False], [1.0, [2.0]])),
    ],
)
def test_bad_vectors_are_rejected_by_name_and_change_nothing(wrong: Any, named: str) -> None:
    optimizer = Optimizer(CUBE, composite=loss, seed=0)
    run(optimizer, 1)
    suggestion = optimizer.ask()
    with pytest.raises(ValueRejected, match=named):
        optimizer.tell(suggestion, wrong)
    assert len(optimizer.data()) == 1
    optimizer.tell(suggestion, vector(suggestion.params))


def test_rows_of_many_kinds_are_vectors() -> None:
    for row in ((1, 2), [1.0, 2], np.array([1, 2]), np.float32([1, 2]), torch.tensor([1.0, 2.0])):  # pyright: ignore[reportArgumentType, reportCallIssue]
        assert finite_vector(row, 2) == (1.0, 2.0)


def test_a_function_without_a_finite_value_is_named() -> None:
    optimizer = Optimizer(CUBE, composite=lambda h: torch.log(h[:, 0]), seed=0)
    with pytest.raises(ValueRejected, match=r"must give a finite number, got -inf for the vector \[0.0, 1.0\]"):
        optimizer.tell({"x": 0.5, "y": 0.5}, [0.0, 1.0])
    broken = Optimizer(CUBE, composite=lambda h: h - torch.zeros(7), seed=0)
    with pytest.raises(RecipeError, match="the composite function failed on a torch tensor of 2 x 2"):
        broken.tell({"x": 0.5, "y": 0.5}, [0.0, 1.0])
    of_one = Optimizer(CUBE, composite=lambda h: (h**2).sum().reshape(1), seed=0)
    with pytest.raises(RecipeError, match=r"one value for each of the m vectors.*it returned \(1,\)"):
        of_one.tell({"x": 0.5, "y": 0.5}, [0.0, 1.0])
    assert not len(of_one.data())


# --- recipes that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "composite", "options", "message"),
    [
        ("gp_ei", loss, {}, "gp_ei does not take composite=.*composite_lfbo does"),
        ("lfbo", loss, {}, "lfbo does not take composite=.*composite_lfbo does"),
        ("composite_lfbo", None, {}, "needs the known function g.*composite=g"),
        (composite_lfbo(outer=gain), loss, {}, "not both"),
        (None, [1.0], {}, "got a list"),
        (None, loss, {"directions": ["min", "min"]}, "one objective, got 2 directions"),
    ],
)
def test_what_cannot_be_composed_is_refused(method: Any, composite: Any, options: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Optimizer(CUBE, method, composite=composite, **options)


def test_bad_settings_and_what_composite_objectives_do_not_have() -> None:
    with pytest.raises(RecipeError, match="outer must be a function"):
        composite_lfbo(outer=1.0)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="gamma"):
        composite_lfbo(gamma=0.0)
    optimizer = Optimizer(CUBE, composite=loss, seed=0)
    for options, message in (({"sem": 0.1}, "no sem"), ({"constraints": {"c": 1.0}}, "without constraints")):
        with pytest.raises(RecipeError, match=message):
            optimizer.tell({"x": 0.5, "y": 0.5}, [0.0, 1.0], **options)  # type: ignore[arg-type]
    run(optimizer, 2)
    with pytest.raises(RecipeError, match="without a predictive distribution"):
        optimizer.predict([{"x": 0.5, "y": 0.5}])


def test_without_any_vector_points_are_random_with_a_warning() -> None:
    data = Dataset(X=np.zeros((2, 2)), Y=np.zeros((2, 1)))
    with pytest.warns(FallbackWarning, match="none of the 2 observations has a vector"):
        plan = composite_lfbo(outer=gain).plan(data, rng=np.random.default_rng(0))
    assert (plan.acquisition(data.X) == plan.acquisition(data.X)[0]).all()
    with pytest.raises(RecipeError, match="needs the known function"):
        strategy("composite_lfbo").plan(data, rng=np.random.default_rng(0))


def test_points_without_a_vector_are_still_data() -> None:
    X = np.array([[0.25, 0.25], [0.5, 0.5], [0.75, 0.75]])
    data = Dataset(X=X, Y=-X[:, :1], H=np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 4.0]]))
    acquisition = composite_lfbo(outer=gain).plan(data, rng=np.random.default_rng(0)).acquisition
    assert np.isfinite(acquisition(data.X)).all()


def test_the_parts_of_the_recipe() -> None:
    made = composite_lfbo(outer=gain, gamma=0.2)
    assert made == CompositeLikelihoodFree(gain, CompositeNetwork(gamma=0.2)) and not made.makes_forecasts
    bound, shown = composed(composite_lfbo(), loss, [Direction.MINIMIZE])
    assert isinstance(bound, CompositeLikelihoodFree) and isinstance(bound.outer, Negated) and shown is not None
    assert shown.measured([0.3, 0.8])[1] == pytest.approx(0.01)
    assert composed(strategy("gp_ei"), None, [Direction.MINIMIZE])[1] is None
