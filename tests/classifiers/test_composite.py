"""Composite networks: stable forms, gradients, predictions, randomness, refused input."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calibo.classifiers import composite
from calibo.classifiers.composite import (
    CompositeAcquisition,
    CompositeNetwork,
    classification,
    composed_values,
    log_softplus_and_slope,
    require_torch,
)
from calibo.errors import DataError, MissingExtra, RecipeError
from calibo.networks import Indicators

pytestmark = pytest.mark.extras

TARGET = torch.tensor([0.3, -0.2, 1.0], dtype=torch.float64)


def outer(h: Any) -> Any:
    return -((h - TARGET) ** 2).sum(-1)


def inner(X: np.ndarray) -> np.ndarray:
    return np.stack([X[:, 0], X[:, 1] - 0.7, 2 * X[:, 0] * X[:, 1] + 0.7], axis=1)


def sample(n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).random((n, 2))
    H = inner(X)
    return X, composed_values(outer, H), H


def fitted(seed: int = 0, settings: CompositeNetwork = CompositeNetwork(), **more: Any) -> CompositeAcquisition:  # noqa: B008
    X, y, H = sample()
    return settings.fit(X, y, H, outer, rng=np.random.default_rng(seed), **more)


PROBES = np.random.default_rng(9).random((200, 2))


# --- stable forms -----------------------------------------------------------------------------------------------------


@given(st.floats(-30.0, 30.0))
def test_the_log_of_the_softplus(x: float) -> None:
    value, slope = log_softplus_and_slope(np.array([x]))
    softplus = np.log1p(np.exp(x)) if x < 0 else x + np.log1p(np.exp(-x))
    np.testing.assert_allclose(value, np.log(softplus), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slope, 1 / (1 + np.exp(-x)) / softplus, rtol=1e-9)
    far = np.array([-1e8, -41.0]) + x / 30.0
    np.testing.assert_array_equal(log_softplus_and_slope(far), [far, [1.0, 1.0]])


@given(st.floats(-5.0, 5.0), st.floats(0.0, 10.0))
def test_the_classification_loss_is_that_of_the_classifier(log_u: float, weight: float) -> None:
    u = np.exp(log_u)
    C = u / (1 + u)
    loss, slope = classification(np.array([log_u]), np.array([weight]))
    np.testing.assert_allclose(loss, -weight * np.log(C) - np.log(1 - C), rtol=1e-10, atol=1e-12)
    higher, lower = (classification(np.array([log_u + s]), np.array([weight]))[0] for s in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (higher - lower) / 2e-6, rtol=1e-5, atol=1e-6)
    assert np.isfinite(classification(1e6 * np.array([log_u]), np.array([weight]))).all()


def test_the_best_odds_are_the_weight() -> None:
    """Weighted classification: at its minimum C / (1 - C) = u is the utility itself (Corollary 3.5)."""
    log_u = np.linspace(-5, 3, 100_001)
    for weight in (0.05, 0.7, 4.0):
        best = log_u[np.argmin(classification(log_u, np.full_like(log_u, weight))[0])]
        assert np.exp(best) == pytest.approx(weight, rel=1e-3)


# --- the loss ---------------------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_torch() -> None:
    """The objective written in torch in its plain form; the gradient by the weights is tested in test_networks."""
    rng = np.random.default_rng(3)
    _, y, H = sample(8)
    H[2] = np.nan
    known = np.isfinite(H).all(axis=1)
    threshold, scale, beta = float(np.quantile(y, 0.7)), float(y.std()), 2.0
    centre, spread = H[known].mean(axis=0), H[known].std(axis=0)
    weights = np.append(np.maximum(y - threshold, 0) / scale, [0.0, 0.0])
    inputs = rng.uniform(-1, 1, (10, 2))
    utility = composite._Utility(outer, centre, spread, threshold, scale, beta, 1)
    known_rows, targets = np.flatnonzero(known), (H[known] - centre) / spread
    network = CompositeNetwork(hidden=5).start(3, Indicators((0, 0)), rng)
    out = network(inputs)
    value, gradient = composite._Objective(utility, weights, targets, known_rows, 8)(out)

    out = torch.tensor(out[0], requires_grad=True)
    v = (outer(torch.tensor(centre) + torch.tensor(spread) * out) - threshold) / scale
    u = torch.nn.functional.softplus(beta * v) / beta
    C, w = u / (1 + u), torch.tensor(weights)
    missed = out[torch.tensor(known_rows)] - torch.tensor(targets)
    loss = (-(w * C.log()).sum() - (1 - C).log().sum() + (missed**2).sum()) / 8
    loss.backward()
    assert value == pytest.approx(loss.item(), rel=1e-10)
    np.testing.assert_allclose(gradient[0], out.grad.numpy(), rtol=1e-8, atol=1e-12)


# --- predictions ------------------------------------------------------------------------------------------------------


def test_vectors_are_predicted_and_their_best_value_is_found() -> None:
    found = fitted()
    np.testing.assert_allclose(found.vectors(PROBES), inner(PROBES), atol=0.25)
    assert np.abs(found.vectors(PROBES) - inner(PROBES)).mean() < 0.03
    values = composed_values(outer, inner(PROBES))
    assert values[np.argmax(found(PROBES))] > np.quantile(values, 0.97)
    order = np.argsort(composed_values(outer, found.vectors(PROBES)))
    assert (np.diff(found(PROBES)[order]) >= 0.0).all(), "it increases with the known function of the prediction"
    assert found.utility.threshold == np.quantile(sample()[1], 0.9)


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**30])
def test_units_do_not_matter(factor: float) -> None:
    """Vectors, or values, in other units (a power of 2, so without rounding) leave the acquisition as it is."""
    X, y, H = sample()
    make, plain = CompositeNetwork(), fitted()(PROBES)
    scaled = make.fit(X, y, factor * H, lambda h: outer(h / factor), rng=np.random.default_rng(0))
    np.testing.assert_allclose(scaled(PROBES), plain, rtol=1e-9)
    of_values = make.fit(X, factor * y, H, lambda h: factor * outer(h), rng=np.random.default_rng(0))
    np.testing.assert_allclose(of_values(PROBES), plain, rtol=1e-9)


def test_pending_points_lower_the_acquisition_nearby() -> None:
    before = fitted()
    at = PROBES[[np.argmax(before(PROBES))]]
    after = fitted(negatives=np.repeat(at, 5, axis=0))
    assert after(at)[0] < before(at)[0]


def test_values_without_vectors_are_classified() -> None:
    X, y, H = sample()
    H[5:] = np.nan
    rng = np.random.default_rng(0)
    # The three best points without a vector against the others without one, with their values and with the worst.
    best = 5 + np.argsort(-y[5:])[:3]
    turned = np.where(np.isin(np.arange(30), best), y.min() - 1.0, y)
    lead = []
    for values in (y, turned):
        log_u = CompositeNetwork().fit(X, values, H, outer, rng=np.random.default_rng(0))(X)
        lead.append(log_u[best].mean() - np.delete(log_u, best)[5:].mean())
    assert lead[0] > lead[1] + 0.5
    with pytest.raises(DataError, match="vector is known"):
        CompositeNetwork().fit(X, y, np.full_like(H, np.nan), outer, rng=rng)


def test_a_function_that_is_not_defined_everywhere() -> None:
    """log(h) of a negative prediction is not a number: such rows are left out, such points are not chosen."""
    X = np.random.default_rng(0).random((20, 1))
    H = np.hstack([X**3 + 1e-3, X])
    y = composed_values(lambda h: -((torch.log(h[:, 0]) + 4) ** 2), H)
    found = CompositeNetwork().fit(X, y, H, lambda h: -((torch.log(h[:, 0]) + 4) ** 2), rng=np.random.default_rng(0))
    values = found(np.linspace(0, 1, 101)[:, None])
    assert not np.isnan(values).any() and np.isfinite(values).sum() > 50 and np.isfinite(found.network.layers[0]).all()
    assert abs(np.argmax(values) / 100 - np.exp(-4 / 3)) < 0.15


@pytest.mark.parametrize("value", [0.0, 1.0, 1e300, -1e-300])
def test_constant_and_single_points(value: float) -> None:
    for n in (1, 4):
        X = np.random.default_rng(0).random((n, 2))
        found = CompositeNetwork(steps=5).fit(
            X, np.full(n, value), np.full((n, 1), value), lambda h: h[:, 0], rng=np.random.default_rng(0)
        )
        assert np.isfinite(found(PROBES)).all()


def test_choices_without_order() -> None:
    X = np.array([[(i % 3 + 0.5) / 3] for i in range(12)])
    H = np.array([[5.0], [0.0], [3.0]])[np.arange(12) % 3]
    y = composed_values(lambda h: -(h[:, 0] ** 2), H)
    found = CompositeNetwork().fit(X, y, H, lambda h: -(h[:, 0] ** 2), categories=(3,), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.vectors(X[:3]), H[:3], atol=0.3)
    assert np.argmax(found(X[:3])) == 1


# --- randomness and state ---------------------------------------------------------------------------------------------


def test_the_same_generator_gives_the_same_and_nothing_global_changes() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), torch.get_num_threads(), torch.is_grad_enabled()  # type: ignore[index]
    one, again, other = fitted(1)(PROBES), fitted(1)(PROBES), fitted(2)(PROBES)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    torch.rand(3)
    np.testing.assert_array_equal(fitted(1)(PROBES), one)
    torch.set_rng_state(before[0])
    fitted(1)
    assert torch.equal(torch.get_rng_state(), before[0]) and (np.random.get_state()[1] == before[1]).all()  # type: ignore[index]
    assert (torch.get_num_threads(), torch.is_grad_enabled()) == before[2:]


def test_torch_works_with_one_thread_and_gets_its_own_back() -> None:
    before, seen = torch.get_num_threads(), set()

    def watched(h: Any) -> Any:
        seen.add(torch.get_num_threads())
        return outer(h)

    X, y, H = sample(5)
    torch.set_num_threads(2)
    try:
        CompositeNetwork(steps=2).fit(X, y, H, watched, rng=np.random.default_rng(0))(PROBES)
        assert seen == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# --- refused input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"threads": True}, {"gamma": 1.0}, {"beta": 0.0}, {"decay": -1.0}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        CompositeNetwork(**wrong)


def test_unsuitable_functions_are_refused() -> None:
    H = np.zeros((2, 3))
    with pytest.raises(RecipeError, match=r"one value for each of the m vectors.*of 2 x 3 it returned \(2, 3\)"):
        composed_values(lambda h: h, H)
    with pytest.raises(RecipeError, match=r"failed on a torch tensor of 2 x 3 .*RuntimeError"):
        composed_values(lambda h: h - torch.zeros(7), H)
    with pytest.raises(RecipeError, match="has no gradient"):
        composed_values(lambda h: h.detach().sum(-1), H)
    with pytest.raises(RecipeError, match="detach"):
        composed_values(lambda h: torch.tensor(np.square(h.numpy()).sum(-1)), H)
    assert composed_values(lambda h: h.float().sum(-1) + 1, H).dtype == np.float64


def test_without_torch_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"calibo\[neural\]"):
        require_torch()
