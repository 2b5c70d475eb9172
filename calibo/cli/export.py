"""``calibo export``: the trials of a study as a table, with their forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.answering import Answer, Debug, Quiet, document, explained
from calibo.cli.app import StorageArgument, StudyArgument, app
from calibo.errors import DataError
from calibo.files import replacing, why_unwritable

if TYPE_CHECKING:
    import pandas as pd

    from calibo.study import Result

#: Endings of the files that can be written.
WRITTEN = (".csv", ".json", ".parquet", ".xlsx")


@app.command()
@explained
def export(
    storage: StorageArgument,
    study: StudyArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .csv, .json, .parquet or .xlsx file; by default CSV to the standard output.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Write the trials of a study as a table.

    It has parameters, the forecasts made before, results, times and errors.

    \b
    calibo export study.db > trials.csv
    calibo export study.db my-study -o trials.parquet
    """
    if output is not None:
        _check(output, force)
    from calibo.cli.output import counted, write_csv
    from calibo.cli.records import study_record
    from calibo.study import load_result

    result = load_result(storage, study)
    if output is None:
        return Answer(lambda: write_csv(result.history, "-"), lambda: exported(result))
    if output.suffix.lower() == ".json":
        with replacing(output) as new:
            new.write_text(document("export", exported(result)) + "\n", encoding="utf-8")
    else:
        from calibo.cli.rank import write_table

        write_table(_storable(result.history) if output.suffix.lower() == ".parquet" else result.history, output)
    return Answer(
        lambda: typer.echo(f"Wrote {output}: {counted(result)}."),
        lambda: {**study_record(result), "written": str(output)},
    )


def exported(result: Result) -> dict[str, Any]:
    """Return a study with all of its trials, and what their commands printed."""
    from calibo.cli.records import study_record, trial_record
    from calibo.study.attributes import read_output

    printed = {one.number: read_output(one) for one in result.optuna_trials}
    trials = [{**trial_record(one, result), "output": printed[one.number]} for one in result.trials]
    return {**study_record(result), "trials": trials}


def _storable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns have one type each, as Parquet wants it: columns of several become text."""
    cells = table.copy()
    for name in table.columns:
        kinds = {type(value) for value in table[name] if value is not None and value == value}
        if table[name].dtype == object and len(kinds) > 1:
            cells[name] = table[name].map(str, na_action="ignore")
    return cells


def _check(output: Path, force: bool) -> None:
    """Raise ``DataError`` if the file cannot be written, before the study is read."""
    if output.suffix.lower() not in WRITTEN:
        raise DataError(f"trials cannot be written to {output}: give a file that ends in {', '.join(WRITTEN)}")
    if reason := why_unwritable(output):
        raise DataError(f"{output} cannot be written ({reason}): give a file in a folder you may write to")
    if output.exists() and not force:
        raise DataError(f"{output} exists; give another file, or replace it with --force")
