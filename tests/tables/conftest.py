"""A small table with a known best row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


def truth(frame: pd.DataFrame) -> np.ndarray:
    """What a measurement of each row would give."""
    bonus = frame["solvent"].map({"water": 0.0, "ethanol": 0.4, "none": -0.3}).to_numpy(dtype=float)
    return -((frame["heat"].to_numpy() - 60.0) ** 2) / 400.0 - (frame["dose"].to_numpy() - 0.7) ** 2 + bonus


@pytest.fixture
def candidates() -> Callable[..., pd.DataFrame]:
    """Return a function that makes a table of ``rows`` candidates of which the first ``measured`` have a yield."""

    def make(rows: int = 120, measured: int = 12, seed: int = 0) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "heat": rng.integers(20, 100, rows),
                "dose": rng.random(rows).round(4),
                "solvent": rng.choice(["water", "ethanol", "none"], rows),
            }
        )
        value = truth(frame) + 0.01 * rng.standard_normal(rows)
        return frame.assign(**{"yield": np.where(np.arange(rows) < measured, value, np.nan)})

    return make
