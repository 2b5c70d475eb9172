"""What the neural surrogates share: the recipe of a network, and networks of several parts of the data fitted together.

Notation: S subsets of the rows, C networks (copies) of each, n points, D features; outcomes standardised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.checks import check_flag, check_one_of, check_whole
from calibo.data import Array, Dataset
from calibo.errors import DataError, FallbackWarning
from calibo.models.distinct import distinct_points
from calibo.models.standardization import Standardization, single_outcome
from calibo.networks import AbsoluteError, Indicators, Loss, Networks, Training, train

Subsets = Sequence[npt.NDArray[np.intp]]
_FEWEST_POINTS = 2
#: Single precision, in which networks are trained, has no squares of much larger numbers.
_LARGEST_RAW = 1e12
_DECIMALS = 10


@dataclass(frozen=True)
class Perceptron:
    """The recipe of a network: layers of equal width, trained by Adam.

    The default was chosen among some 30 on NAS-Bench-201, by accuracy where 15 networks of 100 points train in half a second
    of CPU time (``benchmarks/README.md``).

    Attributes:
        layers: Number of hidden layers.
        width: Of each.
        epochs: How often the training goes through the rows.
        fewest_steps: Steps of the training, however few the rows are.
        batch: Rows in a step; ``None`` for all of them in each.
        learning_rate: Of Adam.
        squares: Adam's second decay rate.
        start: Weights start as He's or as Xavier's (Glorot's).
        output_l1: Penalty on the absolute weights of the output.
        standardized: Whether outcomes are standardised for the training. If not, predictions depend on their units.
        double: Whether to train in double precision, which takes about twice as long. Predictions always are.
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
    double: bool = False

    def __post_init__(self) -> None:
        check_whole("layers", self.layers)
        check_whole("width", self.width)
        check_whole("epochs", self.epochs)
        check_whole("fewest_steps", self.fewest_steps)
        if self.batch is not None:
            check_whole("batch", self.batch)
        check_one_of("start", self.start, ("he", "xavier"))
        check_flag("standardized", self.standardized)
        check_flag("double", self.double)
        # The other settings are checked where they are used, whatever the loss.
        self.training(AbsoluteError())

    @classmethod
    def paper(cls) -> Perceptron:
        """As Chen (2025) describes it: 20 layers of width 20, Adam at .01; what is not said there as published."""
        return cls.published(learning_rate=0.01, output_l1=0.0)

    @classmethod
    def published(
        cls, *, layers: int = 20, epochs: int = 500, learning_rate: float = 0.001, output_l1: float = 0.2
    ) -> Perceptron:
        """As in the code of Chen (2025) and NASLib: 20 x 20, Adam at .001, 500 epochs, raw outcomes (accuracies in %)."""
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
        """As in the code of White et al. (2021): 10 x 20, Adam at .01, 150 epochs, raw outcomes."""
        return cls.published(layers=10, epochs=150, learning_rate=0.01, output_l1=0.0)

    def training(self, loss: Loss) -> Training:
        """Return the settings of Adam for a loss."""
        return Training(loss, self.learning_rate, squares=self.squares, output_l1=self.output_l1)

    def steps(self, rows: int) -> int:
        """Return the number of steps if the network that has the most rows has so many."""
        return max(self.fewest_steps, self.epochs * (1 if self.batch is None else -(-rows // self.batch)))

    def networks(self, features: int, count: int, rng: np.random.Generator) -> Networks:
        """Draw the initial weights of `count` networks."""
        sizes = (features, *[self.width] * self.layers, 1)
        # Uniform, of variance 2 / inputs (He) or 2 / (inputs + outputs) (Xavier).
        fans = [a if self.start == "he" else a + b for a, b in pairwise(sizes)]
        dtype = np.float64 if self.double else np.float32
        return Networks.uniform(sizes, count, weights=[(6.0 / fan) ** 0.5 for fan in fans], rng=rng, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The networks of one subset.

    Attributes:
        networks: C of them; ``None`` if the subset has a single point, which is too few to learn from.
        units: The standardisation of the outcomes.
        encode: From points, m x d, to features, m x D.
        features: Of the subset's points, k x D.
        z: Their standardised outcomes, k.
        seen: Which points each network was trained on, C x k.
    """

    networks: Networks | None
    units: Standardization
    encode: Callable[[Array], Array]
    features: Array
    z: Array
    seen: npt.NDArray[np.bool_]

    def outputs(self, X: Array) -> Array | None:
        """What the networks say of points, ... x d, on standardised outcomes: C x ...; ``None`` without networks."""
        if self.networks is None:
            return None
        points, index = distinct_points(X)
        return self.networks(self.encode(points))[..., 0][:, index]


def encoder(data: Dataset) -> Callable[[Array], Array]:
    """The features of points: those of the space if it has its own, else its columns."""
    return Indicators(data.categories) if data.features is None else data.features


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
    """The networks of every subset of the rows, all trained in one program.

    The points are sorted first, so that what is drawn, and with it the networks, does not depend on their order.

    Args:
        data: n points with one outcome.
        subsets: Rows of the data, S of them; a row that occurs k times counts k times in the loss.
        network: The recipe of each.
        loss: Gives the loss for a number of subsets.
        copies: C.
        leave_out: Whether each of the C networks leaves out its own C-th of the points, drawn at random.
        rng: For starts, batches and what is left out.
    """
    y = single_outcome(data.Y)
    if data.Y_var is not None:
        warnings.warn("known noise variances are not used by neural surrogates", FallbackWarning, stacklevel=3)
    encode = encoder(data)
    features = encode(data.X)
    order = np.lexsort((y, *features.T[::-1]))
    counts = np.array([np.bincount(rows, minlength=len(y))[order] for rows in subsets], dtype=np.float64)
    features, y = features[order], y[order]
    parts = [_part(features, y, row, network, encode, copies if leave_out else 1, copies, rng) for row in counts]
    learning = [s for s, part in enumerate(parts) if len(part.z) >= _FEWEST_POINTS]
    if not learning:
        return parts
    targets, weights = np.zeros((2, len(learning), copies, len(y)))
    for i, s in enumerate(learning):
        own = np.flatnonzero(counts[s])
        targets[i][:, own] = parts[s].z
        weights[i][:, own] = counts[s][own] * parts[s].seen
    start = network.networks(features.shape[1], len(learning) * copies, rng)
    flat = (len(start), len(y))
    trained = train(
        start,
        features,
        targets.reshape(flat),
        network.training(loss(len(learning))),
        steps=network.steps(int((weights > 0.0).sum(axis=-1).max())),
        batch=network.batch,
        rng=rng,
        weights=weights.reshape(flat),
    )
    for i, s in enumerate(learning):
        part = parts[s]
        own = trained[i * copies : (i + 1) * copies]
        parts[s] = Fitted(own, part.units, encode, part.features, part.z, part.seen)
    return parts


def _part(
    features: Array,
    y: Array,
    counts: Array,
    network: Perceptron,
    encode: Callable[[Array], Array],
    shares: int,
    copies: int,
    rng: np.random.Generator,
) -> Fitted:
    """A subset before its training; of as many shares of its points each network leaves out one, unless it is all."""
    own = np.flatnonzero(counts)
    units = Standardization.of(np.repeat(y[own], counts[own].astype(np.intp)))
    if not network.standardized and len(own) >= _FEWEST_POINTS:
        if (largest := float(np.abs(y[own]).max())) > _LARGEST_RAW:
            raise DataError(
                f"networks that learn outcomes as they are take sizes up to {_LARGEST_RAW:g}, got {largest:.3g}: rescale "
                "the objective, or use networks with standardized=True"
            )
        units = Standardization(1.0, 0.0, 1.0)
    seen = np.ones((copies, len(own)), dtype=np.bool_)
    if shares > 1 and len(own) >= _FEWEST_POINTS:
        seen = rng.permutation(len(own)) % shares != np.arange(copies)[:, None]
    # Training may amplify the last bit: rounding keeps the outcomes' units out of that.
    z = np.round(units.forward(y[own]), _DECIMALS) if network.standardized else y[own]
    return Fitted(None, units, encode, features[own], z, seen)
