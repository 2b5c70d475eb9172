"""The table of Pareto-optimal trials: plain HTML, not too long, escaped."""

from __future__ import annotations

import re
from collections.abc import Callable

from calibo.report import Tradeoff
from calibo.report.fronttable import MOST_PARAMETERS, MOST_ROWS, front_card

Trade = Callable[..., Tradeoff]


def cells(card: str) -> list[list[str]]:
    """The text of a table's cells, by rows."""
    rows = re.findall(r"<tr>(.*?)</tr>", card, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_values_then_parameters_best_first(trade: Trade) -> None:
    told = trade([[3.0, 1.0, 5.0], [1.0, 3.0, 5.0]], [[-1.0, 0.0, -1.0]], names=("loss", "cost"), limits=("memory",))
    head, *rows = cells(front_card(told))
    assert [re.sub(r"<.*", "", cell) for cell in head] == ["trial", "loss", "cost", "memory", "x"]
    assert "smaller is better" in head[1] and "met at or below 0" in head[3]
    assert rows == [["1", "1", "3", "0", "1"], ["0", "3", "1", "-1", "0"]]


def test_parameters_that_only_some_have(trade: Trade) -> None:
    told = trade([[1.0, 2.0], [2.0, 1.0]], params=({"x": 1}, {"y": "<b>"}))
    head, *rows = cells(front_card(told))
    assert head[-2:] == ["x", "y"] and [row[-2:] for row in rows] == [["1", ""], ["", "&lt;b&gt;"]]


def test_a_long_front_and_many_parameters_are_cut(trade: Trade) -> None:
    n = 100
    params = tuple({f"p{j}": float(i + j) for j in range(MOST_PARAMETERS + 3)} for i in range(n))
    told = trade([[float(i) for i in range(n)], [float(-i) for i in range(n)]], params=params)
    card = front_card(told)
    head, *rows = cells(card)
    assert len(rows) == MOST_ROWS and len(head) == 3 + MOST_PARAMETERS
    assert (rows[0][0], rows[-1][0]) == ("0", "99")
    assert f"{MOST_ROWS} of 100 are listed, evenly spread along objective 0." in card
    assert "3 parameters left out." in card and 'class="scroll"' in card


def test_no_front(trade: Trade) -> None:
    assert "No trial has a value yet." in front_card(trade([[None], [None]]))
    assert "No result meets all constraints yet." in front_card(trade([[1.0], [1.0]], [[2.0]]))
