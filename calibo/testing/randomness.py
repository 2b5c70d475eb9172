"""The state of the global random generators, for tests that they are not used."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np


def global_state() -> tuple[Any, ...]:
    """Return the state of the global generators of NumPy, Python and (if it is loaded) torch, comparable with `==`."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    numpy = (state["state"]["key"].tolist(), state["state"]["pos"], state["has_gauss"], state["gauss"])
    torch = sys.modules.get("torch")
    return numpy, random.getstate(), None if torch is None else torch.get_rng_state().tolist()
