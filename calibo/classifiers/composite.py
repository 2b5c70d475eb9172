"""Composite objectives g(h(x)): a network of the measured vectors h, with the known function g as its last layer.

The network is NumPy, for layers this small twice as fast as torch; only g and its slope are torch's, which is imported when
it is used (extra ``neural``).

Notation:
    h  the measured vector, k outputs          g  the known function of it, m x k -> m, larger is better
    y  the objective g(h), n                   tau  the threshold: the 1 - gamma quantile of y
    u  the utility of g above tau, smoothed    C  the classifier u / (1 + u)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from calibo.checks import check_whole
from calibo.data import Array
from calibo.errors import DataError, MissingExtra, RecipeError
from calibo.spaces.encoding import one_hot

#: g: a torch tensor of vectors, m x k in float64, to their values, m; each row by itself.
Outer = Callable[[Any], Any]
#: Below this the logarithm of the softplus is its argument, to all digits.
_FAR_BELOW = -40.0


@dataclass(frozen=True)
class CompositeNetwork:
    """A network h_theta trained to classify by g(h_theta(x)) and to predict h (Song et al. 2022, B.4).

    1. Outputs are standardised; g and tau see them in their own units. tau is the quantile of y that a share gamma of
       the points exceeds: the paper's "10-th percentile of g" is one of the loss.
    2. u(x) = softplus(beta v) / beta of v = (g(h_theta(x)) - tau) / s, with s the standard deviation of y. The paper's
       u = max(v, 0) has no logarithm and no slope below tau, where most points are; its s is 1, with which the result
       would depend on the units of y.
    3. Minimised is minus equation (38), in its stable form, with the squares of the weights added:
           mean_i [(1 + w_i) log(1 + u_i) - w_i log u_i] + mean_i |h_theta(x_i) - h_i|^2 + decay |weights|^2,
       w_i = max(y_i - tau, 0) / s, by L-BFGS on all points. Further negatives (pending points) have w = 0 and no h.
    4. The acquisition is log u, the log-odds log C / (1 - C).

    The network begins anew at every fit, with weights from the generator given: it takes about 0.1 s, and a
    resumed study has nothing to restore. Tanh makes it smooth, so that it can be climbed.

    Attributes:
        hidden: Width of both hidden layers.
        gamma: Share of the points that count as good.
        beta: Sharpness of the softplus.
        decay: Weight of the squared weights.
        steps: Limit on the steps of L-BFGS.
        threads: Of torch and of the linear algebra while the network is trained.
    """

    hidden: int = 64
    gamma: float = 0.1
    beta: float = 1.0
    decay: float = 1e-3
    steps: int = 60
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("hidden", "steps", "threads"):
            check_whole(f"a composite network's {name}", getattr(self, name))
        if not 0.0 < self.gamma < 1.0:
            raise RecipeError(f"gamma, the share of points that count as good, lies in (0, 1), got {self.gamma}")
        if not self.beta > 0.0 or not self.decay >= 0.0:
            raise RecipeError(f"beta is above 0 and decay from 0 on, got {self.beta} and {self.decay}")

    def fit(
        self,
        X: Array,
        y: Array,
        H: Array,
        outer: Outer,
        *,
        negatives: Array | None = None,
        categories: tuple[int, ...] = (),
        rng: np.random.Generator,
    ) -> CompositeAcquisition:
        """The acquisition learned from points.

        Args:
            X: Points on the unit cube, n x d.
            y: Values of g at their vectors, n, larger is better.
            H: Their vectors, n x k; rows of NaN where only y is known.
            outer: g.
            negatives: Points of which nothing is known but that they will be tried, p x d.
            categories: Number of choices of each categorical column, 0 for a numeric one, d.
            rng: The only source of randomness.
        """
        from threadpoolctl import threadpool_limits

        known = np.isfinite(H).all(axis=1)
        if not known.any():
            raise DataError("a composite network needs at least one point whose vector is known")
        points = X if negatives is None else np.vstack([X, negatives])
        inputs = _inputs(points, categories)
        threshold, scale = float(np.quantile(y, 1.0 - self.gamma)), float(_deviations(y))
        weights = np.append(np.maximum(y - threshold, 0.0) / scale, np.zeros(len(points) - len(y)))
        centre, spread = H[known].mean(axis=0), _deviations(H[known])
        utility = _Utility(outer, centre, spread, threshold, scale, self.beta, self.threads)
        task = _Task(inputs, weights, (H[known] - centre) / spread, np.flatnonzero(known), len(y))
        start, shapes = self._start(inputs.shape[1], H.shape[1], rng)
        # For arrays this small, threads that wait for each other take many times as long as one.
        with threadpool_limits(self.threads, user_api="blas"):
            found = minimize(
                lambda theta: _loss(theta, shapes, task, utility, self.decay),
                start,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.steps, "maxfun": 2 * self.steps},
            )
        return CompositeAcquisition(utility, tuple(_layers(found.x, shapes)), categories)

    def _start(self, inputs: int, outputs: int, rng: np.random.Generator) -> tuple[Array, list[tuple[int, int]]]:
        """Random weights, flat, and the shapes of each layer's weights and biases; outputs are small at first."""
        sizes = (inputs, self.hidden, self.hidden, outputs)
        parts: list[Array] = []
        shapes: list[tuple[int, int]] = []
        for i, (size, following) in enumerate(pairwise(sizes)):
            shapes += [(size, following), (1, following)]
            width = (1.0, 1.0, 0.3)[i] * (3.0 / size) ** 0.5
            # Biases spread the bends of the first layer over the cube.
            shift = (1.0, 0.2, 0.0)[i]
            parts += [rng.uniform(-width, width, size * following), rng.uniform(-shift, shift, following)]
        return np.concatenate(parts), shapes


@dataclass(frozen=True, eq=False)
class CompositeAcquisition:
    """Log-odds log C / (1 - C) = log u of a trained network, which rise with g(h_theta(x)).

    Attributes:
        utility: From standardised outputs to log u.
        layers: Weights and biases of each layer.
        categories: Number of choices of each categorical column, d.
    """

    utility: _Utility
    layers: tuple[Array, ...]
    categories: tuple[int, ...]

    def __call__(self, X: Array) -> Array:
        """Log u at points, m x d -> m; minus infinity where g has no finite value."""
        return self.utility.log(self._outputs(X), slope=False)[0]

    def vectors(self, X: Array) -> Array:
        """The vectors that the network predicts, m x d -> m x k, in their own units."""
        return self.utility.centre + self.utility.spread * self._outputs(X)

    def _outputs(self, X: Array) -> Array:
        return _network(_inputs(X, self.categories), self.layers)[-1]


def composed_values(outer: Outer, H: Array) -> Array:
    """g of vectors, n x k -> n, as the user's function gives it; what is no function n x k -> n is refused by name."""
    torch = require_torch()
    try:
        # With a gradient, as in training, so that a function that has none is found out here.
        with torch.enable_grad():
            values = torch.as_tensor(outer(torch.tensor(H, dtype=torch.float64, requires_grad=True)))
    except Exception as error:
        raise RecipeError(
            f"the composite function failed on a torch tensor of {H.shape[0]} x {H.shape[1]} (vectors x outputs, "
            f"float64): {type(error).__name__}: {error}"
        ) from error
    if values.shape != (len(H),):
        raise RecipeError(
            "the composite function takes a torch tensor m x k (vectors x outputs) and returns one value for each of the m "
            f"vectors, such as -((h - target) ** 2).sum(-1); of {len(H)} x {H.shape[1]} it returned {tuple(values.shape)}"
        )
    if not values.requires_grad:
        raise RecipeError(
            "the composite function has no gradient: it must be made of torch's operations on its argument"
        )
    return values.detach().double().numpy()


@dataclass(frozen=True, eq=False)
class _Utility:
    """From standardised outputs, m x k, to log u, m: ``centre`` and ``spread`` take them to their own units, k."""

    outer: Outer
    centre: Array
    spread: Array
    threshold: float
    scale: float
    beta: float
    threads: int

    def log(self, outputs: Array, *, slope: bool) -> tuple[Array, Array]:
        """log u, m, minus infinity where g has no finite value, and if wanted its slope in the outputs, m x k."""
        torch = require_torch()
        with _threads(torch, self.threads), torch.set_grad_enabled(slope):
            vectors = torch.from_numpy(self.centre + self.spread * outputs).requires_grad_(slope)
            values = self.outer(vectors)
            steepness = torch.autograd.grad(values.sum(), vectors)[0].numpy() if slope else np.zeros((len(outputs), 0))
        plain = values.detach().numpy()
        defined = np.isfinite(plain)
        log_u, rising = log_softplus_and_slope(
            self.beta / self.scale * (np.where(defined, plain, self.threshold) - self.threshold)
        )
        log_u = np.where(defined, log_u - np.log(self.beta), -np.inf)
        return log_u, (rising * self.beta / self.scale)[:, None] * steepness * (self.spread if slope else 1.0)


@dataclass(frozen=True, eq=False)
class _Task:
    """What a network learns from: all points p x D with weights p, and the targets of those rows that have one, r x k.

    ``count`` is the number of points with an outcome, by which all sums are divided, as pending points are no data.
    """

    inputs: Array
    weights: Array
    targets: Array
    rows: np.ndarray
    count: int


def log_softplus_and_slope(x: Array) -> tuple[Array, Array]:
    """log(log(1 + exp(x))) and its slope, which is 1 far below 0, where the softplus itself is lost to rounding."""
    near = np.maximum(x, _FAR_BELOW)
    softplus = np.logaddexp(0.0, near)
    far = x < _FAR_BELOW
    return np.where(far, x, np.log(softplus)), np.where(far, 1.0, expit(near) / softplus)


def classification(log_u: Array, weights: Array) -> tuple[Array, Array]:
    """-w log C - log(1 - C) of C = u / (1 + u), and its slope in log u.

    In the stable form (1 + w) log(1 + u) - w log u, which needs neither C nor u.
    """
    return (1.0 + weights) * np.logaddexp(0.0, log_u) - weights * log_u, (1.0 + weights) * expit(log_u) - weights


def _loss(
    theta: Array, shapes: list[tuple[int, int]], task: _Task, utility: _Utility, decay: float
) -> tuple[float, Array]:
    """The loss and its gradient at flat parameters.

    A row in which g has no finite value or slope (a logarithm of a negative prediction) says nothing by its class,
    instead of spoiling all others.
    """
    layers = _layers(theta, shapes)
    hidden = _network(task.inputs, layers)
    outputs = hidden[-1]
    log_u, in_outputs = utility.log(outputs, slope=True)
    usable = np.isfinite(log_u) & np.isfinite(in_outputs).all(axis=1)
    losses, in_log_u = classification(np.where(usable, log_u, 0.0), task.weights)
    slope = in_log_u[:, None] * np.where(usable[:, None], in_outputs, 0.0)
    missed = outputs[task.rows] - task.targets
    slope[task.rows] += 2.0 * missed
    slope /= task.count
    total = (losses[usable].sum() + (missed**2).sum()) / task.count
    gradient = np.empty_like(theta)
    into = _layers(gradient, shapes)
    for i in (4, 2, 0):
        below = hidden[i // 2]
        into[i][...] = below.T @ slope + 2.0 * decay * layers[i]
        into[i + 1][...] = slope.sum(axis=0)
        total += decay * (layers[i] ** 2).sum()
        if i:
            slope = (slope @ layers[i].T) * (1.0 - below**2)
    return float(total), gradient


def _layers(parameters: Array, shapes: list[tuple[int, int]]) -> list[Array]:
    """Views of flat parameters as the weights and biases of each layer."""
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(parameters, ends), shapes, strict=True)]


def _network(inputs: Array, layers: Sequence[Array]) -> tuple[Array, Array, Array, Array]:
    """The inputs, m x D, what each hidden layer makes of them, m x w, and the standardised outputs, m x k."""
    first, first_bias, second, second_bias, last, last_bias = layers
    inner = np.tanh(inputs @ first + first_bias)
    outermost = np.tanh(inner @ second + second_bias)
    return inputs, inner, outermost, outermost @ last + last_bias


def _deviations(values: Array) -> Array:
    """Standard deviations of columns, n x ... -> ...; of values that are all the same up to rounding, their size, or 1."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 1e-200, size, 1.0)
    # Relative to the largest, so that values of any size can be squared.
    relative = np.std(values / size, axis=0)
    return size * np.where(relative > 1e-12, relative, 1.0)


def _inputs(X: Array, categories: tuple[int, ...]) -> Array:
    """Points as the network sees them, m x D: categorical columns as indicators, all from -1 to 1."""
    return 2.0 * one_hot(X, categories) - 1.0


@contextmanager
def _threads(torch: ModuleType, count: int) -> Iterator[None]:
    """So many threads of torch for a while: results must not depend on how many there happen to be."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def require_torch() -> ModuleType:
    """torch, or an error that says how to install it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtra(
            'composite objectives need torch, which is not installed: pip install "calibo[neural]"'
        ) from error
    return torch
