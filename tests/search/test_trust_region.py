"""Search within a box: never outside it, as fine as it is small, and wide enough to find something new."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search import Box, MultiStart, Plan, Pool, RandomDraw, TrustRegion
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace, Space

RNG = np.random.default_rng
CUBE = ProductSpace({"x": Float(0, 1), "y": Float(-2, 5), "z": Float(1e-3, 1, log=True)})
MIXED = ProductSpace(
    {
        "f": Float(0, 1),
        "step": Float(0, 1, step=0.05),
        "i": Int(0, 9),
        "many": Int(1, 1000),
        "log": Int(1, 4096, log=True),
        "c": Categorical(list("abcd")),
        "o": Ordinal([1, 2, 4, 8]),
    }
)
QUICK = MultiStart(scored=48, around=16, starts=2, iterations=15)


def last(X: Array) -> Array:
    return X if X.ndim == 2 else X[:, -1]


def search(box: Box, space: Space, acquisition: object, q: int = 1, *, inner: object = QUICK, **given: Array) -> Array:
    none = np.empty((0, len(box.centre)))
    return TrustRegion(inner).maximize(
        Plan(acquisition, given.get("anchors", none), given.get("taken", none), region=box), space, q, rng=RNG(0)
    )


def cells(space: ProductSpace, X: Array) -> Array:
    columns = [c.cell(X[:, j]) if c.cells else X[:, j] for j, c in enumerate(space.columns)]
    return np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)


class Replacing(MultiStart):
    """A search that returns a plan of its own."""

    def explore(self, plan: Plan, space: Space, *, rng: np.random.Generator) -> Plan:
        return Plan(plan.acquisition, plan.anchors, plan.avoid)


def test_a_search_that_explores_keeps_the_plan() -> None:
    none, box = np.empty((0, 3)), Box(np.full(3, 0.5), np.full(3, 0.1))
    plan = Plan(lambda X: last(X).sum(-1), none, none, region=box, learn=lambda plan, X, rng: plan)
    with pytest.raises(RecipeError, match=r"dataclasses.replace\(plan, ...\)"):
        TrustRegion(Replacing()).explore(plan, CUBE, rng=RNG(0))


@given(
    st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3),
    st.floats(0.5**7, 1.6),
    st.lists(st.floats(0.005, 4.0), min_size=3, max_size=3),
    st.integers(1, 3),
    st.booleans(),
)
def test_no_point_outside(centre: list[float], length: float, weights: list[float], q: int, drawn: bool) -> None:
    box = Box.around(np.array(centre), np.array(weights), length, (0, 0, 0))
    inner = RandomDraw(scored=40, around=10) if drawn else MultiStart(scored=32, around=8, starts=2, iterations=5)
    found = search(box, CUBE, lambda X: last(X).sum(axis=-1), q, inner=inner, anchors=RNG(1).random((3, 3)))
    assert box.contains(found).all() and len(np.unique(found, axis=0)) == q


def test_the_best_point_of_the_box() -> None:
    box = Box.around(np.array([0.3, 0.3, 0.3]), np.ones(3), 0.1, (0, 0, 0))
    goal = np.array([0.9, 0.31, 0.0])
    distance = lambda X: -np.square(last(X) - goal).sum(axis=-1)
    np.testing.assert_allclose(search(box, CUBE, distance, inner=MultiStart()), [[0.35, 0.31, 0.25]], atol=1e-6)
    none = np.empty((0, 3))
    whole = TrustRegion(MultiStart()).maximize(Plan(distance, none, none), CUBE, 1, rng=RNG(0))
    np.testing.assert_allclose(whole, [goal], atol=1e-3)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(0.5**7, 1.6), st.integers(1, 3))
def test_finite_columns_keep_the_values_in_the_box(seed: int, length: float, q: int) -> None:
    rng = RNG(seed)
    centre, weights = MIXED.sample(1, rng)[0], rng.normal(size=7)
    box = Box.around(centre, np.ones(7), length, MIXED.categories)
    inner = MultiStart(scored=16, around=4, starts=1, iterations=3, rounds=1)
    found = search(box, MIXED, lambda X: last(X) @ weights, q, inner=inner)
    np.testing.assert_array_equal(found, MIXED.repair(found))
    ends = cells(MIXED, np.stack([box.lower, box.upper]))
    where = cells(MIXED, found)
    assert ((ends[0] - 1e-12 <= where) & (where <= ends[1] + 1e-12)).all()


def test_every_value_in_the_box_can_be_had() -> None:
    space = ProductSpace({"i": Int(0, 19), "log": Int(1, 20, log=True), "c": Categorical(list("abc"))})
    centre = space.encode([{"i": 8, "log": 7, "c": "b"}])[0]
    box = Box.around(centre, np.ones(3), 0.3, space.categories)
    ends = space.decode(np.stack([box.lower, box.upper]))
    inside = [
        {"i": i, "log": v, "c": c}
        for i in range(ends[0]["i"], ends[1]["i"] + 1)
        for v in range(ends[0]["log"], ends[1]["log"] + 1)
        for c in "abc"
    ]
    seen: list[Array] = []

    def watched(X: Array) -> Array:
        seen.append(last(X))
        return last(X).sum(axis=-1)

    search(box, space, watched, inner=RandomDraw(scored=5000, around=0))
    met = {tuple(p.values()) for p in space.decode(np.vstack(seen))}
    assert met == {tuple(p.values()) for p in inside} and len(met) > 50


def test_a_box_with_nothing_left_grows_until_it_has() -> None:
    space = ProductSpace({"i": Int(0, 9)})
    every = space.encode([{"i": i} for i in range(10)])
    box = Box.around(every[5], np.ones(1), 0.05, (0,))
    near = search(box, space, lambda X: last(X)[:, 0], taken=every[4:7])
    assert space.decode(near)[0]["i"] in (2, 3, 7, 8)
    far = search(box, space, lambda X: last(X)[:, 0], 2, taken=every[2:])
    assert {p["i"] for p in space.decode(far)} == {0, 1}
    with pytest.warns(RepeatWarning):
        search(box, space, lambda X: last(X)[:, 0], taken=every)


def test_rows_of_a_pool_in_the_box() -> None:
    pool = PoolSpace([{"a": i, "b": "xy"[i % 2]} for i in range(101)])
    pool.decode(pool.X[:1])  # fills what the pool has derived from all of its rows
    box = Box.around(pool.X[50], np.ones(2), 0.1, pool.categories)
    found = search(box, pool, lambda X: last(X)[:, 0], 2, inner=Pool())
    assert [row["a"] for row in pool.decode(found)] == [55, 54]
    held = pool.X[45:56]
    wider = search(box, pool, lambda X: last(X)[:, 0], inner=Pool(drawn=5), taken=held)
    assert pool.decode(wider)[0]["a"] in {*range(40, 45), *range(56, 61)}
    assert len(pool.X) == 101 and pool.size == 101


def test_many_columns_move_a_few_at_a_time() -> None:
    d = 100
    space = ProductSpace({f"x{j}": Float(0, 1) for j in range(d)})
    centre = np.full(d, 0.4)
    seen: list[Array] = []

    def watched(X: Array) -> Array:
        seen.append(X)
        return X[:, 0]

    search(Box.around(centre, np.ones(d), 0.2, (0,) * d), space, watched, inner=RandomDraw(scored=2000, around=0))
    moved = (np.abs(seen[0] - centre) > 1e-12).sum(axis=1)
    assert moved.min() >= 1
    # 1 - .8^100 is nearly 1: the mean is 20 + .8 from the column that always moves, with std 4 / sqrt(2000) = 0.09.
    assert abs(moved.mean() - 20.8) < 0.5
    few = ProductSpace({f"x{j}": Float(0, 1) for j in range(20)})
    seen.clear()
    search(Box.around(centre[:20], np.ones(20), 0.2, (0,) * 20), few, watched, inner=RandomDraw(scored=50, around=0))
    assert (np.abs(seen[0] - 0.4) > 1e-12).all()
