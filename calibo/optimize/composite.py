"""Composite objectives g(h(x)), of which h is measured and g known: how they are told, and the strategy that uses h."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from calibo.acquisition import Acquisition, log_of, multiplied
from calibo.classifiers.composite import (
    CompositeAcquisition,
    CompositeNetwork,
    Outer,
    composed_values,
    require_torch,
)
from calibo.data import Array, Dataset
from calibo.errors import FallbackWarning, RecipeError, ValueRejected
from calibo.models import SuccessModel
from calibo.optimize.likelihood_free import Refitted, constant, with_pruned
from calibo.optimize.strategy import Strategy, anchor_points, check_outcomes
from calibo.search import EpsilonGreedy, MultiStart, Plan, Pool, Search
from calibo.spaces import Space
from calibo.trials import Direction

#: Of more points than this the probability of success, a Gaussian process, takes too long: failures become negatives.
_MOST_FOR_SUCCESS = 300


@dataclass(frozen=True)
class CompositeLikelihoodFree(Strategy):
    """A network of the measured vectors h, classified by the known function g of them (Song et al. 2022, 5.3 and B.4).

    1. ``CompositeNetwork`` learns h and, at once, which points exceed the threshold; log u of g(h) is maximised.
    2. Pending points are negatives, so that a point near them is worth less. Every further point of a batch has a network
       of its own, from other first weights, for which the points chosen before are negatives too.
    3. Where evaluations have failed, it is multiplied by the probability of success; of more than 300 points the
       failures are negatives instead.

    A point of which only g is known (from a study that went on as a composite one, or pruned) is classified but gives no
    vector; as long as no vector is known, points are drawn at random, which is announced. There is no predictive
    distribution, so no forecasts are made.

    Attributes:
        outer: g of vectors as they are told, m x k -> m, *larger is better*; ``None`` until ``composite=`` gives it.
        network: What learns.
        search: How log u is maximised; by default ascent from several starts, or all rows of a pool.
        epsilon: Probability of a random point, against a network that is too sure of itself.
        name: Of the method, for messages.
    """

    outer: Outer | None = None
    network: CompositeNetwork = field(default_factory=CompositeNetwork)
    search: Search | None = None
    epsilon: float = 0.0
    name: str = "composite_lfbo"

    def __post_init__(self) -> None:
        if self.outer is not None and not callable(self.outer):
            raise RecipeError(
                f"{self.name} takes a function of torch tensors (outer), got a {type(self.outer).__name__}"
            )
        EpsilonGreedy(Pool(), self.epsilon)

    @property
    def makes_forecasts(self) -> bool:
        return False

    @property
    def single_objective(self) -> bool:
        return True

    def composed(self, outer: Outer) -> CompositeLikelihoodFree:
        """The same strategy for a known function, larger is better."""
        return replace(self, outer=outer)

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        check_outcomes(self, data.objectives, data.constraints)
        seed, success = rng.integers(2**63, size=2)
        acquisition = self._acquisition(with_pruned(data), int(seed), np.random.default_rng(success))
        return Plan(
            acquisition=acquisition,
            at_random=acquisition is constant,
            anchors=anchor_points(data),
            avoid=np.vstack([data.X, data.X_failed, data.X_pending]),
        )

    def searcher(self, space: Space) -> Search:
        suited = Pool() if space.is_pool else MultiStart()
        return EpsilonGreedy(self.search or suited, self.epsilon)

    def _acquisition(self, data: Dataset, seed: int, rng: np.random.Generator) -> Acquisition:
        if self.outer is None:
            raise RecipeError(_LACKING.format(name=self.name))
        acquisition: Acquisition = constant
        few = len(data) + len(data.X_failed) <= _MOST_FOR_SUCCESS
        if data.H is None:
            warnings.warn(
                f"none of the {len(data)} points known has a vector that {self.name} could learn from, so points are drawn "
                "at random: tell vectors (calibo.study.write_vector in an objective of Optuna's), or choose another method",
                FallbackWarning,
                stacklevel=2,
            )
        else:
            negatives = np.vstack([data.X_pending, *([] if few else [data.X_failed])])
            acquisition = Refitted(partial(self._fitted, data, data.H, self.outer, negatives, seed))
        if not len(data.X_failed) or not few:
            return acquisition
        return multiplied(acquisition, [log_of(SuccessModel.of(data, rng=rng))])

    def _fitted(
        self, data: Dataset, H: Array, outer: Outer, negatives: Array, seed: int, chosen: Array
    ) -> CompositeAcquisition:
        """The network for the point after those chosen for the batch, j x d; the same for the same arguments."""
        return self.network.fit(
            data.X,
            data.Y[:, 0],
            H,
            outer,
            negatives=np.vstack([negatives, chosen]),
            categories=data.categories,
            rng=np.random.default_rng([seed, len(chosen)]),
        )


_LACKING = (
    "{name} needs the known function g of the vectors that are measured: give composite=g (on the command line "
    "--composite FILE.py:g), a function of a torch tensor m x k that returns m values"
)


@runtime_checkable
class TakesComposite(Protocol):
    """A strategy that uses the vectors of a composite objective."""

    outer: Outer | None

    def composed(self, outer: Outer) -> Strategy:
        """The strategy for a known function of the vectors, larger is better."""
        ...


@dataclass(frozen=True)
class Composite:
    """The known function of a composite objective as its user sees it: how vectors become values.

    Attributes:
        function: g, a torch tensor m x k -> m, in the user's sign: whether large or small values are wanted is for the
            direction to say.
    """

    function: Outer

    def measured(self, vector: object, length: int | None = None) -> tuple[tuple[float, ...], float]:
        """A vector that was measured, as floats, and its value; what is no vector of that length is rejected by name."""
        numbers = finite_vector(vector, length)
        # Of two rows, as in training there are many: what works for one alone is found out here.
        value = float(self.values(np.array([numbers, numbers]))[0])
        if not np.isfinite(value):
            raise ValueRejected(
                f"the composite function must give a finite number, got {value} for the vector {_shown(numbers)}; "
                "report a failure with tell_failed()"
            )
        return numbers, value

    def values(self, H: Array) -> Array:
        """The values of vectors, n x k -> n."""
        return composed_values(self.function, H)


@dataclass(frozen=True)
class Turned:
    """Minus a function of tensors: one of which small values are wanted, as one of which large ones are."""

    function: Outer

    def __call__(self, H: Any) -> Any:
        """Minus the function's values, m x k -> m."""
        return -self.function(H)


def default_method(method: str | Strategy | None, composite: Outer | None) -> str | Strategy:
    """The method asked for, or what suits a plain or a composite objective."""
    if method is not None:
        return method
    return "ocbo" if composite is None else "composite_lfbo"


def composed(
    strategy: Strategy, composite: Outer | None, directions: Sequence[Direction]
) -> tuple[Strategy, Composite | None]:
    """A strategy that knows the function of a composite objective, and that function at the door; ``None`` without one.

    ``composite`` is in the user's sign: with "minimize" it is minimised. A function that a strategy has itself is larger
    is better, as all in the house, so that with "minimize" the values shown are minus those of the function.
    """
    name = strategy.name
    if not isinstance(strategy, TakesComposite):
        if composite is None:
            return strategy, None
        raise RecipeError(
            f"{name} does not take composite=, as it models values and not the vectors they are made of; composite_lfbo "
            "does. Or leave composite out, and return the value of the function instead of the vector"
        )
    if composite is not None and strategy.outer is not None:
        raise RecipeError(f"{name} has a known function already (outer): give it there or as composite=, not both")
    if composite is None and strategy.outer is None:
        raise RecipeError(_LACKING.format(name=name))
    if composite is not None and not callable(composite):
        raise RecipeError(f"composite= is a function of a torch tensor m x k, got a {type(composite).__name__}")
    if len(directions) != 1:
        raise RecipeError(f"a composite objective is one objective, got {len(directions)} directions")
    require_torch()
    minimized = directions[0] is Direction.MINIMIZE
    if composite is not None:
        return strategy.composed(Turned(composite) if minimized else composite), Composite(composite)
    assert strategy.outer is not None
    return strategy, Composite(Turned(strategy.outer) if minimized else strategy.outer)


def finite_vector(vector: object, length: int | None = None) -> tuple[float, ...]:
    """``vector`` as floats; anything but a row of finite numbers, of that length if it is known, is rejected by name."""
    expected = "a row of finite numbers" if length is None else f"a row of {length} finite numbers"
    try:
        row = np.asarray(vector)
        if row.dtype.kind not in "iuf" or row.ndim != 1 or not len(row):
            raise ValueError
    except (TypeError, ValueError, RuntimeError):
        shown = f"a {type(vector).__name__}: {str(vector)[:60]}"
        raise ValueRejected(f"the vector of a composite objective must be {expected}, got {shown}") from None
    if length is not None and len(row) != length:
        raise ValueRejected(f"the vector of a composite objective must be {expected}, as those before, got {len(row)}")
    numbers = tuple(float(number) for number in row)
    for place, number in enumerate(numbers):
        if not np.isfinite(number):
            raise ValueRejected(
                f"the vector of a composite objective must be {expected}, got {number} at place {place}; report a failure "
                "with tell_failed()"
            )
    return numbers


def _shown(numbers: tuple[float, ...]) -> str:
    return str(list(numbers[:4]))[:-1] + (", ...]" if len(numbers) > 4 else "]")
