"""Which of many trials are drawn."""

from __future__ import annotations

import numpy as np

from calibo.report.thinning import FEWER_TRIALS, MOST_TRIALS, evenly, thinned


def test_few_are_all_drawn() -> None:
    np.testing.assert_array_equal(thinned(MOST_TRIALS, keep=[3]), np.arange(MOST_TRIALS))
    np.testing.assert_array_equal(evenly(5, 9), np.arange(5))


def test_evenly_keeps_the_ends() -> None:
    found = evenly(1000, 11)
    assert found[0] == 0 and found[-1] == 999 and len(found) == 11


def test_misses_are_kept() -> None:
    misses = list(range(0, 5000, 17))
    found = thinned(5000, keep=misses)
    assert set(misses) <= set(found.tolist())
    assert len(found) == FEWER_TRIALS
    assert np.all(np.diff(found) > 0)


def test_too_many_misses_are_thinned_too() -> None:
    assert len(thinned(5000, keep=range(4900))) <= FEWER_TRIALS
    assert len(thinned(5000, keep=range(5000))) <= FEWER_TRIALS
    assert set(thinned(5000, keep=range(4900)).tolist()) & set(range(4900, 5000))
