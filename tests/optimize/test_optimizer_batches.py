"""Batches, pending points and telling in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.methods import METHODS
from calibo.optimize import Optimizer
from calibo.spaces import Float

CUBE = {"x": Float(0, 1), "y": Float(0, 1)}
#: Methods that are told values and never repeat a point of their own accord.
EXPLORING = sorted(set(METHODS) - {"penalized_ei", "risk_averse", "composite_lfbo"})
#: One method of each family.
FAMILIES = {"gp_ei", "ocbo", "locbo", "lfbo"}
#: With few data, or all of them in one place, conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")


def bowl(params: Any) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def run(optimizer: Optimizer, n: int) -> None:
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, bowl(suggestion.params))


@pytest.mark.parametrize(
    ("method", "told"), [*((m, 12) for m in EXPLORING), *((m, n) for m in ("ocbo", "lfbo") for n in (0, 3))]
)
def test_batches(method: str, told: int) -> None:
    optimizer = Optimizer(CUBE, method, seed=0)
    run(optimizer, told)
    batch = optimizer.ask(q=4)
    assert isinstance(batch, list) and len({tuple(s.x) for s in batch}) == 4
    assert [s.number for s in batch] == [told, told + 1, told + 2, told + 3]
    for suggestion in reversed(batch):
        optimizer.tell(suggestion, bowl(suggestion.params))
    assert len(optimizer.data()) == told + 4 and len(optimizer.data().X_pending) == 0
    assert optimizer.ask().number == told + 4


@pytest.mark.parametrize("method", [m if m in FAMILIES else pytest.param(m, marks=pytest.mark.slow) for m in EXPLORING])
def test_asynchronous_telling(method: str) -> None:
    optimizer = Optimizer(CUBE, method, seed=0)
    waiting = [optimizer.ask() for _ in range(5)]
    rng = np.random.default_rng(0)
    seen = {tuple(s.x) for s in waiting}
    for _ in range(12):
        done = waiting.pop(int(rng.integers(len(waiting))))
        optimizer.tell(done, bowl(done.params))
        waiting.append(optimizer.ask())
        assert tuple(waiting[-1].x) not in seen
        seen.add(tuple(waiting[-1].x))
    data = optimizer.data()
    assert len(data) == 12 and len(data.X_pending) == 5
    assert optimizer.best[1] < 0.2


def test_pending_points_are_respected() -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    run(optimizer, 8)
    asked = np.array([optimizer.ask().x for _ in range(4)])
    gaps = np.linalg.norm(asked[:, None] - asked[None], axis=-1)[np.triu_indices(4, 1)]
    assert gaps.min() > 1e-4
