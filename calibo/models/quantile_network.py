"""Networks that say quantiles as a surrogate: no distribution is assumed.

Notation: K levels, z standardised outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibo.checks import check_instance
from calibo.data import Array, Dataset
from calibo.distributions import QuantileTable, checked_levels
from calibo.models.base import Model, Surrogate
from calibo.models.network_fit import Fitted, Perceptron, Subsets, fit_networks
from calibo.models.quantile_distribution import normal_law, quantile_distribution
from calibo.networks import Loss, Pinball

#: Those of Chen (2025) for ten parts.
LEVELS: tuple[float, ...] = (0.001, *(round(0.1 * j, 1) for j in range(1, 10)), 0.999)


@dataclass(frozen=True)
class QuantileNetwork(Surrogate):
    """Quantile regression by a network for each level, with the pinball loss, all levels in one program (Chen 2025).

    The distribution of a measurement is the table of the predicted quantiles, rearranged where they cross (Chernozhukov et al.
    2010), which never makes them worse. Nothing tells the noise from what the networks cannot learn, so the distribution of f
    is the same one. Points are taken as independent in joint draws, and known noise variances are not used. A single point
    is believed everywhere, with a spread of its own size.

    One network with an output for each level would be cheaper, but where points are few its quantiles fall together:
    on 150 random cells of NAS-Bench-201 its 80 % intervals hold 34 % of the others at best, those of networks of their
    own 71 %, and the pinball loss is .150 against .130. Calibrate them in any case.

    Attributes:
        levels: Strictly increasing within (0, 1), on both sides of one half, K.
        network: The recipe of each.
    """

    levels: tuple[float, ...] = LEVELS
    network: Perceptron = field(default_factory=lambda: Perceptron(width=20, epochs=30, fewest_steps=100))

    def __post_init__(self) -> None:
        checked_levels(self.levels)
        check_instance("network", self.network, Perceptron, "Perceptron()")

    @classmethod
    def paper(cls, levels: tuple[float, ...] = LEVELS) -> QuantileNetwork:
        """With the networks that Chen (2025) describes; see ``Perceptron.paper``."""
        return cls(levels, Perceptron.paper())

    @classmethod
    def published(cls, levels: tuple[float, ...] = LEVELS) -> QuantileNetwork:
        """With the networks of the code of Chen (2025); see ``Perceptron.published``."""
        return cls(levels, Perceptron.published())

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> QuantileNetworkModel:
        """The trained networks."""
        return self.fit_many(data, [np.arange(len(data))], rng=rng)[0]

    def fit_many(self, data: Dataset, subsets: Subsets, *, rng: np.random.Generator) -> list[QuantileNetworkModel]:
        """A model of each subset of rows, all networks trained in one program; rows may occur several times."""
        levels = np.asarray(self.levels)

        def loss(parts: int) -> Loss:
            return Pinball(np.tile(levels, parts)[:, None, None])

        fitted = fit_networks(data, subsets, self.network, loss, copies=len(levels), leave_out=False, rng=rng)
        return [QuantileNetworkModel(part, levels) for part in fitted]


@dataclass(frozen=True, eq=False)
class QuantileNetworkModel(Model):
    """Trained networks as a ``Model``.

    Attributes:
        fitted: The networks, one for each level.
        levels: K.
    """

    fitted: Fitted
    levels: Array

    def predict(self, X: Array, *, latent: bool) -> QuantileTable:
        """The distribution at ``X``, ... x q x d; the same of f and of a measurement."""
        outputs, units = self.fitted.outputs(X), self.fitted.units
        if outputs is None:
            return normal_law(self.levels, X.shape[:-1], units)
        return quantile_distribution(self.levels, np.moveaxis(outputs, 0, -1), units)
