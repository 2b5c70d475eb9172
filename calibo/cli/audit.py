"""``calibo audit``: which forecasters would have been honest and sharp on a finished study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibo.cli.app import Debug, StorageArgument, StudyArgument, app, check_report, explained


@app.command()
@explained
def audit(
    storage: StorageArgument,
    study: StudyArgument = None,
    objective: Annotated[
        str, typer.Option(help="Which of several objectives: its index, or its name if the study has metric names.")
    ] = "0",
    methods: Annotated[
        str | None,
        typer.Option(
            help='Forecasters, such as "ocbo,cqr": see `calibo methods`; also botorch, and stored for the forecasts '
            "stored with the trials. By default ocbo, locbo, ocbo_local, cbo, gp_ei, cqr, botorch if it is installed, "
            "and stored if there are any.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the audit to this HTML file.")
    ] = None,
    csv: Annotated[str | None, typer.Option(help="Write the table to this CSV file, or - for the output.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of forecasters that use random numbers.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = True,
    debug: Debug = False,
) -> None:
    """Judge forecasters on any finished Optuna study: who was honest, who was sharp. The study is only read.

    Every result is forecast from those before it, whatever sampler chose the points.

    \b
    calibo audit study.db
    calibo audit sqlite:///study.db my-study --methods ocbo,gp_ei,botorch -o audit.html
    """
    if output is not None:
        check_report(output)
    from calibo.auditing import audit as audited
    from calibo.cli.output import write_csv

    names = None if methods is None else [name.strip() for name in methods.split(",")]
    found = audited(storage, study, objective=objective, methods=names, seed=seed, progress=progress)
    if csv != "-":
        typer.echo(repr(found))
    if csv is not None:
        write_csv(found.to_frame(), csv)
    if output is not None:
        found.report(output)
        typer.echo(f"Wrote {output}", err=csv == "-")
