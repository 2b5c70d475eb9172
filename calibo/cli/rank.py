"""``calibo rank``: suggest the next rows of a table to measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.app import Answer, Debug, Quiet, app, complete_methods, explained
from calibo.errors import DataError, MissingExtra
from calibo.files import replacing, why_unwritable
from calibo.formulas import inert_table

if TYPE_CHECKING:
    import pandas as pd

#: Number of feature columns shown beside the forecasts; the output file has all of them.
SHOWN_COLUMNS = 6
#: Characters of a cell shown.
_CELL = 28
_WRITTEN = (".csv", ".parquet", ".xlsx")


@app.command()
@explained
def rank(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv, .parquet or .xlsx file; it is not changed.")
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="The column of results; may be repeated.", show_default=False)
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of rows to suggest.")] = 10,
    method: Annotated[
        str | None,
        typer.Option(
            help="See `calibo methods`, or FILE.py:NAME; by default chosen by the columns.",
            autocompletion=complete_methods,
        ),
    ] = None,
    direction: Annotated[
        list[str] | None, typer.Option(help="max or min; for several targets one for each.", show_default="max")
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A feature column; may be repeated. By default all that can be used.", show_default=False),
    ] = None,
    smiles: Annotated[
        list[str] | None,
        typer.Option(help="A column of SMILES; may be repeated. By default found by name.", show_default=False),
    ] = None,
    no_smiles: Annotated[bool, typer.Option("--no-smiles", help="Treat SMILES as categories.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the rows to this .csv, .parquet or .xlsx file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    study: Annotated[
        Path | None, typer.Option(help="File that stores forecasts. By default TABLE.calibo.json.", show_default=False)
    ] = None,
    no_study: Annotated[bool, typer.Option("--no-study", help="Store no forecasts.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = True,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Suggest which rows of a table to measure next. Rows with a result are data, rows without are candidates.

    Fill in the results and run it again: the forecasts of the last round calibrate the next.

    \b
    calibo rank candidates.csv --target yield --n 10 -o next.csv
    """
    if output is not None:
        _check_output(output, table, study, force)
    from calibo.cli.objectives import load_method
    from calibo.tables import rank as ranking

    ways = direction or ["max"]
    answer = ranking(
        table,
        feature or None,
        target or None,
        n,
        None if method is None else load_method(method),
        ways[0] if len(ways) == 1 else ways,
        study=False if no_study else study,
        smiles=[] if no_smiles else smiles or None,
        seed=seed,
        progress=progress and not quiet,
    )
    if output is not None:
        write_answer(answer, output)

    def show() -> None:
        show_ranking(answer, table)
        if output is not None:
            typer.echo(f"Wrote {output}")

    return Answer(show, lambda: ranking_record(answer))


def ranking_record(answer: pd.DataFrame) -> dict[str, Any]:
    """Return the suggested rows with their numbers, and how earlier forecasts came out."""
    from calibo.cli.records import table_records

    about: dict[str, Any] = answer.attrs["calibo"]
    kept = ("round", "measured", "candidates", "targets", "features", "notes", "calibration", "study")
    rows = [{"row": row, **cells} for row, cells in zip(answer.index, table_records(answer), strict=True)]
    return {**{name: about[name] for name in kept}, "rows": rows}


def show_ranking(answer: pd.DataFrame, table: Path) -> None:
    """Print the suggested rows as a table, and how earlier forecasts came out."""
    from rich.text import Text

    from calibo.cli.output import console, plain_table

    about: dict[str, Any] = answer.attrs["calibo"]
    typer.echo(
        f"{table}: {_counted(about['measured'], 'row is', 'rows are')} measured, "
        f"{_counted(about['candidates'], 'is a candidate', 'are candidates')}. Round {about['round']}."
    )
    for note in about["notes"]:
        typer.echo(f"note: {note}")
    features = about["features"][:SHOWN_COLUMNS]
    targets: list[str] = about["targets"]
    forecasts = [f"{name}: mean (80 %)" for name in targets]
    rows = plain_table("row", *features, *forecasts, "chance to improve", "reason")
    # The columns that rank adds come last: three for each target, the probability and the reason.
    ours = answer.iloc[:, -3 * len(targets) - 2 :]
    for (index, row), added in zip(answer.iterrows(), ours.itertuples(index=False, name=None), strict=True):
        cells = [str(index), *(_cell(row[name]) for name in features)]
        cells += [_expected(*added[3 * j : 3 * j + 3]) for j in range(len(targets))]
        rows.add_row(*(Text(cell) for cell in (*cells, _percent(added[-2]), added[-1])))
    console().print(rows)
    if hidden := len(about["features"]) - len(features):
        columns = _counted(hidden, "more column", "more columns")
        typer.echo(f"({columns} of the table not shown; -o FILE.csv has them all.)")
    for name in targets:
        _print_calibration(name, about["calibration"].get(name))
    if about["study"] is not None:
        stored = f"The forecasts are stored in {about['study']}."
        typer.echo(f"{stored} Fill in the results in {table}, then run this again.")


def _print_calibration(target: str, found: dict[str, Any] | None) -> None:
    """Print how the forecasts of earlier rounds came out."""
    from calibo.cli.output import wrapped

    if found is None:
        wrapped(f"{target}: no suggested row has been measured yet, so it is too early to judge the intervals.")
        return
    fell = f"{found['contained']['0.8']} fell inside their 80 % intervals"
    wrapped(f"{target}: of {_counted(found['of'], 'result', 'results')} {fell}. {found['headline']}")


def _expected(mean: float, low: float, high: float) -> str:
    return "not known" if mean != mean else f"{mean:.4g} ({low:.4g} to {high:.4g})"


def _percent(chance: float) -> str:
    return "not known" if chance != chance else f"{100 * chance:.0f} %"


def _cell(value: Any) -> str:
    from calibo.cli.output import shown

    text = "" if value != value or value is None else shown(value)
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _check_output(output: Path, table: Path, study: Path | None, force: bool) -> None:
    """Raise ``DataError`` if the output file cannot be written, before the table is read rather than after."""
    kinds = ", ".join(_WRITTEN)
    if output.suffix.lower() not in _WRITTEN:
        raise DataError(f"the rows cannot be written to {output}: give a file that ends in {kinds}")
    kept = Path(f"{table}.calibo.json") if study is None else study
    for other, what in ((table, "the table itself"), (kept, "the study file")):
        if output.absolute() == other.absolute() or (output.exists() and other.exists() and output.samefile(other)):
            raise DataError(f"-o {output} is {what}, which is never replaced; give another file")
    if reason := why_unwritable(output):
        raise DataError(f"the rows cannot be written to {output} ({reason}): give a file in a folder you may write to")
    if output.exists() and not force:
        raise DataError(f"{output} exists; give another file, or replace it with --force")


def write_answer(answer: pd.DataFrame, output: Path) -> None:
    """Write the rows to a file atomically, with their row numbers first."""
    from calibo.tables.answer import free_names

    numbered = answer.rename_axis(index=free_names(["row"], list(answer.columns))[0]).reset_index()
    # The further information is not part of the table.
    numbered.attrs = {}
    write_table(numbered, output)


def write_table(table: pd.DataFrame, output: Path) -> None:
    """Write a table to a .csv, .parquet or .xlsx file atomically, without cells that a spreadsheet takes for formulas."""
    kind = output.suffix.lower()
    table = table if kind == ".parquet" else inert_table(table)
    write = {".parquet": table.to_parquet, ".xlsx": table.to_excel}.get(kind, table.to_csv)
    try:
        with replacing(output) as new:
            write(new, index=False)
    except ImportError as error:
        raise MissingExtra(f"{output} needs {error.name}: pip install 'calibo[tables]', or write a .csv file") from None
    except OSError as error:
        raise DataError(f"{output} cannot be written ({error.strerror or error}); give another file") from error
