"""Ask and tell: warm starts, noise, forecasts, the random state, and bad input that is refused and loses nothing."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo.acquisition import ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, KFold, LeaveOneOut, Temperature
from calibo.data import Outcome
from calibo.errors import CaliboError, DataError, RecipeError, SpaceError, SpaceWarning, ValueRejected
from calibo.methods import cbo, gp_ei
from calibo.models import GaussianProcess
from calibo.optimize import ModelBased, Optimizer
from calibo.search import Langevin, MultiStart, RandomDraw
from calibo.spaces import Float, Int, Mixture, PoolSpace, ProductSpace

CUBE = {"x": Float(0, 1), "y": Float(0, 1)}


def bowl(params: Any) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def run(optimizer: Optimizer, n: int, objective: Callable[[Any], float] = bowl) -> Optimizer:
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, objective(suggestion.params))
    return optimizer


def after(n: int, method: str = "gp_ei", **options: Any) -> Optimizer:
    return run(Optimizer(CUBE, method, seed=0, **options), n)


# --- outcomes of any points, with noise, and failures -----------------------------------------------------------------


def test_a_pool_gives_whole_rows() -> None:
    rows = [{"id": f"r{i}", "a": i / 10, "b": i % 3} for i in range(20)]
    optimizer = Optimizer(PoolSpace(rows, features=["a", "b"]), "ocbo", seed=0)
    run(optimizer, 15, lambda p: (p["a"] - 1.2) ** 2)
    asked = [dict(trial.params) for trial in optimizer.trials]
    assert all(p in rows for p in asked) and len({p["id"] for p in asked}) == 15
    assert optimizer.best[0] == rows[12]


def test_warm_starts() -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0)
    for x in np.linspace(0, 1, 6):
        optimizer.tell({"x": float(x), "y": 0.5}, bowl({"x": x, "y": 0.5}))
    suggestion = optimizer.ask()
    assert suggestion.number == 0 and suggestion.forecasts is not None  # enough is known to skip the design
    assert optimizer.best[0]["x"] == pytest.approx(0.2) and all(f is None for f in optimizer.data().forecasts)
    assert run(optimizer, 8).best[1] < 0.05


def test_further_measurements_of_a_suggestion_have_no_forecast() -> None:
    optimizer = after(6)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 1.0)
    optimizer.tell(suggestion.params, 2.0)
    data = optimizer.data()
    assert len(data) == 8 and data.forecasts[6] is not None and data.forecasts[7] is None
    np.testing.assert_allclose(data.X[6], data.X[7], atol=1e-12)
    optimizer.ask()


def test_the_best_of_a_warm_start_has_the_parameters_given() -> None:
    optimizer = Optimizer({"x": Float(0.1, 10, log=True), "y": Float(-3, 7)}, "gp_ei", seed=0)
    for x, y in ((0.3, 0.1), (0.7, 1.3), (3.3, 6.1)):
        optimizer.tell({"x": x, "y": y}, -x)
    assert optimizer.best == (pytest.approx({"x": 3.3, "y": 6.1}, rel=1e-12), -3.3)


def test_standard_errors_are_passed_on() -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    optimizer.tell({"x": 0.1, "y": 0.2}, 1.0, sem=0.5)
    optimizer.tell({"x": 0.3, "y": 0.2}, 2.0)
    np.testing.assert_array_equal(optimizer.data().Y_var, [[0.25], [np.nan]])
    run(optimizer, 6)


@pytest.mark.parametrize(
    ("value", "sem"), [(1e300, 1e299), (1e200, 1e160), (1e-300, 1e-301), (1.0, 0.0), (0.0, 1e-200)]
)
def test_standard_errors_of_any_size_are_used_or_refused_by_name(value: float, sem: float) -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "ocbo", seed=0)
    for i in range(6):
        try:
            optimizer.tell({"x": i / 5}, value * (1 + i), sem=sem)
        except CaliboError:
            assert len(optimizer.data()) == 0 and not 1e-150 < sem < 1e150
            return
    assert np.isfinite(optimizer.ask().x).all()
    assert np.isfinite(optimizer.predict([{"x": 0.33}]).drop(columns="calibration").to_numpy(dtype=float)).all()


def test_small_standard_errors_of_small_outcomes_count_or_are_refused_by_name() -> None:
    """Half of the outcomes' spread is half of it at any scale; it must not silently become nothing."""
    widths = []
    for scale in (1.0, 2.0**-900):
        optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=0)
        try:
            for i in range(8):
                optimizer.tell({"x": i / 7}, scale * float(np.sin(i)), sem=scale * 0.5)
        except CaliboError:
            assert scale < 1
            return
        table = optimizer.predict([{"x": 0.5}])
        widths.append(float((table["measured_high_80"] - table["measured_low_80"]).iloc[0]) / scale)
    assert widths[1] == pytest.approx(widths[0], rel=1e-6)


def test_an_outcome_is_told_with_all_that_is_in_it() -> None:
    one, other = (Optimizer({"x": Float(0, 1)}, seed=0) for _ in range(2))
    one.tell({"x": 0.25}, Outcome(0.5, constraints={"heat": -1.0}, sem=0.1))
    other.tell({"x": 0.25}, 0.5, 0.1, constraints={"heat": -1.0})
    assert one.trials[0].values == other.trials[0].values == (0.5,)
    assert one.trials[0].sem == other.trials[0].sem == (0.1,)
    assert one.trials[0].constraints == other.trials[0].constraints == {"heat": -1.0}
    with pytest.raises(DataError, match="give them in the Outcome"):
        one.tell({"x": 0.5}, Outcome(0.5), sem=0.1)
    assert len(one.trials) == 1


def test_nothing_but_failures() -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0)
    for _ in range(15):
        optimizer.tell_failed(optimizer.ask())
    optimizer.tell_failed({"x": 0.5, "y": 0.5})
    assert np.isfinite(optimizer.ask().x).all()
    with pytest.raises(DataError, match="no trial is complete yet"):
        optimizer.best
    optimizer.tell(optimizer.ask(), 1.0)
    assert len(optimizer.ask(q=3)) == 3


def test_pending_points_are_respected() -> None:
    optimizer = after(8)
    asked = np.array([optimizer.ask().x for _ in range(4)])
    gaps = np.linalg.norm(asked[:, None] - asked[None], axis=-1)[np.triu_indices(4, 1)]
    assert gaps.min() > 1e-4


def test_replication_is_allowed_when_it_is_meant() -> None:
    rng = np.random.default_rng(0)
    optimizer = Optimizer({"i": Int(0, 2)}, gp_ei(replicate=True), seed=0)
    assert len(run(optimizer, 12, lambda p: p["i"] + rng.standard_normal()).data()) == 12


def test_a_fit_starts_from_the_hyperparameters_of_the_latest_suggestion() -> None:
    optimizer = after(6)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 1.0)
    assert suggestion.hyperparameters and optimizer.data().hyperparameters == suggestion.hyperparameters


# --- the random state -------------------------------------------------------------------------------------------------


def test_without_a_seed_one_is_drawn() -> None:
    one, other = Optimizer(CUBE), Optimizer(CUBE)
    assert one.seed != other.seed and one.ask().params != other.ask().params


@pytest.mark.parametrize("rule", [UpperQuantile(), ThompsonSampling()], ids=["ucb", "ts"])
def test_the_global_random_state_is_neither_used_nor_changed(rule: Any) -> None:
    strategy = ModelBased(Calibrated(GaussianProcess(), by=Temperature(), evidence=KFold(3)), rule, RandomDraw(96, 32))
    runs = []
    for seed in (0, 1):
        np.random.seed(seed)
        random.seed(seed)
        legacy, plain = np.random.get_state(), random.getstate()
        optimizer = run(Optimizer(CUBE, strategy, seed=0), 7)
        optimizer.ask(q=2)
        optimizer.predict([{"x": 0.1, "y": 0.0}])
        state = np.random.get_state()
        assert all(np.array_equal(a, b) for a, b in zip(legacy, state, strict=True)) and random.getstate() == plain
        runs.append(optimizer.data().X)
    np.testing.assert_array_equal(*runs)


def test_the_order_of_observations_matters_only_to_prequential_evidence() -> None:
    X = np.random.default_rng(2).random((12, 2))
    Y = np.sin(6 * X[:, 0]) - X[:, 1]
    order = np.random.default_rng(3).permutation(12)
    calibrated = Calibrated(GaussianProcess(), by=Temperature(memory=1.0, largest=1e9), evidence=LeaveOneOut())
    for strategy in (gp_ei(), ModelBased(calibrated, UpperQuantile())):
        found = []
        for rows in (np.arange(12), order):
            optimizer = Optimizer(CUBE, strategy, direction="maximize", seed=5)
            for i in rows:
                optimizer.tell({"x": float(X[i, 0]), "y": float(X[i, 1])}, float(Y[i]))
            found.append(optimizer.ask().x)
        np.testing.assert_allclose(found[0], found[1], atol=5e-3)


# --- forecasts --------------------------------------------------------------------------------------------------------


def test_an_outcome_is_compared_with_the_forecast_made_before_it() -> None:
    optimizer = after(8, "ocbo")
    suggestion = optimizer.ask()
    assert suggestion.forecasts is not None
    optimizer.ask(q=2)
    optimizer.tell(suggestion, 0.5)
    stored = optimizer.data().forecasts[-1]
    assert stored == tuple(forecast.negated() for forecast in suggestion.forecasts)  # internally outcomes are maximized


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_forecasts_are_in_the_users_sign(direction: str) -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0, direction=direction)
    run(optimizer, 8, lambda p: 100.0 + bowl(p))
    expected = optimizer.predict([(suggestion := optimizer.ask()).params])["mean"][0]
    assert suggestion.forecasts is not None
    assert suggestion.forecasts[0].calibrated.mean == pytest.approx(expected, rel=1e-6)
    assert 90.0 < suggestion.forecasts[0].raw.mean < 115.0


def test_calibration_counts_the_forecasts_whose_outcome_is_known() -> None:
    optimizer = after(12, "ocbo")
    optimizer.tell({"x": 0.5, "y": 0.5}, 0.1)  # no forecast, no evidence
    known = [f for f in optimizer.data().forecasts if f is not None]
    assert 0 < len(known) < 12
    assert optimizer.calibration().rows[0].of == len(known) and Optimizer(CUBE, seed=0).calibration().rows[0].of == 0
    placed = sum(row.of for row in optimizer.calibration_by_place().rows)
    assert (
        0 < placed <= len(known) and "cannot be judged yet" in Optimizer(CUBE, seed=0).calibration_by_place().headline()
    )


def test_best_expected_is_robust_to_a_lucky_measurement() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", direction="maximize", seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        for x in (0.2, 0.5, 0.8):
            optimizer.tell({"x": x}, x + 0.3 * rng.standard_normal())
    optimizer.tell({"x": 0.2}, 3.0)
    assert optimizer.best[0] == {"x": pytest.approx(0.2)}
    params, expected = optimizer.best_expected
    assert params == {"x": pytest.approx(0.8)} and expected == pytest.approx(0.8, abs=0.3)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "sem", "error", "message"),
    [
        *((value, None, ValueRejected, r"finite number.*tell_failed\(\)$") for value in (float("nan"), "0.5", None)),
        *((1.0, sem, CaliboError, "standard error") for sem in (-1.0, "0.1")),
    ],
)
def test_a_bad_outcome_is_rejected_and_loses_nothing(value: Any, sem: Any, error: Any, message: str) -> None:
    optimizer = after(2)
    suggestion = optimizer.ask()
    with pytest.raises(error, match=message):
        optimizer.tell(suggestion, value, sem=sem)
    assert len(optimizer.data()) == 2 and len(optimizer.data().X_pending) == 1
    optimizer.tell(suggestion, 0.5, sem=0.1)
    assert len(optimizer.data()) == 3


@pytest.mark.parametrize(("params", "says"), [({"x": 0.5}, "missing"), ({"x": 1.5, "y": 0.5}, "outside")])
@pytest.mark.parametrize("tell", [lambda o, p: o.tell(p, 1.0), lambda o, p: o.tell_failed(p)], ids=["tell", "failed"])
def test_bad_parameters_are_refused_and_lose_nothing(
    params: dict[str, Any], says: str, tell: Callable[..., None]
) -> None:
    optimizer = after(2)
    with pytest.raises(SpaceError, match=says):
        tell(optimizer, params)
    assert len(optimizer.data()) == 2 and len(optimizer.data().X_failed) == 0


@pytest.mark.parametrize("failed", [False, True])
def test_an_outcome_is_recorded_once(failed: bool) -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    suggestion = optimizer.ask()
    calls: list[Callable[[], None]] = [
        lambda: optimizer.tell(suggestion, 1.0),
        lambda: optimizer.tell_failed(suggestion),
    ]
    calls[failed]()
    with pytest.raises(DataError, match="its outcome was recorded before"):
        calls[not failed]()
    data = optimizer.data()
    assert (len(data), len(data.X_failed), len(data.X_pending)) == (not failed, failed, 0)


def test_what_is_not_a_pending_suggestion_is_refused() -> None:
    optimizer, other = Optimizer(CUBE, "gp_ei", seed=0), Optimizer(CUBE, "gp_ei", seed=1)
    suggestion = optimizer.ask()
    for foreign in (other.ask(), replace(suggestion, number=99)):
        with pytest.raises(DataError, match="another optimizer"):
            optimizer.tell(foreign, 1.0)
    with pytest.raises(DataError, match="tell takes a suggestion or a mapping of parameters, got a list"):
        optimizer.tell([0.1, 0.2], 1.0)  # type: ignore[arg-type]
    assert len(optimizer.data()) == 0 and len(optimizer.data().X_pending) == 1


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (3, {}, "space"),
        ({}, {}, "parameter"),
        (CUBE, {"method": "bayes"}, "unknown method"),
        (CUBE, {"direction": "up"}, "direction"),
        (CUBE, {"seed": -1}, "seed"),
    ],
)
def test_bad_spaces_methods_directions_and_seeds(space: Any, options: Any, message: str) -> None:
    with pytest.raises(RecipeError if options else SpaceError, match=message):
        Optimizer(space, **options)


def test_before_the_first_outcome() -> None:
    optimizer = Optimizer(CUBE, seed=0)
    for q in (0, 1.5):
        with pytest.raises(RecipeError, match="q, the number of points to ask for"):
            optimizer.ask(q=q)  # type: ignore[arg-type]
    optimizer.ask()
    for name in ("best", "best_expected"):
        with pytest.raises(DataError, match="no trial is complete yet"):
            getattr(optimizer, name)


def test_suggestions_of_another_optimizer_are_restored() -> None:
    def made() -> Optimizer:
        return Optimizer({"x": Float(0, 1)}, "ocbo", seed=4)

    one = made()
    for _ in range(7):
        suggestion = one.ask()
        one.tell(suggestion, suggestion.params["x"] ** 2)
    awaited = one.ask()
    other = made()
    other.restore([trial.suggestion for trial in one.trials])
    for trial in one.trials:
        if trial.values is not None:
            other.tell(other.pending(trial.number), trial.values[0])
    assert [trial.number for trial in other.trials] == [trial.number for trial in one.trials]
    assert other.pending(awaited.number).params == awaited.params
    assert other.ask().params == one.ask().params
    assert other.calibration().headline() == one.calibration().headline()
    with pytest.raises(DataError, match="a number of its own"):
        other.restore([awaited])
    with pytest.raises(DataError, match="not pending"):
        other.pending(0)


# --- threads ----------------------------------------------------------------------------------------------------------


def test_threads_that_ask_get_different_suggestions_which_depend_on_their_number_alone() -> None:
    def asked(threads: int) -> dict[int, Any]:
        optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, "gp_ei", seed=3, n_initial=30)
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda _: optimizer.ask(), range(24)))
        return {one.number: tuple(one.params.values()) for one in found}

    together = asked(24)
    assert sorted(together) == list(range(24)) and len(set(together.values())) == 24
    assert together == asked(1)


def test_threads_that_tell_lose_nothing() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=3, n_initial=100)

    def work(_: int) -> None:
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert len(optimizer.trials) == 40 and {trial.number for trial in optimizer.trials} == set(range(40))


def test_an_optimizer_survives_pickling() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=3)
    optimizer.tell({"x": 0.5}, 1.0)
    copy = pickle.loads(pickle.dumps(optimizer))
    assert copy.ask().params == optimizer.ask().params


RECIPE = ProductSpace(
    {"m": Mixture(dict.fromkeys("abcde", (0, 1)), at_most=3), "T": Float(0, 1)}, constraints=["a >= b"]
)


def _recipe_value(p: Any) -> float:
    return (p["a"] - 0.5) ** 2 + (p["b"] - 0.5) ** 2 + (p["c"] - 0.1) ** 2 + (p["T"] - 0.3) ** 2


SHORT_CHAINS = cbo(search=Langevin(steps=12, burn_in=6, updates=2, then=MultiStart(96, 32, starts=2)))


@pytest.mark.parametrize(
    "method", ["auto", "gp_ei", "turbo", "lfbo", SHORT_CHAINS], ids=["auto", "gp_ei", "turbo", "lfbo", "cbo"]
)
def test_all_suggestions_meet_constraints(method: Any) -> None:
    optimizer = Optimizer(RECIPE, method, seed=2, n_initial=5)
    with pytest.warns(SpaceWarning, match=r"the parameters told broke 'a \+ b \+ c \+ d \+ e == 1' and 'a >= b'"):
        optimizer.tell({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0, "e": 0, "T": 0.5}, 1.0)
    assert len(optimizer.data()) == 1, "the point is data like any other"
    for q in (1, 1, 1, 1, 1, 1, 3):
        asked = optimizer.ask(q)
        for suggestion in asked if isinstance(asked, list) else [asked]:
            amounts = [suggestion.params[name] for name in "abcde"]
            assert abs(sum(amounts) - 1) <= 1e-9 and sum(v > 0 for v in amounts) <= 3
            assert suggestion.params["a"] >= suggestion.params["b"] - 1e-9
            optimizer.tell(suggestion, _recipe_value(suggestion.params))


def test_an_optimum_at_the_border_of_constraints_is_found() -> None:
    optimizer = Optimizer(RECIPE, "gp_ei", seed=0)
    for _ in range(22):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, _recipe_value(suggestion.params))
    # The best mixture has a = b, and c as large as the sum leaves it.
    assert optimizer.best[1] < 0.005 + 0.02
