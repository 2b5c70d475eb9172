"""The calibration bound through real storages: a short version of stress/streams.py."""

from __future__ import annotations

import numpy as np

from calibo.calibration import GroupedQuantile
from stress.streams import KINDS, Stream, noticed, planted, torment, violations


def test_the_bound_holds_through_every_storage_with_restarts() -> None:
    found = torment(3, seed=1, steps=8)
    for kind in KINDS:
        assert len(found[kind]) == 10 and violations(found[kind]) == 0
        assert all(len(stream.outcomes) == 8 for stream in found[kind])
        assert max(stream.worst for stream in found[kind]) > 0.5  # the adversary gets close


def test_every_planted_bug_is_noticed() -> None:
    found = noticed(3, seed=10**6, steps=10)
    assert len(found) == len(planted()) == 8
    assert all(found.values()), found


def test_a_stream_beyond_the_bound_counts() -> None:
    stream = Stream(GroupedQuantile(10.0, (0.5,)))
    for _ in range(8):
        stream.note(0.9, np.array([0.5]), 0, 1.0)  # always above what is played
    assert violations([stream]) == 1
