"""The paper's density ratio: a small neural classifier with averaged weights (extra ``neural``)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from calibo.calibration.density_ratio import LARGEST_RATIO, LEAST_RATIO, Ratio, Unshifted, checked_counts
from calibo.data import Array
from calibo.errors import MissingExtra, RecipeError

#: Probabilities are kept this far from 0 and 1, which keeps ratios within 1e-6 and 1e6.
_LEAST_PROBABILITY = 1e-6

#: Weights (in x out) and biases of each layer in turn.
Parameters = tuple[Array, ...]


@dataclass(frozen=True)
class NeuralRatio:
    """A classifier d - hidden - hidden - 1 (ReLU) trained a little at each fit, read through averaged weights.

    Steps of a fit (Stanton et al. 2023, section 4.3 and Algorithm 4; batches as in the published code):

    1. While proposals are fewer than data, nothing is learned.
    2. ``steps`` times: Adam on the binary cross-entropy of all data (label 0) and as many proposals drawn at random
       (label 1), so that the prior ratio of eq. (8) is 1; then average <- (1 - averaging) average + averaging weights.
    3. r = p / (1 - p) by the averaged network, p kept within 1e-6 of 0 and 1.

    The average starts at all weights zero, so the ratio is exactly 1 at first and sets in slowly: like
    (1 - (1 - averaging)^t)^3 after t steps, since three layers grow together. With one step for each fit, as in the
    paper, the search must fit often (``Langevin.paper()``); with a search that fits a few times take more steps.

    Attributes:
        hidden: Width of both hidden layers.
        learning_rate: Of Adam.
        weight_decay: Added to Adam's gradient, times the weights.
        averaging: Weight of the newest parameters in the moving average; 1 for no averaging (the paper's rankings).
        steps: Gradient steps in each fit.
    """

    hidden: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    averaging: float = 2e-2
    steps: int = 1

    def __post_init__(self) -> None:
        if self.hidden < 1 or self.steps < 1:
            raise RecipeError(
                f"a neural ratio needs a hidden width and steps from 1 on, got {self.hidden} and {self.steps}"
            )
        if self.learning_rate <= 0.0 or self.weight_decay < 0.0:
            raise RecipeError(
                "a neural ratio needs a positive learning_rate and a weight_decay from 0 on, "
                f"got {self.learning_rate} and {self.weight_decay}"
            )
        if not 0.0 < self.averaging <= 1.0:
            raise RecipeError(f"a neural ratio's averaging lies in (0, 1], got {self.averaging}; the paper has 0.02")

    @classmethod
    def repository(cls) -> NeuralRatio:
        """The settings of the published code, which differ from the paper's."""
        return cls(learning_rate=5e-3, weight_decay=5e-6)

    def fit(self, data: Array, proposals: Array, *, previous: Ratio | None, rng: np.random.Generator) -> Ratio:
        torch = _torch()
        n, p = checked_counts(data, proposals)
        if not n or not p:
            return Unshifted()
        start = self._start(data.shape[1], previous, rng)
        return start if p < n else self._trained(torch, start, data, proposals, rng)

    def _start(self, d: int, previous: Ratio | None, rng: np.random.Generator) -> NetworkRatio:
        """``previous`` if its network has the same layers, else a new one whose average is zero."""
        shapes = [(d, self.hidden), (self.hidden,), (self.hidden, self.hidden), (self.hidden,), (self.hidden, 1), (1,)]
        if isinstance(previous, NetworkRatio) and [w.shape for w in previous.weights] == shapes:
            return previous
        inputs = (d, d, self.hidden, self.hidden, self.hidden, self.hidden)
        weights = [rng.uniform(-1.0, 1.0, shape) / k**0.5 for shape, k in zip(shapes, inputs, strict=True)]
        return NetworkRatio(tuple(np.zeros(shape) for shape in shapes), tuple(weights), None)

    def _trained(
        self, torch: ModuleType, start: NetworkRatio, data: Array, proposals: Array, rng: np.random.Generator
    ) -> NetworkRatio:
        weights = [torch.tensor(w, requires_grad=True) for w in start.weights]
        adam = torch.optim.Adam(weights, lr=self.learning_rate, weight_decay=self.weight_decay)
        if start.optimizer is not None:
            # Loading keeps the tensors it is given, and steps change them in place.
            adam.load_state_dict({**adam.state_dict(), "state": deepcopy(start.optimizer)})
        average, n = start.average, len(data)
        labels = torch.tensor(np.repeat([0.0, 1.0], n))
        for _ in range(self.steps):
            drawn = proposals[rng.choice(len(proposals), size=n, replace=False)]
            logits = _logits(torch.relu, torch.tensor(np.concatenate([data, drawn])), weights)
            adam.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
            adam.step()
            latest = [w.detach().numpy() for w in weights]
            average = tuple(
                (1.0 - self.averaging) * a + self.averaging * w for a, w in zip(average, latest, strict=True)
            )
        trained = tuple(w.detach().numpy().copy() for w in weights)
        return NetworkRatio(average, trained, deepcopy(adam.state_dict()["state"]))


@dataclass(frozen=True, eq=False)
class NetworkRatio:
    """The ratio of a classifier with averaged weights, and all that is needed to train it on.

    Attributes:
        average: The averaged weights, which make the ratio.
        weights: The latest weights.
        optimizer: Adam's state by parameter; ``None`` before the first step.
    """

    average: Parameters
    weights: Parameters
    optimizer: dict[int, Any] | None

    def __call__(self, X: Array) -> Array:
        chance = 0.5 * (1.0 + np.tanh(0.5 * _logits(_relu, X, self.average)))
        chance = np.clip(chance, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        return np.clip(chance / (1.0 - chance), LEAST_RATIO, LARGEST_RATIO)


def _logits(relu: Any, X: Any, weights: Any) -> Any:
    """Output of the network at points, ... x d -> ..., of arrays or tensors."""
    first, first_bias, second, second_bias, last, last_bias = weights
    return (relu(relu(X @ first + first_bias) @ second + second_bias) @ last + last_bias)[..., 0]


def _relu(Z: Array) -> Array:
    return np.maximum(Z, 0.0)


def _torch() -> ModuleType:
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra('NeuralRatio needs torch, which is not installed: pip install "calibo[neural]"') from error
    return torch
