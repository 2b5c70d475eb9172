"""Many small multilayer perceptrons trained together, as one program of batched matrix products.

Notation: M networks of one shape, n points, D features, b rows of a batch, h the width of a layer, o outputs.

Written in NumPy: for layers this small a step is all overhead, and NumPy has the least. For 15 networks of 20 layers of
width 20 (155 features, batches of 32, single precision, one thread) a step of all takes 2.2 ms of CPU time, the same
step in torch (baddbmm, one Adam) 5.1 ms, and a step of 15 single torch modules in turn 66 ms
(``benchmarks/neural_ensemble.py``). So no extra is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from calibo.checks import check_between, check_has, check_whole
from calibo.data import Array
from calibo.errors import DataError

_TINY = 1e-8
#: Predictions are made for so many points at a time, so that a large pool needs little memory.
_CHUNK = 4096

Rows = npt.NDArray[np.intp]
#: In the precision of the training, single or double.
Real = npt.NDArray[np.floating[Any]]


class Loss(Protocol):
    """What one prediction costs: outputs and targets (the same for all outputs) are M x b x o and M x b x 1."""

    def value(self, outputs: Real, targets: Real) -> Real:
        """The loss of each row, M x b."""
        ...

    def slope(self, outputs: Real, targets: Real) -> Real:
        """Its derivative by the outputs, M x b x o."""
        ...


@dataclass(frozen=True)
class AbsoluteError:
    """|output - target|, summed over the outputs."""

    def value(self, outputs: Real, targets: Real) -> Real:
        return np.abs(outputs - targets).sum(axis=-1)

    def slope(self, outputs: Real, targets: Real) -> Real:
        return np.sign(outputs - targets)


@dataclass(frozen=True)
class SquaredError:
    """(output - target)^2 / 2, summed over the outputs."""

    def value(self, outputs: Real, targets: Real) -> Real:
        return 0.5 * np.square(outputs - targets).sum(axis=-1)

    def slope(self, outputs: Real, targets: Real) -> Real:
        return outputs - targets


@dataclass(frozen=True, eq=False)
class Pinball:
    """The quantile loss max(u (y - q), (u - 1) (y - q)) of quantiles q at levels u, summed over the outputs.

    Attributes:
        levels: u of each output, o, or M x 1 x o where each network has its own.
    """

    levels: Array

    def value(self, outputs: Real, targets: Real) -> Real:
        beyond = targets - outputs
        return np.maximum(self.levels * beyond, (self.levels - 1.0) * beyond).sum(axis=-1)

    def slope(self, outputs: Real, targets: Real) -> Real:
        return (outputs > targets) - self.levels.astype(outputs.dtype)


@dataclass(frozen=True, eq=False)
class Networks:
    """M networks of ReLU layers with a linear output.

    Attributes:
        layers: The weights of each layer, M x (inputs + 1) x outputs; the last row holds the biases.
    """

    layers: tuple[Real, ...]

    @classmethod
    def started(
        cls,
        sizes: tuple[int, ...],
        count: int,
        *,
        start: Literal["he", "xavier"],
        rng: np.random.Generator,
        dtype: npt.DTypeLike = np.float64,
    ) -> Networks:
        """Networks with random weights and no biases.

        Args:
            sizes: Widths of the inputs and of all layers, the last of which is the output.
            count: M.
            start: Weights are uniform, of variance 2 / inputs ("he") or 2 / (inputs + outputs) ("xavier").
            rng: One generator for all networks; each in turn takes all its weights.
            dtype: Single or double precision.
        """
        shapes = list(pairwise(sizes))
        layers = tuple(np.zeros((count, size + 1, following), dtype=dtype) for size, following in shapes)
        for m in range(count):
            for layer, (size, following) in zip(layers, shapes, strict=True):
                variance = 2.0 / (size if start == "he" else size + following)
                layer[m, :-1] = rng.uniform(-1.0, 1.0, (size, following)) * (3.0 * variance) ** 0.5
        return cls(layers)

    def __len__(self) -> int:
        return len(self.layers[0])

    def __getitem__(self, members: slice) -> Networks:
        return Networks(tuple(layer[members] for layer in self.layers))

    def __call__(self, features: Array) -> Array:
        """The outputs, M x m x o, at features, m x D."""
        layers = self.layers
        found = np.empty((len(self), len(features), layers[-1].shape[-1]))
        for at in range(0, len(features), _CHUNK):
            passed: Real = features[None, at : at + _CHUNK]
            for layer in layers[:-1]:
                passed = np.maximum(passed @ layer[:, :-1] + layer[:, -1:], 0.0)
            found[:, at : at + _CHUNK] = passed @ layers[-1][:, :-1] + layers[-1][:, -1:]
        return found


@dataclass(frozen=True)
class Training:
    """How networks are trained: Adam on the weighted mean loss of batches of rows.

    Attributes:
        loss: Of a row.
        epochs: How often the rows are gone through.
        fewest_steps: Taken however few the rows are.
        batch: Rows in a step; ``None`` for all of them in each.
        learning_rate: Of Adam.
        momentum: Adam's first decay rate.
        squares: Adam's second.
        output_l1: The loss has this times the sum of the absolute weights of the output layer, biases left out, added.
    """

    loss: Loss
    epochs: int
    fewest_steps: int = 1
    batch: int | None = 32
    learning_rate: float = 0.01
    momentum: float = 0.9
    squares: float = 0.999
    output_l1: float = 0.0

    def __post_init__(self) -> None:
        check_has("loss", self.loss, "slope", "AbsoluteError()")
        check_whole("epochs", self.epochs)
        check_whole("fewest_steps", self.fewest_steps)
        if self.batch is not None:
            check_whole("batch", self.batch)
        check_between("learning_rate", self.learning_rate, 0.0, np.inf)
        check_between("momentum", self.momentum, 0.0, 1.0, including="low")
        check_between("squares", self.squares, 0.0, 1.0, including="low")
        check_between("output_l1", self.output_l1, 0.0, np.inf, including="low")

    def steps(self, rows: int) -> int:
        """Steps taken when the network that has the most rows has so many."""
        return max(self.fewest_steps, self.epochs * (1 if self.batch is None else -(-rows // self.batch)))


def train(
    networks: Networks,
    features: Array,
    targets: Array,
    training: Training,
    *,
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Networks:
    """The networks after training, all in one program, in the precision of their weights; those returned are in double.

    Args:
        networks: The start.
        features: Shared by all, n x D.
        targets: n, or M x n where each network has its own.
        training: How.
        rng: For the order of the rows; each network has its own.
        weights: Of the rows in the loss of each network, M x n; a network never sees rows of weight 0. ``None`` means 1.
    """
    count, n = len(networks), len(features)
    heavy = np.ones((count, n)) if weights is None else np.asarray(weights, dtype=np.float64)
    if heavy.shape != (count, n) or (heavy < 0.0).any() or not (heavy > 0.0).any(axis=1).all():
        raise DataError(f"weights are {count} x {n}, not negative, and some positive in each row, got {heavy.shape}")
    owned = [np.flatnonzero(row) for row in heavy]
    batches = _batches(owned, training, rng)
    return descend(networks, features, np.broadcast_to(targets, (count, n)), heavy, batches, training)


def _batches(owned: list[Rows], training: Training, rng: np.random.Generator) -> Rows:
    """The rows of each step and network, steps x M x b.

    Each network goes through its own rows in a random order, then in another, and so on, so that all batches are full.
    Where a batch has all rows, networks with fewer rows than others are filled up with -1, which stands for none.
    """
    most = max(map(len, owned))
    steps = training.steps(most)
    if training.batch is None or training.batch >= most:
        filled = np.stack([np.pad(rows, (0, most - len(rows)), constant_values=-1) for rows in owned])
        return np.broadcast_to(filled, (steps, *filled.shape))
    needed = steps * training.batch
    orders = [
        np.concatenate([rng.permutation(rows) for _ in range(-(-needed // len(rows)))])[:needed] for rows in owned
    ]
    return np.stack(orders).reshape(len(owned), steps, training.batch).swapaxes(0, 1)


def descend(
    networks: Networks, features: Array, targets: Array, weights: Array, batches: Rows, training: Training
) -> Networks:
    """The networks after Adam has seen given batches (see ``train``), steps x M x b; -1 stands for no row."""
    dtype = networks.layers[0].dtype
    total = sum(layer.size for layer in networks.layers)
    parameters, gradient = np.concatenate([layer.ravel() for layer in networks.layers]), np.empty(total, dtype)
    mean, square, spare = np.zeros(total, dtype), np.zeros(total, dtype), np.empty(total, dtype)
    layers, slopes = _views(parameters, networks), _views(gradient, networks)
    passes = Passes.sized(layers, batches.shape[-1])
    # The first layer is fed a column of ones, which the biases multiply.
    fed = np.column_stack([features, np.ones(len(features))]).astype(dtype)
    members = np.arange(len(networks))[:, None]
    first, second = training.momentum, training.squares
    for i, rows in enumerate(batches):
        shares = np.where(rows < 0, 0.0, weights[members, rows])[..., None]
        shares = (shares / shares.sum(axis=1, keepdims=True)).astype(dtype)
        seen = targets[members, rows][..., None].astype(dtype)
        passes.gradient(layers, fed[rows], seen, shares, training.loss, out=slopes)
        if training.output_l1:
            slopes[-1][:, :-1] += training.output_l1 * np.sign(layers[-1][:, :-1])
        # Adam without its factors 1 - decay, which are put into the step and the root instead: fewer passes.
        mean *= first
        mean += gradient
        square *= second
        square += np.multiply(gradient, gradient, out=spare)
        scale = ((1.0 - second) / (1.0 - second ** (i + 1))) ** 0.5
        np.sqrt(square, out=spare)
        spare += _TINY / scale
        np.divide(mean, spare, out=spare)
        spare *= training.learning_rate * (1.0 - first) / (1.0 - first ** (i + 1)) / scale
        parameters -= spare
    return Networks(tuple(layer.astype(np.float64) for layer in layers))


@dataclass(frozen=True, eq=False)
class Passes:
    """Room for one pass forward and one back through the layers, used again in every step.

    Attributes:
        entered: What enters each layer but the first, M x b x (h + 1), with a column of ones at the end.
        outputs: M x b x o.
        returned: What comes back to each layer but the first, M x b x h.
    """

    entered: list[Real]
    outputs: Real
    returned: list[Real]

    @classmethod
    def sized(cls, layers: list[Real], batch: int) -> Passes:
        """Room for batches of so many rows."""
        count, dtype = len(layers[0]), layers[0].dtype
        shapes = [(count, batch, layer.shape[1]) for layer in layers[1:]]
        outputs = np.empty((count, batch, layers[-1].shape[2]), dtype)
        returned = [np.empty((m, b, h - 1), dtype) for m, b, h in shapes]
        return cls([np.ones(shape, dtype) for shape in shapes], outputs, returned)

    def gradient(
        self, layers: list[Real], fed: Real, targets: Real, shares: Real, loss: Loss, *, out: list[Real]
    ) -> None:
        """Writes the gradient of the weighted loss by all weights into ``out``, shaped as ``layers``.

        Args:
            layers: Weights of each layer, M x (inputs + 1) x outputs.
            fed: Features and a one, M x b x (D + 1).
            targets: M x b x 1.
            shares: Weights of the rows, M x b x 1.
            loss: Of a row.
            out: Where the gradient goes.
        """
        passed = [fed, *self.entered]
        for j, following in enumerate(self.entered):
            np.matmul(passed[j], layers[j], out=following[..., :-1])
            np.maximum(following, 0.0, out=following)
        np.matmul(passed[-1], layers[-1], out=self.outputs)
        back = loss.slope(self.outputs, targets) * shares
        for j in reversed(range(len(layers))):
            np.matmul(passed[j].swapaxes(1, 2), back, out=out[j])
            if j:
                before = self.returned[j - 1]
                np.matmul(back, layers[j][:, :-1].swapaxes(1, 2), out=before)
                before *= passed[j][..., :-1] > 0.0
                back = before


def _views(vector: Real, networks: Networks) -> list[Real]:
    """The weights of each layer as views of one vector."""
    ends = np.cumsum([layer.size for layer in networks.layers])
    return [
        vector[end - layer.size : end].reshape(layer.shape) for end, layer in zip(ends, networks.layers, strict=True)
    ]
