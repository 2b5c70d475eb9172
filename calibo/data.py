"""Records that all packages share: datasets, forecasts, evidence, suggestions and outcomes.

Internally outcomes are maximized and points lie on the unit cube; signs are converted in ``calibo.trials``, points by the
space. All records are frozen.

Notation:
    n  points with an outcome          d  columns of an encoded point
    m  objectives                      k  pending points          j  failed points
    c  constraints
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from operator import neg
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.digits import side_by_side
from calibo.errors import DataError

Array = npt.NDArray[np.float64]
#: Indices of rows of an array.
Rows = npt.NDArray[np.intp]
Params = dict[str, Any]

#: Levels at which a distribution that is not Gaussian is stored: dense in the tails, with the ends of the 50, 80, 90, 95 and
#: 99 % central intervals among them, so that those intervals are stored exactly.
STORED_LEVELS: tuple[float, ...] = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45),
    0.5,
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995),
)
#: Stored forecasts are forgotten by calibrators so many at a time.
_FORGOTTEN = 1000
#: Coverages of the intervals that are shown and judged.
COVERAGES: tuple[float, ...] = (0.5, 0.8, 0.95)
#: Normal score of a value outside a point mass, whose tail probability is 0 in float64.
BEYOND = 40.0
#: Spreads relative to the outcomes before: up to the first a forecast counts as near the data, above the second as far.
NEAR_BELOW, FAR_ABOVE = 0.2, 0.6


@dataclass(frozen=True, repr=False, slots=True)
class Marginal:
    """Predictive distribution of one outcome at one point, in the form that is stored with a trial.

    ``calibo.distributions.from_marginals`` turns several of them into a ``Distribution``.

    Attributes:
        mean: Expected value.
        std: Standard deviation.
        quantiles: Values at ``STORED_LEVELS``, non-decreasing; ``None`` for a Gaussian distribution. Between the levels the
            normal score is interpolated linearly, beyond them it continues with the last slope. Equal quantiles are an
            atom, at which the distribution function jumps.
        backed: Lowest and highest level supported by data: quantiles beyond are infinite. ``None`` for all levels.
    """

    mean: float
    std: float
    quantiles: tuple[float, ...] | None = None
    backed: tuple[float, float] | None = None

    def __repr__(self) -> str:
        mean, low, high = side_by_side(self.mean, *self.interval(0.8))
        return f"{type(self).__name__}(mean {mean}, 80 % interval {low} to {high})"

    def cdf(self, y: float) -> float:
        """Return the probability of an outcome at or below ``y``."""
        from scipy.special import ndtr

        if self.quantiles is None:
            return float(ndtr((y - self.mean) / self.std))
        return float(ndtr(_extended_interp(y, np.asarray(self.quantiles), _stored_scores())))

    def icdf(self, u: float) -> float:
        """Return the quantile at level ``u`` in (0, 1)."""
        from scipy.special import ndtri

        if self.backed is not None and not self.backed[0] - 1e-9 <= u <= self.backed[1] + 1e-9:
            return math.copysign(math.inf, u - self.backed[0])
        score = float(ndtri(u))
        if self.quantiles is None:
            return _float(self.mean + self.std * score)
        return _float(_extended_interp(score, _stored_scores(), np.asarray(self.quantiles)))

    def interval(self, coverage: float) -> tuple[float, float]:
        """Return the lower and upper end of the central interval of probability ``coverage``."""
        tail = (1.0 - coverage) / 2.0
        return self.icdf(tail), self.icdf(1.0 - tail)

    def plain(self) -> list[Any]:
        """Return the marginal as a list of plain values, for storage."""
        base = [self.mean, self.std, self.quantiles]
        return base if self.backed is None else [*base, self.backed]

    @classmethod
    def from_plain(cls, values: Sequence[Any]) -> Marginal:
        """Return the marginal of a list of plain values."""
        mean, std, quantiles, *backed = values
        levels = None if quantiles is None else tuple(float(q) for q in quantiles)
        low_high = (float(backed[0][0]), float(backed[0][1])) if backed else None
        return cls(float(mean), float(std), levels, low_high)

    def negated(self) -> Marginal:
        """Return the distribution of minus the outcome, to convert between minimization and maximization."""
        flipped = None if self.quantiles is None else tuple(map(neg, reversed(self.quantiles)))
        backed = None if self.backed is None else (1.0 - self.backed[1], 1.0 - self.backed[0])
        return Marginal(mean=-self.mean, std=self.std, quantiles=flipped, backed=backed)


def _float(value: float) -> float:
    """Return a number, or the largest one if it is infinite: of outcomes near it, quantiles lie beyond."""
    return value if math.isfinite(value) else math.copysign(sys.float_info.max, value)


@lru_cache(maxsize=1)
def _stored_scores() -> Array:
    from scipy.special import ndtri

    return ndtri(np.asarray(STORED_LEVELS))


def _extended_interp(x: float, xp: Array, fp: Array) -> float:
    """Interpolate linearly between non-decreasing ``xp``, continuing beyond them with the outermost slope that is finite.

    Where ``xp`` stays the same the function jumps: it comes from the left end of the stretch and goes on from its right end.
    """
    rising = np.flatnonzero(np.diff(xp) > 0)
    last = xp.size - 1
    at = int(np.searchsorted(xp, x, side="right")) - 1
    if not rising.size:
        return float(fp[last]) if x == xp[last] else math.copysign(BEYOND, x - xp[last])
    segment = at if 0 <= at < last else int(rising[0] if at < 0 else rising[-1])
    anchor = max(at, 0)
    share = (x - xp[anchor]) / (xp[segment + 1] - xp[segment])
    return float(fp[anchor] + (fp[segment + 1] - fp[segment]) * share)


@dataclass(frozen=True)
class Forecast:
    """Predictive distribution of one outcome's measurement (noise included), made before it was measured.

    Attributes:
        stages: One distribution per stage of calibration: first that of the surrogate, last the one that is shown. A plain
            surrogate has one stage; each ``Calibrated`` around it adds one.
        stage_names: Names of what made each stage (the surrogate, then the recalibrators), so that a calibrator learns
            only from forecasts of its own kind when a study goes on with another method. Empty if not known.

    Examples:
        >>> from calibo.data import Forecast, Marginal
        >>> forecast = Forecast((Marginal(mean=3.1, std=0.5),))
        >>> forecast
        Forecast(mean 3.1, 80 % interval 2.46 to 3.74)
        >>> low, high = forecast.interval(0.5)
        >>> round(low, 2), round(high, 2)
        (2.76, 3.44)
    """

    stages: tuple[Marginal, ...]
    stage_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        mean, low, high = side_by_side(self.calibrated.mean, *self.calibrated.interval(0.8), least=3)
        return f"mean {mean}, 80 % interval {low} to {high}"

    def __repr__(self) -> str:
        return f"Forecast({self})"

    @property
    def raw(self) -> Marginal:
        """Distribution of the surrogate, before any calibration."""
        return self.stages[0]

    @property
    def calibrated(self) -> Marginal:
        """Distribution after all calibration: the one that is shown."""
        return self.stages[-1]

    @property
    def mean(self) -> float:
        """Expected value, after calibration."""
        return self.calibrated.mean

    @property
    def median(self) -> float:
        """Median, after calibration."""
        return self.calibrated.icdf(0.5)

    def interval(self, coverage: float = 0.8) -> tuple[float, float]:
        """Return the ends of the calibrated central interval that contains the outcome with probability ``coverage``.

        Raises:
            DataError: If the coverage is not a number between 0 and 1.
        """
        if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0.0 < coverage < 1.0:
            raise DataError(f"coverage must be a number between 0 and 1, such as 0.8, got {coverage!r}")
        return self.calibrated.interval(coverage)

    def _repr_html_(self) -> str:
        from calibo.notebooks import forecast_html

        return forecast_html(self)

    @property
    def last_given(self) -> Marginal:
        """Distribution that the last calibration was given: by its spread near, between and far are told apart."""
        return self.stages[max(len(self.stages) - 2, 0)]

    def negated(self) -> Forecast:
        """Return the forecast of minus the outcome."""
        return self._negated

    # A study converts all of its forecasts at every suggestion.
    @cached_property
    def _negated(self) -> Forecast:
        return Forecast(tuple(distribution.negated() for distribution in self.stages), self.stage_names)


#: One forecast per outcome.
Forecasts = tuple[Forecast, ...]
#: One forecast per outcome, ``None`` for an outcome that was not known when the point was suggested.
KnownForecasts = tuple[Forecast | None, ...]


def remembered_from(n: int) -> int:
    """Return the first of n results whose stored forecast calibrators still learn from.

    All of them below 2,000 results; then the oldest are forgotten a thousand at a time, so that at least the latest thousand
    are remembered. In between the states of online recalibrators go on as ever: of the T results of such a stretch the share
    at or below a level differs from it by at most 2 (1 + eta) / (eta T), since the sum of the deviations is the difference of
    two states, each of which is within its own bound.
    """
    return max(n // _FORGOTTEN - 1, 0) * _FORGOTTEN


class Activity(ABC):
    """Which columns of points are active, where that depends on other columns: those of inactive ones mean nothing."""

    @property
    @abstractmethod
    def conditional(self) -> tuple[bool, ...]:
        """Whether each column may be inactive, d."""

    @property
    @abstractmethod
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the conditional columns, in groups that are always active together."""

    @property
    @abstractmethod
    def usual(self) -> float:
        """Average number of active columns of a random point."""

    @property
    @abstractmethod
    def parents(self) -> tuple[int, ...]:
        """Indices of the columns that others depend on, increasing."""

    @property
    @abstractmethod
    def order(self) -> tuple[int, ...]:
        """Indices of the columns, each after those it depends on."""

    @abstractmethod
    def __call__(self, X: Array) -> np.ndarray:
        """Return which columns of points, `... x d`, are active, `... x d`."""

    @abstractmethod
    def ways(self, j: int) -> list[dict[int, frozenset[int]]]:
        """Return in which ways column j is active: the cells of other columns, by index, that each asks for."""

    @abstractmethod
    def is_active(self, j: int, cells: Mapping[int, int]) -> bool:
        """Return whether column j is active, given the cells of those active columns that come before it in ``order``."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The observations from which the next points are suggested, on the unit cube and maximized.

    Attributes:
        X: Observed points, `n x d`, in the order in which their outcomes arrived.
        Y: Outcomes, `n x (m + c)`: the objectives, then the slacks of the constraints, which are met where they are not
            negative.
        Y_var: Known noise variances, `n x (m + c)`, NaN where unknown; ``None`` if no variance is known.
        forecasts: Forecasts of each of the n points, one per outcome, or ``None`` if it was never suggested. Those of old
            points, which calibrators have forgotten (``remembered_from``), may be left out.
        X_pending: Suggested points whose outcomes are awaited, `k x d`.
        X_failed: Points whose evaluation failed or was pruned, `j x d`. Their outcomes are not imputed.
        Y_failed: Last intermediate values of the objectives of the failed points, `j x m`; NaN where there are none. Only
            pruned evaluations have such values, which may be far from final.
        categories: Number of choices of each categorical column, 0 for a numeric one, `d`. ``()`` means all numeric.
        hyperparameters: Hyperparameters of the model of each outcome, as stored with the latest suggestion: where the
            next fit may start. After them may come those of further models, which only their strategy knows.
        refit: Whether models fit their hyperparameters. ``False`` takes those stored as they are where a surrogate can,
            which is quicker; without any stored they are fitted. ``None`` leaves it to the surrogate: most always fit,
            ``Scheduled`` ones when the data have grown.
        constraints: Number of constraints, c.
        reference: Reference point for the hypervolume, one value per objective. Inferred from the outcomes if ``()``.
        features: Maps `m x d` points to the `m x D` features that models of features see; ``None`` if the space has none.
        from_pool: Whether candidates are the rows of a list, not all points of the cube.
        descriptors: Descriptors of the choices of each column, `k x D`, ``None`` where there are none. ``()`` means none.
        held: Maps `m x d` points to the nearest ones, `m x d`, with the values that are held for the next suggestion, fixed
            or observed; ``None`` if nothing is held.
        contexts: Columns that are observed, not chosen.
        activity: Which columns are active at a point; ``None`` if all always are.
        H: Measured vectors of a composite objective, `n x length`, of which Y is a known function; rows of NaN where only
            Y is known, ``None`` if no vector is known. In the user's own units and sign, as the function takes them.
    """

    X: Array
    Y: Array
    Y_var: Array | None = None
    forecasts: tuple[KnownForecasts | None, ...] = ()
    X_pending: Array = field(default_factory=lambda: np.empty((0, 0)))
    X_failed: Array = field(default_factory=lambda: np.empty((0, 0)))
    categories: tuple[int, ...] = ()
    hyperparameters: tuple[tuple[float, ...], ...] = ()
    constraints: int = 0
    reference: tuple[float, ...] = ()
    Y_failed: Array = field(default_factory=lambda: np.empty((0, 0)))
    H: Array | None = None
    features: Callable[[Array], Array] | None = None
    refit: bool | None = None
    from_pool: bool = False
    descriptors: tuple[Array | None, ...] = ()
    held: Callable[[Array], Array] | None = None
    contexts: tuple[int, ...] = ()
    activity: Activity | None = None

    def __post_init__(self) -> None:
        n, d = _two_dimensional("X", self.X)
        rows, outcomes = _two_dimensional("Y", self.Y)
        if not 0 <= self.constraints < max(outcomes, 1):
            raise DataError(f"{self.constraints} constraints among {outcomes} outcomes leave no objective")
        if rows != n:
            raise DataError(f"X has {n} rows but Y has {rows}: give one row of outcomes for every point")
        if n and not (np.isfinite(self.X).all() and np.isfinite(self.Y).all()):
            raise DataError("X and Y must be finite: leave failed evaluations out of Y and put them into X_failed")
        if self.Y_var is not None and self.Y_var.shape != self.Y.shape:
            raise DataError(f"Y_var has shape {self.Y_var.shape}, expected that of Y, {self.Y.shape}")
        set_ = object.__setattr__
        set_(self, "forecasts", self.forecasts or (None,) * n)
        set_(self, "categories", self.categories or (0,) * d)
        set_(self, "descriptors", self.descriptors or (None,) * d)
        set_(self, "X_pending", self.X_pending.reshape(-1, d))
        set_(self, "X_failed", self.X_failed.reshape(-1, d))
        if not len(self.Y_failed):
            set_(self, "Y_failed", np.full((len(self.X_failed), self.objectives), np.nan))
        if len(self.Y_failed) != len(self.X_failed):
            raise DataError(f"{len(self.Y_failed)} rows in Y_failed for {len(self.X_failed)} failed points")
        if self.H is not None and (self.H.ndim != 2 or len(self.H) != n or np.isinf(self.H).any()):
            raise DataError(f"H must have one row of numbers (or NaN) for each of {n} points, got shape {self.H.shape}")
        if len(self.forecasts) != n:
            raise DataError(f"{len(self.forecasts)} forecasts for {n} points: give one (or None) for every point")
        if len(self.categories) != d:
            raise DataError(f"{len(self.categories)} entries in categories for {d} columns")

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def objectives(self) -> int:
        """Number of objectives, m."""
        return self.Y.shape[1] - self.constraints

    @property
    def feasible(self) -> np.ndarray:
        """Which observations meet all constraints, `n`."""
        if not self.constraints:
            return np.ones(len(self), dtype=bool)
        return self.Y[:, self.objectives :].min(axis=1) >= 0.0

    @property
    def tried(self) -> Array:
        """All points suggested or observed so far: observed, pending and failed ones, in this order."""
        return np.vstack([self.X, self.X_pending, self.X_failed])

    def here(self) -> Dataset:
        """Return the data with all observed, pending and failed points moved to where the next suggestion is held.

        The outcomes are still those measured elsewhere: only what a model predicts at the moved points may be compared with
        candidates, which all lie there. That the best predicted value there is the one to improve on, instead of the best
        value seen anywhere, makes improvement mean something in every context.
        """
        if self.held is None:
            return self
        X, pending, failed = (self.held(points) for points in (self.X, self.X_pending, self.X_failed))
        return replace(self, X=X, X_pending=pending, X_failed=failed)

    def outcome(self, index: int) -> Dataset:
        """Return the same data with one outcome only."""
        return self._outcomes(slice(index, index + 1))

    def without_constraints(self) -> Dataset:
        """Return the same data with the objectives only."""
        return self._outcomes(slice(0, self.objectives)) if self.constraints else self

    def feasible_only(self) -> Dataset:
        """Return the feasible observations; pending and failed points are kept."""
        feasible = self.feasible
        return self if feasible.all() else self._keeping(np.flatnonzero(feasible))

    def since(self, start: int) -> Dataset:
        """Return the observations from the ``start``-th on; pending and failed points are kept."""
        return self._keeping(slice(start, None)) if start else self

    def with_pending(self, X: Array) -> Dataset:
        """Return the data with further pending points, `k x d`."""
        return replace(self, X_pending=np.vstack([self.X_pending, X]))

    def with_observations(
        self,
        X: Array,
        Y: Array,
        *,
        forecasts: Sequence[KnownForecasts | None] = (),
        hyperparameters: tuple[tuple[float, ...], ...] | None = None,
    ) -> Dataset:
        """Return the data with further observations at its end.

        Args:
            X: Their points, `p x d`.
            Y: Their outcomes, `p x (m + c)`.
            forecasts: Their forecasts, p; by default none.
            hyperparameters: Hyperparameters from which the next fit may start; by default those of the data.
        """
        return replace(
            self,
            X=np.vstack([self.X, X]),
            Y=np.vstack([self.Y, Y]),
            Y_var=_with_unknown_rows(self.Y_var, len(X)),
            H=_with_unknown_rows(self.H, len(X)),
            forecasts=(*self.forecasts, *(forecasts or (None,) * len(X))),
            hyperparameters=self.hyperparameters if hyperparameters is None else hyperparameters,
        )

    def with_pruned(self) -> Dataset:
        """Return the data with pruned points as observations of their last intermediate values.

        Without known noise variances; data with constraints, which are not measured of pruned points, are unchanged.
        """
        known = np.isfinite(self.Y_failed).all(axis=1) & (self.constraints == 0)
        if not known.any():
            return self
        left = replace(self, Y_var=None, X_failed=self.X_failed[~known], Y_failed=self.Y_failed[~known])
        return left.with_observations(self.X_failed[known], self.Y_failed[known])

    def _keeping(self, index: npt.NDArray[np.intp] | slice) -> Dataset:
        """Return some of the observations, with all pending and failed points."""
        return replace(self.rows(index), X_pending=self.X_pending, X_failed=self.X_failed, Y_failed=self.Y_failed)

    def _outcomes(self, kept: slice) -> Dataset:
        # Of many results nearly all forecasts are forgotten.
        cut = [None if f is None else f[kept] for f in self.forecasts]
        return replace(
            self,
            Y=self.Y[:, kept],
            Y_var=None if self.Y_var is None else self.Y_var[:, kept],
            forecasts=tuple([None if f is None or all(one is None for one in f) else f for f in cut]),
            hyperparameters=self.hyperparameters[kept],
            constraints=0,
            Y_failed=self.Y_failed[:, kept],
        )

    def rows(self, index: npt.NDArray[np.intp] | slice) -> Dataset:
        """Return some of the observations, without pending and failed points."""
        kept = np.arange(len(self))[index]
        return replace(
            self,
            X=self.X[kept],
            Y=self.Y[kept],
            Y_var=None if self.Y_var is None else self.Y_var[kept],
            H=None if self.H is None else self.H[kept],
            forecasts=tuple(self.forecasts[i] for i in kept),
            X_pending=self.X_pending[:0],
            X_failed=self.X_failed[:0],
            Y_failed=self.Y_failed[:0],
        )


def _with_unknown_rows(array: Array | None, count: int) -> Array | None:
    """Return an array with further rows of NaN."""
    return None if array is None else np.vstack([array, np.full((count, array.shape[1]), np.nan)])


def _two_dimensional(name: str, array: Array) -> tuple[int, int]:
    if array.ndim != 2:
        raise DataError(f"{name} must be two-dimensional (points x columns), got shape {array.shape}")
    return array.shape[0], array.shape[1]


def _shown_values(values: float | tuple[float, ...] | Mapping[str, float]) -> str:
    return f"{{{shown_params(values)}}}" if isinstance(values, Mapping) else shown_value(values)


@dataclass(frozen=True)
class Outcome:
    """Values of an objective with its constraints and its noise, to be returned instead of a plain number.

    Attributes:
        values: Value of the objective, or a tuple with one value for each of several objectives; of objectives with
            names also a mapping.
        constraints: Constraints by name, each met where its value is not positive, such as ``used - limit``.
        sem: Standard error of the value, if known; a tuple, or a mapping by name, with one for each of several objectives.
        context: Contexts that were observed, by name, where they differ from those that the trial was suggested for.
        output: Text that a study keeps with the trial, such as the output of a command.

    Examples:
        >>> from calibo import Outcome
        >>> Outcome(0.25, constraints={"memory": 3.2 - 4.0}, sem=0.01)
        Outcome(0.25, memory=-0.8, sem=0.01)
    """

    values: float | tuple[float, ...] | Mapping[str, float]
    constraints: Mapping[str, float] = field(default_factory=dict)
    sem: float | tuple[float, ...] | Mapping[str, float] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    output: str = field(default="", compare=False)

    def __repr__(self) -> str:
        limits = [f"{name}={shown_value(value)}" for name, value in dict(self.constraints).items()]
        noise = [] if self.sem is None else [f"sem={_shown_values(self.sem)}"]
        observed = [f"{name}={shown_value(value)}" for name, value in dict(self.context).items()]
        return f"Outcome({', '.join([_shown_values(self.values), *limits, *noise, *observed])})"


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A point to evaluate, with the forecasts made before its evaluation.

    Attributes:
        params: Parameters by name, in the user's units.
        x: The same point encoded on the unit cube, with `d` coordinates.
        forecasts: One forecast per outcome (the objectives, then the constraints), or ``None`` if there is no model yet.
            Those that ``Optimizer.ask`` returns are in the user's sign, those of ``calibo.optimize.suggest`` in the
            internal one.
        hyperparameters: Fitted hyper-parameters per outcome, from which the next fit starts.
        number: Number of the suggestion, counted from 0; -1 if it has none.
        constraints: Names of the constraints, whose forecasts come after those of the objectives.
        method: Name of the method that made it, or ``None``.
        why_method: Why that method chose the parts it did, in words, or ``None`` if it does not choose.
        columns: Names of the columns that the hyperparameters are of, where ``params`` have not all of them; else empty.

    Examples:
        >>> from calibo import Float, Optimizer
        >>> optimizer = Optimizer({"x": Float(0, 10)}, "gp_ei", seed=0)
        >>> for _ in range(5):
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, (suggestion.params["x"] - 3) ** 2)
        >>> optimizer.ask()
        Suggestion(5: x=2.78...; forecast mean 0.42..., 80 % interval -1.9... to 2.8...)
    """

    params: Mapping[str, Any]
    x: Array = field(default_factory=lambda: np.empty(0))
    forecasts: Forecasts | None = None
    hyperparameters: tuple[tuple[float, ...], ...] = ()
    number: int = -1
    constraints: tuple[str, ...] = ()
    method: str | None = None
    why_method: str | None = None
    columns: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Suggestion):
            return NotImplemented
        return {**vars(self), "x": self.x.tolist()} == {**vars(other), "x": other.x.tolist()}

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    def forecast(self) -> Forecast | None:
        """Forecast of the first objective; ``None`` without a model."""
        return self.forecasts[0] if self.forecasts else None

    def __repr__(self) -> str:
        number = "" if self.number < 0 else f"{self.number}: "
        forecasts = [f"forecast {forecast}" for forecast in (self.forecasts or ())[:1]]
        return f"Suggestion({'; '.join([number + shown_params(self.params), *forecasts])})"

    def _repr_html_(self) -> str:
        from calibo.notebooks import suggestion_html

        return suggestion_html(self.params, self.number, self._named_forecasts(), self.why_method or "")

    def _named_forecasts(self) -> dict[str, Forecast]:
        """Return the forecasts by what they are of: the objectives, counted if there are several, then the constraints."""
        forecasts = self.forecasts or ()
        m = len(forecasts) - len(self.constraints)
        objectives = ["forecast"] if m == 1 else [f"objective {i}" for i in range(m)]
        return dict(zip([*objectives, *(f"constraint {name}" for name in self.constraints)], forecasts, strict=True))


def shown_params(params: Mapping[str, Any]) -> str:
    """Return parameters as ``name=value`` pairs, for a ``repr``."""
    return ", ".join(f"{name}={shown_value(value)}" for name, value in params.items())


def shown_value(value: Any) -> str:
    """Return a value for a ``repr``: floats with 6 significant digits."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(shown_value, value))})"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
