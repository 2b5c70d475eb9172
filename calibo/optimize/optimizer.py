"""Ask and tell: the one mutable object of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from calibo.data import Dataset, Suggestion
from calibo.errors import DataError, RecipeError, ValueRejected
from calibo.optimize.predictions import believed, fitted_model, predict_table
from calibo.optimize.records import Direction, Record, State, dataset, finite_value, turned
from calibo.optimize.strategy import Strategy
from calibo.optimize.suggest import checked_count, checked_seed, propose
from calibo.space import PoolSpace, ProductSpace, as_space

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable


class Optimizer:
    """Suggests points, takes their outcomes, and says what it believes.

    Suggestions may be told in any order or never; those not yet told are pending and respected by the next ``ask``.

    Args:
        space: A mapping of names to parameters, a space, or a table of rows (a pool).
        method: A method's name ("ocbo", "gp_ei", ...) or a strategy.
        direction: "minimize" or "maximize".
        seed: Makes every suggestion reproducible; drawn at random if not given.
        n_initial: Points of the initial design (points told count); by default two per parameter, from 5 to 10.
    """

    def __init__(
        self,
        space: Any,
        method: str | Strategy = "ocbo",
        *,
        direction: str = "minimize",
        seed: int | None = None,
        n_initial: int | None = None,
    ) -> None:
        from calibo.methods import strategy

        self.space: ProductSpace | PoolSpace = as_space(space)  # pyright: ignore[reportAttributeAccessIssue]
        self.strategy: Strategy = strategy(method)
        self.direction: Direction = Direction.of(direction)
        self.seed: int = int(np.random.SeedSequence().entropy % 2**63) if seed is None else checked_seed(seed)  # pyright: ignore[reportOperatorIssue]
        self.n_initial: int | None = None if n_initial is None else checked_count(n_initial, "n_initial")
        self._asked: int = 0
        self._pending: dict[int, Record] = {}
        self._done: list[Record] = []
        self._latest: tuple[tuple[float, ...], ...] = ()

    @overload
    def ask(self, q: Literal[1] = 1) -> Suggestion: ...
    @overload
    def ask(self, q: int) -> list[Suggestion]: ...
    def ask(self, q: int = 1) -> Suggestion | list[Suggestion]:
        """The next point to try (or a list of ``q`` points if ``q`` > 1), each with the forecast it will be judged by.

        Forecasts are in the sign and the units of the outcomes that are told.
        """
        if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 1:
            raise RecipeError(f"ask for at least one point, got q={q!r}")
        found = propose(
            self.data(),
            space=self.space,
            strategy=self.strategy,
            seed=self.seed,
            number=self._asked,
            q=int(q),
            n_initial=self.n_initial,
        )
        found = [replace(s, forecasts=turned(s.forecasts, [self.direction])) for s in found]
        for suggestion in found:
            self._pending[suggestion.number] = Record(
                x=suggestion.x,
                state=State.PENDING,
                forecasts=suggestion.forecasts,
                hyperparameters=suggestion.hyperparameters,
            )
            self._latest = suggestion.hyperparameters or self._latest
        self._asked += len(found)
        return found[0] if q == 1 else found

    def tell(self, what: Suggestion | Mapping[str, Any], value: float, sem: float | None = None) -> None:
        """Takes the outcome of a suggestion, or of any parameters (a warm start, which has no forecast).

        Args:
            what: The suggestion, or parameters by name.
            value: The outcome; anything but a finite number is rejected and changes nothing.
            sem: Standard error of the value, if known.
        """
        outcome = finite_value(value)
        variance = None if sem is None else (_variance(sem),)
        record = self._record(what)
        self._done.append(replace(record, state=State.TOLD, values=(outcome,), variances=variance))
        self._forget(what)

    def tell_failed(self, what: Suggestion | Mapping[str, Any]) -> None:
        """Takes note that an evaluation failed; no outcome is made up for it, but its surroundings become less likely."""
        record = self._record(what)
        self._done.append(replace(record, state=State.FAILED))
        self._forget(what)

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Mean, median and calibrated intervals at parameters; see ``calibo.optimize.predict_table``."""
        return predict_table(
            self.data(),
            params,
            space=self.space,
            strategy=self.strategy,
            direction=self.direction,
            rng=np.random.default_rng(self.seed),
        )

    @property
    def best(self) -> tuple[dict[str, Any], float]:
        """The parameters with the best outcome told so far, and that outcome."""
        told = self._told()
        best = max(told, key=lambda record: self.direction.value * record.values[0])
        return self.space.decode(best.x[None, :])[0], best.values[0]

    @property
    def best_expected(self) -> tuple[dict[str, Any], float]:
        """The parameters tried whose expected value is best under the calibrated model, and that expectation."""
        X = np.stack([record.x for record in self._told()])
        model = fitted_model(self.data(), self.strategy, np.random.default_rng(self.seed))
        law = believed(model, X, self.direction, latent=True)
        best = int(np.argmax(self.direction.value * law.mean))
        return self.space.decode(X[[best]])[0], float(law.mean[best])

    def calibration(self) -> CalibrationTable:
        """How the forecasts made so far came out."""
        from calibo.diagnostics import forecast_table

        told = [r for r in self._done if r.state is State.TOLD and r.forecasts]
        return forecast_table([r.forecasts[0] for r in told if r.forecasts], [r.values[0] for r in told])

    def data(self) -> Dataset:
        """All that is known, as the strategies see it (larger is better, points on the unit cube)."""
        return dataset(
            [*self._done, *self._pending.values()],
            directions=[self.direction],
            categories=self.space.categories,
            hyperparameters=self._latest,
        )

    def _told(self) -> list[Record]:
        told = [record for record in self._done if record.state is State.TOLD]
        if not told:
            raise DataError("nothing has been told yet: tell at least one outcome first")
        return told

    def _record(self, what: Suggestion | Mapping[str, Any]) -> Record:
        if isinstance(what, Suggestion):
            pending = self._pending.get(what.number)
            if pending is None or not np.array_equal(pending.x, what.x):
                raise DataError(
                    f"suggestion {what.number} is not pending here: it was told before, or another optimizer made it; "
                    "tell its params instead to add a further measurement"
                )
            return pending
        if isinstance(what, Mapping):
            return Record(x=self.space.encode([what])[0], state=State.PENDING)
        raise DataError(f"tell a suggestion or a mapping of parameters, got a {type(what).__name__}")

    def _forget(self, what: Suggestion | Mapping[str, Any]) -> None:
        if isinstance(what, Suggestion):
            del self._pending[what.number]


def _variance(sem: float) -> float:
    """The variance of a standard error; one whose square is lost to rounding is rejected."""
    number = finite_value(sem, "the standard error (sem)")
    variance = float(np.square(np.float64(number))) if abs(number) < 1e150 else float("inf")
    if number < 0.0 or not np.isfinite(variance) or (number > 0.0 and variance == 0.0):
        raise ValueRejected(f"the standard error (sem) must lie between 1e-160 and 1e150, or be 0, got {number}")
    return variance
