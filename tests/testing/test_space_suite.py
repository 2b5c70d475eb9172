"""calibo's spaces pass the suite, and a space that breaks the rules fails every test of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, Part, PoolSpace, ProductSpace, Space
from calibo.testing.space_suite import SpaceSuite


class TestProduct(SpaceSuite):
    def space(self) -> Space:
        return ProductSpace(
            {
                "x": Float(-2, 3),
                "lr": Float(1e-6, 1e2, log=True),
                "drop": Float(0, 0.9, step=0.1),
                "layers": Int(1, 8),
                "width": Int(1, 10**6, log=True),
                "batch": Int(16, 1000, log=True, step=16),
                "act": Categorical(["relu", None, 3, [1, 2]]),
                "size": Ordinal(["s", "m", "l"]),
            }
        )


class TestFinitePool(SpaceSuite):
    def space(self) -> Space:
        rng = np.random.default_rng(0)
        b = rng.random(40).tolist()
        return PoolSpace([{"a": i % 4, "b": b[i], "c": "xyz"[i % 3], "d": i % 2 == 0} for i in range(40)])


class Sloppy(Space):
    """A space that breaks every rule: global randomness, NumPy scalars, lossy encoding, invalid points, wrong lists."""

    names = ("x", "x")  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    columns = (Float(0.0, 1.0), Int(0, 1))  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return np.array([[round(point["x"], 1), 0.25] for point in params]).reshape(-1, 2)

    def decode(self, X: Any) -> list[Params]:
        return [{"x": np.float64(x)} for x in np.asarray(X)[:, 0]]

    @property
    def size(self) -> int:
        return 3

    def valid(self, X: Array) -> np.ndarray:
        return X[:, 0] < 0.5

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return 2 * np.random.rand(n or 1, 2)

    def repair(self, U: Any) -> Array:
        return np.asarray(U) / 2 + 0.3 * (len(U) > 1)

    def enumerate(self) -> Array:
        return np.ones((2, 2))

    def neighbours(self, x: Array) -> Array:
        return x[None]

    @property
    def features(self) -> Any:
        return lambda X: X[:1]

    def from_values(self, values: Any) -> Array:
        return np.zeros((len(values), 2))

    def within(self, lower: Array, upper: Array, *, centre: Array) -> Part:
        return Part(self, lower, upper, lower, upper - lower, is_everything=False)


class SuiteOfSloppy(SpaceSuite):
    def space(self) -> Space:
        return Sloppy()


@pytest.mark.parametrize("name", sorted(name for name in dir(SpaceSuite) if name.startswith("test_")))
def test_every_test_of_the_suite_fails_for_a_sloppy_space(name: str) -> None:
    with pytest.raises((AssertionError, SpaceError)):
        getattr(SuiteOfSloppy(), name)()


def test_a_suite_without_a_space_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override space"):
        SpaceSuite().test_columns_have_names_and_kinds()
