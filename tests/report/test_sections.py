"""The figures of the report: each has a name of its own and says how to read it."""

from __future__ import annotations

from calibo.report import Tradeoff
from calibo.report.sections import CONSTRAINT_SECTIONS, FEASIBILITY, FRONT, HYPERVOLUME, SECTIONS

ALL = (*SECTIONS, FRONT, HYPERVOLUME, FEASIBILITY)


def test_names_and_readings() -> None:
    assert len({section.name for section in ALL}) == len(ALL) == 8
    assert all(len(section.reading) > 150 and section.reading.endswith(".") for section in ALL)
    assert [section.name for section in CONSTRAINT_SECTIONS] == ["forecast-card", "coverage-over-time", "reliability"]


def test_each_draws(simulated: Tradeoff) -> None:
    for section in (FRONT, HYPERVOLUME, FEASIBILITY):
        assert len(section.draw(simulated).data) > 0  # pyright: ignore[reportArgumentType]
    for section in CONSTRAINT_SECTIONS:
        assert len(section.draw(simulated.constraints[0]).data) > 0  # pyright: ignore[reportArgumentType]
