"""``calibo explain``: why a trial was suggested, or where the best point lies and which parameters matter."""

from __future__ import annotations

from typing import Annotated

import typer

from calibo.cli.app import Debug, MethodOption, SpaceOption, StorageArgument, StudyArgument, app, explained, load


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
) -> None:
    """Say where the best point lies and which parameters matter; with --trial, why a trial was suggested.

    \b
    calibo explain study.db
    calibo explain study.db my-study --trial 17
    """
    from calibo.cli.output import wrapped
    from calibo.data import shown_params

    result = load(storage, study, space, method)
    if trial is not None:
        found = result.explain(trial)
        wrapped(f"Trial {trial}: {shown_params(found.trial.params)}")
        rows = found.rows()
        width = max(12, *(len(what) for what, _ in rows))
        for what, text in rows:
            wrapped(f"{what:<{width}} {text}", indent="  ", hanging=width + 1)
        return
    for line in str(result.optimum()).splitlines():
        wrapped(line.strip(), indent="  " if line.startswith(" ") else "")
    wrapped("Share of the variation that each parameter explains by itself (80 % interval):")
    for one in result.importance():
        wrapped(str(one), indent="  ")
