"""Where the antennas and users of the radio problem are, and how much is lost on the way from one to the other.

The layout is that of Kim et al. (2025), section V-D, as their published code lays it out: three sites of three antennas
(base stations), each antenna facing 120 degrees of the horizon, 36 users on the ground and 28 aircraft (UAVs) in four
corridors around.

Notation:
    b  antennas (9)     g  users on the ground (36)     a  aircraft (28)     k = g + a  all users, those on the ground first
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError

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
    """The layout of the LOCBO paper's published code.

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
