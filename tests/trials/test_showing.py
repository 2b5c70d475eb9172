"""Trials in notebooks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from calibo import Float, Optimizer


def test_an_optimizer_shows_what_was_expected_and_what_came_of_it() -> None:
    optimizer = Optimizer({"x<1>": Float(0, 10)}, "gp_ei", seed=0)
    for _ in range(11):
        asked = optimizer.ask()
        optimizer.tell(asked, (asked.params["x<1>"] - 3) ** 2)
    optimizer.tell_failed(optimizer.ask())
    optimizer.ask()
    page = ElementTree.fromstring(f"<div>{optimizer._repr_html_()}</div>")
    assert "11 complete, 1 pending, 1 failed" in (page.findtext("p") or "") and "x<1>" in (page.findtext("p") or "")
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")][1:]
    assert [row[0] for row in rows] == [*map(str, range(3, 11)), "11 (failed)", "12 (running)"]
    assert all(re.fullmatch(r"\S+ \(\S+ to \S+\)", row[2]) for row in rows)
    # A cross for each that was measured.
    assert len(list(page.iter("svg"))) == 10 and len(list(page.iter("path"))) == 8


def test_several_objectives_have_a_row_each() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", directions={"cost": "min", "gain": "max"}, seed=0)
    optimizer.tell(optimizer.ask(), (1.0, 2.0))
    page = ElementTree.fromstring(f"<div>{optimizer._repr_html_()}</div>")
    rows = [[cell.text or "" for cell in row] for row in page.iter("tr")][1:]
    assert [(row[0], row[2], row[4]) for row in rows] == [("0", "cost", "1"), ("0", "gain", "2")]
