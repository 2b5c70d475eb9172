"""Ask and tell, as a stranger would use it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, KFold, LeaveOneOut, Temperature
from calibo.errors import CaliboError, DataError
from calibo.methods import METHODS, gp_ei, ocbo
from calibo.models import GaussianProcess
from calibo.optimize import ModelBased, Optimizer
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace

CUBE = {"x": Float(0, 1), "y": Float(0, 1)}
MIXED = {
    "lr": Float(1e-4, 1, log=True),
    "x": Float(-2, 2, step=0.25),
    "n": Int(1, 300, log=True),
    "c": Categorical(["a", "b", "c"]),
    "o": Ordinal([1, 2, 4, 8]),
}
RULES = [
    ExpectedImprovement(),
    ProbabilityOfImprovement(),
    UpperQuantile(),
    ThompsonSampling(),
    ThompsonSampling(joint=False),
]


#: Methods that learn from values; composite_lfbo learns from vectors.
PLAIN = sorted(set(METHODS) - {"composite_lfbo"})
#: Methods that measure every point several times, and those that never repeat one.
REPLICATING = {"penalized_ei", "risk_averse"}
EXPLORING = sorted(set(PLAIN) - REPLICATING)
#: Trees and networks, which are made for many points and know nothing of smoothness between few.
COARSE = {"bananas", "bananas_cp", "conformal_ensemble", "cqr"}
#: With few data, or all of them in one place, conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")


#: One method of each family; the others have slow tests of what is common to all.
FAMILIES = {"gp_ei", "ocbo", "locbo", "lfbo", "penalized_ei"}


def families_first(methods: Iterable[str]) -> list[Any]:
    return [name if name in FAMILIES else pytest.param(name, marks=pytest.mark.slow) for name in sorted(methods)]


def bowl(params: Any) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def mixed(params: Any) -> float:
    return (np.log10(params["lr"]) + 2) ** 2 + abs(params["x"] - 0.5) + (params["c"] != "b") + params["o"] / 8


def run(optimizer: Optimizer, objective: Callable[[Any], float], n: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, objective(suggestion.params))
        asked.append(dict(suggestion.params))
    return asked


# --- it optimises -----------------------------------------------------------------------------------------------------


# The sign is changed for all methods alike: two of them show that.
@pytest.mark.parametrize(
    ("method", "direction"), [*((m, "minimize") for m in PLAIN), ("ocbo", "maximize"), ("lfbo", "maximize")]
)
def test_it_finds_the_bottom_of_a_bowl(method: str, direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    optimizer = Optimizer(CUBE, method, direction=direction, seed=0)
    # Points measured three times each leave fewer different ones.
    run(optimizer, lambda p: sign * bowl(p), 45 if method in REPLICATING else 20)
    params, value = optimizer.best
    close = 0.02 if method in REPLICATING else 0.15 if method in COARSE else 2e-3
    assert sign * value < close and value == pytest.approx(sign * bowl(params), rel=1e-9)


# BORE does not see by how much an outcome is better, and 30 points are too few for it here (a slow test has more runs),
# and for trees and networks.
@pytest.mark.parametrize("method", families_first(set(EXPLORING) - {"bore"} - COARSE))
def test_it_does_better_than_chance_in_a_mixed_space(method: str) -> None:
    optimizer = Optimizer(MIXED, method, seed=0)
    asked = run(optimizer, mixed, 30)
    for p in asked:
        assert (
            1e-4 <= p["lr"] <= 1
            and p["x"] % 0.25 == 0
            and 1 <= p["n"] <= 300
            and p["c"] in "abc"
            and p["o"] in (1, 2, 4, 8)
        )
        assert [type(v) for v in p.values()] == [float, float, int, str, int]
    space, rng = optimizer.space, np.random.default_rng(0)
    chance = [min(mixed(p) for p in space.decode(space.sample(30, rng))) for _ in range(50)]
    assert optimizer.best[1] < np.median(chance)


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi", "ucb", "ts", "ts-marginal"])
def test_every_rule_in_every_kind_of_space(rule: Any) -> None:
    pool = [{"x": float(x), "y": float(y)} for x in np.linspace(0, 1, 6) for y in np.linspace(0, 1, 6)]
    for space, objective in ((CUBE, bowl), (MIXED, mixed), (pool, bowl)):
        optimizer = Optimizer(space, ModelBased(GaussianProcess(), rule), seed=0)
        asked = run(optimizer, objective, 12)
        assert len({tuple(p.values()) for p in asked}) == 12
        batch = optimizer.ask(q=3)
        assert len({tuple(s.params.values()) for s in batch}) == 3


def test_a_pool_gives_whole_rows() -> None:
    rows = [{"id": f"r{i}", "a": i / 10, "b": i % 3} for i in range(20)]
    optimizer = Optimizer(PoolSpace(rows, features=["a", "b"]), "ocbo", seed=0)
    asked = run(optimizer, lambda p: (p["a"] - 1.2) ** 2, 15)
    assert all(p in rows for p in asked) and len({p["id"] for p in asked}) == 15
    assert optimizer.best[0] == rows[12]


# --- warm starts, noise, failures -------------------------------------------------------------------------------------


def test_warm_starts() -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0)
    for x in np.linspace(0, 1, 6):
        optimizer.tell({"x": float(x), "y": 0.5}, bowl({"x": x, "y": 0.5}))
    suggestion = optimizer.ask()
    assert suggestion.number == 0 and suggestion.forecasts is not None  # enough is known to skip the design
    assert optimizer.best[0]["x"] == pytest.approx(0.2) and all(f is None for f in optimizer.data().forecasts)
    run(optimizer, bowl, 8)
    assert optimizer.best[1] < 0.05


def test_a_suggestion_told_by_its_params_is_a_warm_start_too() -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    run(optimizer, bowl, 6)
    suggestion = optimizer.ask()
    optimizer.tell(suggestion, 1.0)
    optimizer.tell(suggestion.params, 2.0)  # a further measurement of the same point
    data = optimizer.data()
    assert len(data) == 8 and data.forecasts[6] is not None and data.forecasts[7] is None
    np.testing.assert_allclose(data.X[6], data.X[7], atol=1e-12)
    optimizer.ask()


def test_the_best_of_a_warm_start_is_what_was_told() -> None:
    optimizer = Optimizer({"x": Float(0.1, 10, log=True), "y": Float(-3, 7)}, "gp_ei", seed=0)
    for x, y in ((0.3, 0.1), (0.7, 1.3), (3.3, 6.1)):
        optimizer.tell({"x": x, "y": y}, -x)
    assert optimizer.best == (pytest.approx({"x": 3.3, "y": 6.1}, rel=1e-12), -3.3)


def test_standard_errors_are_passed_on() -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    optimizer.tell({"x": 0.1, "y": 0.2}, 1.0, sem=0.5)
    optimizer.tell({"x": 0.3, "y": 0.2}, 2.0)
    np.testing.assert_array_equal(optimizer.data().Y_var, [[0.25], [np.nan]])
    run(optimizer, bowl, 8)


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
    assert np.isfinite(optimizer.predict([{"x": 0.33}]).to_numpy()).all()


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


@pytest.mark.parametrize("method", families_first(PLAIN))
def test_failures_steer_away(method: str) -> None:
    """Of two hills the higher one always fails: it is tried, and then left for the other."""

    def height(p: Any) -> float:
        return float(
            np.exp(-20 * (p["x"] - 0.25) ** 2) + 1.3 * np.exp(-20 * (p["x"] - 0.85) ** 2) - (p["y"] - 0.5) ** 2
        )

    optimizer = Optimizer(CUBE, method, direction="maximize", seed=0)
    failed = []
    for _ in range(30):
        suggestion = optimizer.ask()
        failed.append(suggestion.params["x"] > 0.6)
        if failed[-1]:
            optimizer.tell_failed(suggestion)
        else:
            optimizer.tell(suggestion, height(suggestion.params))
    data = optimizer.data()
    assert len(data) + len(data.X_failed) == 30 and len(data.X_failed) == sum(failed)
    assert sum(failed[-15:]) <= 7 and optimizer.best[1] > 0.97
    assert np.isfinite(data.Y).all()


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


# --- seeds and purity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", PLAIN)
def test_the_same_seed_the_same_suggestions(method: str) -> None:
    one, same, other = (run(Optimizer(MIXED, method, seed=seed), mixed, 8) for seed in (7, 7, 8))
    assert one == same and one != other


def test_without_a_seed_one_is_drawn() -> None:
    one, other = Optimizer(CUBE), Optimizer(CUBE)
    assert one.seed != other.seed and one.ask().params != other.ask().params


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi", "ucb", "ts", "ts-marginal"])
def test_global_random_state_is_left_alone(rule: Any) -> None:
    calibrated = Calibrated(GaussianProcess(), by=Temperature(), evidence=KFold(3))
    optimizer = Optimizer(MIXED, ModelBased(calibrated, rule), seed=0)
    legacy, plain = np.random.get_state(), random.getstate()
    run(optimizer, mixed, 8)
    optimizer.ask(q=2)
    optimizer.predict([{"lr": 0.1, "x": 0.0, "n": 3, "c": "a", "o": 1}])
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(legacy, after, strict=True)) and random.getstate() == plain


def test_the_global_state_does_not_matter() -> None:
    runs = []
    for seed in (0, 1):
        np.random.seed(seed)
        random.seed(seed)
        runs.append(run(Optimizer(CUBE, "ocbo", seed=3), bowl, 8))
    assert runs[0] == runs[1]


def suggestion_after(strategy: Any, Y: np.ndarray, direction: str = "maximize") -> np.ndarray:
    optimizer = Optimizer(CUBE, strategy, direction=direction, seed=5)
    X = np.random.default_rng(2).random((10, 2))
    for x, y in zip(X, Y, strict=True):
        optimizer.tell({"x": float(x[0]), "y": float(x[1])}, float(y))
    return optimizer.ask().x


@pytest.mark.parametrize(
    "strategy",
    [gp_ei(), gp_ei(rule=UpperQuantile()), gp_ei(rule=ProbabilityOfImprovement()), gp_ei(rule=ThompsonSampling())],
    ids=["ei", "ucb", "pi", "ts"],
)
@pytest.mark.parametrize(("power", "shift"), [(-900, 0.0), (900, 0.0), (3, -2.0)])
def test_an_affine_change_of_outcomes_leaves_the_suggestion(strategy: Any, power: int, shift: float) -> None:
    X = np.random.default_rng(2).random((10, 2))
    Y = np.sin(6 * X[:, 0]) - np.square(X[:, 1] - 0.6)
    base = suggestion_after(strategy, Y)
    np.testing.assert_allclose(suggestion_after(strategy, 2.0**power * (Y + shift)), base, atol=2e-3)


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_a_large_shift_leaves_the_suggestion_nearly(shift: float) -> None:
    X = np.random.default_rng(2).random((10, 2))
    Y = np.sin(6 * X[:, 0]) - np.square(X[:, 1] - 0.6)
    for rule in (ExpectedImprovement(), UpperQuantile()):
        strategy = gp_ei(rule=rule)
        np.testing.assert_allclose(suggestion_after(strategy, Y + shift), suggestion_after(strategy, Y), atol=0.02)


@pytest.mark.parametrize("power", [10, -500])
def test_an_affine_change_of_a_whole_calibrated_run(power: int) -> None:
    plain = run(Optimizer(CUBE, "ocbo", seed=3), bowl, 12)
    scaled = run(Optimizer(CUBE, "ocbo", seed=3), lambda p: 2.0**power * bowl(p), 12)
    for one, other in zip(plain, scaled, strict=True):
        assert other == pytest.approx(one, abs=5e-3)


def test_minimising_is_maximising_the_negative() -> None:
    X = np.random.default_rng(2).random((10, 2))
    Y = np.sin(6 * X[:, 0]) - X[:, 1]
    for strategy in (gp_ei(), ocbo()):
        down = suggestion_after(strategy, -Y, "minimize")
        np.testing.assert_array_equal(down, suggestion_after(strategy, Y))


def test_shuffling_matters_only_to_prequential_evidence() -> None:
    X = np.random.default_rng(2).random((12, 2))
    Y = np.sin(6 * X[:, 0]) - X[:, 1]
    order = np.random.default_rng(3).permutation(12)
    loo = ModelBased(
        Calibrated(GaussianProcess(), by=Temperature(memory=1.0, largest=1e9), evidence=LeaveOneOut()), UpperQuantile()
    )
    for strategy in (gp_ei(), loo):
        found = []
        for rows in (np.arange(12), order):
            optimizer = Optimizer(CUBE, strategy, direction="maximize", seed=5)
            for i in rows:
                optimizer.tell({"x": float(X[i, 0]), "y": float(X[i, 1])}, float(Y[i]))
            found.append(optimizer.ask().x)
        np.testing.assert_allclose(found[0], found[1], atol=5e-3)


# --- forecasts --------------------------------------------------------------------------------------------------------


def test_tell_only_writes_the_value() -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0)
    run(optimizer, bowl, 8)
    suggestion = optimizer.ask()
    assert suggestion.forecasts is not None
    optimizer.ask(q=2)  # whatever happens in between, a suggestion is judged by the forecast made with it
    optimizer.tell(suggestion, 0.5)
    stored = optimizer.data().forecasts[-1]
    assert stored == tuple(forecast.negated() for forecast in suggestion.forecasts)  # internally outcomes are maximized


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_forecasts_are_in_the_users_sign(direction: str) -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0, direction=direction)
    run(optimizer, lambda p: 100.0 + bowl(p), 8)
    expected = optimizer.predict([(suggestion := optimizer.ask()).params])["mean"][0]
    assert suggestion.forecasts is not None
    assert suggestion.forecasts[0].calibrated.mean == pytest.approx(expected, rel=1e-6)
    assert 90.0 < suggestion.forecasts[0].raw.mean < 115.0


def test_calibration_counts_the_forecasts_that_came_out() -> None:
    optimizer = Optimizer(CUBE, "ocbo", seed=0)
    run(optimizer, bowl, 15)
    optimizer.tell({"x": 0.5, "y": 0.5}, 0.1)  # no forecast, no evidence
    told = [f for f in optimizer.data().forecasts if f is not None]
    assert 0 < len(told) < 15
    assert optimizer.calibration().rows[0].of == len(told) and Optimizer(CUBE, seed=0).calibration().rows[0].of == 0


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
