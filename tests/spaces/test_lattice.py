"""Whole numbers in constraints: sums are met exactly, all combinations are drawn, and exchanges are neighbours."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calibo import Float, Int, ProductSpace
from calibo.spaces.lattice import Lattice
from calibo.spaces.polytope import Polytope
from calibo.spaces.values import values_of
from calibo.testing import SpaceSuite

RNG = np.random.default_rng


class TestIntegers(SpaceSuite):
    def space(self) -> ProductSpace:
        return ProductSpace({k: Int(0, 10) for k in "abcdef"}, constraints=["a + b + c + d + e + f == 20", "a <= b"])


class TestLattice(SpaceSuite):
    def space(self) -> ProductSpace:
        return ProductSpace({k: Int(0, 20) for k in "abc"}, constraints=["3*a + 5*b == 7*c"])


def test_whole_numbers_are_drawn_evenly() -> None:
    space = ProductSpace({"a": Int(0, 2), "b": Int(0, 2), "x": Float(0, 9)}, constraints=["a + b + x <= 10"])
    counts = np.unique([p["a"] for p in space.decode(space.sample(900, RNG(0)))], return_counts=True)[1]
    assert counts == pytest.approx([300, 300, 300], abs=70)


def test_exchanges_are_neighbours() -> None:
    space = ProductSpace({k: Int(0, 4) for k in "abc"}, constraints=["a + b + c == 6"])
    near = {tuple(p.values()) for p in space.decode(space.neighbours(space.encode([{"a": 2, "b": 2, "c": 2}])[0]))}
    assert {(1, 3, 2), (3, 1, 2), (2, 1, 3), (1, 2, 3), (3, 2, 1), (2, 3, 1)} <= near
    assert all(sum(point) == 6 for point in near)


def lattice(A: list[list[float]], total: list[float], columns: list[Int | Float]) -> Lattice:
    bound = np.array(total)
    rows = np.array(A)
    polytope = Polytope(rows, bound, bound, np.abs(rows).sum(axis=1))
    finite = np.array([isinstance(column, Int) for column in columns])
    values = tuple(values_of("x", column, "a row") for column in columns)
    return Lattice(polytope, values, finite, np.zeros(len(columns), dtype=bool))


def test_rounded_numbers_are_moved_until_their_sum_is_right() -> None:
    """3 a + 5 b = 7 c: rounding hardly ever meets it, and two columns must change at once."""
    own = lattice([[3.0, 5.0, -7.0]], [0.0], [Int(0, 20)] * 3)
    low, high = np.zeros((40, 3)), np.full((40, 3), 20.0)
    V = own.rounded(20.0 * RNG(0).random((40, 3)), low, high)
    fitted = own.fitted(V, low, high)
    assert (fitted == np.rint(fitted)).all()
    met = fitted @ [3.0, 5.0, -7.0] == 0.0
    assert met.mean() > 0.9 > (V @ [3.0, 5.0, -7.0] == 0.0).mean()


def test_whole_numbers_stay_where_continuous_ones_make_up_for_them() -> None:
    own = lattice([[1.0, 1.0, 1.0]], [4.0], [Int(0, 3), Int(0, 3), Float(0, 1)])
    low, high = np.zeros((1, 3)), np.array([[3.0, 3.0, 1.0]])
    np.testing.assert_array_equal(own.fitted(np.array([[1.0, 2.0, 0.5]]), low, high), [[1.0, 2.0, 0.5]])
    np.testing.assert_array_equal(own.fitted(np.array([[1.0, 1.0, 0.5]]), low, high)[:, :2].sum(), 3.0)


def test_every_combination_is_reached_by_moves() -> None:
    space = ProductSpace({k: Int(0, 3) for k in "abc"}, constraints=["a + b + c == 4"])
    wanted = {c for c in product(range(4), repeat=3) if sum(c) == 4}
    seen = {(2, 2, 0)}
    while True:
        X = space.encode([dict(zip("abc", c, strict=True)) for c in sorted(seen)])
        near = {tuple(p.values()) for x in X for p in space.decode(space.neighbours(x))}
        if near <= seen:
            break
        seen |= near
    assert seen == wanted
