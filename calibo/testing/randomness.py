"""The state of every global random generator, for distributions that forbid touching them."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np


def global_state() -> tuple[Any, ...]:
    """What NumPy's, Python's and (if it is loaded) torch's global generators would do next, comparable with ``==``."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    numpy = (state["state"]["key"].tolist(), state["state"]["pos"], state["has_gauss"], state["gauss"])
    torch = sys.modules.get("torch")
    return numpy, random.getstate(), None if torch is None else torch.get_rng_state().tolist()
