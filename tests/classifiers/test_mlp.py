"""The network: its gradient, and that it is a fold over the outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.classifiers import MLP, BoreLabels, History, JensenShannon, WarmStarted, WeightedLabels, mlp
from calibo.classifiers.mlp import Network
from calibo.data import Array
from calibo.errors import RecipeError

SMALL = MLP(hidden=8, steps=20, cold_steps=50)
X = np.random.default_rng(0).random((24, 2))
Y = -np.square(X - 0.4).sum(axis=1)


def odds(classifier: Any, n: int, seed: int = 0) -> Array:
    labelled = WeightedLabels().label(X[:n], Y[:n])
    assert labelled is not None
    return classifier.fit(labelled, categories=(0, 0), rng=np.random.default_rng(seed))(X)


def resumed(n: int, recipe: MLP = SMALL, member: int = 0, labels: Any = None) -> Any:
    return recipe.resumed(History(X[:n], Y[:n], labels or WeightedLabels()), categories=(0, 0), member=member)


def test_a_step_goes_down_the_gradient_of_the_weighted_cross_entropy() -> None:
    """The first step of Adam is the learning rate times the sign of the gradient, taken here by differences."""
    labelled = WeightedLabels().label(X, Y)
    assert labelled is not None
    recipe = MLP(hidden=4, layers=2, batch=1000, learning_rate=1e-3)
    start = Network.started((2, 4, 4, 1), np.random.default_rng(1))
    start.parameters[...] = np.random.default_rng(2).normal(size=len(start.parameters))

    def loss(parameters: Array) -> float:
        network = Network(start.sizes, parameters, start.mean, start.square)
        f = mlp._log_odds(network, (0, 0))(labelled.X)
        cross = labelled.z * np.logaddexp(0, -f) + (1 - labelled.z) * np.logaddexp(0, f)
        return float((labelled.weights * cross).mean())

    slopes = np.array(
        [(loss(start.parameters + e) - loss(start.parameters - e)) / 2e-6 for e in 1e-6 * np.eye(len(start.parameters))]
    )
    trained = mlp._trained(recipe, start, labelled, (0, 0), 1, np.random.default_rng(0), JensenShannon())
    np.testing.assert_allclose(trained.mean, 0.1 * slopes, atol=1e-8)
    steep = np.abs(slopes) > 1e-5
    np.testing.assert_allclose((start.parameters - trained.parameters)[steep], 1e-3 * np.sign(slopes[steep]), rtol=1e-2)
    assert start.taken == 0 and trained.taken == 1


def test_an_interrupted_history_gives_the_same_network() -> None:
    mlp._memory.clear()
    at_once = odds(resumed(24), 24)
    mlp._memory.clear()
    for n in (3, 10, 11, 24):
        step_by_step = resumed(n)
    np.testing.assert_array_equal(odds(step_by_step, 24), at_once)
    assert not np.array_equal(odds(resumed(24, member=1), 24), at_once)
    assert not np.array_equal(odds(resumed(24, labels=BoreLabels()), 24), at_once)


def test_what_was_computed_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mlp._memory.clear()
    resumed(20)
    calls: list[int] = []
    train = mlp._trained
    monkeypatch.setattr(mlp, "_trained", lambda *a: calls.append(len(a[2])) or train(*a))
    resumed(22)
    assert len(calls) == 2
    resumed(22)
    assert len(calls) == 2


def test_long_histories_are_learned_in_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    mlp._memory.clear()
    calls: list[int] = []
    monkeypatch.setattr(mlp, "_trained", lambda *a: calls.append(len(a[2])) or a[1])
    n = 5000
    long = np.random.default_rng(0).random((n, 2))
    SMALL.resumed(History(long, long[:, 0], WeightedLabels()), categories=(0, 0), member=0)
    assert 127 < len(calls) < 600


def test_nothing_to_be_learned_yet() -> None:
    same = SMALL.resumed(History(X[:4], np.zeros(4), WeightedLabels()), categories=(0, 0), member=0)
    assert same is SMALL
    assert isinstance(SMALL, WarmStarted)


def test_a_utility_that_cannot_be_remembered_gives_the_same_network() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, y: Array, tau: float) -> Array:
            return np.maximum(y - tau, 0.0)

    labels = WeightedLabels(Unhashable())
    np.testing.assert_array_equal(odds(resumed(9, labels=labels), 9), odds(resumed(9), 9))


@pytest.mark.parametrize("bad", [{"hidden": 0}, {"steps": 0}, {"learning_rate": 0.0}])
def test_bad_settings(bad: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="positive"):
        MLP(**bad)
