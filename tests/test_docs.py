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


@pytest.mark.parametrize("page", ["stopping.md"])
def test_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    known: dict[str, Any] = {
        "train": train,
        "objective": objective,
        "space": {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)},
    }
    for block in blocks:
        exec(compile(block, page, "exec"), known)
    assert len(blocks) >= 4
    assert known["result"].stopped
    assert len(known["study"].trials) < 80
    assert "stop: after" in capsys.readouterr().out
