"""Surrogates of neural networks: ensembles and quantile regression, with the networks of all subsets trained together.

Notation: S subsets of the rows, C networks (copies) of each, n points, D features, K levels; z standardized outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from calibo.arguments import check_fields
from calibo.checks import check_flag, check_instance, check_one_of, check_whole
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian, QuantileTable, checked_levels
from calibo.errors import DataError, FallbackWarning, warn
from calibo.models.base import Model, Surrogate
from calibo.models.predictions import (
    correlation_matrix,
    distinct_points,
    member_covariance,
    member_variance,
    normal_quantiles,
    quantile_distribution,
)
from calibo.models.standardization import Standardization, single_outcome
from calibo.networks import AbsoluteError, Indicators, Loss, Networks, Pinball, SquaredError, Training, train

Subsets = Sequence[npt.NDArray[np.intp]]
_FEWEST_POINTS = 2
#: Squares of much larger numbers overflow in single precision, in which networks are trained.
_LARGEST_RAW = 1e12
_DECIMALS = 10
#: Smallest spread of an ensemble, in standard deviations of the outcomes: better agreement is chance.
_SMALLEST_STD = 1e-3
#: With fewer held-out residuals the noise cannot be estimated, and the variance of the outcomes is used.
_FEWEST_RESIDUALS = 3
#: The noise is such that this share of the held-out outcomes lies within their central interval of the same probability. A
#: mean of squared errors would be dominated by the few failures of a search (a cell that learns nothing).
_COVERAGE = 0.8
_LOSSES = {"mae": AbsoluteError(), "mse": SquaredError()}
#: Those of Chen (2025) for ten parts.
LEVELS: tuple[float, ...] = (0.001, *(round(0.1 * j, 1) for j in range(1, 10)), 0.999)


@dataclass(frozen=True)
class Perceptron:
    """A recipe of networks: layers of equal width, trained by Adam.

    The default was chosen among about 30 on NAS-Bench-201, by accuracy where 15 networks of 100 points train in half a
    second of CPU time (``benchmarks/neural_ensemble.md``).

    Attributes:
        layers: Number of hidden layers.
        width: Width of each.
        epochs: Number of passes through the rows.
        fewest_steps: Smallest number of steps, however few the rows are.
        batch: Rows of a step; ``None`` for all of them in each.
        learning_rate: Step size of Adam.
        squares: Adam's second decay rate.
        start: Initial weights by He or by Xavier (Glorot).
        output_l1: Penalty on the absolute weights of the output layer.
        standardized: Whether outcomes are standardized for the training. If not, predictions depend on their units.
    """

    layers: int = 8
    width: int = 32
    epochs: int = 60
    fewest_steps: int = 150
    batch: int | None = 32
    learning_rate: float = 0.01
    squares: float = 0.999
    start: Literal["he", "xavier"] = "he"
    output_l1: float = 0.0
    standardized: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("layers", "width", "epochs", "fewest_steps"):
            check_whole(name, getattr(self, name))
        if self.batch is not None:
            check_whole("batch", self.batch)
        check_one_of("start", self.start, ("he", "xavier"))
        check_flag("standardized", self.standardized)
        # Checks the settings of Adam, which do not depend on the loss.
        self.training(AbsoluteError())

    @classmethod
    def paper(cls) -> Perceptron:
        """Return the network of Chen (2025): 20 layers of width 20, Adam at .01; settings not given there as published."""
        return cls.published(learning_rate=0.01, output_l1=0.0)

    @classmethod
    def published(
        cls, *, layers: int = 20, epochs: int = 500, learning_rate: float = 0.001, output_l1: float = 0.2
    ) -> Perceptron:
        """Return the network of the code of Chen (2025) and NASLib: Adam at .001, 500 epochs, raw outcomes in per cent."""
        return cls(
            layers=layers,
            width=20,
            epochs=epochs,
            fewest_steps=1,
            learning_rate=learning_rate,
            squares=0.99,
            start="xavier",
            output_l1=output_l1,
            standardized=False,
        )

    @classmethod
    def bananas(cls) -> Perceptron:
        """Return the network of the code of White et al. (2021): 10 x 20, Adam at .01, 150 epochs, raw outcomes."""
        return cls.published(layers=10, epochs=150, learning_rate=0.01, output_l1=0.0)

    def training(self, loss: Loss) -> Training:
        """Return the settings of Adam for a loss."""
        return Training(loss, self.learning_rate, squares=self.squares, output_l1=self.output_l1)

    def steps(self, rows: int) -> int:
        """Return the number of steps for networks of at most `rows` rows."""
        return max(self.fewest_steps, self.epochs * (1 if self.batch is None else -(-rows // self.batch)))

    def networks(self, features: int, count: int, rng: np.random.Generator) -> Networks:
        """Draw the initial weights of `count` networks."""
        sizes = (features, *[self.width] * self.layers, 1)
        # Uniform, of variance 2 / inputs (He) or 2 / (inputs + outputs) (Xavier).
        fans = [a if self.start == "he" else a + b for a, b in pairwise(sizes)]
        weights = [(6.0 / fan) ** 0.5 for fan in fans]
        # Trained in single precision, in half the time; predictions are always in double precision.
        return Networks.uniform(sizes, count, weights=weights, rng=rng, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The networks of one subset of the rows.

    Attributes:
        networks: C networks; ``None`` if the subset has a single point, which is too few to train on.
        units: Standardization of the outcomes.
        encode: Map from points, `m x d`, to features, `m x D`.
        features: Features of the subset's points, `k x D`.
        z: Their standardized outcomes, `k`.
        seen: Which points each network was trained on, `C x k`.
    """

    networks: Networks | None
    units: Standardization
    encode: Callable[[Array], Array]
    features: Array
    z: Array
    seen: npt.NDArray[np.bool_]

    def outputs(self, X: Array) -> Array | None:
        """Return the standardized outputs of the networks, `C x ...`, at points, `... x d`; ``None`` without networks."""
        if self.networks is None:
            return None
        points, index = distinct_points(X)
        return self.networks(self.encode(points))[..., 0][:, index]


def fit_networks(
    data: Dataset,
    subsets: Subsets,
    network: Perceptron,
    loss: Callable[[int], Loss],
    *,
    copies: int,
    leave_out: bool,
    rng: np.random.Generator,
) -> list[Fitted]:
    """Train the networks of every subset of the rows, all together.

    The points are sorted first, so that the random numbers, and with them the networks, do not depend on their order.

    Args:
        data: n points with one outcome.
        subsets: S subsets of the rows; a row that occurs k times counts k times in the loss.
        network: Recipe of the networks.
        loss: Function that returns the loss for a number of subsets.
        copies: Number of networks of each subset, C.
        leave_out: Whether each of the C networks leaves out its own C-th of the points, drawn at random.
        rng: Source of initial weights, batches and left-out points.
    """
    y = single_outcome(data.Y)
    if data.Y_var is not None:
        warn("known noise variances are not used by neural surrogates", FallbackWarning)
    # The features of a space that has its own, else its columns with indicators.
    encode = Indicators(data.categories, data.activity) if data.features is None else data.features
    features = encode(data.X)
    order = np.lexsort((y, *features.T[::-1]))
    counts = np.array([np.bincount(rows, minlength=len(y))[order] for rows in subsets], dtype=np.float64)
    features, y = features[order], y[order]
    parts = [_untrained(features, y, row, network, encode, copies, leave_out, rng) for row in counts]
    learning = [s for s, part in enumerate(parts) if len(part.z) >= _FEWEST_POINTS]
    if not learning:
        return parts
    targets, weights = np.zeros((2, len(learning), copies, len(y)))
    for i, s in enumerate(learning):
        own = np.flatnonzero(counts[s])
        targets[i][:, own] = parts[s].z
        weights[i][:, own] = counts[s][own] * parts[s].seen
    trained = train(
        network.networks(features.shape[1], len(learning) * copies, rng),
        features,
        targets.reshape(-1, len(y)),
        network.training(loss(len(learning))),
        steps=network.steps(int((weights > 0.0).sum(axis=-1).max())),
        batch=network.batch,
        rng=rng,
        weights=weights.reshape(-1, len(y)),
    )
    for i, s in enumerate(learning):
        parts[s] = replace(parts[s], networks=trained[i * copies : (i + 1) * copies])
    return parts


def _untrained(
    features: Array,
    y: Array,
    counts: Array,
    network: Perceptron,
    encode: Callable[[Array], Array],
    copies: int,
    leave_out: bool,
    rng: np.random.Generator,
) -> Fitted:
    """Return a subset before its training, with the points that each network leaves out drawn."""
    own = np.flatnonzero(counts)
    units = Standardization.of(np.repeat(y[own], counts[own].astype(np.intp)))
    if not network.standardized and len(own) >= _FEWEST_POINTS:
        if (largest := float(np.abs(y[own]).max())) > _LARGEST_RAW:
            raise DataError(
                f"networks trained on raw outcomes take values up to {_LARGEST_RAW:g}, got {largest:.3g}: rescale the "
                "objective, or use networks with standardized=True"
            )
        units = Standardization(1.0, 0.0, 1.0)
    seen = np.ones((copies, len(own)), dtype=np.bool_)
    if leave_out and copies > 1 and len(own) >= _FEWEST_POINTS:
        seen = rng.permutation(len(own)) % copies != np.arange(copies)[:, None]
    # Training may amplify the last bit: with rounding it does not depend on the units of the outcomes.
    z = np.round(units.forward(y[own]), _DECIMALS) if network.standardized else y[own]
    return Fitted(None, units, encode, features[own], z, seen)


@dataclass(frozen=True, eq=False)
class EnsembleModel(Model):
    """A trained ensemble.

    Attributes:
        fitted: The networks.
        noise: Variance of the noise of standardized outcomes.
    """

    fitted: Fitted
    noise: float

    @property
    def tells_noise_apart(self) -> bool:
        """`False`: what the networks cannot learn counts as noise."""
        return False

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        units, shape = self.fitted.units, X.shape[:-1]
        values = self.fitted.outputs(X)
        noise_std = np.sqrt(self.noise) if latent and self.noise else None
        if values is None:
            std = np.full(shape, np.sqrt(1.0 + (0.0 if latent else self.noise)))
            return units.gaussian(np.zeros(shape), std, noise_std=noise_std)
        floor = _SMALLEST_STD * _spread_of(self.fitted.z)
        variance = np.maximum(member_variance(values), floor**2)
        std = np.sqrt(variance + (0.0 if latent else self.noise))
        mean = values.mean(axis=0)
        return units.gaussian(mean, std, lambda: correlation_matrix(member_covariance(values), std), noise_std)


@dataclass(frozen=True)
class NeuralEnsemble(Surrogate):
    """An ensemble of networks with different initial weights, batches and left-out points (White et al. 2021, BANANAS).

    The distribution of f is Gaussian with the members' mean and standard deviation, at least a thousandth of that of the
    outcomes, and their correlation between points. Each member leaves out its own M-th of the points, which hardly affects
    accuracy and gives an estimate of the noise: that with which 80 % intervals hold 80 % of the left-out outcomes. So
    what the networks cannot learn counts as noise. A single member leaves nothing out and has no noise.

    Far from the data members disagree more, but not enough (their errors there are about four times their spread): calibrate
    them. The features of a space that has its own (the paths of a cell) are used, else the columns, with indicators for
    choices. Known noise variances are not used. With a single point the prediction is its outcome everywhere, with a standard
    deviation of its absolute value.

    Attributes:
        members: Number of networks, M.
        network: Recipe of each.
        loss: "mae" or "mse".
        leave_out: Whether members leave points out. If not, predictions of measurements include no noise.
    """

    members: int = 5
    network: Perceptron = field(default_factory=Perceptron)
    loss: Literal["mae", "mse"] = "mae"
    leave_out: bool = True
    model_type: ClassVar[type[Model] | None] = EnsembleModel

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("members", self.members)
        check_instance("network", self.network, Perceptron, "Perceptron()")
        check_one_of("loss", self.loss, tuple(_LOSSES))
        check_flag("leave_out", self.leave_out)

    @classmethod
    def paper(cls, members: int = 5) -> NeuralEnsemble:
        """Return the ensemble of Chen (2025); see ``Perceptron.paper``."""
        return cls(members, Perceptron.paper(), leave_out=False)

    @classmethod
    def published(cls, members: int = 5) -> NeuralEnsemble:
        """Return the ensemble of the code of Chen (2025); see ``Perceptron.published``."""
        return cls(members, Perceptron.published(), leave_out=False)

    @classmethod
    def bananas(cls, members: int = 5) -> NeuralEnsemble:
        """Return the ensemble of the code of White et al. (2021); see ``Perceptron.bananas``."""
        return cls(members, Perceptron.bananas(), leave_out=False)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> EnsembleModel:
        return self.fit_many(data, [np.arange(len(data))], rng=rng)[0]

    def fit_many(self, data: Dataset, subsets: Subsets, *, rng: np.random.Generator) -> list[EnsembleModel]:
        """Train one ensemble for each subset of rows, all networks together; rows may occur several times."""
        loss = _LOSSES[self.loss]
        leave_out = self.leave_out and self.members > 1
        fitted = fit_networks(
            data, subsets, self.network, lambda _: loss, copies=self.members, leave_out=leave_out, rng=rng
        )
        return [EnsembleModel(part, _noise(part) if leave_out else 0.0) for part in fitted]


def _noise(part: Fitted) -> float:
    """Estimate the noise from members at the points they left out; the outcomes' variance if these are too few."""
    if part.networks is None:
        return _SMALLEST_STD**2
    if len(part.z) < _FEWEST_RESIDUALS:
        return _spread_of(part.z) ** 2
    values = part.networks(part.features)[..., 0]
    # ~seen has one entry for each point: the member that left it out.
    members, points = np.nonzero(~part.seen)
    errors = np.square(values[members, points] - part.z[points])
    needed = errors / ndtri(0.5 + 0.5 * _COVERAGE) ** 2 - member_variance(values)[points]
    return max(float(np.quantile(needed, _COVERAGE)), (_SMALLEST_STD * _spread_of(part.z)) ** 2)


def _spread_of(z: Array) -> float:
    """Return the standard deviation of outcomes; 1 if they are all equal."""
    return float(z.std()) or 1.0


@dataclass(frozen=True, eq=False)
class QuantileNetworkModel(Model):
    """Trained quantile networks.

    Attributes:
        fitted: The networks, one for each level.
        levels: Levels, `K`.
    """

    fitted: Fitted
    levels: Array

    def predict(self, X: Array, *, latent: bool) -> QuantileTable:
        outputs, units = self.fitted.outputs(X), self.fitted.units
        if outputs is None:
            return normal_quantiles(self.levels, X.shape[:-1], units)
        return quantile_distribution(self.levels, np.moveaxis(outputs, 0, -1), units)


@dataclass(frozen=True)
class QuantileNetwork(Surrogate):
    """Quantile regression by one network for each level, with the pinball loss (Chen 2025).

    The distribution of a measurement is the table of the predicted quantiles, rearranged where they cross (Chernozhukov et
    al. 2010), which never makes them worse. Noise and what the networks cannot learn are not distinguished, so the
    distribution of f is the same. Points are independent in joint draws, and known noise variances are not used. With a
    single point the prediction is its outcome everywhere, with a standard deviation of its absolute value.

    One network with an output for each level would be cheaper, but where points are few its quantiles collapse: on 150
    random cells of NAS-Bench-201 its 80 % intervals hold 34 % of the others at best, those of separate networks 71 %, and
    the pinball loss is .150 against .130. Calibrate them in any case.

    Attributes:
        levels: Strictly increasing within (0, 1), on both sides of one half, `K`.
        network: Recipe of each.
    """

    levels: tuple[float, ...] = LEVELS
    network: Perceptron = field(default_factory=lambda: Perceptron(width=20, epochs=30, fewest_steps=100))
    model_type: ClassVar[type[Model] | None] = QuantileNetworkModel

    def __post_init__(self) -> None:
        check_fields(self)
        checked_levels(self.levels)
        check_instance("network", self.network, Perceptron, "Perceptron()")

    @classmethod
    def paper(cls, levels: tuple[float, ...] = LEVELS) -> QuantileNetwork:
        """Return the surrogate with the networks of Chen (2025); see ``Perceptron.paper``."""
        return cls(levels, Perceptron.paper())

    @classmethod
    def published(cls, levels: tuple[float, ...] = LEVELS) -> QuantileNetwork:
        """Return the surrogate with the networks of the code of Chen (2025); see ``Perceptron.published``."""
        return cls(levels, Perceptron.published())

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> QuantileNetworkModel:
        return self.fit_many(data, [np.arange(len(data))], rng=rng)[0]

    def fit_many(self, data: Dataset, subsets: Subsets, *, rng: np.random.Generator) -> list[QuantileNetworkModel]:
        """Train one model for each subset of rows, all networks together; rows may occur several times."""
        levels = np.asarray(self.levels)

        def loss(parts: int) -> Loss:
            return Pinball(np.tile(levels, parts)[:, None, None])

        fitted = fit_networks(data, subsets, self.network, loss, copies=len(levels), leave_out=False, rng=rng)
        return [QuantileNetworkModel(part, levels) for part in fitted]
