"""Searches among few candidates: what is copied and changed, batches, pools, small spaces, the dynamic rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search import Dynamic, MutatedBest, Plan, RandomCandidates
from calibo.search.parents import edited
from calibo.spaces import Categorical, CellSpace, Float, GraphCellSpace, Int, PoolSpace, ProductSpace

RNG = np.random.default_rng
MIXED = ProductSpace(
    {"x": Float(0, 1), "n": Int(1, 5), "c": Categorical(["a", "b", "c"]), "one": Categorical(["only"])}
)


class Spy:
    """An acquisition that prefers large first columns and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Array] = []

    def __call__(self, X: Array) -> Array:
        last = X if X.ndim == 2 else X[:, -1]
        self.asked.append(last)
        return last[:, 0].copy()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_copies_differ_in_as_many_columns_as_edits(seed: int, edits: int) -> None:
    parent = MIXED.sample(1, RNG(seed))
    copies = edited(parent, MIXED, 30, edits, RNG(seed + 1))
    assert ((np.abs(copies - parent) > 1e-12).sum(axis=1) == edits).all()
    np.testing.assert_array_equal(MIXED.repair(copies), copies)


def test_every_other_value_of_a_column_is_reached() -> None:
    cell = CellSpace()
    parent = cell.sample(1, RNG(0))
    copies = edited(parent, cell, 2000, 1, RNG(1))
    assert {tuple(np.round(c, 6)) for c in copies} == {tuple(np.round(c, 6)) for c in cell.neighbours(parent[0])}


def test_only_the_best_parents_are_copied() -> None:
    cell, spy = CellSpace(), Spy()
    anchors = cell.sample(5, RNG(3))
    MutatedBest(parents=2, candidates=40).maximize(Plan(spy, anchors, anchors), cell, 1, rng=RNG(4))
    near = [{tuple(np.round(c, 6)) for c in cell.neighbours(a)} for a in anchors[:2]]
    assert len(spy.asked[0]) <= 40
    assert all(any(tuple(np.round(x, 6)) in some for some in near) for x in spy.asked[0])


@pytest.mark.parametrize("search", [MutatedBest(), RandomCandidates(), Dynamic()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("space", [CellSpace(), GraphCellSpace(), MIXED], ids=lambda s: type(s).__name__)
def test_batches_are_new_different_and_the_best(search: MutatedBest, space: ProductSpace) -> None:
    taken, spy = space.sample(6, RNG(0)), Spy()
    found = search.maximize(Plan(spy, taken[:3], taken), space, 5, rng=RNG(1))
    assert found.shape == (5, len(space.columns)) and len(np.unique(found, axis=0)) == 5
    assert not (np.abs(found[:, None] - taken[None]).max(axis=2) < 1e-9).any()
    assert found[0, 0] == spy.asked[0][:, 0].max()
    np.testing.assert_array_equal(space.repair(found), found)
    again = search.maximize(Plan(Spy(), taken[:3], taken), space, 5, rng=RNG(1))
    np.testing.assert_array_equal(found, again)


def test_every_row_of_a_pool_is_scored() -> None:
    pool, spy = PoolSpace([{"x": float(i)} for i in range(300)]), Spy()
    found = MutatedBest(candidates=10).maximize(Plan(spy, pool.X[:1], pool.X[-1:]), pool, 2, rng=RNG(0))
    assert found[:, 0].tolist() == [pool.X[-2, 0], pool.X[-3, 0]] and len(spy.asked[0]) == 299


def test_a_space_that_is_used_up_is_announced() -> None:
    tiny = ProductSpace({"c": Categorical(["a", "b"])})
    every = tiny.encode([{"c": "a"}, {"c": "b"}])
    one = MutatedBest().maximize(Plan(Spy(), every[:1], every[:1]), tiny, 1, rng=RNG(0))
    np.testing.assert_array_equal(one, every[1:])
    with pytest.warns(RepeatWarning, match="every point"):
        MutatedBest().maximize(Plan(Spy(), every[:1], every), tiny, 1, rng=RNG(0))


@pytest.mark.parametrize(
    ("done", "parents"), [(0, 0), (79, 0), (80, 8), (99, 8), (100, 6), (120, 4), (140, 2), (200, 2)]
)
def test_the_dynamic_rule_is_the_published_one(done: int, parents: int) -> None:
    space = ProductSpace({f"x{i}": Float(0, 1) for i in range(8)})
    anchors, spy = space.sample(12, RNG(0)), Spy()
    taken = space.sample(done, RNG(1)) if done else np.empty((0, 8))
    Dynamic(160, candidates=200).maximize(Plan(spy, anchors, taken), space, 1, rng=RNG(2))
    shared = (np.abs(spy.asked[0][:, None] - anchors[None]) < 1e-12).sum(axis=2)
    assert np.flatnonzero((shared == 7).any(axis=0)).tolist() == list(range(parents))


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(MutatedBest, "parents"), (MutatedBest, "edits"), (RandomCandidates, "candidates"), (Dynamic, "budget")],
)
@pytest.mark.parametrize("bad", [0, 2.5])
def test_settings_are_whole_numbers(kind: Any, setting: str, bad: float) -> None:
    with pytest.raises(RecipeError, match=f"{setting} must be a whole number"):
        kind(**{setting: bad})
