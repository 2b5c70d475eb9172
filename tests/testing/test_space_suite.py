"""Our own spaces obey the distributions, and the distributions catch spaces that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.data import Array, Params
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace, Space
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


class TestFramePool(SpaceSuite):
    def space(self) -> Space:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"id": np.arange(300), "a": rng.integers(0, 4, 300), "b": rng.choice(["u", "v"], 300)})
        return PoolSpace(frame, features=["a", "b"])


class Sloppy:
    """A space with one column that breaks the distributions: global randomness, NumPy scalars, a lossy round trip."""

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return np.array([[round(point["x"], 1)] for point in params]).reshape(-1, 1)

    def decode(self, X: Array) -> list[Params]:
        return [{"x": np.float64(x)} for x in X[:, 0]]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return 2 * np.random.rand(n, 1)

    def snap(self, U: Array) -> Array:
        return U / 2


class SloppyLaws(SpaceSuite):
    def space(self) -> Space:
        return Sloppy()


@pytest.mark.parametrize(
    "distribution",
    [
        "test_samples_lie_on_the_unit_cube",
        "test_decode_undoes_encode",
        "test_encode_undoes_decode",
        "test_parameters_are_plain_python",
        "test_snap_keeps_what_is_valid",
        "test_snap_is_idempotent",
        "test_the_same_seed_gives_the_same_sample",
        "test_the_global_generator_is_left_alone",
    ],
)
def test_broken_spaces_are_caught(distribution: str) -> None:
    with pytest.raises(AssertionError):
        getattr(SloppyLaws(), distribution)()


def test_a_suite_without_a_space_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override space"):
        SpaceSuite().test_samples_lie_on_the_unit_cube()
