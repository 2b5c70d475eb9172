"""What every method shares: it optimizes, is reproducible, and copes with batches, failures and degenerate data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling, UpperQuantile
from calibo.errors import RepeatWarning
from calibo.methods import METHODS, cbo, conformal_trees, cqr, gp_ei, ocbo, turbo
from calibo.models import GaussianProcess, QuantileForest, QuantileTrees
from calibo.optimize import ModelBased, Optimizer
from calibo.search import Langevin, MultiStart, RandomDraw
from calibo.spaces import Categorical, Float, Int, Ordinal

#: With few data, or all of them in one place, conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")

LINE = {"x": Float(0, 1)}
CUBE = {"x": Float(0, 1), "y": Float(0, 1)}
MIXED = {
    "lr": Float(1e-4, 1, log=True),
    "x": Float(-2, 2, step=0.25),
    "n": Int(1, 300, log=True),
    "c": Categorical(["a", "b", "c"]),
    "o": Ordinal([1, 2, 4, 8]),
}
RULES = {
    "ei": ExpectedImprovement(),
    "pi": ProbabilityOfImprovement(),
    "ucb": UpperQuantile(),
    "ts": ThompsonSampling(),
    "ts-marginal": ThompsonSampling(joint=False),
}
#: Methods that learn from values; composite_lfbo learns from vectors.
PLAIN = sorted(set(METHODS) - {"composite_lfbo"})
#: Methods that measure every point several times, and those that never repeat one.
REPLICATING = {"penalized_ei", "risk_averse"}
EXPLORING = sorted(set(PLAIN) - REPLICATING)
#: Trees and networks, which are made for many points and know nothing of smoothness between few.
COARSE = {"bananas", "bananas_cp", "conformal_ensemble", "cqr"}
#: Searches and models smaller than the methods' own.
DRAWS = RandomDraw(192, 64)
QUICK: dict[str, Any] = {
    "turbo": turbo(search=DRAWS),
    "cbo": cbo(search=Langevin(steps=12, burn_in=6, updates=2, then=MultiStart(96, 32, starts=2))),
    "cqr": cqr(surrogate=conformal_trees(surrogate=QuantileTrees(QuantileForest(10)))),
}
#: One method of each family (auto forecasts as ocbo does); the others have slow tests of what is common to all.
FAMILIES = {"auto", "locbo", "lfbo", "penalized_ei"}
#: Those of them that differ in how they search, for tests of many suggestions.
FEWER = {"auto", "lfbo", "penalized_ei"}


def families_first(cases: Iterable[Any], families: set[str] = FAMILIES) -> list[Any]:
    """Return cases, names of methods or tuples that begin with one, of which those outside `families` are slow tests."""
    as_tuples = sorted((case,) if isinstance(case, str) else case for case in cases)
    return [pytest.param(*case, marks=() if case[0] in families else pytest.mark.slow) for case in as_tuples]


def bowl(params: Any) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def mixed(params: Any) -> float:
    return (np.log10(params["lr"]) + 2) ** 2 + abs(params["x"] - 0.5) + (params["c"] != "b") + params["o"] / 8


def numbers(table: pd.DataFrame) -> np.ndarray:
    """Return the columns of a table of predictions that are not words."""
    return table.drop(columns="calibration").to_numpy(dtype=float)


def run(optimizer: Optimizer, objective: Callable[[Any], float], n: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, objective(suggestion.params))
        asked.append(dict(suggestion.params))
    return asked


# The sign is changed for all methods alike: two of them show that.
@pytest.mark.parametrize(
    ("method", "direction"),
    [*families_first((m, "minimize") for m in PLAIN), ("ocbo", "maximize"), ("lfbo", "maximize")],
)
def test_it_finds_the_bottom_of_a_bowl(method: str, direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    optimizer = Optimizer(CUBE, QUICK.get(method, method), direction=direction, seed=0)
    # Points measured three times each leave fewer different ones.
    run(optimizer, lambda p: sign * bowl(p), 45 if method in REPLICATING else 14 if method in COARSE else 18)
    params, value = optimizer.best
    close = 0.02 if method in REPLICATING else 0.15 if method in COARSE else 4e-3
    assert sign * value < close and value == pytest.approx(sign * bowl(params), rel=1e-9)


# BORE does not see by how much an outcome is better, and 30 points are too few for it here (a slow test has more runs),
# and for trees and networks.
@pytest.mark.parametrize("method", families_first(set(EXPLORING) - {"bore"} - COARSE, FEWER))
def test_it_does_better_than_chance_in_a_mixed_space(method: str) -> None:
    optimizer = Optimizer(MIXED, method, seed=0)
    for p in run(optimizer, mixed, 22):
        optimizer.space.encode([p])
        assert p["x"] % 0.25 == 0 and [type(v) for v in p.values()] == [float, float, int, str, int]
    space, rng = optimizer.space, np.random.default_rng(0)
    chance = [min(mixed(p) for p in space.decode(space.sample(22, rng))) for _ in range(50)]
    assert optimizer.best[1] < np.median(chance)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("space", ["cube", "mixed", "pool"])
def test_every_rule_in_every_kind_of_space(rule: str, space: str) -> None:
    pool = [{"x": float(x), "y": float(y)} for x in np.linspace(0, 1, 6) for y in np.linspace(0, 1, 6)]
    given: Any = {"cube": CUBE, "mixed": MIXED, "pool": pool}[space]
    search = DRAWS if rule.startswith("ts") and space != "pool" else None
    optimizer = Optimizer(given, ModelBased(GaussianProcess(), RULES[rule], search), seed=0, n_initial=5)
    asked = run(optimizer, mixed if space == "mixed" else bowl, 8)
    asked += [dict(suggestion.params) for suggestion in optimizer.ask(q=3)]
    assert len({tuple(p.values()) for p in asked}) == 11


@pytest.mark.parametrize("method", families_first(PLAIN, FEWER))
def test_failures_steer_away(method: str) -> None:
    """Of two hills the higher one always fails: it is tried, and then left for the other."""

    def height(p: Any) -> float:
        near, far = np.exp(-20 * (p["x"] - 0.25) ** 2), np.exp(-20 * (p["x"] - 0.85) ** 2)
        return float(near + 1.3 * far - (p["y"] - 0.5) ** 2)

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


@pytest.mark.parametrize("method", families_first(PLAIN))
def test_the_same_seed_the_same_suggestions(method: str) -> None:
    one, same, other = (
        run(Optimizer(MIXED, QUICK.get(method, method), seed=seed, n_initial=4), mixed, 6) for seed in (7, 7, 8)
    )
    assert one == same and one != other


@pytest.mark.parametrize(
    ("method", "known"),
    [*families_first((m, 7) for m in EXPLORING), *((m, n) for m in ("ocbo", "lfbo") for n in (0, 3))],
)
def test_batches(method: str, known: int) -> None:
    optimizer = Optimizer(CUBE, QUICK.get(method, method), seed=0)
    run(optimizer, bowl, known)
    batch = optimizer.ask(q=4)
    assert isinstance(batch, list) and len({tuple(s.x) for s in batch}) == 4
    assert [s.number for s in batch] == [known, known + 1, known + 2, known + 3]
    for suggestion in reversed(batch):
        optimizer.tell(suggestion, bowl(suggestion.params))
    assert len(optimizer.data()) == known + 4 and len(optimizer.data().X_pending) == 0
    assert optimizer.ask().number == known + 4


@pytest.mark.parametrize("method", families_first(EXPLORING))
def test_outcomes_in_any_order(method: str) -> None:
    optimizer = Optimizer(CUBE, method, seed=0)
    waiting = [optimizer.ask() for _ in range(5)]
    rng = np.random.default_rng(0)
    seen = {tuple(s.x) for s in waiting}
    for _ in range(9):
        done = waiting.pop(int(rng.integers(len(waiting))))
        optimizer.tell(done, bowl(done.params))
        waiting.append(optimizer.ask())
        assert tuple(waiting[-1].x) not in seen
        seen.add(tuple(waiting[-1].x))
    data = optimizer.data()
    assert len(data) == 9 and len(data.X_pending) == 5
    assert optimizer.best[1] < 0.2


def suggestion_after(
    strategy: Any, transformed: Callable[[np.ndarray], np.ndarray], direction: str = "max"
) -> np.ndarray:
    """Return the suggestion after ten observations whose outcomes are transformed."""
    optimizer = Optimizer(CUBE, strategy, direction=direction, seed=5)
    X = np.random.default_rng(2).random((10, 2))
    Y = transformed(np.sin(6 * X[:, 0]) - np.square(X[:, 1] - 0.6))
    for x, y in zip(X, Y, strict=True):
        optimizer.tell({"x": float(x[0]), "y": float(x[1])}, float(y))
    return optimizer.ask().x


@pytest.mark.parametrize(
    ("rule", "scale", "shift", "close"),
    [
        *((rule, 2.0**power, shift, 2e-3) for rule in RULES for power, shift in ((-900, 0.0), (900, 0.0), (3, -2.0))),
        *((rule, 1.0, shift, 0.02) for rule in ("ei", "ucb") for shift in (1e3, 1e6)),
    ],
)
def test_an_affine_change_of_outcomes_leaves_the_suggestion(
    rule: str, scale: float, shift: float, close: float
) -> None:
    strategy = gp_ei(rule=RULES[rule], search=DRAWS if rule.startswith("ts") else None)
    found = suggestion_after(strategy, lambda y: scale * (y + shift))
    np.testing.assert_allclose(found, suggestion_after(strategy, lambda y: y), atol=close)


@pytest.mark.parametrize(("method", "power"), [("ocbo", 10), ("ocbo", -300), (ocbo(surrogate=GaussianProcess()), -500)])
def test_a_change_of_scale_leaves_a_calibrated_run(method: Any, power: int) -> None:
    """Outcomes whose spread is below 1e-100 are not transformed; calibration by itself goes on to be the same."""
    plain = run(Optimizer(CUBE, method, seed=3), bowl, 12)
    scaled = run(Optimizer(CUBE, method, seed=3), lambda p: 2.0**power * bowl(p), 12)
    for one, other in zip(plain, scaled, strict=True):
        assert other == pytest.approx(one, abs=5e-3)


@pytest.mark.parametrize("strategy", [gp_ei(), ocbo()], ids=["gp_ei", "ocbo"])
def test_minimizing_is_maximizing_the_negative(strategy: Any) -> None:
    down = suggestion_after(strategy, lambda y: -y, "minimize")
    np.testing.assert_array_equal(down, suggestion_after(strategy, lambda y: y))


DEGENERATE: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any], int], float]]] = {
    "all equal": (CUBE, lambda p, i: 3.0),
    "all zero": (CUBE, lambda p, i: 0.0),
    "huge": (CUBE, lambda p, i: 1e300 * (p["x"] - 0.5)),
    "tiny": (CUBE, lambda p, i: 1e-300 * (p["x"] - 0.5)),
    "subnormal": (CUBE, lambda p, i: 5e-324 * (i % 3)),
    "huge and tiny": (CUBE, lambda p, i: (-1) ** i * 10.0 ** (300 - 60 * (i % 11))),
    "one outlier": (CUBE, lambda p, i: 1e250 if i == 4 else p["x"]),
    "large offset": (CUBE, lambda p, i: 1e15 + p["x"]),
    "fifty dimensions": ({f"x{i}": Float(0, 1) for i in range(50)}, lambda p, i: sum(p.values())),
    "single choice": ({"x": Float(0, 1), "c": Categorical(["only"])}, lambda p, i: p["x"]),
    "nothing but a choice": ({"c": Categorical(list("abcdefghijklmnopqrst"))}, lambda p, i: ord(p["c"])),
    "wide integers": ({"i": Int(1, 10**12)}, lambda p, i: p["i"]),
    "discontinuous": (CUBE, lambda p, i: float(p["x"] > 0.5)),
    "steps up": (CUBE, lambda p, i: 10.0**i),
}


# Every case with the method's own rule, and the hardest with every rule.
@pytest.mark.parametrize(
    ("case", "rule"),
    [(case, "ucb") for case in DEGENERATE]
    + [(c, rule) for c in ("all equal", "huge and tiny") for rule in RULES if rule != "ucb"],
)
def test_degenerate_outcomes_never_crash_a_suggestion(case: str, rule: str) -> None:
    space, objective = DEGENERATE[case]
    optimizer = Optimizer(space, ocbo(rule=RULES[rule], search=DRAWS if rule == "ts" else None), seed=0)
    for i in range(11 if case == "fifty dimensions" else 13):
        suggestion = optimizer.ask()
        optimizer.space.encode([suggestion.params])
        assert suggestion.forecasts is None or np.isfinite(suggestion.forecasts[0].calibrated.mean)
        optimizer.tell(suggestion, objective(dict(suggestion.params), i))
    assert len(optimizer.ask(q=2)) == 2
    assert np.isfinite(numbers(optimizer.predict([optimizer.best[0]]))).all()


@pytest.mark.parametrize("largest", [1.7e308])
@pytest.mark.parametrize(
    "method", ["auto", "ocbo", "locbo", "ocbo_local", "cbo", "gp_ei", "turbo", "risk_averse", "penalized_ei"]
)
@pytest.mark.filterwarnings("ignore:.*predictions could not be calibrated")
@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:outcomes beyond")
def test_predictions_of_outcomes_near_the_largest_float_are_finite(method: str, largest: float) -> None:
    optimizer = Optimizer(LINE, QUICK.get(method, method), seed=0)
    for i in range(13):
        suggestion = optimizer.ask()
        for marginal in suggestion.forecasts[0].stages if suggestion.forecasts else ():
            assert np.isfinite(
                [marginal.mean, marginal.std, *(marginal.quantiles or ()), *marginal.interval(0.99)]
            ).all()
        x = suggestion.params["x"]
        optimizer.tell(suggestion, largest * (-1.0) ** i if i % 3 == 0 else largest * (2.0 * x - 1.0))
    predicted = numbers(optimizer.predict([{"x": float(x)} for x in np.linspace(0.0, 1.0, 11)]))
    assert np.isfinite(predicted).all()


@pytest.mark.parametrize(("method", "value"), [(m, 1e300) for m in PLAIN] + [("ocbo", v) for v in (0.0, 1.0, -1e-300)])
def test_one_observation(method: str, value: float) -> None:
    optimizer = Optimizer(LINE, QUICK.get(method, method), seed=0)
    optimizer.tell({"x": 0.5}, value)
    assert len(optimizer.ask(q=8)) == 8
    if optimizer.strategy.makes_forecasts:
        predicted = optimizer.predict([{"x": 0.1}, {"x": 0.5}])
        assert predicted["calibration"].tolist() == ["model alone"] * 2
        # Where nothing is held out conformal intervals have no end.
        assert np.isfinite(predicted[["mean", "median"]].to_numpy()).all() and not np.isnan(numbers(predicted)).any()
        assert np.isinf(numbers(predicted)).any() == (method in {"bananas_cp", "conformal_ensemble", "cqr"})


@pytest.mark.parametrize("method", PLAIN)
def test_repeated_points_and_a_parameter_that_never_changes(method: str) -> None:
    copies = [(0.5, 0.5)] * 12 + [(0.5, 0.6)]
    constant = [(float(x), 0.25) for x in np.linspace(0, 1, 9)]
    for points in (copies, constant):
        optimizer = Optimizer(CUBE, method, seed=0)
        for i, (x, y) in enumerate(points):
            optimizer.tell({"x": x, "y": y}, x + 0.5 * (-1) ** i)
        assert np.isfinite(optimizer.ask().x).all()


SIX = {"i": Int(1, 3), "c": Categorical(["a", "b"])}


@pytest.mark.parametrize(
    ("method", "space"),
    [(m, SIX) for m in EXPLORING]
    + [(m, space) for m in ("ocbo", "cqr") for space in ({"c": Categorical(["only"])}, [{"x": 1}, {"x": 2}, {"x": 3}])],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__ + str(len(v)),
)
def test_a_tiny_space_is_exhausted_before_anything_is_repeated(method: str, space: Any) -> None:
    optimizer = Optimizer(space, method, seed=0)
    size = optimizer.space.size or 0
    seen = set()
    for i in range(size):
        suggestion = optimizer.ask()
        seen.add(tuple(suggestion.x))
        optimizer.tell(suggestion, float(i))
    assert len(seen) == size > 0
    for i in range(2):
        with pytest.warns(RepeatWarning):
            suggestion = optimizer.ask()
        optimizer.tell(suggestion, float(i))
