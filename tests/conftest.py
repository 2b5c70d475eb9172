"""What every test may use: the reference cases, and hypothesis without a stopwatch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"

# The same examples in every run, so that a failure is one of the change at hand; no deadline, as a first example that
# imports SciPy takes longer than the default one on a busy machine.
settings.register_profile("calibo", deadline=None, derandomize=True)
settings.load_profile("calibo")


@pytest.fixture
def golden() -> Callable[[str], Any]:
    """Loader of a reference file by its stem; the test is skipped where the reference files are not laid out.

    The strings "inf" and "-inf" become floats.
    """

    def load(name: str) -> Any:
        path = GOLDEN / f"{name}.json"
        if not path.exists():
            pytest.skip(f"no reference file {name}.json beside the repository")
        return _with_infinities(json.loads(path.read_text(encoding="utf-8")))

    return load


def _with_infinities(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _with_infinities(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_infinities(value) for value in node]
    return float(node) if node in ("inf", "-inf") else node
