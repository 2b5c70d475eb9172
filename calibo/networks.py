"""Training of small multilayer perceptrons, many at once, as one program of batched matrix products.

All perceptrons of the package are trained here: ensembles and quantile networks (``calibo.models``), the classifiers of
likelihood-free optimization and the composite network (``calibo.classifiers``) and the neural density ratio
(``calibo.calibration``). ``train`` runs Adam on random batches, ``descend`` continues an Adam run on given batches, and
``minimize_full_batch`` runs L-BFGS on all rows.

Notation: M networks of one shape, n points, D features, b rows of a batch, h the width of a layer, o outputs.

Written in NumPy, because the time of a step of such small layers is all overhead, and NumPy has the least. For 15 networks
of 20 layers of width 20 (155 features, batches of 32, single precision, one thread) a step of all takes 2.2 ms of CPU time,
the same step in torch (baddbmm, one Adam) 5.1 ms, and a step of 15 single torch modules in turn 66 ms
(``benchmarks/neural_ensemble.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from calibo.checks import check_between, check_instance
from calibo.data import Activity, Array
from calibo.errors import DataError
from calibo.spaces.encoding import one_hot, width

_EPSILON = 1e-8
#: Decay rate of Adam's average of gradients.
_MOMENTUM = 0.9
#: Points of one prediction pass, which bounds its memory.
_CHUNK = 4096
#: Steps whose targets and weights are gathered at once.
_GATHERED_STEPS = 64

Rows = npt.NDArray[np.intp]
#: In the precision of the training, single or double.
Real = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Indicators:
    """Map points, `m x d`, to features from -1 to 1, `m x D`, with one indicator for each choice of a categorical column.

    Attributes:
        categories: Number of choices of each categorical column, 0 for a numeric one, `d`.
        activity: Which columns are active; ``None`` if all always are.
        centred: Whether features go from -1 to 1; else from 0 to 1.
    """

    categories: tuple[int, ...]
    activity: Activity | None = None
    centred: bool = True

    @property
    def width(self) -> int:
        """Number of features, D."""
        return width(self.categories, self.activity)

    def __call__(self, X: Array) -> Array:
        features = one_hot(X, self.categories, self.activity)
        return 2.0 * features - 1.0 if self.centred else features


class Loss(ABC):
    """A loss of single rows, by its derivative, which is all that training needs.

    Outputs have the shape `M x b x o`, targets `M x b x 1`.
    """

    @abstractmethod
    def slope(self, outputs: Real, targets: Real) -> Real:
        """Return the derivative of the loss by the outputs, `M x b x o`."""


@dataclass(frozen=True)
class AbsoluteError(Loss):
    """|output - target|, summed over the outputs."""

    def slope(self, outputs: Real, targets: Real) -> Real:
        return np.sign(outputs - targets)


@dataclass(frozen=True)
class SquaredError(Loss):
    """(output - target)^2 / 2, summed over the outputs."""

    def slope(self, outputs: Real, targets: Real) -> Real:
        return outputs - targets


@dataclass(frozen=True, eq=False)
class Pinball(Loss):
    """Quantile loss max(u (y - q), (u - 1) (y - q)) of predicted quantiles q at levels u, summed over the outputs.

    Attributes:
        levels: Level u of each output, `o`, or `M x 1 x o` if each network has its own.
    """

    levels: Array

    def slope(self, outputs: Real, targets: Real) -> Real:
        return (outputs > targets) - self.levels.astype(outputs.dtype)


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Logistic loss of outputs that are log-odds, for targets 0 and 1."""

    def slope(self, outputs: Real, targets: Real) -> Real:
        return expit(outputs) - targets


@dataclass(frozen=True, eq=False)
class Networks:
    """M networks of one shape, with a linear output layer.

    Attributes:
        layers: Weights of each layer, `M x (inputs + 1) x outputs`; the last row holds the biases.
        activation: Activation function of the hidden layers, "relu" or "tanh".
    """

    layers: tuple[Real, ...]
    activation: Literal["relu", "tanh"] = "relu"

    @classmethod
    def uniform(
        cls,
        sizes: tuple[int, ...],
        count: int = 1,
        *,
        weights: Sequence[float],
        biases: Sequence[float] = (),
        activation: Literal["relu", "tanh"] = "relu",
        rng: np.random.Generator,
        dtype: npt.DTypeLike = np.float64,
    ) -> Networks:
        """Draw the initial weights and biases of every layer uniformly around 0.

        Args:
            sizes: Widths of the inputs and of all layers, the last of which is the output.
            count: Number of networks, M.
            weights: Largest absolute weight of each layer.
            biases: Largest absolute bias of each layer; none means biases of 0.
            activation: Activation function of the hidden layers.
            rng: Source of randomness, shared by all networks; each in turn draws all its layers.
            dtype: Single or double precision.
        """
        shapes = list(pairwise(sizes))
        layers = tuple(np.zeros((count, inputs + 1, outputs), dtype=dtype) for inputs, outputs in shapes)
        for m in range(count):
            for layer, weight, bias in zip(layers, weights, biases or [0.0] * len(shapes), strict=True):
                if weight:
                    layer[m, :-1] = rng.uniform(-1.0, 1.0, layer[m, :-1].shape) * weight
                if bias:
                    layer[m, -1] = rng.uniform(-1.0, 1.0, layer.shape[-1]) * bias
        return cls(layers, activation)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths of the inputs and of all layers."""
        return (self.layers[0].shape[1] - 1, *(layer.shape[2] for layer in self.layers))

    def __len__(self) -> int:
        return len(self.layers[0])

    def __getitem__(self, members: slice) -> Networks:
        return Networks(tuple(layer[members] for layer in self.layers), self.activation)

    def __call__(self, features: Array) -> Array:
        """Return the outputs, `M x m x o`, at features, `m x D`."""
        if len(features) > _CHUNK:
            parts = [self(features[at : at + _CHUNK]) for at in range(0, len(features), _CHUNK)]
            return np.concatenate(parts, axis=1)
        # Products of matrices are faster than those of stacks of one.
        *hidden, last = [layer[0] for layer in self.layers] if len(self) == 1 else self.layers
        passed: Real = features
        for layer in hidden:
            passed = passed @ layer[..., :-1, :]
            passed += layer[..., -1:, :]
            np.tanh(passed, out=passed) if self.activation == "tanh" else np.maximum(passed, 0.0, out=passed)
        outputs = passed @ last[..., :-1, :] + last[..., -1:, :]
        return outputs if outputs.ndim == 3 else outputs[None]


@dataclass(frozen=True)
class Training:
    """Settings of Adam (Kingma and Ba 2015) on the weighted mean loss of batches.

    Attributes:
        loss: Loss of a row.
        learning_rate: Step size of Adam.
        squares: Decay rate of Adam's average of squared gradients.
        output_l1: Penalty on the absolute weights of the output layer, biases left out.
        weight_decay: Penalty on half of the squared weights and biases of all layers.
        averaging: Share of the newest weights in the moving average of weights; 1 for no averaging.
        per_row: Whether the loss of a batch is divided by its number of rows instead of the sum of their weights.
    """

    loss: Loss
    learning_rate: float = 0.01
    squares: float = 0.999
    output_l1: float = 0.0
    weight_decay: float = 0.0
    averaging: float = 1.0
    per_row: bool = False

    def __post_init__(self) -> None:
        check_instance("loss", self.loss, Loss, "AbsoluteError()")
        check_between("learning_rate", self.learning_rate, 0.0, np.inf)
        check_between("squares", self.squares, 0.0, 1.0, including="low")
        check_between("output_l1", self.output_l1, 0.0, np.inf, including="low")
        check_between("weight_decay", self.weight_decay, 0.0, np.inf, including="low")
        check_between("averaging", self.averaging, 0.0, 1.0, including="high")


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Networks together with everything Adam needs to continue; never changed in place.

    Attributes:
        networks: Present weights.
        average: Moving average of the weights; starts at 0.
        mean: Adam's decayed sum of gradients, one entry for each weight.
        square: Adam's decayed sum of squared gradients.
        steps: Number of steps taken.
    """

    networks: Networks
    average: Networks
    mean: Real
    square: Real
    steps: int = 0

    @classmethod
    def initial(cls, networks: Networks) -> TrainingState:
        """Return the state before the first step."""
        zeros = np.zeros(sum(layer.size for layer in networks.layers), networks.layers[0].dtype)
        average = Networks(tuple(_views(zeros, networks.layers)), networks.activation)
        return cls(networks, average, zeros, zeros)


def train(
    networks: Networks,
    features: Array,
    targets: Array,
    training: Training,
    *,
    steps: int,
    batch: int | None = None,
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Networks:
    """Train all networks together on random batches.

    Args:
        networks: Initial networks, whose precision is that of the training.
        features: Features shared by all networks, `n x D`.
        targets: Targets, `n`, or `M x n` if each network has its own.
        training: Loss and settings of Adam.
        steps: Number of steps.
        batch: Rows of a step; ``None`` for all rows in each step.
        rng: Source of the order of the rows, which each network has its own of.
        weights: Weights of the rows in the loss of each network, `M x n`, 1 by default; rows of weight 0 are left out.

    Returns:
        The trained networks, in double precision.

    Raises:
        DataError: If the weights have another shape, are negative, or are all 0 for a network.
    """
    count, n = len(networks), len(features)
    heavy = np.ones((count, n)) if weights is None else np.asarray(weights, dtype=np.float64)
    if heavy.shape != (count, n) or (heavy < 0.0).any() or not (heavy > 0.0).any(axis=1).all():
        raise DataError(f"weights are {count} x {n}, not negative, and some positive in each row, got {heavy.shape}")
    batches = random_batches([np.flatnonzero(row) for row in heavy], steps, batch, rng)
    return descend(TrainingState.initial(networks), features, targets, batches, training, weights=heavy).networks


def random_batches(owned: Sequence[Rows], steps: int, batch: int | None, rng: np.random.Generator) -> Rows:
    """Draw the rows of each step and network.

    Each network passes through its own rows in one random order after another, so that all batches are full. If a batch
    has all rows, networks with fewer rows than others are filled up with -1, which stands for none.

    Args:
        owned: Rows of each network.
        steps: Number of steps.
        batch: Rows of a step; ``None`` for all.
        rng: Source of randomness.

    Returns:
        Rows, `steps x M x b`.
    """
    most = max(map(len, owned))
    if batch is None or batch >= most:
        filled = np.stack([np.pad(rows, (0, most - len(rows)), constant_values=-1) for rows in owned])
        return np.broadcast_to(filled, (steps, *filled.shape))
    needed = steps * batch
    orders = [
        np.concatenate([rng.permutation(rows) for _ in range(-(-needed // len(rows)))])[:needed] for rows in owned
    ]
    return np.stack(orders).reshape(len(owned), steps, batch).swapaxes(0, 1)


def descend(
    state: TrainingState,
    features: Array,
    targets: Array,
    batches: Rows,
    training: Training,
    *,
    weights: Array | None = None,
) -> TrainingState:
    """Continue Adam on given batches.

    Args:
        state: Where to continue; left as it is.
        features: Features shared by all networks, `n x D`.
        targets: Targets, `n` or `M x n`.
        batches: Rows of each step and network, `steps x M x b`; -1 stands for no row.
        training: Loss and settings of Adam.
        weights: Weights of the rows, `n` or `M x n`, 1 by default.

    Returns:
        The state after the last step, its networks in double precision.
    """
    start, shape = state.networks, (len(state.networks), len(features))
    adam = _Adam(state, training)
    passes = _Passes(start.layers, batches.shape[-1], start.activation)
    dtype = adam.parameters.dtype
    inputs = _with_ones(features).astype(dtype)
    targets = np.broadcast_to(targets, shape)
    weights = np.broadcast_to(1.0 if weights is None else weights, shape)
    members = np.arange(len(start))[:, None]
    constant = batches.strides[0] == 0
    for at in range(0, len(batches), _GATHERED_STEPS):
        part = batches[at : at + _GATHERED_STEPS]
        gathered = part[:1] if constant else part
        seen = targets[members, gathered][..., None].astype(dtype)
        shares = np.where(gathered < 0, 0.0, weights[members, gathered])[..., None]
        shares = (shares / (part.shape[-1] if training.per_row else shares.sum(axis=2, keepdims=True))).astype(dtype)
        entered = inputs[gathered[0]]
        for i, rows in enumerate(part):
            j = 0 if constant else i
            if j:
                entered = inputs[rows]
            outputs = passes.forward(adam.layers, entered)
            passes.backward(adam.layers, training.loss.slope(outputs, seen[j]) * shares[j], out=adam.slopes)
            adam.step()
    return adam.state()


class _Adam:
    """Adam on one vector of all parameters, in place on its own copies."""

    def __init__(self, state: TrainingState, training: Training) -> None:
        self._networks, self._training, self._steps = state.networks, training, state.steps
        self.parameters = _flat(state.networks)
        self.gradient, self._spare = np.empty_like(self.parameters), np.empty_like(self.parameters)
        self._mean, self._square, self._average = state.mean.copy(), state.square.copy(), _flat(state.average)
        #: Views of the parameters and of the gradient as layers.
        self.layers = _views(self.parameters, state.networks.layers)
        self.slopes = _views(self.gradient, state.networks.layers)

    def step(self) -> None:
        """Take a step against the gradient.

        The factors 1 - decay of the two averages enter the step size and the root instead: fewer passes over memory.
        """
        training, gradient, spare = self._training, self.gradient, self._spare
        if training.output_l1:
            self.slopes[-1][:, :-1] += training.output_l1 * np.sign(self.layers[-1][:, :-1])
        if training.weight_decay:
            gradient += training.weight_decay * self.parameters
        self._steps += 1
        first, second = _MOMENTUM, training.squares
        self._mean *= first
        self._mean += gradient
        self._square *= second
        self._square += np.multiply(gradient, gradient, out=spare)
        scale = ((1.0 - second) / (1.0 - second**self._steps)) ** 0.5
        np.sqrt(self._square, out=spare)
        spare += _EPSILON / scale
        np.divide(self._mean, spare, out=spare)
        spare *= training.learning_rate * (1.0 - first) / (1.0 - first**self._steps) / scale
        self.parameters -= spare
        if training.averaging < 1.0:
            self._average *= 1.0 - training.averaging
            self._average += training.averaging * self.parameters

    def state(self) -> TrainingState:
        """Return the state after the steps taken; no more may follow."""
        average = self._average if self._training.averaging < 1.0 else self.parameters
        return TrainingState(
            _double(self.layers, self._networks),
            _double(_views(average, self.layers), self._networks),
            self._mean,
            self._square,
            self._steps,
        )


def minimize_full_batch(
    networks: Networks,
    features: Array,
    objective: Callable[[Real], tuple[float, Real]],
    *,
    steps: int,
    weight_decay: float = 0.0,
) -> Networks:
    """Minimize a function of the outputs at all rows by L-BFGS.

    Args:
        networks: Initial networks, in double precision.
        features: Features shared by all networks, `n x D`.
        objective: Function of the outputs, `M x n x o`, that returns a value and its derivative by the outputs. The array
            it is given is used again in the next evaluation.
        steps: Largest number of steps; of evaluations there are at most twice as many.
        weight_decay: Weight of the sum of squared weights, biases left out, which is added to the objective.

    Returns:
        The trained networks.
    """
    entered = _with_ones(features)[None]
    passes = _Passes(networks.layers, len(features), networks.activation)

    def value_and_gradient(parameters: Array) -> tuple[float, Array]:
        layers = _views(parameters, networks.layers)
        gradient = np.empty_like(parameters)
        slopes = _views(gradient, networks.layers)
        value, slope = objective(passes.forward(layers, entered))
        passes.backward(layers, slope, out=slopes)
        for layer, of_layer in zip(layers, slopes, strict=True):
            weights = layer[:, :-1]
            value += weight_decay * float(np.square(weights).sum())
            of_layer[:, :-1] += 2.0 * weight_decay * weights
        return value, gradient

    limits = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(value_and_gradient, _flat(networks), jac=True, method="L-BFGS-B", options=limits)
    return _double(_views(found.x, networks.layers), networks)


class _Passes:
    """Buffers of one pass forward and one back through the layers, used again in every step."""

    def __init__(self, layers: Sequence[Real], batch: int, activation: str) -> None:
        count, dtype = len(layers[0]), layers[0].dtype
        self._tanh = activation == "tanh"
        # What enters each layer but the first, with a column of ones at the end, and what comes back to it.
        self._hidden = [np.ones((count, batch, layer.shape[1]), dtype) for layer in layers[1:]]
        self._back = [np.empty((count, batch, layer.shape[1] - 1), dtype) for layer in layers[1:]]
        self._outputs = np.empty((count, batch, layers[-1].shape[2]), dtype)
        self._entered: Real = self._outputs

    def forward(self, layers: Sequence[Real], entered: Real) -> Real:
        """Return the outputs, `M x b x o`, of features with a column of ones, `M x b x (D + 1)` or `1 x b x (D + 1)`."""
        self._entered = entered
        for layer, following in zip(layers[:-1], self._hidden, strict=True):
            if self._tanh:
                np.tanh(entered @ layer, out=following[..., :-1])
            else:
                np.matmul(entered, layer, out=following[..., :-1])
                np.maximum(following, 0.0, out=following)
            entered = following
        return np.matmul(entered, layers[-1], out=self._outputs)

    def backward(self, layers: Sequence[Real], slope: Real, *, out: Sequence[Real]) -> None:
        """Write the gradient by all weights into `out`, shaped as `layers`, given that by the outputs, `M x b x o`."""
        passed = [self._entered, *self._hidden]
        for j in reversed(range(len(layers))):
            np.matmul(passed[j].swapaxes(1, 2), slope, out=out[j])
            if j:
                before, activated = self._back[j - 1], passed[j][..., :-1]
                np.matmul(slope, layers[j][:, :-1].swapaxes(1, 2), out=before)
                before *= (1.0 - np.square(activated)) if self._tanh else activated > 0.0
                slope = before


def _with_ones(features: Array) -> Array:
    """Append a column of ones, which the biases multiply."""
    return np.column_stack([features, np.ones(len(features))])


def _flat(networks: Networks) -> Real:
    """Return a copy of all weights as one vector."""
    return np.concatenate([layer.ravel() for layer in networks.layers])


def _views(vector: Real, layers: Sequence[Real]) -> list[Real]:
    """Return the parts of a vector in the shapes of the layers, without copying."""
    ends = np.cumsum([layer.size for layer in layers])
    return [vector[end - layer.size : end].reshape(layer.shape) for end, layer in zip(ends, layers, strict=True)]


def _double(layers: Sequence[Real], like: Networks) -> Networks:
    return Networks(tuple(layer.astype(np.float64, copy=False) for layer in layers), like.activation)
