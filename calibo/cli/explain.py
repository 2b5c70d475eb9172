"""``calibo explain``: why a trial was suggested, or where the best point lies and which parameters matter."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.app import (
    Answer,
    Debug,
    MethodOption,
    SpaceOption,
    StorageArgument,
    StudyArgument,
    app,
    explained,
    load,
)
from calibo.errors import RecipeError

if TYPE_CHECKING:
    from calibo.study import Result


@app.command()
@explained
def explain(
    storage: StorageArgument,
    study: StudyArgument = None,
    trial: Annotated[
        int | None, typer.Option("--trial", "-t", min=0, help="Number of the trial to explain.", show_default=False)
    ] = None,
    space: SpaceOption = None,
    method: MethodOption = None,
    debug: Debug = False,
) -> Answer:
    """Say where the optimum lies, or why a trial was suggested.

    Without --trial: intervals for the best value and its parameters, and which parameters matter.

    \b
    calibo explain study.db
    calibo explain study.db my-study --trial 17
    """
    result = load(storage, study, space, method)
    return _of_the_optimum(result) if trial is None else _of_a_trial(result, trial)


def _of_a_trial(result: Result, number: int) -> Answer:
    from calibo.cli.output import wrapped
    from calibo.cli.records import study_record, trial_record
    from calibo.data import shown_params

    found = result.explain(number)

    def show() -> None:
        wrapped(f"Trial {number}: {shown_params(found.trial.params)}")
        rows = found.rows()
        width = max(12, *(len(what) for what, _ in rows))
        for what, text in rows:
            wrapped(f"{what:<{width}} {text}", indent="  ", hanging=width + 1)

    def data() -> dict[str, Any]:
        return {
            **study_record(result),
            "trial": trial_record(found.trial, result),
            "reason": found.reason,
            "improvement": found.improvement,
            "best_before": found.best_before,
            "words": [{"what": what, "text": text} for what, text in found.rows()],
        }

    return Answer(show, data)


def _of_the_optimum(result: Result) -> Answer:
    from calibo.cli.output import wrapped
    from calibo.cli.records import study_record

    if len(result.directions) > 1:
        raise RecipeError(
            "several objectives have no single best point: `calibo best` shows their Pareto front, and --trial NUMBER "
            "explains one trial"
        )
    importance = result.importance()
    # With contexts the best point depends on what is observed.
    optimum = None if result.space is not None and result.space.contexts else result.optimum()

    def show() -> None:
        for line in str(optimum or "").splitlines():
            wrapped(line.strip(), indent="  " if line.startswith(" ") else "")
        wrapped("Share of the variation that each parameter explains by itself (80 % interval):")
        for one in importance:
            wrapped(str(one), indent="  ")

    def data() -> dict[str, Any]:
        shares = [asdict(one) for one in importance]
        return {**study_record(result), "optimum": None if optimum is None else asdict(optimum), "importance": shares}

    return Answer(show, data)
