"""Networks trained together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import DataError, RecipeError
from calibo.networks import (
    AbsoluteError,
    CrossEntropy,
    Loss,
    Networks,
    Pinball,
    SquaredError,
    Training,
    TrainingState,
    descend,
    minimize_full_batch,
    train,
)
from calibo.testing.randomness import global_state

LOSSES: dict[str, tuple[Loss, int]] = {
    "mae": (AbsoluteError(), 1),
    "mse": (SquaredError(), 2),
    "pinball": (Pinball(np.array([0.1, 0.5, 0.9])), 3),
    "cross-entropy": (CrossEntropy(), 1),
    "a level per network": (Pinball(np.array([0.1, 0.6, 0.9, 0.5])[:, None, None]), 1),
}


def loss_of(loss: Loss, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The losses written out."""
    away = targets - outputs
    if isinstance(loss, Pinball):
        return np.maximum(loss.levels * away, (loss.levels - 1.0) * away)
    if isinstance(loss, CrossEntropy):
        return np.logaddexp(0.0, outputs) - targets * outputs
    return np.abs(away) if isinstance(loss, AbsoluteError) else 0.5 * away**2


def networks(count: int = 4, sizes: tuple[int, ...] = (3, 5, 4, 1), seed: int = 0, **more: Any) -> Networks:
    widths = [(6.0 / inputs) ** 0.5 for inputs in sizes[:-1]]
    return Networks.uniform(sizes, count, weights=widths, rng=np.random.default_rng(seed), **more)


def flat(networks: Networks) -> np.ndarray:
    return np.concatenate([layer.ravel() for layer in networks.layers])


def known(n: int = 30, d: int = 3, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_agree_with_differences(name: str, activation: Any) -> None:
    """After one step the state holds the gradient of the weighted mean loss and of the penalties."""
    loss, outputs = LOSSES[name]
    start = networks(sizes=(3, 5, 4, outputs), activation=activation)
    for layer in start.layers:
        layer += 0.1
    rng = np.random.default_rng(2)
    features, targets, weights = rng.standard_normal((6, 3)), rng.random((4, 6)), rng.random((4, 6))
    batches = np.tile(np.arange(6), (1, 4, 1))
    training = Training(loss, weight_decay=0.02, output_l1=0.03)
    found = descend(TrainingState.initial(start), features, targets, batches, training, weights=weights).mean

    def total() -> float:
        losses = loss_of(loss, start(features), targets[..., None]).sum(axis=-1)
        decay = 0.01 * sum(float(np.square(layer).sum()) for layer in start.layers)
        lasso = 0.03 * float(np.abs(start.layers[-1][:, :-1]).sum())
        return float(((losses * weights).sum(axis=1) / weights.sum(axis=1)).sum()) + decay + lasso

    place = 0
    for layer in start.layers:
        gradient = found[place : place + layer.size].reshape(layer.shape)
        place += layer.size
        for at in [(m, i, 0) for m in (0, 3) for i in (0, layer.shape[1] - 1)]:
            plain, ends = layer[at], []
            for step in (1e-6, -1e-6):
                layer[at] = plain + step
                ends.append(total())
            layer[at] = plain
            np.testing.assert_allclose(gradient[at], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("batch", [8, None])
@pytest.mark.parametrize("name", ["mae", "mse", "pinball"])
def test_together_is_the_same_as_one_by_one(name: str, batch: int | None) -> None:
    """Same starts and batches: M networks in one program are M networks, with weights and targets of their own."""
    loss, outputs = LOSSES[name]
    X, _ = known()
    rng = np.random.default_rng(3)
    targets = rng.standard_normal((4, 30))
    weights = rng.integers(0, 3, (4, 30)).astype(np.float64)
    weights[:, 0] = 1.0
    start = networks(sizes=(3, 5, 4, outputs))
    training = Training(loss, output_l1=0.01)
    owned = [np.flatnonzero(row) for row in weights]
    if batch is None:
        # Networks have different numbers of rows: -1 stands for none.
        filled = np.stack([np.pad(rows, (0, 30 - len(rows)), constant_values=-1) for rows in owned])
        batches = np.broadcast_to(filled, (10, 4, 30))
    else:
        batches = np.stack([rng.choice(rows, (40, batch)) for rows in owned], axis=1)
    together = descend(TrainingState.initial(start), X, targets, batches, training, weights=weights).networks
    for m in range(4):
        one = slice(m, m + 1)
        state = TrainingState.initial(start[one])
        alone = descend(state, X, targets[one], batches[:, one], training, weights=weights[one])
        np.testing.assert_allclose(flat(together[one]), flat(alone.networks), atol=1e-8)


def test_a_step_of_adam_is_as_published() -> None:
    """Kingma and Ba, algorithm 1, written out for ten full-batch steps of one linear layer."""
    X, y = known()
    start = networks(1, (3, 1))
    found = train(start, X, y, Training(SquaredError()), steps=10, rng=np.random.default_rng(0)).layers[0][0]
    theta, m, v = start.layers[0][0].copy(), 0.0, 0.0
    wide = np.column_stack([X, np.ones(len(X))])
    for t in range(1, 11):
        g = wide.T @ (wide @ theta - y[:, None]) / len(y)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        theta = theta - 0.01 * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(found, theta, rtol=1e-10)


@pytest.mark.parametrize("batch", [8, None])
def test_rows_of_weight_zero_are_never_seen(batch: int | None) -> None:
    X, y = known()
    weights = np.ones((4, 30))
    weights[:, 20:] = 0.0
    weights[1, 15:] = 0.0
    training = Training(SquaredError())
    wild = np.where(np.arange(30) < 20, y, 1e6)
    first, second = (
        train(networks(), X, seen, training, steps=15, batch=batch, rng=np.random.default_rng(0), weights=weights)
        for seen in (y, wild)
    )
    np.testing.assert_array_equal(flat(first), flat(second))


def test_weights_count_like_repeated_rows() -> None:
    X, y = known(10)
    counts = np.arange(10) % 3 + 1
    weights = np.tile(counts, (4, 1)).astype(np.float64)
    training = Training(SquaredError())
    weighted = train(networks(), X, y, training, steps=30, rng=np.random.default_rng(0), weights=weights)
    rows = np.repeat(np.arange(10), counts)
    repeated = train(networks(), X[rows], y[rows], training, steps=30, rng=np.random.default_rng(0))
    np.testing.assert_allclose(flat(weighted), flat(repeated), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_seed_gives_the_same_networks(dtype: type) -> None:
    X, y = known()
    before = global_state()
    runs = [
        train(networks(dtype=dtype), X, y, Training(AbsoluteError()), steps=10, batch=8, rng=np.random.default_rng(7))
        for _ in range(2)
    ]
    assert global_state() == before
    assert all(layer.dtype == np.float64 for layer in runs[0].layers)
    np.testing.assert_array_equal(flat(runs[0]), flat(runs[1]))


def test_single_precision_learns_as_well() -> None:
    X, y = known(200)
    errors = []
    for dtype in (np.float32, np.float64):
        start = networks(sizes=(3, 20, 20, 1), dtype=dtype)
        out = train(start, X, y, Training(AbsoluteError()), steps=280, batch=32, rng=np.random.default_rng(0))(X)
        errors.append(float(np.abs(out[..., 0] - y).mean()))
    assert max(errors) < 0.2 and abs(errors[0] - errors[1]) < 0.03


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 40), batch=st.sampled_from([1, 7, 32, None]), count=st.integers(1, 4))
def test_any_number_of_rows_can_be_learned_from(n: int, batch: int | None, count: int) -> None:
    X, y = known(n)
    weights = (np.random.default_rng(n).random((count, n)) < 0.5).astype(np.float64)
    weights[:, 0] = 1.0
    rng = np.random.default_rng(0)
    trained = train(networks(count), X, y, Training(AbsoluteError()), steps=5, batch=batch, rng=rng, weights=weights)
    assert np.isfinite(trained(X)).all() and trained(X).shape == (count, n, 1)


def test_pinball_finds_quantiles() -> None:
    """Of a standard normal sample, by biases alone: 1.28 from the median."""
    y = np.random.default_rng(0).standard_normal(2000)
    X, training = np.zeros((2000, 1)), Training(Pinball(np.array([0.1, 0.5, 0.9])))
    trained = train(networks(1, (1, 3)), X, y, training, steps=600, rng=np.random.default_rng(0))
    np.testing.assert_allclose(trained(X[:1])[0, 0], np.quantile(y, [0.1, 0.5, 0.9]), atol=0.03)


def test_many_points_are_predicted_in_parts() -> None:
    X = np.random.default_rng(0).standard_normal((9000, 3))
    out = networks()(X)
    np.testing.assert_allclose(out[:, 8990:], networks()(X[8990:]), rtol=1e-12)


@pytest.mark.parametrize("weights", [np.ones((3, 30)), -np.ones((4, 30)), np.zeros((4, 30))])
def test_bad_weights_are_refused(weights: np.ndarray) -> None:
    X, y = known()
    with pytest.raises(DataError, match="weights are 4 x 30"):
        train(networks(), X, y, Training(AbsoluteError()), steps=1, rng=np.random.default_rng(0), weights=weights)


@pytest.mark.parametrize(
    "bad",
    [{"loss": "mae"}, {"learning_rate": 0.0}, {"output_l1": -1.0}, {"averaging": 0.0}],
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(bad))):
        Training(**{"loss": AbsoluteError(), **bad})


# --- warm starts and averages -----------------------------------------------------------------------------------------


def test_training_continues_where_it_was() -> None:
    """Seven steps at once are seven steps one by one; the states in between are left as they were."""
    X, y = known()
    batches = np.random.default_rng(0).integers(30, size=(7, 4, 8))
    training = Training(SquaredError(), weight_decay=0.01, averaging=0.25)
    at_once = descend(TrainingState.initial(networks()), X, y, batches, training)
    states = [TrainingState.initial(networks())]
    for batch in batches:
        states.append(descend(states[-1], X, y, batch[None], training))
    last = states[-1]
    np.testing.assert_array_equal(flat(at_once.networks), flat(last.networks))
    np.testing.assert_array_equal(flat(at_once.average), flat(last.average))
    again = descend(states[0], X, y, batches[:1], training)
    before, first, second, once_more = (flat(state.average) for state in (*states[:3], again))
    assert not before.any() and (first != second).any()
    np.testing.assert_array_equal(first, once_more)
    np.testing.assert_allclose(first, 0.25 * flat(states[1].networks), atol=1e-15)
    np.testing.assert_allclose(second, 0.75 * first + 0.25 * flat(states[2].networks), atol=1e-15)


# --- full batches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_lbfgs_finds_ridge_regression_and_fits_curves(activation: Any) -> None:
    X, y = known()
    wide = np.column_stack([X, np.ones(30)])

    def objective(outputs: Any) -> tuple[float, Any]:
        missed = outputs - y[None, :, None]
        return float(np.square(missed).sum()), 2.0 * missed

    linear = minimize_full_batch(networks(1, (3, 1)), X, objective, steps=100, weight_decay=0.5).layers[0][0, :, 0]
    ridge = np.linalg.solve(wide.T @ wide + 0.5 * np.diag([1.0, 1.0, 1.0, 0.0]), wide.T @ y)
    np.testing.assert_allclose(linear, ridge, atol=1e-5)
    start = networks(1, (3, 8, 8, 1), activation=activation)
    found = minimize_full_batch(start, X, objective, steps=200)
    assert objective(found(X))[0] < 0.1 * objective(start(X))[0]
    assert start.sizes == found.sizes == (3, 8, 8, 1)
