"""Problems that were set up after all settings had been chosen, to see whether coverage by place holds on others.

Functions of the BBOB suite that may be used for choosing (they need the package ``ioh``), well-known test functions, models
of a borehole, a robot arm and a pressure vessel, and a training, of 1 to 8 dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.problems import bbob_function
from benchmarks.place_problems import Points, Task, line, plain, square, turned
from calibo import Categorical, Float, Int
from calibo.data import Array


def bbob(function: int, d: int, noise: float = 0.0) -> Task:
    """Return a function of the BBOB suite, of those that may be used for choosing."""
    value, names = bbob_function(function, d, 7), [f"x{i}" for i in range(d)]
    return Task(
        {name: Float(-5, 5) for name in names},
        lambda points: np.array([value([p[name] for name in names]) for p in points]),
        noise,
    )


def mixed_bbob() -> Task:
    """Return BBOB's rotated Rosenbrock function, in logarithms, of two numbers, a whole one, a choice and one by its log."""
    value = bbob_function(9, 5, 3)
    place = {"a": -4.0, "b": -1.0, "c": 1.5, "d": 3.5}

    def values(points: Points) -> Array:
        rows = ([p["u"], p["v"], p["k"] - 4, place[p["m"]], np.log10(p["r"])] for p in points)
        return np.log1p(np.array([value(row) for row in rows]) - value.optimum.y)

    numbers = {"u": Float(-5, 5), "v": Float(-5, 5), "k": Int(0, 8)}
    return Task({**numbers, "m": Categorical(list(place)), "r": Float(1e-5, 1e3, log=True)}, values)


def goldstein_price(X: Array) -> Array:
    x, y = X.T
    first = 1.0 + (x + y + 1.0) ** 2 * (19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2)
    second = 30.0 + (2.0 * x - 3.0 * y) ** 2 * (18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2)
    return first * second


def eggholder(X: Array) -> Array:
    x, y = X.T
    return -(y + 47.0) * np.sin(np.sqrt(np.abs(y + x / 2.0 + 47.0))) - x * np.sin(np.sqrt(np.abs(x - y - 47.0)))


def salomon(X: Array) -> Array:
    r = np.linalg.norm(X, axis=1)
    return 1.0 - np.cos(2.0 * np.pi * r) + 0.1 * r


def trid(X: Array) -> Array:
    return np.square(X - 1.0).sum(axis=1) - (X[:, 1:] * X[:, :-1]).sum(axis=1)


def colville(X: Array) -> Array:
    a, b, c, d = X.T
    valleys = 100.0 * (a**2 - b) ** 2 + (a - 1.0) ** 2 + 90.0 * (c**2 - d) ** 2 + (c - 1.0) ** 2
    return valleys + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2) + 19.8 * (b - 1.0) * (d - 1.0)


def higdon(x: Array) -> Array:
    return np.where(x < 9.6, np.sin(np.pi * x / 5.0) + 0.2 * np.cos(4.0 * np.pi * x / 5.0), x / 10.0 - 1.0)


def borehole() -> Task:
    """Return the water flow through a borehole, with its sign changed."""

    def value(p: Mapping[str, Any]) -> float:
        log = np.log(p["r"] / p["rw"])
        resistance = 1.0 + 2.0 * p["L"] * p["Tu"] / (log * p["rw"] ** 2 * p["Kw"]) + p["Tu"] / p["Tl"]
        return float(-2.0 * np.pi * p["Tu"] * (p["Hu"] - p["Hl"]) / (log * resistance))

    space = {
        "rw": Float(0.05, 0.15),
        "r": Float(100, 50000),
        "Tu": Float(63070, 115600),
        "Hu": Float(990, 1110),
        "Tl": Float(63.1, 116),
        "Hl": Float(700, 820),
        "L": Float(1120, 1680),
        "Kw": Float(9855, 12045),
    }
    return Task(space, lambda points: np.array([value(p) for p in points]))


def robot_arm() -> Task:
    """Return how far an arm of four segments reaches, with its sign changed."""
    angles, lengths = [f"t{i}" for i in range(4)], [f"l{i}" for i in range(4)]

    def values(points: Points) -> Array:
        turns = np.cumsum([[p[name] for name in angles] for p in points], axis=1)
        arms = np.array([[p[name] for name in lengths] for p in points])
        return -np.hypot((arms * np.cos(turns)).sum(axis=1), (arms * np.sin(turns)).sum(axis=1))

    turning = {name: Float(0, 2 * np.pi) for name in angles}
    return Task({**turning, **{name: Float(0, 1) for name in lengths}}, values)


def pressure_vessel() -> Task:
    """Return the cost of a pressure vessel with two whole numbers, plus penalties where it would not hold."""

    def value(p: Mapping[str, Any]) -> float:
        shell, head, r, length = 0.0625 * p["a"], 0.0625 * p["b"], p["r"], p["l"]
        cost = 0.6224 * shell * r * length + 1.7781 * head * r**2 + shell**2 * (3.1661 * length + 19.84 * r)
        thin = max(0.0, 0.0193 * r - shell) + max(0.0, 0.00954 * r - head)
        missing = max(0.0, 1296000.0 - np.pi * r**2 * length - 4.0 / 3.0 * np.pi * r**3)
        return cost + 2e4 * thin + 0.01 * missing

    whole = {"a": Int(1, 40), "b": Int(1, 40)}
    return Task({**whole, "r": Float(10, 60), "l": Float(10, 200)}, lambda points: np.array([value(p) for p in points]))


def support_vectors() -> Task:
    """Return the cross-validated accuracy, with its sign changed, of a support vector machine on scikit-learn's wine data."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    def values(points: Points) -> Array:
        return np.array([-cross_val_score(SVC(**p), X[::2], y[::2], cv=3).mean() for p in points])

    space = {"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-5, 10, log=True)}
    kernels = Categorical(["rbf", "poly", "sigmoid"])
    return Task({**space, "kernel": kernels, "coef0": Float(-1, 1), "degree": Int(2, 4)}, values)


LATER: dict[str, Callable[[], Task]] = {
    "ellipsoid3 (f2)": partial(bbob, 2, 3),
    "rastrigin4 (f4)": partial(bbob, 4, 4),
    "slope5 (f5)": partial(bbob, 5, 5),
    "steps4 (f7)": partial(bbob, 7, 4),
    "rosenbrock6 (f9)": partial(bbob, 9, 6),
    "discus2 (f11)": partial(bbob, 11, 2),
    "bent cigar3 (f12)": partial(bbob, 12, 3),
    "powers8 (f14)": partial(bbob, 14, 8),
    "weierstrass2 (f16)": partial(bbob, 16, 2),
    "schaffer5 (f18)": partial(bbob, 18, 5),
    "griewank-rosenbrock4 (f19)": partial(bbob, 19, 4),
    "peaks6 (f22)": partial(bbob, 22, 6),
    "noisy powers2 (f14)": partial(bbob, 14, 2, 5.0),
    "noisy peaks3 (f22)": partial(bbob, 22, 3, 2.0),
    "goldstein-price": square(goldstein_price, -2.0, 2.0),
    "eggholder": square(eggholder, -512.0, 512.0),
    "salomon4": partial(turned, 4, salomon, -6.0, 6.0, 101),
    "trid7": partial(plain, 7, trid, -49.0, 49.0, 0),
    "colville": partial(plain, 4, colville, -10.0, 10.0, 0),
    "borehole": borehole,
    "robot arm": robot_arm,
    "pressure vessel": pressure_vessel,
    "support vectors": support_vectors,
    "mixed rosenbrock (f9)": mixed_bbob,
    "kink": line(lambda x: np.sqrt(np.abs(x - 0.37)) + 0.3 * np.sin(20.0 * x), 0.0, 1.0),
    "higdon": line(higdon, 0.0, 20.0),
}
