"""The Python blocks of documentation pages run as they are, one after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from calibo import Float

DOCS = Path(__file__).resolve().parents[1] / "docs"


def train(params: dict[str, Any]) -> float:
    return (params["x"] - 0.3) ** 2 + 0.2 * params["y"]


def objective(trial: Any) -> float:
    return train({name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")})


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def run_blocks(page: str) -> dict[str, Any]:
    """Run the Python blocks of a page, and return what they define."""
    known: dict[str, Any] = {
        "train": train,
        "objective": objective,
        "space": {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)},
    }
    for block in blocks_of(page, "python"):
        exec(compile(block, page, "exec"), known)
    return known


def test_the_page_about_choosing_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks("choosing.md")
    assert capsys.readouterr().out == blocks_of("choosing.md", "text")[0]


def test_the_page_about_stopping_runs(capsys: pytest.CaptureFixture[str]) -> None:
    known = run_blocks("stopping.md")
    assert len(blocks_of("stopping.md", "python")) >= 4
    assert known["result"].stopped
    assert len(known["study"].trials) < 80
    assert "stop: after" in capsys.readouterr().out
