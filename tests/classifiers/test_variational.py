"""Networks trained on variational losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.classifiers import (
    MLP,
    ChiSquared,
    History,
    JensenShannon,
    KullbackLeibler,
    SquaredHellinger,
    Variational,
    WarmStarted,
    WeightedLabels,
    mlp,
)
from calibo.classifiers.convex import variational_loss
from calibo.classifiers.mlp import Network
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.methods import lfbo
from calibo.optimize import Optimizer
from calibo.spaces import Categorical, Float

FUNCTIONS: list[Any] = [JensenShannon(), KullbackLeibler(), ChiSquared(), SquaredHellinger()]
every = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)
SMALL = MLP(hidden=8, steps=20, cold_steps=50)


def told(n: int = 24) -> tuple[Array, Array]:
    X = np.random.default_rng(0).random((n, 2))
    return X, -np.square(X - 0.4).sum(axis=1)


@every
def test_a_step_goes_down_the_gradient_of_the_loss(f: Any) -> None:
    """After one step Adam's average is a tenth of the gradient, taken here by differences of the loss itself."""
    X, y = told()
    labelled = WeightedLabels().label(X, y)
    assert labelled is not None
    start = Network.started((2, 4, 4, 1), np.random.default_rng(1))
    start.parameters[...] = 0.5 * np.random.default_rng(2).normal(size=len(start.parameters))

    def loss(parameters: Array) -> float:
        network = Network(start.sizes, parameters, start.mean, start.square)
        return variational_loss(f, mlp._log_odds(network, (0, 0))(labelled.X), labelled)[0]

    steps = 1e-6 * np.eye(len(start.parameters))
    slopes = [(loss(start.parameters + e) - loss(start.parameters - e)) / 2e-6 for e in steps]
    trained = mlp._trained(MLP(batch=1000), start, labelled, (0, 0), 1, np.random.default_rng(0), f)
    np.testing.assert_allclose(trained.mean, 0.1 * np.array(slopes), atol=1e-8)


@every
def test_the_network_learns_the_expected_utility(f: Any) -> None:
    """On three choices, where the network can be anything: E[u | x] / mean(u), to 5 % where something is to be gained."""
    place = np.repeat([0, 1, 2], 8)
    y = np.concatenate([np.arange(8.0), np.arange(8.0) + 4.0, np.arange(8.0) - 4.0])
    labelled = WeightedLabels().label((place[:, None] + 0.5) / 3, y)
    assert labelled is not None
    fit = Variational(f, MLP(cold_steps=3000, batch=1000, learning_rate=3e-3)).fit
    found = np.exp(fit(labelled, categories=(3,), rng=np.random.default_rng(0))((np.arange(3)[:, None] + 0.5) / 3))
    u = np.maximum(y - labelled.threshold, 0.0)
    expected = np.array([u[place == i].mean() for i in range(3)]) / u.mean()
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02)


def test_jensen_shannon_is_the_classifier() -> None:
    X, y = told()
    labelled = WeightedLabels().label(X, y)
    assert labelled is not None
    history = History(X, y, WeightedLabels())
    for classified, trained in (
        (SMALL, Variational(JensenShannon(), SMALL)),
        tuple(c.resumed(history, categories=(0, 0), member=0) for c in (SMALL, Variational(JensenShannon(), SMALL))),
    ):
        one, other = (
            c.fit(labelled, categories=(0, 0), rng=np.random.default_rng(3))(X) for c in (classified, trained)
        )
        np.testing.assert_array_equal(one, other)


def test_another_function_has_a_history_of_its_own() -> None:
    X, y = told()
    history = History(X, y, WeightedLabels())
    assert isinstance(Variational(), WarmStarted)
    networks = [Variational(f, SMALL).resumed(history, categories=(0, 0), member=0) for f in FUNCTIONS]
    assert len({n.network.parameters.tobytes() for n in networks}) == len(FUNCTIONS)  # type: ignore[union-attr]
    mlp._memory.clear()
    again = Variational(ChiSquared(), SMALL).resumed(history, categories=(0, 0), member=0)
    np.testing.assert_array_equal(again.network.parameters, networks[2].network.parameters)  # type: ignore[union-attr]
    few = History(X[:3], np.zeros(3), WeightedLabels())
    assert Variational(network=SMALL).resumed(few, categories=(0, 0), member=0) == Variational(network=SMALL)


@every
def test_as_a_classifier_of_a_method(f: Any) -> None:
    space = {"x": Float(0, 1), "kind": Categorical(["a", "b", "c"])}
    optimizer = Optimizer(space, lfbo(classifier=Variational(f)), seed=0)
    for _ in range(18):
        suggestion = optimizer.ask()
        params = suggestion.params
        optimizer.tell(suggestion, (params["x"] - 0.7) ** 2 + (params["kind"] != "b"))
    assert optimizer.best[1] < 0.2


def test_what_is_no_convex_function() -> None:
    with pytest.raises(RecipeError, match="steepness"):
        Variational(f=np.exp)  # type: ignore[arg-type]
