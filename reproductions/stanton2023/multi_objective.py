"""Problems of several objectives, in their original units, with the hypervolume of the best Pareto front.

All in this file are minimised and noise-free as they stand.

Notation:
    X  points, n x d, in original units     U  the same on the unit cube, n x d     Y  outcomes, n x m
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.pareto import hypervolume
from calibo.problems import BoxProblem, problem


@dataclass(frozen=True)
class MultiObjectiveProblem(BoxProblem):
    """Several objectives on a box, with the hypervolume of the best Pareto front.

    Attributes:
        name: Of the problem.
        function: Vectorised objectives without noise, n x d -> n x m.
        box: Lower and upper bound of each of the d variables.
        directions: Which way is better, for each of the m objectives.
        reference: Reference point of the hypervolume, one value per objective, in original units.
        best_hypervolume: Hypervolume of the best Pareto front known; ``None`` if that is not known.
    """

    name: str
    function: Callable[[Array], Array]
    box: tuple[tuple[float, float], ...]
    directions: tuple[Literal["minimize", "maximize"], ...]
    reference: tuple[float, ...]
    best_hypervolume: float | None = None

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Outcomes without noise, n x m, at points in original units, n x d."""
        return self.function(self.points(X))

    @property
    def objectives(self) -> int:
        """Number of objectives, m."""
        return len(self.directions)

    @property
    def signs(self) -> Array:
        """1 for an objective that is maximised, -1 for one that is minimised, m: what makes larger better."""
        return np.array([1.0 if direction == "maximize" else -1.0 for direction in self.directions])

    def hypervolume(self, Y: npt.ArrayLike) -> float:
        """Return the volume that outcomes in original units, n x m, dominate above the reference."""
        return hypervolume(self.signs * np.asarray(Y, dtype=np.float64), self.signs * np.array(self.reference))

    def objective(self, params: Mapping[str, float]) -> tuple[float, ...]:
        """Outcomes without noise, m, of parameters given by name: ``{"x0": ..., "x1": ...}``."""
        return tuple(float(y) for y in self(self.point(params))[0])


def branin_currin() -> MultiObjectiveProblem:
    """Branin, scaled to the unit square, against Currin's exponential function.

    Reference point and best hypervolume (by an evolutionary search, so not proven) as in BoTorch.
    """
    return MultiObjectiveProblem(
        "branin_currin",
        _branin_currin,
        box=((0.0, 1.0), (0.0, 1.0)),
        directions=("minimize", "minimize"),
        reference=(18.0, 6.0),
        best_hypervolume=59.36011874867746,
    )


def penicillin() -> MultiObjectiveProblem:
    """Return a fed batch of penicillin: minus the yield, the carbon dioxide produced, and the hours taken.

    The model of Birol et al. (2002) as Liang and Lai (2021) posed it for optimization, in Euler steps of one hour. The
    variables: culture volume (l), biomass (g/l), temperature (K), glucose (g/l), rate (l/h) and concentration (g/l) of the
    feed, and pH. A batch ends when the vessel is full, glucose is used up, penicillin is no longer gained, or after 2500
    hours.

    Reference point and best hypervolume (by an evolutionary search, so not proven) as in BoTorch. Daulton et al. use
    (1.85, 86.93, 514.7), which lies closer to the outcomes: ``dataclasses.replace`` sets it.
    """
    return MultiObjectiveProblem(
        "penicillin",
        _penicillin,
        box=((60.0, 120.0), (0.05, 18.0), (293.0, 303.0), (0.05, 18.0), (0.01, 0.5), (500.0, 700.0), (5.0, 6.5)),
        directions=("minimize", "minimize", "minimize"),
        reference=(25.935, 57.612, 935.5),
        best_hypervolume=2183455.909507436,
    )


def _branin_currin(X: Array) -> Array:
    square = problem("branin")
    return np.stack([square(square.from_unit(X)), _currin(X)], axis=1)


def _currin(X: Array) -> Array:
    x, y = X.T
    # Where y = 0 the exponential is 0, its limit.
    decay = np.exp(-0.5 / np.maximum(y, np.finfo(np.float64).tiny))
    above = ((2300 * x + 1900) * x + 2092) * x + 60
    below = ((100 * x + 500) * x + 4) * x + 20
    return (1 - decay) * above / below


# Liang and Lai 2021, table 1. Growth: largest rate (1/h), half-saturation with glucose, inhibition by too low and high pH,
# and Arrhenius terms of growth and death (activation energies in cal/mol).
_GROWTH_RATE, _GROWTH_SATURATION = 0.092, 0.15
_ACID_LOW, _ACID_HIGH = 1e-10, 7e-5
_GROWTH_FACTOR, _GROWTH_ENERGY = 7e3, 5100.0
_DEATH_FACTOR, _DEATH_ENERGY = 1e33, 50000.0
_GAS_CONSTANT = 1.9872
# Production: largest rate, saturation and inhibition by glucose, decay of penicillin.
_PRODUCT_RATE, _PRODUCT_SATURATION, _PRODUCT_INHIBITION, _PRODUCT_DECAY = 0.005, 0.0002, 0.10, 0.04
# Glucose: yields of biomass and of penicillin, maintenance of the biomass.
_BIOMASS_YIELD, _PRODUCT_YIELD, _MAINTENANCE = 0.45, 0.90, 0.014
# Carbon dioxide: by growth, by biomass, and constant.
_GAS_BY_GROWTH, _GAS_BY_BIOMASS, _GAS_CONSTANTLY = 0.143, 4e-7, 1e-4
# Evaporation: its rate, and the temperatures of freezing and boiling.
_EVAPORATION, _FREEZING, _BOILING = 2.5e-4, 273.0, 373.0
_LARGEST_VOLUME, _LEAST_GAIN, _LONGEST = 180.0, 1e-11, 2500


def _penicillin(X: Array) -> Array:
    """Outcomes of batches, n x 7 -> n x 3; batches that have ended are left out of the further steps."""
    outcomes = np.empty((len(X), 3))
    running = np.arange(len(X))
    # Rows of the state: volume, biomass, glucose, penicillin, carbon dioxide.
    state = np.vstack([X.T[[0, 1, 3]], np.zeros((2, len(X)))])
    conditions = _conditions(X)
    for hour in range(1, _LONGEST + 1):
        if not len(running):
            break
        change = _change(state, conditions)
        state = state + change
        volume, _, glucose, product, gas = state
        ended = (volume > _LARGEST_VOLUME) | (glucose < 0.0) | (change[3] < _LEAST_GAIN) | (hour == _LONGEST)
        if ended.any():
            outcomes[running[ended]] = np.stack([-product, gas, np.full_like(gas, hour)], axis=1)[ended]
            kept = ~ended
            running, state, conditions = running[kept], state[:, kept], conditions[:, kept]
    return outcomes


def _conditions(X: Array) -> Array:
    """Return the constants of a batch, 4 x n: feed, glucose fed, share of volume that evaporates, growth at full supply."""
    _, _, temperature, _, feed, concentration, acidity = X.T
    evaporated = _EVAPORATION * np.expm1(5.0 * (temperature - _BOILING) / (_FREEZING - _BOILING))
    protons = 10.0**-acidity
    thermal = _GAS_CONSTANT * temperature
    warmth = _GROWTH_FACTOR * np.exp(-_GROWTH_ENERGY / thermal) - _DEATH_FACTOR * np.exp(-_DEATH_ENERGY / thermal)
    growth = _GROWTH_RATE * warmth / (1.0 + _ACID_LOW / protons + protons / _ACID_HIGH)
    return np.stack([feed, feed * concentration, evaporated, growth])


def _change(state: Array, conditions: Array) -> Array:
    """Change of the state in one hour, 5 x n."""
    volume, biomass, glucose, product, _ = state
    feed, fed, evaporated, growth = conditions
    gained = feed - evaporated * volume
    # What is dissolved is diluted as the volume grows.
    dilution = gained / volume
    growing = growth * glucose / (_GROWTH_SATURATION * biomass + glucose)
    producing = _PRODUCT_RATE * glucose / (_PRODUCT_SATURATION + glucose + glucose**2 / _PRODUCT_INHIBITION)
    grown = (growing - dilution) * biomass
    eaten = (growing / _BIOMASS_YIELD + producing / _PRODUCT_YIELD + _MAINTENANCE) * biomass
    return np.stack(
        [
            gained,
            grown,
            fed / volume - eaten - dilution * glucose,
            producing * biomass - (_PRODUCT_DECAY + dilution) * product,
            _GAS_BY_GROWTH * grown + _GAS_BY_BIOMASS * biomass + _GAS_CONSTANTLY,
        ]
    )
