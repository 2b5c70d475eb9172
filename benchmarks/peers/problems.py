"""The problems of the comparison with peers, by name, and the suites they form.

    bbob_f<function>_<dimension>d[_noisy]   functions of the BBOB suite (package ioh); a seed is an instance
    train_<name>                            trainings of scikit-learn, see ``trainings.py`` and ``further.py``
    fcnet_<name>, hpobench_<name>           tables of trained networks, see ``calibo.problems.hpo_tables``

All values are minimized. Functions and tables that are kept for judging a finished method are refused.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.peers.spaces import Parameter, Params, PeerSpace, floats, from_unit

#: BBOB functions on which methods may be chosen; the others are for judging.
FUNCTIONS = (2, 4, 5, 7, 9, 11, 12, 14, 16, 18, 19, 22)
#: Tables kept for judging.
HELD_OUT_TABLES = ("phoneme", "segment", "vehicle")
#: Standard deviation of the noise, as a share of that of random points' values.
NOISE_SHARE = 0.1
#: The inter-decile range of a normal distribution in standard deviations.
_DECILES = 2.563
#: Random points from which the spread of a function is measured.
_POINTS = 400

#: Noise-free value of parameters.
Value = Callable[[Params], float]
#: One measurement of parameters.
Measure = Callable[[Params, np.random.Generator], float]


@dataclass(frozen=True, eq=False)
class PeerProblem:
    """A problem, to be minimized.

    Attributes:
        name: Its name.
        space: What is chosen.
        value: Noise-free value of parameters.
        optimum: Smallest noise-free value, or the smallest known.
        noise: Standard deviation of Gaussian noise, 0 for none.
        scale: Spread of random points' values: a robust standard deviation.
        family: The family it counts to in summaries.
        sampled: One measurement, where noise is not Gaussian; ``None`` for value plus noise.
    """

    name: str
    space: PeerSpace
    value: Value
    optimum: float
    noise: float
    scale: float
    family: str
    sampled: Measure | None = None

    @property
    def n_initial(self) -> int:
        """Number of points that every optimizer is given."""
        return max(5, len(self.space) + 1)

    @cached_property
    def _key(self) -> int:
        return zlib.crc32(self.name.encode())

    def initial(self, seed: int) -> list[Params]:
        """Return the points that every optimizer is given: uniform, determined by the problem and the seed."""
        rng = np.random.default_rng([seed, 7, self._key])
        return [from_unit(self.space, u) for u in rng.random((self.n_initial, len(self.space)))]

    def evaluate(self, params: Params, seed: int, number: int) -> tuple[float, float]:
        """Return what evaluation ``number`` of a run measures, and the noise-free value; the noise is the same for all."""
        rng = np.random.default_rng([seed, 11, self._key, number])
        value = self.value(params)
        if self.sampled is not None:
            return self.sampled(params, rng), value
        return value + self.noise * float(rng.standard_normal()), value


def get(name: str, seed: int) -> PeerProblem:
    """Return a problem by its name; the instance of a BBOB function is ``seed`` + 1.

    Raises:
        ValueError: If there is no such problem, or it is kept for judging.
    """
    if found := re.fullmatch(r"bbob_f(\d+)_(\d+)d(_noisy)?", name):
        return _bbob(name, int(found[1]), int(found[2]), noisy=bool(found[3]), instance=seed + 1)
    kind, _, rest = name.partition("_")
    if kind == "train":
        return _training(name, rest)
    if kind in ("fcnet", "hpobench"):
        return _table(name, kind, rest)
    raise ValueError(
        f"unknown problem {name!r}: expected bbob_f<function>_<dimension>d[_noisy], train_, fcnet_ or hpobench_"
    )


def bbob_function(function: int, d: int, instance: int) -> Any:
    """Return a function of the BBOB suite as the package ioh has it: called with a list of numbers, with its ``optimum``.

    Raises:
        ValueError: If it is kept for judging.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"BBOB function {function} is kept for judging: choose one of {FUNCTIONS}")
    import ioh

    return ioh.get_problem(function, instance=instance, dimension=d, problem_class=ioh.ProblemClass.BBOB)


def _bbob(name: str, function: int, d: int, *, noisy: bool, instance: int) -> PeerProblem:
    problem = bbob_function(function, d, instance)
    space = floats(d, -5.0, 5.0)
    points = np.random.default_rng([function, d, instance]).uniform(-5.0, 5.0, (_POINTS, d))
    scale = robust_spread(np.array([problem(list(point)) for point in points]))

    def value(params: Params) -> float:
        return float(problem([params[name] for name in space]))

    family = "noisy" if noisy else f"bbob{d}"
    return PeerProblem(
        name, space, value, float(problem.optimum.y), NOISE_SHARE * scale if noisy else 0.0, scale, family
    )


def _training(name: str, training: str) -> PeerProblem:
    from benchmarks.peers.further import FURTHER
    from benchmarks.peers.trainings import TRAININGS

    known = {**TRAININGS, **FURTHER}
    if training not in known:
        raise ValueError(f"unknown training {training!r}: choose one of {', '.join(known)}")
    found = known[training]
    return PeerProblem(name, found.space, found.loss, found.optimum, 0.0, found.scale, "trainings")


def _table(name: str, kind: str, table: str) -> PeerProblem:
    if any(table.startswith(held) for held in HELD_OUT_TABLES):
        raise ValueError(f"the table {table} is kept for judging: choose another")
    from calibo.problems import hpo_tables
    from calibo.spaces import Categorical

    found = hpo_tables.fcnet(table) if kind == "fcnet" else hpo_tables.hpobench(table)
    space = {
        key: Parameter("categorical" if isinstance(p, Categorical) else "ordinal", choices=tuple(p.choices))
        for key, p in found.parameters.items()
    }
    # Losses as they are; accuracies as errors.
    offset, sign = (0.0, 1.0) if found.direction == "minimize" else (1.0, -1.0)

    def value(params: Params) -> float:
        return offset + sign * found.objective(params)

    def sampled(params: Params, rng: np.random.Generator) -> float:
        return offset + sign * found.measure(params, rng)

    spread = robust_spread(found.means)
    noise = float(np.median(np.nanstd(found.values, axis=1)))
    return PeerProblem(name, space, value, offset + sign * found.optimum, noise, spread, "tables", sampled)


def robust_spread(values: np.ndarray) -> float:
    """Return the inter-decile range over that of a standard normal distribution."""
    low, high = np.quantile(values, [0.1, 0.9])
    return float(high - low) / _DECILES


_ALL5 = tuple(f"bbob_f{f}_5d" for f in FUNCTIONS)
_ALL10 = tuple(f"bbob_f{f}_10d" for f in FUNCTIONS)
_NOISY = tuple(f"{name}_noisy" for name in _ALL5)
_TRAININGS = tuple(f"train_{name}" for name in ("svm_breast_cancer", "boosting_diabetes", "mlp_digits", "linear_wine"))
_FURTHER = tuple(
    f"train_{name}"
    for name in (
        *("kernel_ridge_diabetes", "neighbours_digits", "tree_diabetes"),
        *("small_svm_wine", "network_iris", "random_features_breast_cancer"),
    )
)
_TABLES = ("fcnet_protein", "fcnet_naval", "hpobench_australian", "hpobench_car", "hpobench_kc1")
_FURTHER_TABLES = ("fcnet_parkinsons", "fcnet_slice", "hpobench_blood", "hpobench_credit")
#: Problems of each suite; "all" is what is shown at 60 evaluations, "long" at 200; "further" is beside it, to check choices.
SUITES: dict[str, tuple[str, ...]] = {
    "all": (*_ALL5, *_ALL10, *_NOISY, *_TRAININGS, *_TABLES),
    "bbob5": _ALL5,
    "bbob10": _ALL10,
    "noisy": _NOISY,
    "trainings": _TRAININGS,
    "tables": _TABLES,
    "quick": ("bbob_f7_5d", "bbob_f14_5d", "bbob_f19_5d_noisy", "train_svm_breast_cancer", "hpobench_car"),
    "few": (
        *(f"bbob_f{f}_5d" for f in (2, 7, 14, 19)),
        *(f"bbob_f{f}_5d_noisy" for f in (5, 14)),
        "train_svm_breast_cancer",
        "train_mlp_digits",
        "hpobench_car",
        "fcnet_naval",
    ),
    "further": (*_FURTHER, *_FURTHER_TABLES),
    "long": tuple(f"bbob_f{f}_{d}d" for d in (10, 20) for f in (2, 7, 14, 19)),
}


def family_of(name: str) -> str:
    """Return the family of a problem by its name alone."""
    if found := re.fullmatch(r"bbob_f\d+_(\d+)d(_noisy)?", name):
        return "noisy" if found[2] else f"bbob{found[1]}"
    return "trainings" if name.startswith("train_") else "tables"
