"""The page: words on top, everything escaped, nothing from the network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest

from calibo.data import Marginal
from calibo.report import Story
from calibo.report.page import SECTIONS, headline, page


def embedded(text: str) -> str:
    """The study's own data inside a page."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_headline_is_plain_words(real: Story, tell: Callable[..., Story]) -> None:
    assert headline(real).startswith("Smallest value so far: ")
    assert headline(real).endswith(real.calibration.headline())
    assert headline(tell([])) == (
        "No trial has a value yet. The intervals cannot be judged yet: no forecast has met its result."
    )


def test_all_parts_are_there(real: Story) -> None:
    text = page(real, script="")
    for sentence in real.calibration.sentences():
        assert sentence[1:] in text
    for section in SECTIONS:
        assert f'id="{section.name}"' in text
    assert set(json.loads(embedded(text))) == {section.name for section in SECTIONS}
    assert text.count("How to read this") == len(SECTIONS) == 5
    assert "x0" in text and "Best parameters" in text


def test_titles_are_the_pages_own(real: Story) -> None:
    for figure in json.loads(embedded(page(real, script=""))).values():
        assert not figure["layout"].get("title", {}).get("text")
        for menu in figure["layout"].get("updatemenus", []):
            for button in menu["buttons"]:
                assert not any(key.startswith("title.") for key in button["args"][1])


def test_nothing_is_requested(real: Story) -> None:
    text = page(real, script="")
    assert not re.search(r"(?:src|href|action|poster)\s*=|@import|url\(|fetch\(|XMLHttpRequest|<link|<iframe", text)
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in text
    # Plotly's toolbar would offer to send the chart to its makers' server.
    assert "showSendToCloud: false" in text and 'plotlyServerURL: ""' in text


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", '"><img onerror=x>', "</title></script>", "a & b"])
def test_users_text_is_escaped(tell: Callable[..., Story], evil: str) -> None:
    params = tuple({evil: evil} for _ in range(6))
    text = page(tell([0.1] * 6, params=params, title=evil, method=evil), script="")
    data = embedded(text)
    markup = text.replace(data, "")
    assert evil not in markup
    assert "<" not in data
    assert markup.count("<script") == 3 and markup.count("</script") == 3


@pytest.mark.parametrize("misses", [0.2, 1.0])
def test_five_thousand_trials_stay_small(tell: Callable[..., Story], real: Story, misses: float) -> None:
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(5000) * (1.0 if misses < 1.0 else 50.0)).tolist()
    params = tuple({f"parameter_{j}": v for j, v in enumerate(row)} for row in rng.random((5000, 8)).tolist())
    text = page(tell(values, params=params, expected_best=tuple(values), slices=real.slices), script="")
    assert len(text.encode()) < 400_000
    assert "600 of 5000 trials are drawn" in text


def test_extreme_and_degenerate_studies(tell: Callable[..., Story]) -> None:
    huge = tell([1e300, -1e300, 1e308, 5.0, None], distributions=[Marginal(0.0, 1e308)] * 5)
    flat = tell([0.0] * 12, distributions=[Marginal(0.0, 0.0)] * 12)
    for story in (huge, flat, tell([]), tell([None]), tell([1e-300] * 3, distributions=[None] * 3)):
        json.loads(embedded(page(story, script="")))
