"""Degenerate data and tiny spaces never crash a suggestion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling, UpperQuantile
from calibo.errors import RepeatWarning
from calibo.methods import METHODS, gp_ei, ocbo
from calibo.optimize import Optimizer
from calibo.spaces import Categorical, Float, Int

#: With few data, or all of them in one place, conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")

#: Methods that learn from values; composite_lfbo learns from vectors.
PLAIN = sorted(set(METHODS) - {"composite_lfbo"})
CUBE = {"x": Float(0, 1), "y": Float(0, 1)}
WIDE = {f"x{i}": Float(0, 1) for i in range(50)}
DEGENERATE: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any], int], float]]] = {
    "all equal": (CUBE, lambda p, i: 3.0),
    "all zero": (CUBE, lambda p, i: 0.0),
    "huge": (CUBE, lambda p, i: 1e300 * (p["x"] - 0.5)),
    "tiny": (CUBE, lambda p, i: 1e-300 * (p["x"] - 0.5)),
    "subnormal": (CUBE, lambda p, i: 5e-324 * (i % 3)),
    "huge and tiny": (CUBE, lambda p, i: (-1) ** i * 10.0 ** (300 - 60 * (i % 11))),
    "one outlier": (CUBE, lambda p, i: 1e250 if i == 4 else p["x"]),
    "large offset": (CUBE, lambda p, i: 1e15 + p["x"]),
    "one dimension": ({"x": Float(0, 1)}, lambda p, i: p["x"]),
    "fifty dimensions": (WIDE, lambda p, i: sum(p.values())),
    "single choice": ({"x": Float(0, 1), "c": Categorical(["only"])}, lambda p, i: p["x"]),
    "nothing but a choice": ({"c": Categorical(list("abcdefghijklmnopqrst"))}, lambda p, i: ord(p["c"])),
    "wide integers": ({"i": Int(1, 10**12)}, lambda p, i: p["i"]),
    "discontinuous": (CUBE, lambda p, i: float(p["x"] > 0.5)),
    "steps up": (CUBE, lambda p, i: 10.0**i),
}

RULES = (ExpectedImprovement(), ProbabilityOfImprovement(), UpperQuantile(), ThompsonSampling(joint=False))
#: Every case with the method's own rule, and the hardest with every rule.
TRIED: list[tuple[str, Any]] = [(case, None) for case in sorted(DEGENERATE)]
TRIED += [(case, rule) for case in ("all equal", "huge and tiny", "nothing but a choice") for rule in RULES]
TRIED += [("all equal", ThompsonSampling())]


@pytest.mark.parametrize(("case", "rule"), TRIED, ids=lambda v: v if isinstance(v, str) else type(v).__name__)
def test_degenerate_outcomes_never_crash_a_suggestion(case: str, rule: Any) -> None:
    space, objective = DEGENERATE[case]
    optimizer = Optimizer(space, ocbo(rule=rule), seed=0)
    for i in range(13):
        suggestion = optimizer.ask()
        optimizer.space.encode([suggestion.params])
        assert suggestion.forecasts is None or np.isfinite(suggestion.forecasts[0].calibrated.mean)
        optimizer.tell(suggestion, objective(dict(suggestion.params), i))
    assert len(optimizer.ask(q=2)) == 2
    assert np.isfinite(optimizer.predict([optimizer.best[0]]).to_numpy()).all()


@pytest.mark.parametrize(("method", "value"), [(m, 1e300) for m in PLAIN] + [("ocbo", v) for v in (0.0, 1.0, -1e-300)])
def test_one_point(method: str, value: float) -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, method, seed=0)
    optimizer.tell({"x": 0.5}, value)
    assert len(optimizer.ask(q=8)) == 8
    if optimizer.strategy.makes_forecasts:
        believed = optimizer.predict([{"x": 0.1}, {"x": 0.5}])
        # Where nothing is held out conformal intervals have no end.
        assert np.isfinite(believed[["mean", "median"]].to_numpy()).all() and not np.isnan(believed.to_numpy()).any()
        assert np.isinf(believed.to_numpy()).any() == (method in {"bananas_cp", "conformal_ensemble", "cqr"})


@pytest.mark.parametrize("method", PLAIN)
def test_duplicates(method: str) -> None:
    optimizer = Optimizer(CUBE, method, seed=0)
    for i in range(12):
        optimizer.tell({"x": 0.5, "y": 0.5}, float(i % 2))
    optimizer.tell({"x": 0.5, "y": 0.6}, 0.5)
    assert np.isfinite(optimizer.ask().x).all()


@pytest.mark.parametrize("method", PLAIN)
def test_a_parameter_that_never_changes(method: str) -> None:
    optimizer = Optimizer(CUBE, method, seed=0)
    for x in np.linspace(0, 1, 9):
        optimizer.tell({"x": float(x), "y": 0.25}, float(x))
    assert np.isfinite(optimizer.ask().x).all()


SIX = {"i": Int(1, 3), "c": Categorical(["a", "b"])}


@pytest.mark.parametrize(
    ("method", "space"),
    [(m, SIX) for m in sorted(set(PLAIN) - {"penalized_ei", "risk_averse"})]
    + [(m, space) for m in ("ocbo", "cqr") for space in ({"c": Categorical(["only"])}, [{"x": 1}, {"x": 2}, {"x": 3}])],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__ + str(len(v)),
)
def test_a_tiny_space_is_exhausted_before_anything_is_repeated(method: str, space: Any) -> None:
    optimizer = Optimizer(space, method, seed=0)
    size = optimizer.space.size
    assert size is not None
    seen = set()
    for i in range(size):
        suggestion = optimizer.ask()
        seen.add(tuple(suggestion.x))
        optimizer.tell(suggestion, float(i))
    assert len(seen) == size
    for i in range(3):
        with pytest.warns(RepeatWarning):
            suggestion = optimizer.ask()
        optimizer.tell(suggestion, float(i))


def test_replication_is_allowed_when_it_is_meant() -> None:
    optimizer = Optimizer({"i": Int(0, 2)}, gp_ei(replicate=True), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["i"] + rng.standard_normal())
    assert len(optimizer.data()) == 12
