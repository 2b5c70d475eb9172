"""Spaces written against the interface: they pass the suite, and work with every method, in studies and on disk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from calibo import Optimizer, minimize
from calibo.data import Array, Params
from calibo.errors import SpaceError, StudyError
from calibo.methods import METHODS, cbo
from calibo.search import Langevin, MultiStart
from calibo.spaces import Float, Int, ProductSpace, Space
from calibo.spaces.base import sample_valid
from calibo.testing import SpaceSuite

RNG = np.random.default_rng


class Circle(Space):
    """Points on the unit circle: the least a space needs."""

    names = ("angle",)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    columns = (Float(0.0, 2.0 * math.pi),)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.from_values([{"angle": math.atan2(p["y"], p["x"]) % (2.0 * math.pi)} for p in params])

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return [{"x": math.cos(v["angle"]), "y": math.sin(v["angle"])} for v in self.values(X)]


class Order(Space):
    """Orders of k jobs: each column is a priority, and swapping two jobs is a neighbour."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"priority{i}" for i in range(self.jobs))

    @property
    def columns(self) -> tuple[Float, ...]:
        return (Float(0.0, 1.0),) * self.jobs

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        rank = np.array([np.argsort(p["order"]) for p in params], dtype=np.float64).reshape(-1, self.jobs)
        return (rank + 0.5) / self.jobs

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return [{"order": tuple(np.argsort(x, kind="stable").tolist())} for x in np.asarray(X)]

    def neighbours(self, x: Array) -> Array:
        swaps = [(i, j) for i in range(self.jobs) for j in range(i)]
        points = np.repeat(x[None], len(swaps), axis=0)
        for row, (i, j) in zip(points, swaps, strict=True):
            row[[i, j]] = row[[j, i]]
        return points


class Triangle(ProductSpace):
    """A product with a constraint among its parameters, which is all that is said."""

    def valid(self, X: Array) -> np.ndarray:
        b, k = (self.columns[j].cell(X[:, j]) for j in (1, 2))
        return X[:, 0] + b / 4 + k / 10 <= 1.0


TRIANGLE = Triangle({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0, step=0.25), "k": Int(0, 9)})


class TestCircle(SpaceSuite):
    # Close to an angle of 0 or 2 pi the way there and back is only as exact as the sine.
    def space(self) -> Space:
        return Circle()


class TestOrder(SpaceSuite):
    def space(self) -> Space:
        return Order(4)


class TestTriangle(SpaceSuite):
    def space(self) -> Space:
        return TRIANGLE


class TestFiniteTriangle(SpaceSuite):
    def space(self) -> Space:
        return Triangle({"a": Float(0.0, 1.0, step=0.125), "b": Float(0.0, 1.0, step=0.25), "k": Int(0, 9)})


#: CBO with a shorter search than its own.
SHORT_CHAINS = cbo(search=Langevin(steps=12, burn_in=6, updates=2, then=MultiStart(96, 32, starts=2)))


def _unsorted(params: Mapping[str, Any]) -> float:
    return float(sum(abs(job - place) for place, job in enumerate(params["order"])))


@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
@pytest.mark.parametrize("space", [Order(4), TRIANGLE], ids=lambda space: type(space).__name__)
@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=pytest.mark.extras) if m == "composite_lfbo" else m for m in METHODS]
)
def test_every_method_suggests_valid_points_of_a_space_of_ones_own(method: str, space: Space) -> None:
    """The objective of the triangle is best where points are invalid, so that searches are drawn there."""
    settings: dict[str, Any] = {}
    if method == "composite_lfbo":
        settings["composite"] = lambda h: h[:, 0]
    optimizer = Optimizer(space, method=SHORT_CHAINS if method == "cbo" else method, seed=1, n_initial=3, **settings)
    seen: list[Params] = []
    for _ in range(5):
        suggestion = optimizer.ask()
        seen.append(suggestion.params)
        value = -sum(seen[-1].values()) if space is TRIANGLE else _unsorted(seen[-1])
        optimizer.tell(suggestion, [value, 0.0] if method == "composite_lfbo" else value)
    X = np.vstack([optimizer.data().X, *(s.x for s in optimizer.ask(2))])
    assert space.valid(X).all() and len(X) == 7
    np.testing.assert_array_equal(space.repair(X), X)
    assert len(np.unique(X, axis=0)) >= 3 and optimizer.best[0] in seen


def test_a_study_of_a_space_of_ones_own(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    run: dict[str, Any] = {"storage": storage, "study_name": "jobs", "seed": 0, "method": "gp_ei"}
    result = minimize(_unsorted, Order(4), n_trials=5, **run)
    assert _unsorted(result.best_params) == result.best_value
    assert set(result.trials[0].params) == {"order"}
    assert set(result.stored_trials[0].params) == {f"priority{i}" for i in range(4)}
    again = minimize(_unsorted, Order(4), n_trials=2, **run)
    assert len(again.trials) == 7
    with pytest.raises(StudyError, match="'priority4' is new"):
        minimize(_unsorted, Order(5), n_trials=1, **run)


def test_columns_of_a_space_of_ones_own_cannot_be_fixed() -> None:
    with pytest.raises(SpaceError, match="columns of a Order cannot be fixed one by one"):
        Order(3).subspace(["priority0"])


def test_too_many_points_are_not_enumerated() -> None:
    assert ProductSpace({"x": Float(0, 1)}).enumerate() is None
    with pytest.raises(SpaceError, match="too many to enumerate"):
        ProductSpace({f"x{i}": Int(0, 999) for i in range(4)}).enumerate()


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_points_are_drawn_until_enough_are_valid(n: int) -> None:
    rng = RNG(0)
    found = sample_valid(n, lambda count: rng.random((count, 2)), lambda X: X[:, 0] < 0.1)
    assert found.shape == (n, 2) and (found[:, 0] < 0.1).all()


def test_drawing_ends_where_nothing_is_valid() -> None:
    with pytest.raises(SpaceError, match="fewer than 3 valid points"):
        sample_valid(3, lambda count: np.zeros((count, 2)), lambda X: np.zeros(len(X), dtype=bool))
