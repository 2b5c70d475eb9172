"""Test functions with a known optimum, in their original units.

All are minimised and noise-free; ``with_noise`` adds noise to their measurements. Formulas and domains
are those of Surjanovic and Bingham's virtual library unless a function says otherwise.

Notation:
    X  points, n x d, in original units     U  the same on the unit cube, n x d
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.problems.box import Box, BoxProblem

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


def problem(name: str) -> Problem:
    """Return the problem of a name such as "branin", "hartmann6", "levy20", "ackley2" or "alpine1_10".

        >>> from calibo.problems import problem
        >>> problem("branin").objective({"x0": 0.0, "x1": 0.0})
        55.602112642270264

    Case, underscores and hyphens do not matter, except that a family whose own name ends in a digit takes its dimension
    after an underscore.
    """
    plain = re.sub(r"[\s-]", "_", name.strip().lower())
    for stem, build in _FIXED.items():
        if plain.replace("_", "") == stem.replace("_", ""):
            return build()
    for stem, family in _FAMILIES.items():
        separator = "_" if stem[-1].isdigit() else "_?"
        found = re.fullmatch(f"{stem}{separator}([0-9]+)", plain)
        if found:
            return family(int(found[1]))
    known = [*_FIXED, *(_family_name(stem, 5) for stem in _FAMILIES)]
    raise RecipeError(
        f"unknown problem {name!r}: choose one of {', '.join(known)} (where a name ends in 5, any dimension will do)"
    )


def forrester() -> Problem:
    """Forrester's function of one variable on [0, 1], with a local minimum beside the global one."""
    return Problem("forrester", _forrester, ((0.0, 1.0),), -6.020740055767083, optimizers=((0.757248757841856,),))


def branin() -> Problem:
    """Branin on [-5, 10] x [0, 15], with three equal minima."""
    minima = ((-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475))
    return Problem("branin", _branin, ((-5.0, 10.0), (0.0, 15.0)), 10 / (8 * np.pi), optimizers=minima)


def six_hump_camel() -> Problem:
    """Six-hump camel on [-3, 3] x [-2, 2], with two equal minima."""
    a, b = 0.08984201368301331, -0.7126564032704135
    box = ((-3.0, 3.0), (-2.0, 2.0))
    return Problem("six_hump_camel", _six_hump_camel, box, -1.031628453489877, optimizers=((a, b), (-a, -b)))


def beale() -> Problem:
    """Beale on [-4.5, 4.5]^2, flat with sharp corners."""
    return Problem("beale", _beale, _cube(2, 4.5), 0.0, optimizers=((3.0, 0.5),))


def mccormick() -> Problem:
    """McCormick on [-1.5, 4] x [-3, 4]."""
    argmin = (0.5 - np.pi / 3, -0.5 - np.pi / 3)
    box = ((-1.5, 4.0), (-3.0, 4.0))
    return Problem("mccormick", _mccormick, box, -np.pi / 3 - np.sqrt(3) / 2, optimizers=(argmin,))


def cosines() -> Problem:
    """Cosines on [0, 1]^2, in GPyOpt's form, with its true minimum -1.6."""
    return Problem("cosines", _cosines, ((0.0, 1.0), (0.0, 1.0)), -1.6, optimizers=((0.3125, 0.3125),))


def cross_in_tray() -> Problem:
    """Cross-in-tray on [-10, 10]^2, with sharp edges and four equal minima."""
    a = 1.349406608602084
    minima = ((a, a), (a, -a), (-a, a), (-a, -a))
    return Problem("cross_in_tray", _cross_in_tray, _cube(2, 10.0), -2.062611870822739, optimizers=minima)


def drop_wave() -> Problem:
    """Drop-wave on [-5.12, 5.12]^2: rings around the minimum."""
    return Problem("drop_wave", _drop_wave, _cube(2, 5.12), -1.0, optimizers=((0.0, 0.0),))


def hartmann3() -> Problem:
    """Hartmann's function of three variables on the unit cube."""
    argmin = (0.114588880, 0.555648893, 0.852546985)
    return Problem("hartmann3", _hartmann3, _unit_cube(3), -3.862779787332660, optimizers=(argmin,))


def hartmann6() -> Problem:
    """Hartmann's function of six variables on the unit cube."""
    argmin = (0.201689511, 0.150010692, 0.476873974, 0.275332430, 0.311651617, 0.657300534)
    return Problem("hartmann6", _hartmann6, _unit_cube(6), -3.322368011415515, optimizers=(argmin,))


def levy(dimension: int) -> Problem:
    """Levy on [-10, 10]^d."""
    return _family("levy", _levy, dimension, 10.0, at=1.0)


def ackley(dimension: int, bound: float = 32.768) -> Problem:
    """Ackley on [-bound, bound]^d: a hole in a bumpy plateau. The LOCBO paper uses a bound of 10."""
    return _family("ackley", _ackley, dimension, bound, at=0.0)


def rastrigin(dimension: int) -> Problem:
    """Rastrigin on [-5.12, 5.12]^d: a bowl full of local minima."""
    return _family("rastrigin", _rastrigin, dimension, 5.12, at=0.0)


def alpine1(dimension: int) -> Problem:
    """Alpine N. 1 on [-10, 10]^d; its minimum 0 is also attained at other points than the origin."""
    return _family("alpine1", _alpine1, dimension, 10.0, at=0.0)


def powers(dimension: int = 2) -> Problem:
    """Sum of different powers on [-1, 1]^d: |x_1|^2 + |x_2|^3 + ..."""
    return _family("powers", _powers, dimension, 1.0, at=0.0)


def rosenbrock(dimension: int) -> Problem:
    """Rosenbrock on [-5, 10]^d, d at least 2: a curved valley."""
    _check_dimension("rosenbrock", dimension, least=2)
    box = ((-5.0, 10.0),) * dimension
    return Problem(_family_name("rosenbrock", dimension), _rosenbrock, box, 0.0, optimizers=((1.0,) * dimension,))


_FIXED: dict[str, Callable[[], Problem]] = {
    "forrester": forrester,
    "branin": branin,
    "six_hump_camel": six_hump_camel,
    "beale": beale,
    "mccormick": mccormick,
    "cosines": cosines,
    "cross_in_tray": cross_in_tray,
    "drop_wave": drop_wave,
    "hartmann3": hartmann3,
    "hartmann6": hartmann6,
}

_FAMILIES: dict[str, Callable[[int], Problem]] = {
    "levy": levy,
    "ackley": ackley,
    "rastrigin": rastrigin,
    "alpine1": alpine1,
    "powers": powers,
    "rosenbrock": rosenbrock,
}


def _family(stem: str, function: Callable[[Array], Array], dimension: int, bound: float, *, at: float) -> Problem:
    """Return a problem of any dimension on [-bound, bound]^d with its minimum 0 where all variables are ``at``."""
    _check_dimension(stem, dimension)
    box = _cube(dimension, bound)
    return Problem(_family_name(stem, dimension), function, box, 0.0, optimizers=((at,) * dimension,))


def _family_name(stem: str, dimension: int) -> str:
    return f"{stem}_{dimension}" if stem[-1].isdigit() else f"{stem}{dimension}"


def _check_dimension(stem: str, dimension: int, least: int = 1) -> None:
    if dimension < least:
        raise RecipeError(f"{stem} needs a dimension of at least {least}, got {dimension}")


def _cube(dimension: int, bound: float) -> tuple[tuple[float, float], ...]:
    return ((-bound, bound),) * dimension


def _unit_cube(dimension: int) -> tuple[tuple[float, float], ...]:
    return ((0.0, 1.0),) * dimension


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
