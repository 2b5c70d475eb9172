"""Numbers and parameters as people read them."""

from __future__ import annotations

import pytest

from calibo.report.words import counted, number, params_text, percent, room_for, safe, shortened


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.123456, "0.1235"), (1e300, "1e+300"), (7, "7"), (True, "True"), ("relu", "relu"), (None, "None"), (2.0, "2")],
)
def test_numbers(value: object, said: str) -> None:
    assert number(value) == said


def test_an_int_beyond_all_floats_is_cut() -> None:
    assert len(number(10**400)) <= 48


def test_small_words() -> None:
    assert percent(0.8) == "80 %" and percent(0.995) == "99.5 %"
    assert counted(1, "trial") == "1 trial" and counted(0, "trial") == "0 trials"
    assert shortened("abcdef", 4) == "abc…"


def test_users_text_is_escaped() -> None:
    assert safe("<b>&") == "&lt;b&gt;&amp;"
    assert "<script" not in params_text({"<script>alert(1)</script>": "<img src=x>"})


def test_parameters_beyond_the_room_are_counted() -> None:
    said = params_text({f"p{i}": i for i in range(50)}, room=30)
    assert said.startswith("p0 = 0<br>p1 = 1")
    assert said.endswith("more") and len(said) < 80


def test_room_shrinks_with_the_number_of_trials() -> None:
    assert room_for(10) > room_for(500) > room_for(1500) >= 50
