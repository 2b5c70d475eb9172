"""The distributions every space obeys, as a suite to inherit::

class TestMySpace(SpaceSuite):
    def space(self):
        return MySpace(...)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibo.data import Array, Params
from calibo.spaces import Space
from calibo.testing.randomness import global_state


class SpaceSuite:
    """Tests for pytest; a subclass whose name starts with ``Test`` says which space is under test.

    Attributes:
        draws: How many points each distribution looks at.
        tolerance: How far, relative to its size (or to 1), a continuous value may move on its way to the cube and back.
    """

    draws: int = 64
    tolerance: float = 1e-12

    def space(self) -> Space:
        """The space under test; always a new one or always the same."""
        raise NotImplementedError("override space() and return the space under test")

    def drawn(self, seed: int = 0) -> Array:
        """Some points of the space, draws x d."""
        return self.space().sample(self.draws, np.random.default_rng(seed))

    def test_samples_lie_on_the_unit_cube(self) -> None:
        X = self.drawn()
        assert X.dtype == np.float64 and X.ndim == 2 and len(X) == self.draws, f"expected float64 rows, got {X.shape}"
        assert X.min() >= 0 and X.max() <= 1, f"samples must lie in [0, 1], got {X.min()} to {X.max()}"

    def test_nothing_drawn_is_an_empty_array(self) -> None:
        space = self.space()
        none = space.sample(0, np.random.default_rng(0))
        assert none.shape == (0, self.drawn().shape[1]), f"expected no rows and all columns, got {none.shape}"
        assert space.decode(none) == [] and space.encode([]).shape == none.shape

    def test_decode_undoes_encode(self) -> None:
        space = self.space()
        params = space.decode(self.drawn())
        back = space.decode(space.encode(params))
        assert len(params) == self.draws
        for before, after in zip(params, back, strict=True):
            assert _same(before, after, self.tolerance), f"{before} came back as {after}"

    def test_encode_undoes_decode(self) -> None:
        space, X = self.space(), self.drawn()
        np.testing.assert_allclose(space.encode(space.decode(X)), X, rtol=0, atol=1e-9)

    def test_one_by_one_is_the_same_as_all_at_once(self) -> None:
        space, X = self.space(), self.drawn()
        params = space.decode(X)
        assert [space.decode(X[[i]])[0] for i in range(len(X))] == params
        np.testing.assert_array_equal(np.vstack([space.encode([point]) for point in params]), space.encode(params))

    def test_parameters_are_plain_python(self) -> None:
        for point in self.space().decode(self.drawn()):
            alien = [name for name, value in point.items() if isinstance(value, np.generic)]
            assert not alien, f"{alien} are NumPy scalars, which storages refuse: return Python ones"

    def test_repair_keeps_what_is_valid(self) -> None:
        X = self.drawn()
        if (repair := self._repair()) is not None:
            np.testing.assert_array_equal(repair(X), X)

    def test_repair_is_idempotent(self) -> None:
        U = np.random.default_rng(1).random(self.drawn().shape)
        if (repair := self._repair()) is not None:
            np.testing.assert_array_equal(repair(repair(U)), repair(U))

    def test_the_same_seed_gives_the_same_sample(self) -> None:
        np.testing.assert_array_equal(self.drawn(seed=3), self.drawn(seed=3))

    def test_the_global_generator_is_left_alone(self) -> None:
        before = global_state()
        space = self.space()
        space.encode(space.decode(self.drawn()))
        assert global_state() == before, "np.random was used: draw from the generator that is passed in"

    def _repair(self) -> Callable[[Array], Array] | None:
        """The space's own repair; not all spaces have one."""
        return getattr(self.space(), "repair", None)


def _same(one: Params, other: Params, tolerance: float) -> bool:
    return one.keys() == other.keys() and all(_close(one[name], other[name], tolerance) for name in one)


def _close(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
    return type(one) is type(other) and bool(one == other)
