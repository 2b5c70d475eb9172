"""Composite objectives g(h(x)): a network of the measured vectors h, with the known function g as its last layer.

The network is trained by ``calibo.networks``; torch only differentiates g, and is imported when it is used (extra
``neural``).

Notation:
    h  the measured vector, k outputs          g  the known function of it, m x k -> m, larger is better
    y  the objective g(h), n                   tau  the threshold: the 1 - gamma quantile of y
    u  the utility of g above tau, smoothed    C  the classifier u / (1 + u)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import expit

from calibo.arguments import check_fields
from calibo.checks import check_between, check_whole, import_extra
from calibo.data import Activity, Array
from calibo.errors import DataError, RecipeError
from calibo.networks import Indicators, Networks, Real, minimize_full_batch

#: g: a function of a torch tensor of vectors, `m x k` in float64, that returns `m` values; each row on its own.
Outer = Callable[[Any], Any]
#: Below this the logarithm of the softplus equals its argument in double precision.
_FAR_BELOW = -40.0


@dataclass(frozen=True)
class CompositeNetwork:
    """A network h_theta trained to classify by g(h_theta(x)) and to predict h (Song et al. 2022, B.4).

    1. Outputs are standardized; g and tau see them in their own units. tau is the quantile of y that a share gamma of
       the points exceeds: the paper's "10-th percentile of g" is one of the loss.
    2. u(x) = softplus(beta v) / beta of v = (g(h_theta(x)) - tau) / s, with s the standard deviation of y. The paper's
       u = max(v, 0) has no logarithm and no slope below tau, where most points are; its s is 1, with which the result
       would depend on the units of y.
    3. Minus equation (38), in its stable form, with the squares of the weights added, is minimized:
           mean_i [(1 + w_i) log(1 + u_i) - w_i log u_i] + mean_i |h_theta(x_i) - h_i|^2 + decay |weights|^2,
       w_i = max(y_i - tau, 0) / s, by L-BFGS on all points. Further negatives (pending points) have w = 0 and no h.
    4. The acquisition function is log u, the log-odds log C / (1 - C).

    Every fit starts from new weights, drawn from the given generator: it takes about 0.1 s, and a resumed study has no
    state to restore. The activation is tanh, so that the acquisition function is smooth.

    Attributes:
        hidden: Width of both hidden layers.
        gamma: Share of the points that count as good.
        beta: Sharpness of the softplus.
        decay: Weight of the squared weights.
        steps: Largest number of steps of L-BFGS.
        threads: Threads of torch and of the linear algebra during training.
    """

    hidden: int = 64
    gamma: float = 0.1
    beta: float = 1.0
    decay: float = 1e-3
    steps: int = 60
    threads: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("hidden", "steps", "threads"):
            check_whole(f"{name} of a composite network", getattr(self, name))
        check_between("gamma, the share of points that count as good,", self.gamma, 0.0, 1.0)
        check_between("beta", self.beta, 0.0, np.inf)
        check_between("decay", self.decay, 0.0, np.inf, including="low")

    def fit(
        self,
        X: Array,
        y: Array,
        H: Array,
        outer: Outer,
        *,
        negatives: Array | None = None,
        categories: tuple[int, ...] = (),
        activity: Activity | None = None,
        rng: np.random.Generator,
    ) -> CompositeAcquisition:
        """Learn the acquisition function from points.

        Args:
            X: Points on the unit cube, `n x d`.
            y: Values of g at their vectors, `n`, larger is better.
            H: Their vectors, `n x k`; rows of NaN where only y is known.
            outer: g.
            negatives: Points that are still to be evaluated, `p x d`.
            categories: Number of choices of each categorical column, 0 for a numeric one, `d`.
            activity: Which columns are active at a point; ``None`` if all always are.
            rng: The only source of randomness.

        Raises:
            DataError: If no vector is known.
        """
        from threadpoolctl import threadpool_limits

        known = np.isfinite(H).all(axis=1)
        if not known.any():
            raise DataError("a composite network needs at least one point whose vector is known")
        points = X if negatives is None else np.vstack([X, negatives])
        threshold, scale = float(np.quantile(y, 1.0 - self.gamma)), float(_deviations(y))
        weights = np.append(np.maximum(y - threshold, 0.0) / scale, np.zeros(len(points) - len(y)))
        centre, spread = H[known].mean(axis=0), _deviations(H[known])
        utility = _Utility(outer, centre, spread, threshold, scale, self.beta, self.threads)
        objective = _Objective(utility, weights, (H[known] - centre) / spread, np.flatnonzero(known), len(y))
        indicators = Indicators(categories or (0,) * X.shape[1], activity)
        start = self.start(H.shape[1], indicators, rng)
        # For arrays this small, threads that wait for each other take many times as long as one.
        with threadpool_limits(self.threads, user_api="blas"):
            features = indicators(points)
            network = minimize_full_batch(start, features, objective, steps=self.steps, weight_decay=self.decay)
        return CompositeAcquisition(utility, network, indicators)

    def start(self, outputs: int, indicators: Indicators, rng: np.random.Generator) -> Networks:
        """Draw initial weights; outputs are small at first, and the biases spread the first layer over the cube."""
        sizes = (indicators.width, self.hidden, self.hidden, outputs)
        widths = [share * (3.0 / inputs) ** 0.5 for share, inputs in zip((1.0, 1.0, 0.3), sizes[:-1], strict=True)]
        return Networks.uniform(sizes, weights=widths, biases=(1.0, 0.2, 0.0), activation="tanh", rng=rng)


@dataclass(frozen=True, eq=False)
class CompositeAcquisition:
    """Log-odds log C / (1 - C) = log u of a trained network, which increase with g(h_theta(x)).

    Attributes:
        utility: Map from standardized outputs to log u.
        network: The trained network.
        indicators: Map from points to the features that the network takes.
    """

    utility: _Utility
    network: Networks
    indicators: Indicators

    def __call__(self, X: Array) -> Array:
        """Return log u, `m`, at points, `m x d`; minus infinity where g has no finite value."""
        return self.utility.log(self._outputs(X), slope=False)[0]

    def vectors(self, X: Array) -> Array:
        """Predict the vectors, `m x k`, at points, `m x d`, in their own units."""
        return self.utility.centre + self.utility.spread * self._outputs(X)

    def _outputs(self, X: Array) -> Array:
        return self.network(self.indicators(X))[0]


def composed_values(outer: Outer, H: Array) -> Array:
    """Evaluate the user's function g at vectors, `n x k`, and check it.

    Returns:
        `n` values.

    Raises:
        RecipeError: If g fails, has no gradient, or does not return one value for each vector.
    """
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
    """Map from standardized outputs, `m x k`, to log u, `m`."""

    outer: Outer
    centre: Array  # mean of the vectors, k
    spread: Array  # standard deviation of the vectors, k
    threshold: float
    scale: float  # standard deviation of y
    beta: float
    threads: int

    def log(self, outputs: Real, *, slope: bool) -> tuple[Array, Array]:
        """Return log u, `m`, and with `slope` its gradient by the outputs, `m x k`.

        Where g has no finite value, log u is minus infinity.
        """
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
class _Objective:
    """The training objective as a function of the standardized outputs at all points."""

    utility: _Utility
    weights: Array  # w of the points, p
    targets: Array  # standardized vectors of the points that have one, r x k
    rows: np.ndarray  # which points have one, r
    count: int  # observed points, by which all sums are divided, as pending points are no data

    def __call__(self, outputs: Real) -> tuple[float, Real]:
        """Return the objective and its gradient by the outputs, `1 x p x k`.

        A row at which g has no finite value or slope (a logarithm of a negative prediction) is not classified, instead
        of spoiling all others.
        """
        log_u, in_outputs = self.utility.log(outputs[0], slope=True)
        usable = np.isfinite(log_u) & np.isfinite(in_outputs).all(axis=1)
        losses, in_log_u = classification(np.where(usable, log_u, 0.0), self.weights)
        slope = in_log_u[:, None] * np.where(usable[:, None], in_outputs, 0.0)
        missed = outputs[0, self.rows] - self.targets
        slope[self.rows] += 2.0 * missed
        return float((losses[usable].sum() + np.square(missed).sum()) / self.count), slope[None] / self.count


def log_softplus_and_slope(x: Array) -> tuple[Array, Array]:
    """Return log(log(1 + exp(x))) and its slope, which is 1 far below 0, where the softplus itself underflows."""
    near = np.maximum(x, _FAR_BELOW)
    softplus = np.logaddexp(0.0, near)
    far = x < _FAR_BELOW
    return np.where(far, x, np.log(softplus)), np.where(far, 1.0, expit(near) / softplus)


def classification(log_u: Array, weights: Array) -> tuple[Array, Array]:
    """Return -w log C - log(1 - C) of C = u / (1 + u), and its slope in log u.

    Written in the stable form (1 + w) log(1 + u) - w log u, which needs neither C nor u.
    """
    return (1.0 + weights) * np.logaddexp(0.0, log_u) - weights * log_u, (1.0 + weights) * expit(log_u) - weights


def _deviations(values: Array) -> Array:
    """Return the standard deviations of columns; for values that are equal up to rounding, their size, or 1."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 1e-200, size, 1.0)
    # Relative to the largest, so that values of any size can be squared.
    relative = np.std(values / size, axis=0)
    return size * np.where(relative > 1e-12, relative, 1.0)


@contextmanager
def _threads(torch: ModuleType, count: int) -> Iterator[None]:
    """Set the number of threads of torch for a while, so that results do not depend on how many there are."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def require_torch() -> Any:
    """Return torch, or raise an error that says how to install it."""
    return import_extra("torch", "composite objectives", "neural")
