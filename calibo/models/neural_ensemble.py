"""An ensemble of networks as a surrogate: the mean and the spread of what its members say.

Notation: M members, N points, z standardised outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import ndtri

from calibo.checks import check_flag, check_instance, check_one_of, check_whole
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.models.base import Model, Surrogate
from calibo.models.network_fit import Fitted, Perceptron, Subsets, fit_networks
from calibo.networks import AbsoluteError, SquaredError

#: Members that agree better than that, in standard deviations of the outcomes, do so by chance.
_SMALLEST_STD = 1e-3
#: With fewer held-out residuals nothing is known of the noise, and the outcomes' own variance stands in.
_FEWEST_RESIDUALS = 3
#: The noise is such that so many held-out outcomes lie within their central interval of that probability. A mean of
#: squared errors would speak of the few failures of a search (a cell that learns nothing) instead.
_COVERAGE = 0.8
_LOSSES = {"mae": AbsoluteError(), "mse": SquaredError()}


@dataclass(frozen=True)
class NeuralEnsemble(Surrogate):
    """Networks that differ in their start, their batches and the points they leave out (White et al. 2021, BANANAS).

    Believed of f is a Gaussian distribution with the members' mean and standard deviation, at least a thousandth of that of the
    outcomes, and their correlation between points. Each member leaves out its own M-th of the points. That costs next to
    nothing in accuracy and tells the noise: so much as makes 80 % intervals hold 80 % of the outcomes at points that a
    member left out. So what the networks cannot learn counts as noise. One member leaves nothing out and knows of no
    noise.

    Away from the data members disagree more, but far too little (their errors there are some four times their spread):
    calibrate them. The features of a space that has its own (the paths of a cell) are used, else the columns, with
    indicators for choices. Known noise variances are not used. A single point is believed everywhere, with a spread of
    its own size.

    Attributes:
        members: M.
        network: The recipe of each.
        loss: "mae" or "mse".
        leave_out: Whether members leave points out. If not, distributions of measurements are as sure as those of f.
    """

    members: int = 5
    network: Perceptron = field(default_factory=Perceptron)
    loss: Literal["mae", "mse"] = "mae"
    leave_out: bool = True

    def __post_init__(self) -> None:
        check_whole("members", self.members)
        check_instance("network", self.network, Perceptron, "Perceptron()")
        check_one_of("loss", self.loss, tuple(_LOSSES))
        check_flag("leave_out", self.leave_out)

    @classmethod
    def paper(cls, members: int = 5) -> NeuralEnsemble:
        """As Chen (2025) describes it; see ``Perceptron.paper``."""
        return cls(members, Perceptron.paper(), leave_out=False)

    @classmethod
    def published(cls, members: int = 5) -> NeuralEnsemble:
        """As in the code of Chen (2025); see ``Perceptron.published``."""
        return cls(members, Perceptron.published(), leave_out=False)

    @classmethod
    def bananas(cls, members: int = 5) -> NeuralEnsemble:
        """As in the code of White et al. (2021); see ``Perceptron.bananas``."""
        return cls(members, Perceptron.bananas(), leave_out=False)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> EnsembleModel:
        """The trained ensemble."""
        return self.fit_many(data, [np.arange(len(data))], rng=rng)[0]

    def fit_many(self, data: Dataset, subsets: Subsets, *, rng: np.random.Generator) -> list[EnsembleModel]:
        """An ensemble of each subset of rows, all networks trained in one program; rows may occur several times."""
        loss = _LOSSES[self.loss]
        leave_out = self.leave_out and self.members > 1
        fitted = fit_networks(
            data, subsets, self.network, lambda _: loss, copies=self.members, leave_out=leave_out, rng=rng
        )
        return [EnsembleModel(part, _noise(part) if leave_out else 0.0) for part in fitted]


@dataclass(frozen=True, eq=False)
class EnsembleModel(Model):
    """A trained ensemble as a ``Model``.

    Attributes:
        fitted: The networks.
        noise: Variance of the noise, of standardised outcomes.
    """

    fitted: Fitted
    noise: float

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """The distribution at ``X``, ... x q x d."""
        units, shape = self.fitted.units, X.shape[:-1]
        values = self.fitted.outputs(X)
        noise_std = float(units.backward_std(np.sqrt(self.noise))) if latent and self.noise else 0.0
        if values is None:
            std = np.full(shape, np.sqrt(1.0 + (0.0 if latent else self.noise)))
            return Gaussian(units.backward(np.zeros(shape)), units.backward_std(std), noise_std=noise_std)
        floor = _SMALLEST_STD * _spread_of(self.fitted.z)
        variance = np.maximum(_variance(values), floor**2)
        std = np.sqrt(variance + (0.0 if latent else self.noise))

        def correlation() -> Array:
            deviations = values - values.mean(axis=0)
            covariance = np.einsum("m...i,m...j->...ij", deviations, deviations) / max(len(values) - 1, 1)
            own = np.broadcast_to(np.eye(shape[-1]), covariance.shape)
            return np.where(own > 0.0, 1.0, covariance / (std[..., :, None] * std[..., None, :]))

        return Gaussian(units.backward(values.mean(axis=0)), units.backward_std(std), correlation, noise_std)


def _noise(part: Fitted) -> float:
    """The noise by members at the points they left out; the outcomes' variance if these are too few."""
    if part.networks is None:
        return _SMALLEST_STD**2
    if len(part.z) < _FEWEST_RESIDUALS:
        return _spread_of(part.z) ** 2
    values = part.networks(part.features)[..., 0]
    # ~seen has one entry for each point: the member that left it out, in the order of members.
    members, points = np.nonzero(~part.seen)
    errors = np.square(values[members, points] - part.z[points])
    needed = errors / ndtri(0.5 + 0.5 * _COVERAGE) ** 2 - _variance(values)[points]
    return max(float(np.quantile(needed, _COVERAGE)), (_SMALLEST_STD * _spread_of(part.z)) ** 2)


def _variance(values: Array) -> Array:
    """Over the members, M x ... -> ...; 0 of a single member."""
    return values.var(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def _spread_of(z: Array) -> float:
    """Standard deviation of the outcomes of a training; 1 if they are all equal."""
    return float(z.std()) or 1.0
