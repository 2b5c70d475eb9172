"""The second pass: the best rows, each point once, in bounded memory; batches; rows that are spread out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.search import Plan
from calibo.search.base import in_chunks
from calibo.tables.columns import column_keys, row_keys
from calibo.tables.encoding import Encoding, NumberEncoder
from calibo.tables.reading import open_table
from calibo.tables.source import Scoring, chosen_batch, shortlisted, spread


def plain(parts: Any, what: str) -> Any:
    return parts


def line(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(float(rows)), "y": np.nan})


def scoring(rows: int, acquisition: Any, *, size: int = 10, seen: Any = ()) -> Scoring:
    code = Encoding((NumberEncoder("x", 0.0, rows - 1.0, 0.0, gaps=False),))
    return Scoring(code, ("y",), frozenset(), np.asarray(seen, dtype=np.uint64), size, acquisition)


@pytest.mark.parametrize("batch", [333, 5000])
def test_the_best_are_kept(batch: int) -> None:
    frame = line(3000)
    found = shortlisted(open_table(frame, batch=batch), scoring(3000, lambda X: -np.abs(X[:, 0] - 0.5)), plain)
    assert set(found.frame["x"]) == set(range(1495, 1505))
    assert found.rows == 3000 and list(found.keys) == sorted(found.keys)
    np.testing.assert_allclose(found.X[:, 0], found.frame["x"] / 2999)


def test_measured_and_repeated_points_are_not_suggested() -> None:
    frame = pd.concat([line(20), line(20), line(20)], ignore_index=True)
    frame.loc[19, "y"] = 1.0
    seen = np.sort(row_keys(column_keys(frame.loc[[19]], ["x"])))
    for batch in (7, 100):
        found = shortlisted(open_table(frame, batch=batch), scoring(20, lambda X: X[:, 0], seen=seen, size=5), plain)
        assert set(found.frame["x"]) == {14, 15, 16, 17, 18}
        assert found.again == 2 and found.repeats >= 5


def test_ties_are_broken_at_random_but_always_alike() -> None:
    frame = line(4000)

    def dusty(X: np.ndarray) -> np.ndarray:
        return 1.0 + 1e-13 * np.sin(1e6 * X[:, 0])  # equal but for what rounding may do

    found = [
        shortlisted(open_table(table, batch=batch), scoring(4000, dusty), plain).frame["x"].to_numpy()
        for table, batch in ((frame, 10_000), (frame, 123), (frame.sample(frac=1.0, random_state=0), 777))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert found[0].max() > 400  # not the first ones


def test_not_a_number_is_the_worst() -> None:
    values = in_chunks(lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]), np.array([[0.2], [0.9], [0.4]]), 2)
    np.testing.assert_array_equal(values, [0.2, -np.inf, 0.4])
    assert len(in_chunks(lambda X: X[:, 0], np.empty((0, 1)), 2)) == 0


def coverage(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    """How much of the unit interval lies within ``radius`` of a set of points."""
    grid = np.linspace(0, 1, 401)

    def value(X: np.ndarray) -> np.ndarray:
        sets = X[:, None, :] if X.ndim == 2 else X
        return (np.abs(grid - sets[..., 0][..., None]).min(axis=1) < radius).mean(axis=1)

    return value


def test_a_batch_is_chosen_as_a_set() -> None:
    X = np.concatenate([np.linspace(0.48, 0.52, 50), [0.1, 0.9]])[:, None]
    plan = Plan(coverage(0.15), anchors=np.empty((0, 1)), avoid=np.empty((0, 1)))
    chosen = chosen_batch(plan, X, 3)
    assert 0.48 <= X[chosen[0], 0] <= 0.52 and {float(X[i, 0]) for i in chosen[1:]} == {0.1, 0.9}
    assert sorted(chosen_batch(plan, X[:4], 10)) == [0, 1, 2, 3]


def test_spread() -> None:
    X = np.linspace(0, 1, 101)[:, None]
    assert [X[i, 0] for i in spread(X, np.empty((0, 1)), 3)] == [0.5, 0.0, 1.0]
    assert [X[i, 0] for i in spread(X, np.array([[0.0]]), 2)] == [1.0, 0.5]
    assert sorted(spread(X[:5], np.empty((0, 1)), 9)) == [0, 1, 2, 3, 4]
    same = np.zeros((4, 1))
    assert sorted(spread(same, np.empty((0, 1)), 4)) == [0, 1, 2, 3]
