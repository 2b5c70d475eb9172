"""The measurement of intervals of the optimum."""

from __future__ import annotations

from benchmarks.optimum import ASKED, FUNCTIONS, one
from calibo.problems import problem


def test_each_time_of_asking_has_a_value_and_all_parameters() -> None:
    found = one("forrester", 0)
    assert len(found) == len(ASKED) and all(len(inside) == 1 for _, inside in found)
    assert all(held for held, _ in found), "one dimension is soon known"
    assert all(problem(name).optimizers for name in FUNCTIONS)
