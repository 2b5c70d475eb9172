"""The environmental model: against reference values and BoTorch's tutorial form, plain and as a composite."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.problems.environmental import PLACES, TIMES, TRUTH, concentrations, environmental

MODEL = environmental()


def points(count: int, seed: int = 0) -> np.ndarray:
    return MODEL.problem.from_unit(np.random.default_rng(seed).random((count, 4)))


def test_reference_cases(golden: Callable[[str], Any]) -> None:
    reference = golden("environmental_model")
    assert list(PLACES) == reference["s"] and list(TIMES) == reference["t"] and list(TRUTH) == reference["truth"]
    assert [list(bound) for bound in MODEL.problem.box] == list(reference["bounds"].values())
    X = np.array([case["theta"] for case in reference["cases"]], dtype=np.float64)
    H = MODEL.vectors(X)
    for h, y, case in zip(H, MODEL.problem(X), reference["cases"], strict=True):
        np.testing.assert_allclose(h.reshape(3, 4), case["concentrations_rows_s_cols_t"], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(y, case["objective"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(MODEL.loss(H), [case["sse"] for case in reference["cases"]], rtol=1e-10, atol=1e-10)


def test_the_plain_objective_is_the_composition() -> None:
    X = points(50)
    np.testing.assert_allclose(MODEL.problem(X), MODEL.outer(MODEL.vectors(X)), rtol=1e-12)
    assert (MODEL.problem(X) < 0.0).all()
    assert MODEL.problem(np.array([TRUTH])) == MODEL.problem.optimum == 0.0
    params = dict(zip(MODEL.problem.names, X[0], strict=True))
    assert MODEL.measure(params) == MODEL.vectors(X[:1])[0].tolist()
    assert MODEL.problem.objective(params) == MODEL.problem(X[:1])[0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(MODEL)).problem(X), MODEL.problem(X))


def test_a_spill_still_to_come_adds_nothing() -> None:
    before = concentrations(np.array([[10.0, 0.07, 1.505, 30.2]])).reshape(3, 4)
    never = concentrations(np.array([[10.0, 0.07, 1.505, 100.0]])).reshape(3, 4)
    np.testing.assert_array_equal(before[:, :2], never[:, :2])
    assert (before[:, 2:] > never[:, 2:]).all() and np.isfinite(never).all()


@pytest.mark.extras
def test_the_outer_function_takes_tensors_and_has_a_gradient() -> None:
    import torch

    H = MODEL.vectors(points(5))
    tensor = torch.tensor(H, requires_grad=True)
    values = MODEL.outer(tensor)
    np.testing.assert_allclose(values.detach().numpy(), MODEL.outer(H), rtol=1e-14)
    values.sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), -2 * (H - np.array(MODEL.target)), rtol=1e-12)
