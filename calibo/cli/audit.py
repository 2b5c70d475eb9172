"""``calibo audit``: which forecasters would have been honest and sharp on a finished study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibo.cli.app import Answer, Debug, Quiet, StorageArgument, StudyArgument, app, check_writable, explained


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
            "stored with the trials. By default auto, ocbo, locbo, ocbo_local, cbo, gp_ei, cqr, botorch if it is installed, "
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
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Judge forecasters on any finished Optuna study.

    Who was honest, and who was sharp? The study is only read. Every result is forecast from those before it, whatever
    sampler chose the points.

    \b
    calibo audit study.db
    calibo audit sqlite:///study.db my-study --methods ocbo,gp_ei,botorch -o audit.html
    """
    if output is not None:
        check_writable(output)
    if csv is not None and csv != "-":
        check_writable(Path(csv), "a table")
    from calibo.auditing import audit as audited
    from calibo.cli.output import write_csv
    from calibo.cli.records import table_records

    names = None if methods is None else [name.strip() for name in methods.split(",")]
    found = audited(storage, study, objective=objective, methods=names, seed=seed, progress=progress and not quiet)
    if csv is not None and csv != "-":
        write_csv(found.to_frame(), csv, quiet)
    if output is not None:
        found.report(output)

    def show() -> None:
        if csv == "-":
            write_csv(found.to_frame(), csv)
        else:
            typer.echo(repr(found))
        if output is not None:
            typer.echo(f"Wrote {output}", err=csv == "-")

    def data() -> dict[str, object]:
        return {
            "study": found.audited.study_name,
            "objective": found.audited.objective,
            "results": len(found.audited.trials),
            "headline": found.headline(),
            "forecasters": table_records(found.to_frame()),
            "notes": found.notes(),
            "report": output and str(output),
        }

    return Answer(show, data)
