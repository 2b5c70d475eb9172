"""Test functions with a known optimum, in their original units.

All are minimised and noise-free; ``with_noise`` adds noise to their measurements. Formulas and domains
are those of Surjanovic and Bingham's virtual library unless a function says otherwise.

Notation:
    X  points, n x d, in original units     U  the same on the unit cube, n x d
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_whole
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.problems.box import Box, BoxProblem

#: Largest dimension of a member of a family.
_MOST_DIMENSIONS = 100_000

Point = tuple[float, ...]
#: Standard deviation of the noise: one number, or a function of points in original units, n x d -> n.
NoiseStd = float | Callable[[Array], Array]


@dataclass(frozen=True)
class Problem(BoxProblem):
    """An objective on a box, with its known optimum.

    Attributes:
        name: Name under which ``problem`` finds it.
        function: Vectorised objective without noise, n x d -> n.
        box: Lower and upper bound of each of the d variables.
        optimum: Best value on the box.
        direction: Whether small or large values are better.
        noise_std: Default standard deviation of the noise that ``with_noise`` adds, a number or a function.
        optimizers: Points, d each, at which the optimum is attained.
        norm: Norm of the function in the space of a kernel, if it was made with one.
    """

    name: str
    function: Callable[[Array], Array]
    box: Box
    optimum: float
    direction: Literal["minimize", "maximize"] = "minimize"
    noise_std: NoiseStd = 0.0
    optimizers: tuple[Point, ...] = ()
    norm: float | None = None

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Evaluate the objective without noise at points in original units, n x d; returns n values."""
        return self.function(self.points(X))

    def objective(self, params: Mapping[str, float]) -> float:
        """Evaluate the objective without noise at parameters given by name: ``{"x0": ..., "x1": ...}``."""
        return float(self(self.point(params))[0])


@checked
def problem(name: str) -> Problem:
    """Return the problem of a name such as "branin", "hartmann6", "levy20", "ackley2" or "alpine1_10".

        >>> from calibo.problems import problem
        >>> problem("branin").objective({"x0": 0.0, "x1": 0.0})
        55.602112642270264

    Fixed problems are forrester, branin, six_hump_camel, beale, mccormick, cosines, cross_in_tray, drop_wave, hartmann3 and
    hartmann6; families, whose names end in the dimension, are levy, ackley, rastrigin, alpine1, powers and rosenbrock.
    Case, underscores and hyphens do not matter, except that a family whose own name ends in a digit takes its dimension
    after an underscore.

    Raises:
        RecipeError: If the name is unknown, or the family has no such dimension.
    """
    plain = re.sub(r"[\s-]", "_", name.strip().lower())
    for fixed in _FIXED:
        if plain.replace("_", "") == fixed.name.replace("_", ""):
            return fixed
    for stem in _FAMILIES:
        separator = "_" if stem[-1].isdigit() else "_?"
        found = re.fullmatch(f"{stem}{separator}([0-9]+)", plain)
        if found:
            return _member(stem, int(found[1]))
    known = [*(fixed.name for fixed in _FIXED), *(_member(stem, 5).name for stem in _FAMILIES)]
    raise RecipeError(
        f"unknown problem {name!r}: choose one of {', '.join(known)} (where a name ends in 5, any dimension will do)"
    )


@checked
def ackley(dimension: int, bound: float = 32.768) -> Problem:
    """Return Ackley's function on [-bound, bound]^d: a hole in a bumpy plateau. The LOCBO paper uses a bound of 10."""
    return replace(_member("ackley", dimension), box=((-bound, bound),) * dimension)


def _member(stem: str, dimension: int) -> Problem:
    """Return a member of a family."""
    function, interval, at, least = _FAMILIES[stem]
    check_whole(f"the dimension of {stem}", dimension, least, most=_MOST_DIMENSIONS)
    name = f"{stem}_{dimension}" if stem[-1].isdigit() else f"{stem}{dimension}"
    return Problem(name, function, (interval,) * dimension, 0.0, optimizers=((at,) * dimension,))


def _forrester(X: Array) -> Array:
    x = X[:, 0]
    return (6 * x - 2) ** 2 * np.sin(12 * x - 4)


def _branin(X: Array) -> Array:
    x, y = X.T
    valley = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def _six_hump_camel(X: Array) -> Array:
    x, y = X.T
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2


def _beale(X: Array) -> Array:
    x, y = X.T
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def _mccormick(X: Array) -> Array:
    x, y = X.T
    return np.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1


def _cosines(X: Array) -> Array:
    V = 1.6 * X - 0.5
    return np.sum(V**2 - 0.3 * np.cos(3 * np.pi * V), axis=1) - 1


def _cross_in_tray(X: Array) -> Array:
    ridge = np.exp(np.abs(100 - np.linalg.norm(X, axis=1) / np.pi))
    return -0.0001 * (np.abs(np.prod(np.sin(X), axis=1) * ridge) + 1) ** 0.1


def _drop_wave(X: Array) -> Array:
    square = np.sum(X**2, axis=1)
    return -(1 + np.cos(12 * np.sqrt(square))) / (0.5 * square + 2)


_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_SCALES = np.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
_HARTMANN3_CENTRES = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
_HARTMANN6_SCALES = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN6_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def _hartmann3(X: Array) -> Array:
    return _hartmann(X, _HARTMANN3_SCALES, _HARTMANN3_CENTRES)


def _hartmann6(X: Array) -> Array:
    return _hartmann(X, _HARTMANN6_SCALES, _HARTMANN6_CENTRES)


def _hartmann(X: Array, scales: Array, centres: Array) -> Array:
    distance = np.sum(scales * (X[:, None, :] - centres) ** 2, axis=2)
    return -np.exp(-distance) @ _HARTMANN_WEIGHTS


def _levy(X: Array) -> Array:
    W = 1 + (X - 1) / 4
    inner = (W[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * W[:, :-1] + 1) ** 2)
    last = (W[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * W[:, -1]) ** 2)
    return np.sin(np.pi * W[:, 0]) ** 2 + inner.sum(axis=1) + last


def _ackley(X: Array) -> Array:
    distance = np.sqrt(np.mean(X**2, axis=1))
    return -20 * np.exp(-0.2 * distance) - np.exp(np.mean(np.cos(2 * np.pi * X), axis=1)) + 20 + np.e


def _rastrigin(X: Array) -> Array:
    return np.sum(X**2 - 10 * np.cos(2 * np.pi * X) + 10, axis=1)


def _alpine1(X: Array) -> Array:
    return np.sum(np.abs(X * np.sin(X) + 0.1 * X), axis=1)


def _powers(X: Array) -> Array:
    return np.sum(np.abs(X) ** np.arange(2, X.shape[1] + 2), axis=1)


def _rosenbrock(X: Array) -> Array:
    return np.sum(100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (X[:, :-1] - 1) ** 2, axis=1)


_CAMEL = (0.08984201368301331, -0.7126564032704135)
_TRAY = 1.349406608602084
_FIXED: tuple[Problem, ...] = (
    # A local minimum beside the global one.
    Problem("forrester", _forrester, ((0.0, 1.0),), -6.020740055767083, optimizers=((0.757248757841856,),)),
    Problem(
        "branin",
        _branin,
        ((-5.0, 10.0), (0.0, 15.0)),
        10 / (8 * np.pi),
        optimizers=((-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475)),
    ),
    Problem(
        "six_hump_camel",
        _six_hump_camel,
        ((-3.0, 3.0), (-2.0, 2.0)),
        -1.031628453489877,
        optimizers=(_CAMEL, (-_CAMEL[0], -_CAMEL[1])),
    ),
    # Flat with sharp corners.
    Problem("beale", _beale, ((-4.5, 4.5),) * 2, 0.0, optimizers=((3.0, 0.5),)),
    Problem(
        "mccormick",
        _mccormick,
        ((-1.5, 4.0), (-3.0, 4.0)),
        -np.pi / 3 - np.sqrt(3) / 2,
        optimizers=((0.5 - np.pi / 3, -0.5 - np.pi / 3),),
    ),
    # In GPyOpt's form, with its true minimum.
    Problem("cosines", _cosines, ((0.0, 1.0),) * 2, -1.6, optimizers=((0.3125, 0.3125),)),
    # Sharp edges and four equal minima.
    Problem(
        "cross_in_tray",
        _cross_in_tray,
        ((-10.0, 10.0),) * 2,
        -2.062611870822739,
        optimizers=((_TRAY, _TRAY), (_TRAY, -_TRAY), (-_TRAY, _TRAY), (-_TRAY, -_TRAY)),
    ),
    # Rings around the minimum.
    Problem("drop_wave", _drop_wave, ((-5.12, 5.12),) * 2, -1.0, optimizers=((0.0, 0.0),)),
    Problem(
        "hartmann3",
        _hartmann3,
        ((0.0, 1.0),) * 3,
        -3.862779787332660,
        optimizers=((0.114588880, 0.555648893, 0.852546985),),
    ),
    Problem(
        "hartmann6",
        _hartmann6,
        ((0.0, 1.0),) * 6,
        -3.322368011415515,
        optimizers=((0.201689511, 0.150010692, 0.476873974, 0.275332430, 0.311651617, 0.657300534),),
    ),
)
#: Problems of any dimension with minimum 0: function, interval of each variable, where the minimum is, least dimension.
_FAMILIES: dict[str, tuple[Callable[[Array], Array], tuple[float, float], float, int]] = {
    "levy": (_levy, (-10.0, 10.0), 1.0, 1),
    "ackley": (_ackley, (-32.768, 32.768), 0.0, 1),
    "rastrigin": (_rastrigin, (-5.12, 5.12), 0.0, 1),
    # The minimum is also attained at other points than the origin.
    "alpine1": (_alpine1, (-10.0, 10.0), 0.0, 1),
    # |x_1|^2 + |x_2|^3 + ...
    "powers": (_powers, (-1.0, 1.0), 0.0, 1),
    # A curved valley.
    "rosenbrock": (_rosenbrock, (-5.0, 10.0), 1.0, 2),
}
