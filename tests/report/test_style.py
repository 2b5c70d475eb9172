"""The look all figures share: it is a figure Plotly accepts, and says so when there is nothing to see."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from calibo.report import style
from calibo.report.ranges import Zoom

blank: Any = style.blank  # figures are too dynamic for a type checker

COLOURS = [style.CALIBRATED, style.RAW, style.OUTCOME, style.MISS, style.BEST, style.ACQUISITION, style.FAINT]


def _luminance(colour: str) -> float:
    """Relative luminance as of the Web Content Accessibility Guidelines."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_one_meaning_per_colour_and_all_that_matters_is_seen_on_white() -> None:
    assert len(set(COLOURS)) == len(COLOURS)
    for colour in COLOURS:
        if colour != style.FAINT:
            assert 1.05 / (_luminance(colour) + 0.05) > 3.0, colour  # the contrast asked of graphics


def test_calibrated_and_missed_differ_in_what_the_colour_blind_see() -> None:
    for one, other in itertools.combinations((style.CALIBRATED, style.MISS, style.OUTCOME), 2):
        blues = [int(colour[5:7], 16) for colour in (one, other)]
        assert abs(blues[0] - blues[1]) > 100 or abs(_luminance(one) - _luminance(other)) > 0.1


def test_tints() -> None:
    assert style.tint("#0072B2", 0.25) == "rgba(0,114,178,0.25)"
    assert style.tint("#ffFFff", 1.0) == "rgba(255,255,255,1)"


def test_a_blank_figure_has_its_titles_and_nothing_else() -> None:
    figure = blank("What", x="trial", y="value", height=300)
    layout = figure.layout
    assert (layout.title.text, layout.xaxis.title.text, layout.yaxis.title.text) == ("What", "trial", "value")
    assert (layout.height, len(figure.data), len(layout.annotations)) == (300, 0, 0)
    style.subtitle(figure, "in a sentence")
    assert (layout.title.text, layout.title.subtitle.text) == ("What", "in a sentence")
    assert blank("Other", x="", y="").layout.title.subtitle.text is None


def test_an_empty_figure_says_why() -> None:
    figure: Any = style.empty(blank("What", x="x", y="y"), "no result yet")
    (note,) = figure.layout.annotations
    assert note.text == "<b>Not yet</b><br>no result yet"
    assert (note.xref, note.yref, note.showarrow) == ("paper", "paper", False)
    assert not figure.layout.xaxis.visible and not figure.layout.yaxis.visible
    assert figure.layout.height < blank("What", x="x", y="y").layout.height


@pytest.mark.parametrize(("largest", "step"), [(1, 1), (12, 1), (13, None), (500, None)])
def test_few_trials_are_counted_one_by_one(largest: int, step: int | None) -> None:
    figure = blank("What", x="trial", y="y")
    style.whole_numbers(figure, largest)
    assert figure.layout.xaxis.dtick == step


@pytest.mark.parametrize("dropdown", [False, True])
def test_menus(dropdown: bool) -> None:
    figure = blank("What", x="x", y="y")
    buttons: list[dict[str, object]] = [dict(label=label, method="update", args=[{}]) for label in "ab"]
    figure.update_layout(updatemenus=[style.menu(buttons, active=1, dropdown=dropdown)])
    (menu,) = figure.layout.updatemenus
    assert (menu.type, menu.active) == ("dropdown" if dropdown else "buttons", 1)
    assert [button.label for button in menu.buttons] == ["a", "b"]


@pytest.mark.parametrize("needed", [False, True])
def test_the_first_view_is_of_most_results_only_where_it_must_be(needed: bool) -> None:
    figure = blank("What", x="x", y="y")
    style.zoom_menu(figure, Zoom(low=-1.0, high=2.0, needed=needed))
    (menu,) = figure.layout.updatemenus
    near, far = menu.buttons
    assert (near.label, far.label) == ("most results", "everything")
    assert menu.buttons[menu.active] == (near if needed else far)
    assert figure.layout.yaxis.range == ((-1.0, 2.0) if needed else None)
    assert list(near.args[1]["yaxis.range"]) == [-1.0, 2.0] and near.args[1]["yaxis.autorange"] is False
    assert far.args[1] == {"yaxis.autorange": True}


def test_marks_of_what_lies_beyond_are_hidden_while_everything_is_shown() -> None:
    figure = blank("What", x="x", y="y")
    style.zoom_menu(figure, Zoom(low=0.0, high=1.0, needed=True), marks=3)
    near, far = figure.layout.updatemenus[0].buttons
    assert (near.args[0], far.args[0]) == ({"visible": True}, {"visible": False})
    assert [list(button.args[2]) for button in (near, far)] == [[3], [3]]
