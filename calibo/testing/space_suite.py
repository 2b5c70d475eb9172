"""Conformance tests of search spaces, as a suite to inherit::

class TestMySpace(SpaceSuite):
    def space(self):
        return MySpace(...)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibo.data import Array, Params
from calibo.spaces import Space
from calibo.testing.randomness import global_state


class SpaceSuite:
    """Conformance tests of a ``Space``, for pytest.

    Derive a class whose name starts with ``Test`` and override ``space``.

    Attributes:
        draws: Number of points that each test looks at.
        tolerance: How far, relative to its size (or to 1), a value may move when it is encoded and decoded.
    """

    draws: int = 64
    tolerance: float = 1e-12

    def space(self) -> Space:
        """Return the space to test; always a new one or always the same."""
        raise NotImplementedError("override space() and return the space to test")

    def drawn(self, seed: int = 0) -> Array:
        """Return random points of the space, draws x d."""
        return self.space().sample(self.draws, np.random.default_rng(seed))

    def anywhere(self) -> Array:
        """Return random points of the cube, draws x d, and its corners 0 and 1."""
        d = self.space().dimension
        return np.vstack([np.random.default_rng(1).random((self.draws, d)), np.zeros((1, d)), np.ones((1, d))])

    def test_columns_have_names_and_kinds(self) -> None:
        space = self.space()
        assert len(space.names) == len(space.columns) == len(space.categories) == space.dimension > 0
        assert len(set(space.names)) == space.dimension, f"names of columns must differ, got {space.names}"
        assert all(c == column.categories for c, column in zip(space.categories, space.columns, strict=True))

    def test_samples_are_valid_points_of_the_unit_cube(self) -> None:
        space, X = self.space(), self.drawn()
        assert X.dtype == np.float64 and X.shape == (self.draws, space.dimension), f"got {X.dtype} of shape {X.shape}"
        assert X.min() >= 0 and X.max() <= 1, f"samples must lie in [0, 1], got {X.min()} to {X.max()}"
        _check_points(space, X, "sample")

    def test_no_points_are_an_empty_array(self) -> None:
        space = self.space()
        none = space.sample(0, np.random.default_rng(0))
        assert none.shape == (0, space.dimension), f"expected no rows and all columns, got {none.shape}"
        assert space.decode(none) == [] and space.encode([]).shape == none.shape
        assert space.repair(none).shape == none.shape and space.valid(none).shape == (0,)

    def test_decode_undoes_encode(self) -> None:
        space = self.space()
        params = space.decode(self.drawn())
        back = space.decode(space.encode(params))
        assert len(params) == self.draws
        for before, after in zip(params, back, strict=True):
            assert _same(before, after, self.tolerance), f"{before} was decoded as {after}"

    def test_encode_undoes_decode(self) -> None:
        space, X = self.space(), self.drawn()
        np.testing.assert_allclose(space.encode(space.decode(X)), X, rtol=0, atol=1e-9)

    def test_values_of_columns_are_encoded_again(self) -> None:
        space, X = self.space(), self.drawn()
        values = space.values(X)
        active = [tuple(name for name, flag in zip(space.names, row, strict=True) if flag) for row in space.active(X)]
        named = [tuple(value) for value in values]
        assert named == active, "values() has one entry for each active column, in order"
        np.testing.assert_allclose(space.from_values(values), X, rtol=0, atol=1e-9)

    def test_one_by_one_is_the_same_as_all_at_once(self) -> None:
        space, X = self.space(), self.drawn()
        params = space.decode(X)
        assert [space.decode(X[[i]])[0] for i in range(len(X))] == params
        np.testing.assert_array_equal(np.vstack([space.encode([point]) for point in params]), space.encode(params))
        U = self.anywhere()
        np.testing.assert_array_equal(np.vstack([space.repair(u[None]) for u in U]), space.repair(U))

    def test_parameters_are_plain_python(self) -> None:
        space, X = self.space(), self.drawn()
        for point in [*space.decode(X), *space.values(X)]:
            alien = [name for name, value in point.items() if isinstance(value, np.generic)]
            assert not alien, f"{alien} are NumPy scalars, which storages refuse: return Python ones"

    def test_repair_keeps_valid_points(self) -> None:
        X = self.drawn()
        np.testing.assert_allclose(self.space().repair(X), X, rtol=0, atol=1e-9)

    def test_repaired_points_are_valid(self) -> None:
        space = self.space()
        X = space.repair(self.anywhere())
        assert X.min() >= 0 and X.max() <= 1, f"repaired points must lie in [0, 1], got {X.min()} to {X.max()}"
        _check_points(space, X, "repair")
        np.testing.assert_allclose(space.repair(X), X, rtol=0, atol=1e-9, err_msg="repair must change nothing twice")

    def test_enumeration_is_complete(self) -> None:
        space = self.space()
        if space.size is not None and space.size > 10_000:
            return
        every = space.enumerate()
        if every is None:
            assert not space.is_pool, "a pool must list its points"
            return
        _check_points(space, every, "enumerate")
        different = np.unique(every.round(9), axis=0)
        assert space.size is not None and len(different) <= space.size
        if not space.constrained:
            assert len(different) == space.size, f"{len(different)} points are listed, but size is {space.size}"
        both = np.unique(np.vstack([different, self.drawn().round(9)]), axis=0)
        assert len(both) == len(different), "sample() draws points that enumerate() does not list"

    def test_neighbours_are_other_valid_points(self) -> None:
        space = self.space()
        for x in self.drawn()[:4]:
            near = space.neighbours(x)
            assert near.ndim == 2 and near.shape[1] == space.dimension, f"expected k x d points, got {near.shape}"
            assert (near != x).any(axis=1).all(), "a point is not its own neighbour"
            _check_points(space, near, "neighbours")

    def test_features_have_one_row_for_each_point(self) -> None:
        features = self.space().features
        if features is not None:
            F = features(self.drawn())
            assert F.ndim == 2 and len(F) == self.draws and np.isfinite(F).all()

    def test_the_part_within_a_box_has_points_of_the_space(self) -> None:
        space, rng = self.space(), np.random.default_rng(2)
        for centre, reach in zip(self.drawn()[:3], (0.05, 0.3, 2.0), strict=True):
            wide = np.where(np.array(space.categories) > 0, np.inf, reach)
            lower, upper = np.maximum(centre - wide, 0.0), np.minimum(centre + wide, 1.0)
            part = space.within(lower, upper, centre=centre)
            near = part.space.sample(16, rng)
            assert near.min() >= -1e-9 and near.max() <= 1 + 1e-9, "the part's points must lie in its unit cube"
            _check_points(space, space.repair(part.outward(near)), "within")
            assert len(part.inward(centre[None])) == 1, "the centre must lie in the part"
            np.testing.assert_allclose(part.outward(part.inward(centre[None]))[0], centre, rtol=0, atol=1e-9)
            assert part.remaining(np.empty((0, space.dimension))) >= 1
            assert part.is_everything or reach < 1

    def test_held_columns_keep_their_values(self) -> None:
        space, rng = self.space(), np.random.default_rng(4)
        x = self.drawn()[0]
        j = int(np.flatnonzero(space.active(self.drawn()).all(axis=0))[0])
        held = space.holding({space.names[j]: space.values(x[None])[0][space.names[j]]})
        assert held.names == space.names and held.dimension == space.dimension
        points = [held.sample(8, rng), held.repair(self.anywhere()[:8]), held.neighbours(held.repair(x[None])[0])]
        part = held.within(np.zeros_like(x), np.ones_like(x), centre=held.repair(x[None])[0])
        points.append(held.repair(part.outward(part.space.sample(8, rng))))
        every = held.enumerate() if (space.size or np.inf) < 10_000 else None
        points += [] if every is None else [every]
        for some in points:
            np.testing.assert_allclose(some[:, j], x[j], rtol=0, atol=1e-9, err_msg="this column was held")
            _check_points(space, some, "holding")

    def test_the_same_seed_gives_the_same_sample(self) -> None:
        np.testing.assert_array_equal(self.drawn(seed=3), self.drawn(seed=3))

    def test_the_global_generator_is_not_used(self) -> None:
        before = global_state()
        space = self.space()
        space.encode(space.decode(self.drawn()))
        space.repair(self.anywhere())
        assert global_state() == before, "np.random was used: draw from the generator that is passed in"


def _check_points(space: Space, X: Array, method: str) -> None:
    """Check that points are valid, and that each stands for parameters which are encoded as this point."""
    invalid = np.flatnonzero(~space.valid(X))
    assert not len(invalid), f"{method}() returned the invalid point {X[invalid[0]]}" if len(invalid) else ""
    np.testing.assert_allclose(space.encode(space.decode(X)), X, rtol=0, atol=1e-9, err_msg=f"from {method}()")


def _same(one: Params, other: Params, tolerance: float) -> bool:
    return one.keys() == other.keys() and all(_close(one[name], other[name], tolerance) for name in one)


def _close(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
    return type(one) is type(other) and bool(one == other)
