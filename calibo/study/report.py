"""What a report shows of a study, from its storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibo.errors import DataError, RecipeError, StudyError
from calibo.optimize.reporting import Modelled, Reported
from calibo.trials import in_order_of_completion

if TYPE_CHECKING:
    from calibo.study.result import Result


def reported(result: Result) -> Reported:
    """Return what is reported on a study: its trials in the order in which their results arrived, and its model."""
    ended = [trial for trial in in_order_of_completion(result.stored_trials) if trial.finished is not None]
    running = [trial for trial in result.stored_trials if trial.finished is None]
    return Reported(
        title=result.title,
        method=result.method or ("unknown" if result.strategy is None else result.strategy.name),
        trials=(*ended, *running),
        directions=result.directions,
        names=result.names,
        reference=result.reference,
        makes_forecasts=result.makes_forecasts,
        model=_modelled(result),
    )


def _modelled(result: Result) -> Modelled | None:
    """Return the model of a study; ``None`` without an outcome, a known space, or a method with models."""
    try:
        plan = result.plan
    except (StudyError, DataError, RecipeError):
        return None
    assert result.space is not None, "a plan has a space"
    space = result.space
    return Modelled(
        space,
        plan,
        result.data(),
        result.progress,
        result.best_params_of,
        result.explain,
        lambda trials: space.from_values([trial.params for trial in trials]),
    )
