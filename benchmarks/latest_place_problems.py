"""Problems set up when forecasts had become averages of two shapes, to see whether coverage by place holds on others.

Models of circuits, wings and pistons, well-known test functions that are in none of the other sets, functions of the BBOB
suite that may be used for choosing in other dimensions (they need the package ``ioh``), and a training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.later_place_problems import bbob
from benchmarks.place_problems import Points, Task, plain, square
from calibo import Categorical, Float, Int
from calibo.data import Array


def of_numbers(space: Mapping[str, tuple[float, float]], value: Callable[..., float], noise: float = 0.0) -> Task:
    """Return a function of named numbers in intervals."""
    numbers = {name: Float(low, high) for name, (low, high) in space.items()}
    return Task(numbers, lambda points: np.array([value(**p) for p in points]), noise)


def ishigami(noise: float = 0.0) -> Task:
    return of_numbers(
        dict.fromkeys("xyz", (-np.pi, np.pi)), lambda x, y, z: np.sin(x) * (1 + 0.1 * z**4) + 7 * np.sin(y) ** 2, noise
    )


def friedman(noise: float = 0.0) -> Task:
    def value(a: float, b: float, c: float, d: float, e: float) -> float:
        return -(10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e)

    return of_numbers(dict.fromkeys("abcde", (0.0, 1.0)), value, noise)


def circuit() -> Task:
    """Return the voltage of a push-pull circuit without transformer."""

    def value(b1: float, b2: float, f: float, c1: float, c2: float, beta: float) -> float:
        middle = 12 * b2 / (b1 + b2)
        load = beta * (c2 + 9)
        return ((middle + 0.74) * load + 11.35 * f) / (load + f) + 0.74 * f * load / ((load + f) * c1)

    return of_numbers(
        {"b1": (50, 150), "b2": (25, 70), "f": (0.5, 3), "c1": (1.2, 2.5), "c2": (0.25, 1.2), "beta": (50, 300)}, value
    )


def piston() -> Task:
    """Return the time of a cycle of a piston."""

    def value(m: float, s: float, v: float, k: float, p: float, t: float, t0: float) -> float:
        a = p * s + 19.62 * m - k * v / s
        volume = s / (2 * k) * (np.sqrt(a**2 + 4 * k * p * v * t / t0) - a)
        return 2 * np.pi * np.sqrt(m / (k + s**2 * p * v * t / (t0 * volume**2)))

    spans = [(30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000), (9e4, 1.1e5), (290, 296), (340, 360)]
    return of_numbers(dict(zip(("m", "s", "v", "k", "p", "t", "t0"), spans, strict=True)), value)


def wing() -> Task:
    """Return the weight of a wing, one of whose numbers is whole."""

    def value(p: Mapping[str, Any]) -> float:
        sweep, t = np.radians(p["sweep"]), 100 * p["thick"] / np.cos(np.radians(p["sweep"]))
        shape = 0.036 * p["area"] ** 0.758 * p["fuel"] ** 0.0035 * (p["aspect"] / np.cos(sweep) ** 2) ** 0.6
        load = p["q"] ** 0.006 * p["taper"] ** 0.04 * t**-0.3 * (p["n"] * p["gross"]) ** 0.49
        return float(shape * load + p["area"] * p["paint"])

    space = {
        "area": Float(150, 200),
        "fuel": Float(220, 300),
        "aspect": Float(6, 10),
        "sweep": Float(-10, 10),
        "q": Int(16, 45),
        "taper": Float(0.5, 1),
        "thick": Float(0.08, 0.18),
        "n": Float(2.5, 6),
        "gross": Float(1700, 2500),
        "paint": Float(0.025, 0.08),
    }
    return Task(space, lambda points: np.array([value(p) for p in points]))


def currin(X: Array) -> Array:
    x, y = X.T
    factor = 1.0 - np.exp(-0.5 / np.maximum(y, 1e-9))
    return -factor * (2300 * x**3 + 1900 * x**2 + 2092 * x + 60) / (100 * x**3 + 500 * x**2 + 4 * x + 20)


def easom(X: Array) -> Array:
    return -np.cos(X).prod(axis=1) * np.exp(-np.square(X - np.pi).sum(axis=1))


def three_humps(X: Array) -> Array:
    x, y = X.T
    return 2 * x**2 - 1.05 * x**4 + x**6 / 6 + x * y + y**2


def bukin(X: Array) -> Array:
    x, y = X.T
    return 100 * np.sqrt(np.abs(y - 0.01 * x**2)) + 0.01 * np.abs(x + 10)


def perm(X: Array) -> Array:
    j, powers = np.arange(1.0, X.shape[1] + 1.0), np.arange(1, X.shape[1] + 1)
    return sum(np.square(((j + 10.0) * (X**i - j**-i)).sum(axis=1)) for i in powers)


def mixed_peaks() -> Task:
    """Return BBOB's function 22 of two numbers, a whole one and two choices."""
    value, at = bbob(22, 5).values, {"a": -3.0, "b": 0.0, "c": 2.5}

    def values(points: Points) -> Array:
        rows = [(p["u"], p["v"], p["k"] - 5.0, at[p["m"]], at[p["o"]]) for p in points]
        return value([{f"x{i}": x for i, x in enumerate(row)} for row in rows])

    choices = {"m": Categorical(list(at)), "o": Categorical(list(at))}
    return Task({"u": Float(-5, 5), "v": Float(-5, 5), "k": Int(0, 10), **choices}, values)


def forest() -> Task:
    """Return the cross-validated error of a random forest on scikit-learn's diabetes data."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import cross_val_score

    X, y = load_diabetes(return_X_y=True)

    def values(points: Points) -> Array:
        made = (RandomForestRegressor(8, random_state=0, **p) for p in points)
        return np.array([-cross_val_score(m, X[::3], y[::3], cv=3, scoring="r2").mean() for m in made])

    whole = {"max_depth": Int(1, 12), "min_samples_leaf": Int(1, 30)}
    return Task({**whole, "max_features": Float(0.1, 1.0), "ccp_alpha": Float(1e-2, 1e3, log=True)}, values)


LATEST: dict[str, Callable[[], Task]] = {
    "ishigami": ishigami,
    "noisy ishigami": partial(ishigami, 1.0),
    "friedman": friedman,
    "noisy friedman": partial(friedman, 2.0),
    "circuit": circuit,
    "piston": piston,
    "wing": wing,
    "currin": square(currin, 0.0, 1.0),
    "easom": square(easom, -2.0, 8.0),
    "three humps": square(three_humps, -5.0, 5.0),
    "bukin": square(bukin, -15.0, 5.0),
    "perm3": partial(plain, 3, perm, -3.0, 3.0, 0),
    "ellipsoid5 (f2)": partial(bbob, 2, 5),
    "rosenbrock4 (f9)": partial(bbob, 9, 4),
    "discus6 (f11)": partial(bbob, 11, 6),
    "bent cigar2 (f12)": partial(bbob, 12, 2),
    "powers3 (f14)": partial(bbob, 14, 3),
    "schaffer2 (f18)": partial(bbob, 18, 2),
    "mixed peaks (f22)": mixed_peaks,
    "forest": forest,
}
