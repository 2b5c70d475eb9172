"""Sets beside what is chosen, and what counts as taken."""

from __future__ import annotations

import numpy as np

from calibo.search import CopiesParents, Dynamic, MultiStart, MutatedBest, RandomCandidates
from calibo.search.base import is_taken, with_chosen


def test_nothing_chosen_nothing_changed() -> None:
    acquisition = lambda X: X.sum(axis=-1)
    assert with_chosen(acquisition, []) is acquisition


def test_chosen_points_stand_before_the_candidate() -> None:
    seen: list[np.ndarray] = []

    def acquisition(X: np.ndarray) -> np.ndarray:
        seen.append(X)
        return X[:, -1, 0]

    chosen = [np.array([0.1, 0.2]), np.array([0.3, 0.4])]
    candidates = np.random.default_rng(0).random((5, 2))
    np.testing.assert_array_equal(with_chosen(acquisition, chosen)(candidates), candidates[:, 0])
    assert seen[0].shape == (5, 3, 2)
    np.testing.assert_array_equal(seen[0][:, :2], np.broadcast_to(np.stack(chosen), (5, 2, 2)))
    np.testing.assert_array_equal(seen[0][:, 2], candidates)


def test_taken_up_to_rounding() -> None:
    taken = np.array([[0.1 + 0.2, 0.5], [1.0, 0.0]])
    X = np.array([[0.3, 0.5], [0.3, 0.5001], [1.0, 0.0]])
    np.testing.assert_array_equal(is_taken(X, taken), [True, False, True])
    assert not is_taken(X, np.empty((0, 2))).any() and is_taken(np.empty((0, 2)), taken).shape == (0,)


def test_searches_that_copy_say_how_many() -> None:
    copying = (MutatedBest(parents=7), Dynamic(budget=160))
    assert [s.parents for s in copying if isinstance(s, CopiesParents)] == [7, 8]
    assert not any(isinstance(s, CopiesParents) for s in (RandomCandidates(), MultiStart(), None))
