"""The radio problem of Kim et al. (2025), section V-D: powers and tilts of nine antennas that serve ground and air.

A point has 18 coordinates in [0, 1]: nine powers, from 6 to 46 dBm, then nine tilts, from -90 to 90 degrees. A measurement
is the capacity (43) averaged over a few draws of the fading channels, eq. (44): the fewer, the noisier, and the noise is
neither Gaussian nor the same everywhere. Maximised.

Where the paper and its published code differ:
    - Weights. The paper averages the rates of either kind of user; the code divides the sum of the 28 aircraft's rates by
      200. ``weighting`` is "mean" (the paper's, the default) or "published".
    - Eq. (43) prints the weight 0.7 beside the aircraft. Its name, and the code, give it to the users on the ground: so
      do we, under either weighting.
    - The paper fades all channels; the code only those to the ground: so do we.
    - The paper lets the sector decide which antenna serves a user; in the code it is the one received best, before fading:
      so do we.

The layout is the one of the published code: three sites of three antennas (base stations), each antenna facing 120 degrees
of the horizon, 36 users on the ground and 28 aircraft (UAVs) in four corridors around.

Notation:
    m  points     c  channel draws     b  antennas (9)
    g  users on the ground (36)     a  aircraft (28)     k = g + a  all users, those on the ground first
    X  points, m x 2b, of the unit cube (the original units here)
    F  power gains of fading, |h|^2, ... x c x g x b, the same for all points or with a leading axis m
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError, RecipeError
from calibo.problems import Problem

Position = tuple[float, float]

#: The published code writes 171 where an equilateral triangle of 200 m sides would have 173.2.
_SITES: tuple[Position, ...] = ((0.0, 0.0), (0.0, 200.0), (171.0, 100.0))
_BORESIGHTS = (90.0, 210.0, 330.0)
#: First angle and width, in degrees, of the wedge in which each antenna's users are drawn. Three wedges of 120 degrees
#: would be centred on the boresights; the second and third are not in the published code, and all its results rest on it.
_WEDGES = ((30.0, 120.0), (150.0, 150.0), (300.0, 90.0))
_RING = (10.0, 120.0)
_USERS_PER_ANTENNA = 4
_CORRIDORS: tuple[tuple[Position, Position], ...] = (
    ((-110.0, -100.0), (-100.0, 300.0)),
    ((-100.0, 300.0), (270.0, 310.0)),
    ((270.0, -100.0), (280.0, 300.0)),
    ((-100.0, -110.0), (270.0, -100.0)),
)
_AIRCRAFT_PER_CORRIDOR = 7


@dataclass(frozen=True)
class Layout:
    """Places of antennas and users, in metres.

    Attributes:
        antennas: Place of each of the b antennas.
        boresights: Direction each antenna faces, in degrees from the first axis towards the second, b.
        ground: Place of each of the g users on the ground.
        aircraft: Place of each of the a aircraft.
        antenna_height: Height of all antennas.
        ground_height: Height of all users on the ground.
        aircraft_height: Height of all aircraft.
    """

    antennas: tuple[Position, ...]
    boresights: tuple[float, ...]
    ground: tuple[Position, ...]
    aircraft: tuple[Position, ...]
    antenna_height: float = 25.0
    ground_height: float = 1.5
    aircraft_height: float = 150.0

    def __post_init__(self) -> None:
        if not self.antennas or len(self.boresights) != len(self.antennas):
            raise RecipeError(
                f"a layout needs an antenna, and one boresight for each: got {len(self.antennas)} antennas and "
                f"{len(self.boresights)} boresights"
            )
        if not self.ground or not self.aircraft:
            raise RecipeError(
                "a layout needs a user on the ground and one in the air, for the objective weighs the two kinds: got "
                f"{len(self.ground)} and {len(self.aircraft)}"
            )


@dataclass(frozen=True, eq=False)
class Links:
    """What no setting of the antennas changes on the way from each antenna to each user.

    Attributes:
        path_loss: Loss in dB, k x b.
        elevation: Angle in degrees at which the antenna sees the user above the horizon, k x b.
        azimuth: Angle in degrees between the antenna's boresight and the user, from -180 to 180, k x b.
    """

    path_loss: Array
    elevation: Array
    azimuth: Array


@lru_cache(maxsize=1)
def published_layout() -> Layout:
    """Return the layout of the LOCBO paper's published code.

    User j of antenna i stands where NumPy's legacy generator of seed 9 i + j puts it: its first uniform draw is the angle
    within the antenna's wedge, its second the square of the distance, between 10 and 120 m.
    """
    antennas, ground = [], []
    for i in range(len(_SITES) * len(_BORESIGHTS)):
        site, sector = _SITES[i // 3], i % 3
        antennas.append(_displaced(site, 1.0, _BORESIGHTS[sector]))
        start, width = _WEDGES[sector]
        for j in range(_USERS_PER_ANTENNA):
            angle, square = np.random.RandomState(9 * i + j).uniform(size=2)
            distance = np.sqrt(_RING[0] ** 2 + (_RING[1] ** 2 - _RING[0] ** 2) * square)
            ground.append(_displaced(antennas[-1], distance, start + width * angle))
    aircraft = [
        (float(x), float(y))
        for start, end in _CORRIDORS
        for x, y in np.linspace(start, end, _AIRCRAFT_PER_CORRIDOR).tolist()
    ]
    return Layout(tuple(antennas), _BORESIGHTS * len(_SITES), tuple(ground), tuple(aircraft))


@lru_cache(maxsize=16)
def links(layout: Layout) -> Links:
    """Path loss and angles of every link of a layout.

    The losses are 3GPP's for 2 GHz, without shadow fading: 13.54 + 39.08 log10(d) + 20 log10(2) to the ground and
    28 + 22 log10(d) + 20 log10(2) to the air, d being the distance in space in metres.
    """
    users = np.array(layout.ground + layout.aircraft)
    heights = np.repeat([layout.ground_height, layout.aircraft_height], [len(layout.ground), len(layout.aircraft)])
    away = users[:, None, :] - np.array(layout.antennas)
    flat, rise = np.hypot(away[..., 0], away[..., 1]), heights[:, None] - layout.antenna_height
    log_distance = np.log10(np.hypot(flat, rise))
    on_ground = np.arange(len(users))[:, None] < len(layout.ground)
    path_loss = np.where(on_ground, 13.54 + 39.08 * log_distance, 28.0 + 22.0 * log_distance) + 20 * np.log10(2.0)
    bearing = np.degrees(np.arctan2(away[..., 1], away[..., 0])) - np.array(layout.boresights)
    found = Links(path_loss, np.degrees(np.arctan2(rise, flat)), (bearing + 180.0) % 360.0 - 180.0)
    for shared in (found.path_loss, found.elevation, found.azimuth):
        shared.setflags(write=False)
    return found


def _displaced(place: Position, distance: float, degrees: float) -> Position:
    angle = np.radians(degrees)
    return float(place[0] + distance * np.cos(angle)), float(place[1] + distance * np.sin(angle))


Weighting = Literal["mean", "published"]

_TRUTH_DRAWS = 100
#: Points evaluated in one go on many draws: keeps the arrays (points x draws x ground users) near 4 MB.
_BLOCK = 128


@dataclass(frozen=True)
class RadioNetwork:
    """A layout and how its users' rates are weighed.

    Attributes:
        layout: Where everything is.
        weighting: "mean", or "published" for the code's sum over the aircraft divided by 200.
        ground_weight: Weight of the users on the ground, the paper's lambda_GU.
        noise: Thermal noise in mW.
    """

    layout: Layout = field(default_factory=published_layout)
    weighting: Weighting = "mean"
    ground_weight: float = 0.7
    noise: float = 1e-10

    def __post_init__(self) -> None:
        if self.weighting not in ("mean", "published"):
            raise RecipeError(f"weighting must be 'mean' or 'published', got {self.weighting!r}")
        if not 0 <= self.ground_weight <= 1:
            raise RecipeError(f"ground_weight must be between 0 and 1, got {self.ground_weight}")
        if not (np.isfinite(self.noise) and self.noise > 0):
            raise RecipeError(f"the thermal noise must be a positive number of mW, got {self.noise}")

    def received(self, X: npt.ArrayLike) -> Array:
        """Power received by every user from every antenna before fading, m x k x b, in dBm.

        Power + antenna gain - path loss; the gain is 8 - 12 ((tilt - elevation) / 10)^2 - 12 (azimuth / 65)^2 dBi, not
        below -30.
        """
        points = np.asarray(X, dtype=np.float64)
        b = len(self.layout.antennas)
        if points.ndim != 2 or points.shape[1] != 2 * b:
            raise DataError(f"a network of {b} antennas takes points of shape m x {2 * b}, got shape {points.shape}")
        power, tilt = 6.0 + 40.0 * points[:, None, :b], -90.0 + 180.0 * points[:, None, b:]
        way = links(self.layout)
        gain = 8.0 - 12.0 * ((tilt - way.elevation) / 10.0) ** 2 - 12.0 * (way.azimuth / 65.0) ** 2
        return power + np.maximum(gain, -30.0) - way.path_loss

    def serving(self, X: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the number of the antenna that serves each user, m x k: the one received best before fading."""
        return np.argmax(self.received(X), axis=2)

    def rates(self, X: npt.ArrayLike, F: Array | None = None) -> tuple[Array, Array]:
        """Rates (42) in bit/s/Hz of the users on the ground, m x c x g, and in the air, m x a, whose links do not fade.

        Args:
            X: Points, m x 2b.
            F: Fading, c x g x b or m x c x g x b; none by default (c = 1).
        """
        received = self.received(X)
        serving = np.argmax(received, axis=2)[..., None]
        milliwatt = 10.0 ** (received / 10.0)
        signal = np.take_along_axis(milliwatt, serving, axis=2)[..., 0]
        # Set to zero rather than subtracted from the sum: next to a strong signal a difference would lose digits.
        np.put_along_axis(milliwatt, serving, 0.0, axis=2)
        g = len(self.layout.ground)
        air = np.log2(1.0 + signal[:, g:] / (milliwatt[:, g:].sum(axis=2) + self.noise))
        gains = np.ones((1, g, len(self.layout.antennas))) if F is None else np.asarray(F, dtype=np.float64)
        ground, disturbance = _faded(signal[:, :g], milliwatt[:, :g], serving[:, :g, 0], gains)
        return np.log2(1.0 + ground / (disturbance + self.noise)), air

    def capacity(self, X: npt.ArrayLike, F: Array | None = None) -> Array:
        """Weighted capacity of each point and channel draw, m x c: what (43) averages over the channels.

        Args:
            X: Points, m x 2b.
            F: Fading, c x g x b or m x c x g x b; none by default (c = 1).
        """
        ground, air = self.rates(X, F)
        in_the_air = air.mean(axis=1) if self.weighting == "mean" else air.sum(axis=1) / 200.0
        return self.ground_weight * ground.mean(axis=2) + (1.0 - self.ground_weight) * in_the_air[:, None]

    def measure(self, X: npt.ArrayLike, rng: np.random.Generator, n_channels: int = 1) -> Array:
        """Measurements (44), m: capacities averaged over ``n_channels`` channels drawn afresh for each point."""
        _check_channels(n_channels)
        points = np.asarray(X, dtype=np.float64)
        shape = (len(points), n_channels, len(self.layout.ground), len(self.layout.antennas))
        # The squared modulus of a complex Gaussian of unit power has the standard exponential distribution.
        return self.capacity(points, rng.standard_exponential(shape)).mean(axis=1)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Return the true objective (43), m, as the published code has it: the average over its first 100 channel draws."""
        return self.over_published_draws(X).mean(axis=1)

    def over_published_draws(self, X: npt.ArrayLike) -> Array:
        """Capacity under each of the published code's first 100 channel draws, m x 100."""
        points = np.asarray(X, dtype=np.float64)
        F = published_fading(range(_TRUTH_DRAWS), self.layout)
        blocks = [self.capacity(points[i : i + _BLOCK], F) for i in range(0, max(len(points), 1), _BLOCK)]
        return np.concatenate(blocks)


def published_fading(draws: range, layout: Layout | None = None) -> Array:
    """Fading gains of the published code's channel draws, c x g x b, by their numbers.

    Draw number i comes from NumPy's legacy generator with seed 10 i: real parts, then imaginary parts, antennas x users;
    those of the aircraft are drawn as well, and not used.

    Args:
        draws: Numbers of the draws, c of them.
        layout: The layout, the published one by default.
    """
    return _published_fading(draws, layout or published_layout())


@lru_cache(maxsize=8)
def _published_fading(draws: range, layout: Layout) -> Array:
    b, g, k = len(layout.antennas), len(layout.ground), len(layout.ground) + len(layout.aircraft)
    parts = np.array([np.random.RandomState(10 * i).standard_normal((2, b, k)) for i in draws]).reshape(-1, 2, b, k)
    F = np.ascontiguousarray(np.sum(parts**2, axis=1)[..., :g].swapaxes(1, 2)) / 2.0
    F.setflags(write=False)  # shared by all who ask
    return F


def _faded(signal: Array, others: Array, serving: npt.NDArray[np.intp], F: Array) -> tuple[Array, Array]:
    """Signal and interference after fading, m x c x g each.

    Args:
        signal: Power from the serving antenna, m x g.
        others: Powers from the other antennas, m x g x b, zero for the serving one.
        serving: Number of the serving antenna, m x g.
        F: Fading, c x g x b or m x c x g x b.
    """
    m, g, b = others.shape
    if F.shape[-2:] != (g, b) or F.ndim not in (3, 4) or (F.ndim == 4 and len(F) != m):
        raise DataError(f"fading of {m} points must have the shape c x {g} x {b} or {m} x c x {g} x {b}, got {F.shape}")
    if F.ndim == 4:
        gain = np.take_along_axis(F, serving[:, None, :, None], axis=3)[..., 0]
        return signal[:, None, :] * gain, np.einsum("mgb,mcgb->mcg", others, F)
    gain = F[:, np.arange(g), serving].swapaxes(0, 1)
    # One product of matrices for each user, (m x b) (b x c): much faster than the sum written out.
    disturbance = np.matmul(others.swapaxes(0, 1), np.moveaxis(F, 0, 2)).transpose(1, 2, 0)
    return signal[:, None, :] * gain, disturbance


@dataclass(frozen=True)
class FadingNoise:
    """Standard deviation, m x 2b -> m, of a measurement of a network, estimated from the 100 draws of the truth.

    Attributes:
        network: What is measured.
        n_channels: Channel draws averaged in one measurement.
    """

    network: RadioNetwork
    n_channels: int

    def __call__(self, X: npt.ArrayLike) -> Array:
        return self.network.over_published_draws(X).std(axis=1, ddof=1) / np.sqrt(self.n_channels)


@dataclass(frozen=True)
class RadioProblem:
    """The radio problem as it is measured: through a few draws of the channels.

    Attributes:
        problem: The truth, averaged over 100 draws: regret is counted on it.
        network: What is measured.
        n_channels: Channel draws averaged in one measurement, n_ch in (44).
    """

    problem: Problem
    network: RadioNetwork
    n_channels: int = 1

    def __call__(self, X: npt.ArrayLike, rng: np.random.Generator) -> Array:
        """Measurements, m, at points m x 18; the channels are drawn from ``rng``, afresh for each point."""
        return self.network.measure(X, rng, self.n_channels)

    def noise_std(self, X: npt.ArrayLike) -> Array:
        """Return the standard deviation of a measurement, m, at points m x 18, estimated from the 100 draws of the truth."""
        return FadingNoise(self.network, self.n_channels)(X)

    def objective(self, params: Mapping[str, float], rng: np.random.Generator) -> float:
        """One measurement of parameters given by name: x0 to x8 are the powers, x9 to x17 the tilts."""
        return float(self(self.problem.point(params), rng)[0])


#: Best truth found under each weighting, and where, which is the same: the first antenna alone serves nearly everybody, at
#: full power, while the others are silenced, at least power and with a tilt that reaches nobody (any such tilt will do).
_BEST: dict[Weighting, float] = {"mean": 10.583677758640722, "published": 8.342524514667543}
_BEST_POINT = (1.0, *(0.0,) * 8, 0.451740814, *(0.0,) * 8)


def radio(n_channels: int = 1, weighting: Weighting = "mean") -> RadioProblem:
    """Return the radio problem on the published layout, ``radio()(X, rng)``.

    Its ``problem`` is the truth, named "radio" or "radio_published". The optimum given there is the best that a long search
    found (CMA-ES from many starts, a third of which ended there, then small random moves), not a proven one.
    ``with_noise(radio().problem)`` is the same truth with Gaussian noise of the same size.

    Args:
        n_channels: Channel draws averaged in one measurement; the paper uses 1 to 4.
        weighting: "mean" as in the paper or "published" as in its code, see above.
    """
    _check_channels(n_channels)
    network = RadioNetwork(weighting=weighting)
    truth = Problem(
        "radio" if weighting == "mean" else "radio_published",
        network,
        ((0.0, 1.0),) * len(_BEST_POINT),
        _BEST[weighting],
        direction="maximize",
        noise_std=FadingNoise(network, n_channels),
        optimizers=(_BEST_POINT,),
    )
    return RadioProblem(truth, network, n_channels)


def _check_channels(n_channels: int) -> None:
    if n_channels < 1:
        raise RecipeError(f"n_channels must be at least 1, got {n_channels}")
