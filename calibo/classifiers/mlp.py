"""A multi-layer perceptron that goes on learning from outcome to outcome.

Written in NumPy: for layers this small a step takes a quarter of the time it takes in torch, and needs no extra.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from calibo.classifiers.base import History, LogOdds
from calibo.classifiers.convex import Convex, JensenShannon, loss_slope
from calibo.classifiers.labels import Labelled
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.spaces.encoding import one_hot

#: Up to so many outcomes the network learns from each; of more, at 64 places between n and 2 n.
_EACH = 128
_PLACES = 64
#: Adam's, as published.
_MOMENTUM, _SQUARES, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class MLP:
    """A network of ReLU layers trained on the weighted cross-entropy by Adam, warm-started.

    The settings are those of the paper (its "2 layers" are 3 hidden ones, see the published code). After k outcomes the
    network is a *fold*: a function of the first k outcomes and the seed. It starts at random, and after each outcome
    takes ``steps`` steps on all outcomes so far, labelled by themselves; after more than 128 outcomes not after each, but
    at 64 places between n and 2 n. So a resumed study has the same network; what was computed before is remembered, only
    to save time.

    For a suggestion the network takes ``steps`` further steps on what is labelled then (with pending points, or
    weights of a bootstrap). Without a history, as with several objectives, it takes ``cold_steps`` from the start.

    Attributes:
        hidden: Width of the hidden layers.
        layers: Number of hidden layers.
        learning_rate: Of Adam.
        batch: Rows in a step.
        steps: Steps after each outcome.
        cold_steps: Steps of a network that has no history.
        seed: Of the fold; all else comes from the generator of the suggestion.
    """

    hidden: int = 32
    layers: int = 3
    learning_rate: float = 1e-3
    batch: int = 64
    steps: int = 100
    cold_steps: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.hidden, self.layers, self.batch, self.steps, self.cold_steps)
        if min(counts) < 1 or not self.learning_rate > 0.0:
            raise RecipeError(f"the settings of a network are positive, got {self}")

    @property
    def smooth(self) -> bool:
        return True

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """The network of labelled points without a history."""
        return fitted_network(self, JensenShannon(), labelled, categories, rng)

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> MLP | WarmMLP:
        """The network after a history."""
        state = folded(self, JensenShannon(), history, categories, member)
        return self if state is None else WarmMLP(self, state)

    def sizes(self, categories: tuple[int, ...]) -> tuple[int, ...]:
        """Widths of the inputs and of all layers."""
        return (sum(max(1, k) for k in categories), *[self.hidden] * self.layers, 1)


@dataclass(frozen=True, eq=False)
class Network:
    """A network, with all that is needed to train it on; all parameters in one vector, p.

    Attributes:
        sizes: Widths of the inputs and of all layers, the last of which is the output.
        parameters: Weights (in x out) and biases of each layer in turn, p.
        mean: Adam's moving average of the gradient, p.
        square: Adam's moving average of its square, p.
        taken: Steps taken.
    """

    sizes: tuple[int, ...]
    parameters: Array
    mean: Array
    square: Array
    taken: int = 0

    @classmethod
    def started(cls, sizes: tuple[int, ...], rng: np.random.Generator) -> Network:
        """A network with random weights, uniform within sqrt(2 / inputs), whose output is 0 at first: odds of 1."""
        parameters = np.zeros(sum((size + 1) * following for size, following in _layers(sizes)))
        for weights, _ in _views(parameters, sizes)[:-1]:
            weights[...] = rng.uniform(-1.0, 1.0, weights.shape) * (2.0 / len(weights)) ** 0.5
        return cls(sizes, parameters, np.zeros_like(parameters), np.zeros_like(parameters))


@dataclass(frozen=True, eq=False)
class WarmMLP:
    """A network with a history.

    Attributes:
        recipe: Its settings.
        network: After the history.
        f: What its loss is made of; the default is the weighted cross-entropy.
    """

    recipe: MLP
    network: Network
    f: Convex = field(default_factory=JensenShannon)

    @property
    def smooth(self) -> bool:
        return True

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """The network after some more steps on labelled points."""
        trained = _trained(self.recipe, self.network, labelled, categories, self.recipe.steps, rng, self.f)
        return _log_odds(trained, categories)


def fitted_network(
    recipe: MLP, f: Convex, labelled: Labelled, categories: tuple[int, ...], rng: np.random.Generator
) -> LogOdds:
    """The log utilities of a network that has no history, trained on the loss of f."""
    start = Network.started(recipe.sizes(categories), rng)
    return _log_odds(_trained(recipe, start, labelled, categories, recipe.cold_steps, rng, f), categories)


def folded(recipe: MLP, f: Convex, history: History, categories: tuple[int, ...], member: int) -> Network | None:
    """The network after a history, trained on the loss of f; ``None`` if there was nothing to be learned yet."""
    places = [k for k in range(2, len(history) + 1) if k % max(1, k // _PLACES if k > _EACH else 1) == 0]
    settings: Any = (recipe, f, history.labels, categories, member)
    if not _hashable(settings):
        # A user's own utility may not be; then nothing is remembered.
        settings = object()
    keys = [(settings, digest) for digest in history.digests(places)]
    done, state = _remembered(keys)
    for k in places[done:]:
        labelled = history.first(k)
        if labelled is not None:
            rng = np.random.default_rng([recipe.seed, member, k])
            state = state or Network.started(recipe.sizes(categories), rng)
            state = _trained(recipe, state, labelled, categories, recipe.steps, rng, f)
    if keys and state is not None:
        _remember(keys[-1], state)
    return state


#: Networks after some histories, the latest used last.
_memory: OrderedDict[Any, Network] = OrderedDict()
_MOST_REMEMBERED = 64
_lock = threading.Lock()


def _remembered(keys: list[Any]) -> tuple[int, Network | None]:
    """How many of the steps of a fold need not be taken again, and the network after them."""
    with _lock:
        for i in reversed(range(len(keys))):
            if keys[i] in _memory:
                _memory.move_to_end(keys[i])
                return i + 1, _memory[keys[i]]
    return 0, None


def _hashable(what: Any) -> bool:
    try:
        hash(what)
    except TypeError:
        return False
    return True


def _remember(key: Any, network: Network) -> None:
    with _lock:
        _memory[key] = network
        while len(_memory) > _MOST_REMEMBERED:
            _memory.popitem(last=False)


def _layers(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(pairwise(sizes))


def _views(vector: Array, sizes: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """Weights, in x out, and biases, out, of each layer: views of a vector, p."""
    views, at = [], 0
    for size, following in _layers(sizes):
        end = at + size * following
        views.append((vector[at:end].reshape(size, following), vector[end : end + following]))
        at = end + following
    return views


def _features(X: Array, categories: tuple[int, ...]) -> Array:
    """Points, m x d, between -1 and 1, categorical columns as indicators, m x D."""
    return 2.0 * one_hot(X, categories) - 1.0


def _forward(layers: list[tuple[Array, Array]], features: Array) -> list[Array]:
    """What enters each layer, and the log-odds, m x 1."""
    passed = [features]
    for weights, bias in layers[:-1]:
        passed.append(np.maximum(passed[-1] @ weights + bias, 0.0))
    weights, bias = layers[-1]
    return [*passed, passed[-1] @ weights + bias]


def _trained(
    recipe: MLP,
    start: Network,
    labelled: Labelled,
    categories: tuple[int, ...],
    steps: int,
    rng: np.random.Generator,
    f: Convex,
) -> Network:
    """A network after some steps of Adam on batches that go through the rows in a random order, again and again."""
    parameters, mean, square = start.parameters.copy(), start.mean.copy(), start.square.copy()
    gradient = np.empty_like(parameters)
    layers, slopes = _views(parameters, start.sizes), _views(gradient, start.sizes)
    features, z, heavy = _features(labelled.X, categories), labelled.z[:, None], labelled.weights[:, None]
    n = len(labelled)
    size = min(recipe.batch, n)
    passes = -(-steps * size // n)
    order = np.concatenate([rng.permutation(n) for _ in range(passes)]).astype(np.intp)
    for i in range(steps):
        rows = order[i * size : (i + 1) * size] if size < n else np.arange(n)
        *entered, out = _forward(layers, features[rows])
        # The slope of the loss in the output, mean over the batch; then back through the layers.
        back = heavy[rows] * loss_slope(f, out, z[rows]) / len(rows)
        for j in reversed(range(len(layers))):
            np.matmul(entered[j].T, back, out=slopes[j][0])
            np.sum(back, axis=0, out=slopes[j][1])
            if j:
                back = (back @ layers[j][0].T) * (entered[j] > 0.0)
        taken = start.taken + i + 1
        mean += (1.0 - _MOMENTUM) * (gradient - mean)
        square += (1.0 - _SQUARES) * (gradient * gradient - square)
        size_of_step = recipe.learning_rate / (1.0 - _MOMENTUM**taken)
        parameters -= size_of_step * mean / (np.sqrt(square / (1.0 - _SQUARES**taken)) + _TINY)
    return Network(start.sizes, parameters, mean, square, start.taken + steps)


def _log_odds(network: Network, categories: tuple[int, ...]) -> LogOdds:
    layers = _views(network.parameters, network.sizes)
    return lambda X: _forward(layers, _features(X, categories))[-1][:, 0]
