"""A study as a report tells it: the story of each of its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.errors import RecipeError, SpaceError, StudyError
from calibo.optimize import Direction, believed, fitted_models, makes_forecasts
from calibo.optimize.slices import slices_at
from calibo.report.story import Story
from calibo.report.tradeoff import Tradeoff
from calibo.spaces import ProductSpace
from calibo.study.trials import Entry

if TYPE_CHECKING:
    from calibo.study.result import Result


def told(result: Result) -> Story | Tradeoff:
    """What a report tells of a study: one story, or one for each objective and constraint."""
    finished = [e for e in result.entries if e.state in ("complete", "failed") and e.finished is not None]
    finished.sort(key=lambda entry: (entry.finished, entry.number))
    if len(result.directions) == 1 and not result.constraints:
        expected, slices = _expected_best(result, finished), _slices(result, 0)
        return _story(result, finished, result.study_name, 0, expected_best=expected, slices=slices)
    names = [f"objective {i}" for i in range(len(result.directions))] if len(result.directions) > 1 else ["value"]
    return Tradeoff(
        title=result.study_name,
        method=_method(result),
        objectives=tuple(_story(result, finished, name, i, slices=_slices(result, i)) for i, name in enumerate(names)),
        constraints=tuple(_story(result, finished, name, name) for name in result.constraints),
        reference=result.reference,
    )


def _method(result: Result) -> str:
    return result.method or getattr(result.strategy, "name", "unknown")


def _story(result: Result, entries: Sequence[Entry], title: str, outcome: int | str, **more: Any) -> Story:
    """The story of one objective, by its place, or of one constraint, by its name."""
    judged = [entry.judged(outcome) for entry in entries]
    return Story(
        title=title,
        method=_method(result),
        direction=result.directions[outcome] if isinstance(outcome, int) else Direction.MINIMIZE,
        numbers=tuple(entry.number for entry in entries),
        params=tuple(entry.params for entry in entries),
        values=tuple(_value(entry, outcome) for entry in entries),
        forecasts=tuple(None if pair is None else pair[0] for pair in judged),
        forecasting=makes_forecasts(result.strategy),
        **more,
    )


def _value(entry: Entry, outcome: int | str) -> float | None:
    if entry.values is None:
        return None
    return entry.values[outcome] if isinstance(outcome, int) else entry.constraints.get(outcome)


def _expected_best(result: Result, entries: Sequence[Entry]) -> tuple[float | None, ...] | None:
    """After each of some trials, the best expectation today's model has of the points measured until then."""
    if result.optuna_space is None or result.strategy is None or not len(result.data()):
        return None
    measured = [entry for entry in entries if entry.value is not None]
    rng = np.random.default_rng(result.seed)
    try:
        X = result.optuna_space.space.encode([entry.params for entry in measured])
        model = fitted_models(result.data(), result.strategy, rng)[0]
    except (RecipeError, SpaceError):
        # A method without a model, or trials from before a range was changed: the report does without the line.
        return None
    direction = result.directions[0]
    distribution = believed(model, X, direction, latent=True)
    best = direction.value * np.maximum.accumulate(direction.value * distribution.mean)
    after = {entry.number: float(value) for entry, value in zip(measured, best, strict=True)}
    return tuple(after.get(entry.number) for entry in entries)


def _slices(result: Result, objective: int) -> tuple[Any, ...]:
    """Beliefs of an objective along each parameter through its best point; none where there is no model for them."""
    space = result.space
    if not isinstance(space, ProductSpace) or result.strategy is None or not len(result.data()):
        return ()
    try:
        return slices_at(
            result.data(),
            result.best_params_of(objective),
            space.names,
            space=space,
            strategy=result.strategy,
            direction=result.directions[objective],
            rng=np.random.default_rng(result.seed),
            outcome=objective,
        )
    except (RecipeError, StudyError):
        # A method without a model, or no trial that meets the constraints.
        return ()
