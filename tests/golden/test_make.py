"""The stored reference values are those that brute force gives."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.mark.whole
def test_stored_values_are_recomputed() -> None:
    make = runpy.run_path(str(Path(__file__).with_name("make.py")))
    for name, maker in make["MAKERS"].items():
        stored = make["stored"](name)
        assert make["distance"](stored, make["plain"](maker(stored))) < make["ROUNDING"], name
