"""Problems on which coverage by place is measured: some to choose settings on, further ones for the same, others to report.

The further ones are rotated, shifted, ill-scaled, multimodal, stepped, noisy and mixed, of 1 to 10 dimensions, so that what
is chosen does not suit one half of well-known functions alone. Those called "valleys" are for the same purpose: multimodal
functions of one and two variables whose best point lies in a narrow valley, where a search leaves many copies of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import ortho_group

from calibo import Categorical, Float, Int
from calibo.data import Array
from calibo.problems import problem

Points = Sequence[Mapping[str, Any]]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Task:
    """An objective: its space, its values without noise at points, and the standard deviation of the noise."""

    space: Mapping[str, Any]
    values: Callable[[Points], Array]
    noise: float = 0.0


def standard(name: str, noise: float = 0.0) -> Task:
    """Return a problem of ``calibo.problems``."""
    known = problem(name)
    space = known.space()
    return Task(space, lambda points: known(np.array([[p[key] for key in space] for p in points])), noise)


def mixed_hartmann() -> Task:
    """Return Hartmann's function of three numbers, a whole number, a choice and a number on a logarithmic scale."""
    place, shift = {"u": 0.3, "v": 0.6, "w": 0.1}, {"u": 0.0, "v": 0.3, "w": -0.2}

    def values(points: Points) -> Array:
        rows = [[p["a"], p["b"], p["c"], p["k"] / 10, place[p["m"]], (np.log10(p["r"]) + 4) / 4] for p in points]
        return problem("hartmann6")(np.array(rows)) + np.array([shift[p["m"]] for p in points])

    unit = {name: Float(0, 1) for name in "abc"}
    return Task({**unit, "k": Int(0, 10), "m": Categorical(list("uvw")), "r": Float(1e-4, 1, log=True)}, values)


def mixed_valley() -> Task:
    """Return Branin's function or the square root of Rosenbrock's, by a choice, plus a whole number and a further number."""

    def value(p: Mapping[str, Any]) -> float:
        if p["kind"] == "branin":
            base = problem("branin")(np.array([[15 * p["x"] - 5, 15 * p["y"]]]))[0]
        else:
            base = 10 + np.sqrt(problem("rosenbrock2")(np.array([[4 * p["x"] - 2, 4 * p["y"] - 1]]))[0])
        return float(base + 1.5 * (p["n"] - 5) ** 2 + 8 * (p["t"] - 0.3) ** 2)

    unit = {name: Float(0, 1) for name in "xyt"}
    space = {**unit, "n": Int(1, 8), "kind": Categorical(["branin", "rosenbrock"])}
    return Task(space, lambda points: np.array([value(p) for p in points]))


def kernel_ridge() -> Task:
    """Return the cross-validated error of kernel ridge regression on scikit-learn's diabetes data: a real training."""
    from sklearn.datasets import load_diabetes
    from sklearn.kernel_ridge import KernelRidge

    X, y = load_diabetes(return_X_y=True)
    X, y = 20.0 * X[:150], (y[:150] - y[:150].mean()) / y[:150].std()
    fold = np.arange(len(y)) % 3

    def value(p: Mapping[str, Any]) -> float:
        model = KernelRidge(alpha=p["alpha"], gamma=p["gamma"], kernel=p["kernel"])
        kept = X[:, : p["columns"]] * (1.0, p["weight"])[1 if p["weighted"] == "yes" else 0]
        errors = [
            np.mean((model.fit(kept[fold != k], y[fold != k]).predict(kept[fold == k]) - y[fold == k]) ** 2)
            for k in range(3)
        ]
        return float(np.log(np.mean(errors)))

    space = {
        "alpha": Float(1e-4, 1e2, log=True),
        "gamma": Float(1e-4, 1.0, log=True),
        "weight": Float(0.1, 3.0),
        "weighted": Categorical(["yes", "no"]),
        "kernel": Categorical(["rbf", "laplacian"]),
        "columns": Int(2, 10),
    }
    return Task(space, lambda points: np.array([value(p) for p in points]))


def gramacy_lee() -> Task:
    """Return the one-dimensional function of Gramacy and Lee (2012)."""

    def values(points: Points) -> Array:
        x = np.array([p["x"] for p in points])
        return np.sin(10 * np.pi * x) / (2 * x) + (x - 1) ** 4

    return Task({"x": Float(0.5, 2.5)}, values)


def turned(
    d: int,
    function: Function,
    low: float,
    high: float,
    seed: int,
    *,
    rotate: bool = True,
    shift: bool = True,
    noise: float = 0.0,
) -> Task:
    """Return a function of d columns on a box, turned about the middle of the box and moved by up to a quarter of it."""
    rotation = ortho_group.rvs(d, random_state=seed) if rotate and d > 1 else np.eye(d)
    moved = np.random.default_rng(seed).uniform(-0.25, 0.25, d) * (high - low) if shift else np.zeros(d)
    middle, names = 0.5 * (low + high), [f"x{i}" for i in range(d)]

    def values(points: Points) -> Array:
        X = low + (high - low) * np.array([[p[name] for name in names] for p in points])
        return function(middle + (X - middle - moved) @ rotation)

    return Task({name: Float(0, 1) for name in names}, values, noise)


plain = partial(turned, rotate=False, shift=False)


def ackley(X: Array) -> Array:
    waves = np.exp(np.cos(2.0 * np.pi * X).mean(axis=1))
    return 20.0 + np.e - 20.0 * np.exp(-0.2 * np.sqrt(np.square(X).mean(axis=1))) - waves


def rosenbrock(X: Array) -> Array:
    return (100.0 * np.square(X[:, 1:] - np.square(X[:, :-1])) + np.square(1.0 - X[:, :-1])).sum(axis=1)


def rastrigin(X: Array) -> Array:
    return (np.square(X) - 10.0 * np.cos(2.0 * np.pi * X) + 10.0).sum(axis=1)


def griewank(X: Array) -> Array:
    waves = np.cos(X / np.sqrt(np.arange(1, X.shape[1] + 1))).prod(axis=1)
    return np.square(X).sum(axis=1) / 4000.0 - waves + 1.0


def schwefel(X: Array) -> Array:
    return (418.98 - X * np.sin(np.sqrt(np.abs(X)))).sum(axis=1)


def michalewicz(X: Array) -> Array:
    return -(np.sin(X) * np.sin(np.arange(1, X.shape[1] + 1) * np.square(X) / np.pi) ** 20).sum(axis=1)


def styblinski_tang(X: Array) -> Array:
    return 0.5 * (X**4 - 16.0 * np.square(X) + 5.0 * X).sum(axis=1)


def zakharov(X: Array) -> Array:
    weighted = (0.5 * np.arange(1, X.shape[1] + 1) * X).sum(axis=1)
    return np.square(X).sum(axis=1) + weighted**2 + weighted**4


def dixon_price(X: Array) -> Array:
    steps = np.arange(2, X.shape[1] + 1) * np.square(2.0 * np.square(X[:, 1:]) - X[:, :-1])
    return np.square(X[:, 0] - 1.0) + steps.sum(axis=1)


def ellipsoid(condition: float) -> Function:
    return lambda X: (condition ** np.linspace(0, 1, X.shape[1]) * np.square(X)).sum(axis=1)


def bumps(d: int, count: int, seed: int, width: float) -> Function:
    rng = np.random.default_rng(seed)
    centres, heights, widths = (
        rng.random((count, d)),
        rng.uniform(0.3, 1.0, count),
        width * rng.uniform(0.6, 1.4, count),
    )

    def values(X: Array) -> Array:
        away = np.square(X[:, None, :] - centres).sum(axis=-1)
        return -(heights * np.exp(-0.5 * away / np.square(widths))).max(axis=1)

    return values


def sharp_ridge(X: Array) -> Array:
    return np.sqrt(np.square(X[:, 0]) + 100.0 * np.square(X[:, 1:]).sum(axis=1))


def steps(X: Array) -> Array:
    scale = 10.0 ** np.linspace(0, 2, X.shape[1])
    return (np.square(np.floor(X + 0.5)) * scale).sum(axis=1) + 0.1 * np.abs(X).sum(axis=1)


def growing_waves(X: Array) -> Array:
    return np.sin(12.0 * X[:, 0]) * np.exp(1.5 * X[:, 0]) + X[:, 0]


def weierstrass(X: Array) -> Array:
    k = np.arange(8)
    return -(0.5**k * np.cos(2.0 * np.pi * 3.0**k * (X[..., None] + 0.5))).sum(axis=(1, 2))


def line(function: Function, low: float, high: float) -> Callable[[], Task]:
    """Return the maker of a function of one number in an interval."""
    return partial(plain, 1, lambda X: function(X[:, 0]), low, high, 0)


def square(function: Function, low: float, high: float) -> Callable[[], Task]:
    """Return the maker of a function of two numbers in the same interval."""
    return partial(plain, 2, function, low, high, 0)


def shekel(x: Array) -> Array:
    wells = ((0.15, 0.05, 4.0, 1.0), (0.38, 0.07, 6.0, 1.0), (0.62, 0.04, 10.0, 0.6), (0.86, 0.06, 5.0, 1.2))
    return -np.sum([depth / (narrow * np.square(x - at) + 0.05 * c) for at, depth, narrow, c in wells], axis=0)


def shubert(X: Array) -> Array:
    i = np.arange(1, 6)
    return (i * np.cos((i + 1) * X[..., None] + i)).sum(axis=-1).prod(axis=1)


def drop_wave(X: Array) -> Array:
    squared = np.square(X).sum(axis=1)
    return -(1.0 + np.cos(12.0 * np.sqrt(squared))) / (0.5 * squared + 2.0)


def holder_table(X: Array) -> Array:
    away = np.abs(1.0 - np.sqrt(np.square(X).sum(axis=1)) / np.pi)
    return -np.abs(np.sin(X[:, 0]) * np.cos(X[:, 1]) * np.exp(away))


def rippled_hill(X: Array) -> Array:
    return X[:, 0] * np.exp(-np.square(X).sum(axis=1)) + 0.2 * np.sin(5.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])


def crossing_valleys(X: Array) -> Array:
    x, y = X.T
    return np.sin(6.0 * x) / (x + 0.4) + np.square(y - x) + 0.3 * np.cos(9.0 * y)


def mixed_ackley() -> Task:
    """Return Ackley's function of two numbers, a whole number and a choice."""
    place = {"a": -3.0, "b": 0.0, "c": 5.0, "d": 9.0}
    space = {"u": Float(-10, 8), "v": Float(-6, 12), "k": Int(-6, 9), "m": Categorical(list("abcd"))}
    return Task(space, lambda points: ackley(np.array([[p["u"], p["v"], p["k"], place[p["m"]]] for p in points])))


def mixed_ellipsoid() -> Task:
    """Return squares of two numbers, a number on a logarithmic scale and a whole number, with a choice of two shapes."""
    shapes = {"p": (0.0, 1.0, 0.0), "q": (0.5, 4.0, 2.0)}

    def value(p: Mapping[str, Any]) -> float:
        middle, weight, offset = shapes[p["m"]]
        squares = 50.0 * (p["u"] - 0.3) ** 2 + 5.0 * weight * (np.log10(p["r"]) + 1.5 - middle) ** 2
        return float(squares + 0.7 * (p["k"] - 4) ** 2 + 3.0 * p["u"] * (p["w"] - 0.8) ** 2 + offset)

    numbers = {"u": Float(0, 1), "w": Float(0, 1), "r": Float(1e-3, 1, log=True), "k": Int(0, 7)}
    return Task({**numbers, "m": Categorical(["p", "q"])}, lambda points: np.array([value(p) for p in points]))


TASKS: dict[str, dict[str, Callable[[], Task]]] = {
    "chosen": {
        "forrester": partial(standard, "forrester"),
        "branin": partial(standard, "branin"),
        "six-hump camel": partial(standard, "six_hump_camel"),
        "beale": partial(standard, "beale"),
        "rosenbrock4": partial(standard, "rosenbrock4"),
        "rosenbrock6": partial(standard, "rosenbrock6"),
        "rastrigin4": partial(standard, "rastrigin4"),
        "levy5": partial(standard, "levy5"),
        "levy10": partial(standard, "levy10"),
        "hartmann6": partial(standard, "hartmann6"),
        "alpine5": partial(standard, "alpine1_5"),
        "ackley5": partial(standard, "ackley5"),
        "noisy ackley2": partial(standard, "ackley2", 0.5),
        "noisy hartmann3": partial(standard, "hartmann3", 0.2),
        "noisy levy3": partial(standard, "levy3", 2.0),
        "mixed hartmann": mixed_hartmann,
    },
    "reported": {
        "gramacy-lee": gramacy_lee,
        "mccormick": partial(standard, "mccormick"),
        "cosines": partial(standard, "cosines"),
        "cross-in-tray": partial(standard, "cross_in_tray"),
        "rosenbrock3": partial(standard, "rosenbrock3"),
        "ackley3": partial(standard, "ackley3"),
        "powers4": partial(standard, "powers4"),
        "rastrigin5": partial(standard, "rastrigin5"),
        "levy7": partial(standard, "levy7"),
        "alpine8": partial(standard, "alpine1_8"),
        "ackley10": partial(standard, "ackley10"),
        "noisy branin": partial(standard, "branin", 10.0),
        "noisy hartmann6": partial(standard, "hartmann6", 0.1),
        "mixed valley": mixed_valley,
        "kernel ridge": kernel_ridge,
    },
    "further": {
        "ackley2 turned": partial(turned, 2, ackley, -20.0, 20.0, 1),
        "ackley4 turned": partial(turned, 4, ackley, -32.768, 32.768, 2),
        "ackley3 small": partial(turned, 3, ackley, -4.0, 4.0, 21),
        "ackley7 turned": partial(turned, 7, ackley, -20.0, 20.0, 3),
        "rosenbrock2 small": partial(plain, 2, rosenbrock, -2.0, 2.0, 4),
        "rosenbrock4 turned": partial(turned, 4, rosenbrock, -2.048, 2.048, 5),
        "rosenbrock5": partial(plain, 5, rosenbrock, -5.0, 10.0, 6),
        "rosenbrock8 turned": partial(turned, 8, rosenbrock, -5.0, 10.0, 7),
        "rastrigin2 turned": partial(turned, 2, rastrigin, -5.12, 5.12, 8),
        "rastrigin3 turned": partial(turned, 3, rastrigin, -3.0, 3.0, 9),
        "rastrigin7 turned": partial(turned, 7, rastrigin, -5.12, 5.12, 10),
        "griewank3": partial(turned, 3, griewank, -30.0, 30.0, 11),
        "griewank6": partial(turned, 6, griewank, -200.0, 200.0, 12),
        "schwefel2": partial(plain, 2, schwefel, -500.0, 500.0, 13),
        "schwefel4": partial(plain, 4, schwefel, -500.0, 500.0, 14),
        "michalewicz3": partial(plain, 3, michalewicz, 0.0, np.pi, 15),
        "styblinski-tang3": partial(turned, 3, styblinski_tang, -5.0, 5.0, 16),
        "styblinski-tang8": partial(turned, 8, styblinski_tang, -5.0, 5.0, 17, rotate=False),
        "zakharov4": partial(turned, 4, zakharov, -5.0, 10.0, 18),
        "dixon-price5": partial(turned, 5, dixon_price, -10.0, 10.0, 19),
        "ellipsoid6": partial(turned, 6, ellipsoid(1e4), -5.0, 5.0, 20),
        "ellipsoid3": partial(turned, 3, ellipsoid(1e3), -5.0, 5.0, 22),
        "sphere10": partial(turned, 10, ellipsoid(1.0), -5.0, 5.0, 23),
        "log sphere4": partial(turned, 4, lambda X: np.log(0.01 + np.square(X).sum(axis=1)), -2.0, 2.0, 24),
        "roots3": partial(turned, 3, lambda X: np.sqrt(np.abs(X)).sum(axis=1), -2.0, 2.0, 25),
        "bumps2": partial(plain, 2, bumps(2, 8, 1, 0.12), 0.0, 1.0, 26),
        "bumps5": partial(plain, 5, bumps(5, 12, 2, 0.3), 0.0, 1.0, 27),
        "sharp ridge4": partial(turned, 4, sharp_ridge, -5.0, 5.0, 28),
        "steps3": partial(turned, 3, steps, -5.0, 5.0, 29),
        "growing waves": partial(plain, 1, growing_waves, 0.0, 2.0, 30),
        "weierstrass2": partial(turned, 2, weierstrass, -0.5, 0.5, 31),
        "noisy growing waves": partial(plain, 1, growing_waves, 0.0, 2.0, 30, noise=1.0),
        "noisy rastrigin3": partial(turned, 3, rastrigin, -3.0, 3.0, 32, noise=3.0),
        "noisy ellipsoid5": partial(turned, 5, ellipsoid(100.0), -5.0, 5.0, 33, noise=30.0),
        "noisy bumps6": partial(plain, 6, bumps(6, 12, 3, 0.4), 0.0, 1.0, 34, noise=0.05),
        "noisy rosenbrock2": partial(turned, 2, rosenbrock, -2.0, 2.0, 35, noise=30.0),
        "mixed ackley": mixed_ackley,
        "mixed ellipsoid": mixed_ellipsoid,
    },
    "valleys": {
        "sine over x": line(lambda x: np.sin(7.0 * x) / (x + 0.3) + 0.3 * x**2, 0.0, 4.0),
        "decaying waves": line(lambda x: -np.exp(-1.5 * x) * np.cos(8.0 * np.pi * x) + 0.2 * x, 0.0, 2.0),
        "chirp": line(lambda x: np.sin(3.0 * x**2) + 0.2 * (x - 2.0) ** 2, 0.0, 3.5),
        "waves on quartic": line(
            lambda x: 0.6 * (x - 1.2) ** 4 - np.cos(12.0 * x) * np.exp(-0.8 * np.abs(x)), 0.0, 3.0
        ),
        "rastrigin1": line(lambda x: rastrigin(x[:, None] - 0.7), -5.12, 5.12),
        "shekel1": line(shekel, 0.0, 1.0),
        "narrow valley1": line(
            lambda x: np.sin(13.0 * x) + 0.5 * np.sin(29.0 * x + 1.0) - 1.5 * np.exp(-(((x - 0.57) / 0.04) ** 2)),
            0.0,
            1.0,
        ),
        "steep sinc": line(lambda x: -np.sinc(4.0 * (x - 0.3)) * (1.0 + x**3) + x**4, -1.0, 2.0),
        "sum of sines": line(lambda x: np.sin(x) + np.sin(10.0 * x / 3.0), 2.7, 7.5),
        "x sine x": line(lambda x: -x * np.sin(x) - 0.5 * x * np.sin(2.0 * x), 0.0, 10.0),
        "logarithm and waves": line(lambda x: np.log(0.02 + (x - 1.1) ** 2) + np.sin(9.0 * x), 0.0, 3.0),
        "drop wave": square(drop_wave, -2.0, 3.0),
        "shubert2": square(shubert, -4.0, 4.0),
        "holder table": square(holder_table, -6.0, 8.0),
        "rippled hill": square(rippled_hill, -2.0, 4.0),
        "crossing valleys": square(crossing_valleys, 0.0, 3.0),
    },
}
