"""The state of the global generators: it changes with every draw from any of them, and with nothing else."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from calibo.testing.randomness import global_state


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    numpy, plain = np.random.get_state(), random.getstate()
    yield
    np.random.set_state(numpy)
    random.setstate(plain)


@pytest.mark.parametrize(
    "draw",
    [random.random, np.random.rand, lambda: np.random.seed(3), np.random.randn],
    ids=["random", "numpy", "reseeded", "normal"],
)
def test_every_draw_is_seen(draw: Callable[[], object]) -> None:
    before = global_state()
    draw()
    assert global_state() != before


def test_the_second_of_a_pair_of_normals_is_seen() -> None:
    np.random.seed(0)
    np.random.randn()  # draws two numbers and keeps one for the next call
    before = global_state()
    np.random.randn()
    assert global_state() != before


def test_looking_and_generators_of_ones_own_change_nothing() -> None:
    before = global_state()
    np.random.default_rng(0).random(5)
    random.Random(0).random()
    assert global_state() == before


@pytest.mark.extras
def test_torch_is_watched_where_it_is_loaded_and_never_loaded_for_it() -> None:
    code = (
        "import sys\nfrom calibo.testing.randomness import global_state\n"
        "assert global_state()[-1] is None and 'torch' not in sys.modules\n"
        "import torch\nbefore = global_state()\nassert global_state() == before\n"
        "torch.rand(1)\nassert global_state() != before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
