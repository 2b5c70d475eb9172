"""Test models, and torch on one thread: at these sizes more threads only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from calibo.distributions import Levels


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def levels() -> Levels:
    """A level map that widens, skews and shifts."""
    return Levels(np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), np.array([0.0, 0.02, 0.2, 0.6, 0.85, 0.97, 1.0]))


@pytest.fixture(scope="session")
def training() -> tuple[Any, Any]:
    """Twelve points in two dimensions and their outcomes."""
    import torch

    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.random((12, 2)))
    return X, torch.sin(5.0 * X).sum(dim=-1, keepdim=True)


@pytest.fixture(scope="session")
def gp(training: tuple[Any, Any]) -> Any:
    """A BoTorch model with given hyper-parameters, so that no test depends on a fit."""
    import torch
    from botorch.models import SingleTaskGP

    model = SingleTaskGP(*training)
    model.covar_module.lengthscale = torch.tensor([[0.4, 0.6]])
    model.likelihood.noise = torch.tensor([0.01])
    return model.eval()
