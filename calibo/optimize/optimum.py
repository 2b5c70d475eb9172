"""Where the optimum lies, and which parameters matter: intervals from joint draws of the objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.acquisition.base import base_samples
from calibo.checks import check_between
from calibo.data import Array, shown_value
from calibo.digits import side_by_side
from calibo.errors import DataError, RecipeError
from calibo.models import SuccessModel
from calibo.optimize.regret import CAREFUL, Belief
from calibo.optimize.stopping import Progress
from calibo.spaces import Parameter, check_no_contexts

#: Probability with which the recommended point is worse than the end of the interval at what is known.
_UNLIKELY = 0.01
#: Joint draws of the objective, and points of the space, from which importance is estimated.
_DRAWS, _POINTS = 64, 1024
#: Groups of equal size into which the values of a numeric parameter are divided.
_GROUPS = 8
#: Choices and values with a smaller share of the draws are not named.
_LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the model believes the best point of the space to be; ``print`` shows it in words.

    Attributes:
        value: Interval of the best value that the objective has anywhere, in the user's sign: from the best that is known to
            what it may be at most.
        intervals: Interval of each numeric parameter of the best point, by name.
        shares: For parameters with choices without an order, the probability of each choice at the best point, by name.
        best: Parameters of the result with the best expected value.
        coverage: Probability with which each interval is meant to hold.
    """

    value: tuple[float, float]
    intervals: Mapping[str, tuple[Any, Any]]
    shares: Mapping[str, Mapping[Any, float]]
    best: Mapping[str, Any]
    coverage: float

    def __str__(self) -> str:
        lines = [f"With {100 * self.coverage:.0f} % probability each, by the model:"]
        lines.append(f"  the best value {_lies(*side_by_side(*self.value))}")
        for name, (first, last) in self.intervals.items():
            lines.append(f"  its {name} {_lies(shown_value(first), shown_value(last))}")
        for name, shares in self.shares.items():
            named = [f"{choice} ({100 * share:.0f} %)" for choice, share in shares.items() if share >= _LEAST_SHARE]
            lines.append(f"  its {name} is {', '.join(named)}")
        return "\n".join(lines)


def _lies(low: str, high: str) -> str:
    return f"is {low}" if low == high else f"lies between {low} and {high}"


@dataclass(frozen=True, eq=False)
class Importance:
    """How much of the objective's variation over the space one parameter explains by itself.

    Attributes:
        name: Name of the parameter.
        share: Share of the variance, the median over draws of the objective.
        low: Lower end of the 80 % interval of the share.
        high: Upper end.
    """

    name: str
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name}: {100 * self.share:.0f} % ({100 * self.low:.0f} to {100 * self.high:.0f} %)"


class WithProgress(ABC):
    """What has trials, a space and a method: it says where its optimum lies, and which of its parameters matter."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return all trials so far, as stopping rules see them."""

    def optimum(self, coverage: float = 0.8) -> Optimum:
        """Say where the best point lies: intervals for its value and for each of its parameters.

        Args:
            coverage: Probability with which each interval is meant to hold.

        Raises:
            DataError: If no result is feasible.
            RecipeError: If there are several objectives or contexts, or the method makes no forecasts.
        """
        return optimum(self.progress(), coverage=coverage)

    def importance(self) -> tuple[Importance, ...]:
        """Say how much of the objective's variation each parameter explains by itself, the most important first.

        Raises:
            DataError: If no result is feasible.
            RecipeError: If there are several objectives, or the method makes no forecasts.
        """
        return importance(self.progress())


def optimum(progress: Progress, *, coverage: float = 0.8) -> Optimum:
    """Say where the best point lies: a draw of the objective has its maximum somewhere, and the draws differ.

    Draws are those of ``RegretBelow``: of the calibrated model, nowhere narrower than the raw one and somewhat widened. The
    interval of the value has the best that is known at one end, which may be all there is, and what it may be at the other.

    Args:
        progress: The study so far.
        coverage: Probability with which each interval is meant to hold.

    Raises:
        DataError: If no result is feasible.
        RecipeError: If there are several objectives or contexts, or the method makes no forecasts.
    """
    check_between("coverage", coverage, 0.0, 1.0)
    check_no_contexts(progress.space, "where the best point lies", "ask for it by recommend(context={...})")
    belief, rng = _belief(progress), progress.generator()
    X = belief.candidates(CAREFUL, rng=rng)
    values = belief.draw(X, CAREFUL.draws, rng)
    points = X[values.argmax(axis=1)]
    tails = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]
    # The recommended point is the first of the candidates.
    known, possible = (
        np.quantile(values[:, 0], _UNLIKELY),
        np.quantile(values.max(axis=1), min(coverage + _UNLIKELY, 1.0)),
    )
    ends = sorted(progress.directions[0].value * np.array([known, possible]))
    intervals, shares = {}, {}
    active = progress.space.active(points)
    for j, (name, column) in enumerate(zip(progress.space.names, progress.space.columns, strict=True)):
        where = points[active[:, j], j]
        if not len(where):
            continue
        if column.categories:
            shares[name] = _shares(column, where)
        else:
            low, high = np.quantile(where, tails, method="nearest")
            intervals[name] = (column.decode(float(low)), column.decode(float(high)))
    best = progress.space.decode(progress.data.X[[belief.recommended()]])[0]
    return Optimum((float(ends[0]), float(ends[1])), intervals, shares, best, coverage)


def importance(progress: Progress) -> tuple[Importance, ...]:
    """Say how much of the objective's variation each parameter explains by itself, the most important first.

    The share is that of the first-order Sobol index: the variance, over the values of one parameter, of the mean over all
    others. It is computed for each of several joint draws of the calibrated model over the space, whose spread is the
    uncertainty. What parameters do only together is in no share, so that they need not add up to 1.

    Args:
        progress: The study so far.

    Raises:
        DataError: If no result is feasible.
        RecipeError: If there are several objectives, or the method makes no forecasts.
    """
    belief, rng = _belief(progress), progress.generator()
    X = progress.space.sample(_POINTS, rng)
    base = base_samples(int(rng.integers(2**63)), _DRAWS, len(X))
    values = belief.models[0].predict(X, latent=True).draws(base)
    # Shares have no unit; in a power of two near the largest value squares do not overflow, and nothing is rounded.
    values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    total = values.var(axis=1)
    found: list[Importance] = []
    for j, (name, column) in enumerate(zip(progress.space.names, progress.space.columns, strict=True)):
        share = np.clip(_main_effect(values, _groups(column, X[:, j])) / np.where(total > 0.0, total, np.inf), 0.0, 1.0)
        low, middle, high = np.quantile(share, [0.1, 0.5, 0.9])
        found.append(Importance(name, float(middle), float(low), float(high)))
    return tuple(sorted(found, key=lambda one: -one.share))


def _belief(progress: Progress) -> Belief:
    """Return what is believed of the space, if there is one objective and a model."""
    if len(progress.directions) > 1:
        raise RecipeError(
            f"several objectives ({len(progress.directions)}) have no single best point: see the Pareto front instead"
        )
    if not progress.strategy.makes_forecasts:
        raise RecipeError(
            f"{progress.strategy.name} makes no forecasts, so nothing can be said of the best point: use a method with "
            "forecasts, such as auto"
        )
    data = progress.data
    if not len(data) or not data.feasible.any():
        raise DataError("no result meets all constraints yet, so nothing can be said of the best point")
    success = SuccessModel.of(data, rng=progress.generator()) if len(data.X_failed) else None
    return Belief(data, progress.space, progress.models, success)


def _shares(column: Parameter, coordinates: Array) -> dict[Any, float]:
    """Return how often each choice occurs, the most frequent first."""
    cells, counts = np.unique(column.cell(coordinates), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(column.decode(float(column.position(cells[i])))): float(counts[i] / counts.sum()) for i in order}


def _groups(column: Parameter, coordinates: Array) -> np.ndarray:
    """Return the group of each point: its choice, or one of several of equal size by its value."""
    if column.categories or (column.cells or _GROUPS + 1) <= _GROUPS:
        return np.unique(column.cell(coordinates), return_inverse=True)[1]
    ranks = np.argsort(np.argsort(coordinates, kind="stable"), kind="stable")
    return ranks * _GROUPS // len(coordinates)


def _main_effect(values: Array, groups: np.ndarray) -> Array:
    """Return the variance of the groups' means for each of `S x N` draws, without what chance adds to it, `S`."""
    counts = np.bincount(groups)
    members = np.eye(len(counts))[groups]
    means = values @ members / counts
    squares = (values**2) @ members / counts
    within = np.maximum(squares - means**2, 0.0) * counts / np.maximum(counts - 1, 1)
    weights = counts / counts.sum()
    middle = (means * weights).sum(axis=1, keepdims=True)
    between = ((means - middle) ** 2 * weights).sum(axis=1)
    return between - (within * (1.0 - weights) / counts.sum()).sum(axis=1)
