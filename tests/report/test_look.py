"""The page's style sheet and script: they name what the page has, and ask the network for nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from calibo.diagnostics import Verdict
from calibo.report import Story, Tradeoff
from calibo.report.look import SCRIPT, STYLE
from calibo.report.page import page


def test_the_style_sheet_is_whole() -> None:
    assert STYLE.count("{") == STYLE.count("}") > 10
    rules = re.findall(r"\{([^{}]*)\}", STYLE)
    assert all(
        re.fullmatch(r"[a-z-]+: [^:;]+", one.strip()) for rule in rules for one in rule.split(";") if one.strip()
    )


def test_every_class_of_the_page_is_styled_and_every_styled_class_is_there(
    simulated: Tradeoff, tell: Callable[..., Story]
) -> None:
    stories = (tell([9.0] * 40), tell([0.0] * 40), simulated)
    markup = "".join(page(story, script="").replace(STYLE, "") for story in stories)
    used = {name for names in re.findall(r'class="([^"]*)"', markup) for name in names.split()}
    selectors = " ".join(re.findall(r"([^{}]+)\{", STYLE))
    styled = set(re.findall(r"\.([a-z_]+)", selectors))
    verdicts = {verdict.value for verdict in Verdict}
    assert used - verdicts <= styled
    assert styled - verdicts <= used


def test_the_style_fits_a_phone_and_leaves_nothing_to_the_network() -> None:
    assert "@media (max-width:" in STYLE
    for text in (STYLE, SCRIPT):
        assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|</", text)


def test_the_script_draws_what_the_page_holds(real: Story) -> None:
    (held,) = re.findall(r'getElementById\("(\w+)"\)', SCRIPT)
    assert f'id="{held}"' in page(real, script="")
    assert SCRIPT.count("{") == SCRIPT.count("}") and SCRIPT.count("(") == SCRIPT.count(")")
