"""``calibo rank``: suggest the next rows of a table to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.app import Answer, Debug, Quiet, app, check_writable, complete_methods, explained
from calibo.digits import side_by_side
from calibo.errors import DataError, MissingExtra
from calibo.files import replacing, why_unwritable
from calibo.formulas import inert_table

if TYPE_CHECKING:
    import pandas as pd

#: Characters of a cell shown.
_CELL = 20
#: Accepted rows shown; the output file has all of them.
_MOST_ACCEPTED = 20
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
    at_random: Annotated[
        bool, typer.Option("--at-random", help="Draw the rows at random instead, as --error-budget needs some.")
    ] = False,
    error_budget: Annotated[
        float | None,
        typer.Option(
            help="Accept rows unmeasured, of which on average at most this share misses --threshold.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Value that accepted rows are to reach.", show_default=False)
    ] = None,
    drawn_at_random: Annotated[
        bool, typer.Option("--drawn-at-random", help="All measured rows were drawn at random (for --error-budget).")
    ] = False,
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
    report: Annotated[
        Path | None, typer.Option(help="Also write a page about the rows and earlier rounds to this HTML file.")
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
    calibo rank candidates.csv --target yield --n 10 -o next.csv --report next.html
    calibo rank candidates.csv --target yield --n 60 --at-random -o check.csv
    calibo rank candidates.csv --target yield --error-budget .1 --threshold 70 -o accepted.csv
    """
    if output is not None:
        _check_output(output, table, study, force)
    _check_together(
        error_budget, threshold, {"--report": report, "--at-random": at_random, "--method": method}, drawn_at_random
    )
    if report is not None:
        check_writable(report)
    ways = direction or ["max"]
    common: dict[str, Any] = {
        "direction": ways[0] if len(ways) == 1 else ways,
        "study": False if no_study else study,
        "smiles": [] if no_smiles else smiles or None,
        "seed": seed,
        "progress": progress and not quiet,
    }
    if error_budget is not None:
        answer = _accepted(table, feature, target, error_budget, threshold, drawn_at_random, common)
    else:
        from calibo.cli.objectives import load_method
        from calibo.tables import rank as ranking

        chosen = None if method is None else load_method(method)
        answer = ranking(table, feature or None, target or None, n, chosen, at_random=at_random, **common)
    written = [] if output is None else [output]
    if output is not None:
        write_answer(answer, output)
    if report is not None:
        written.append(_write_page(answer, table, report))

    def show() -> None:
        (show_ranking if error_budget is None else show_accepted)(answer, table)
        for path in written:
            typer.echo(f"Wrote {path}")

    return Answer(show, lambda: (ranking_record if error_budget is None else acceptance_record)(answer))


def ranking_record(answer: pd.DataFrame) -> dict[str, Any]:
    """Return the suggested rows with their numbers, and how earlier forecasts came out."""
    kept = ("round", "measured", "candidates", "targets", "features", "notes", "calibration", "outlook", "study")
    return _record(answer, kept)


def acceptance_record(answer: pd.DataFrame) -> dict[str, Any]:
    """Return the accepted rows with their numbers, and what is promised of them."""
    kept = (
        "threshold",
        "error_budget",
        "checked_by",
        "missed",
        "candidates",
        "accepted",
        "targets",
        "features",
        "notes",
    )
    return _record(answer, (*kept, "message"))


def _record(answer: pd.DataFrame, kept: Sequence[str]) -> dict[str, Any]:
    from calibo.cli.records import table_records

    about: dict[str, Any] = answer.attrs["calibo"]
    rows = [{"row": row, **cells} for row, cells in zip(answer.index, table_records(answer), strict=True)]
    return {**{name: about[name] for name in kept}, "rows": rows}


def _check_together(
    budget: float | None, threshold: float | None, of_ranking: Mapping[str, object], drawn_at_random: bool
) -> None:
    """Refuse options of ranking with an error budget, and those of an error budget without one."""
    wrong = [name for name, value in of_ranking.items() if value]
    if budget is not None and wrong:
        raise DataError(
            f"{' and '.join(wrong)} belong to a ranking: leave them out with --error-budget, which accepts rows"
        )
    if budget is None and (threshold is not None or drawn_at_random):
        raise DataError("--threshold and --drawn-at-random belong to --error-budget: give it as well, such as .1")


def _accepted(
    table: Path,
    feature: list[str] | None,
    target: list[str] | None,
    budget: float,
    threshold: float | None,
    drawn_at_random: bool,
    common: dict[str, Any],
) -> pd.DataFrame:
    """Accept rows within an error budget."""
    from calibo.tables import accept

    if threshold is None:
        raise DataError("--error-budget needs --threshold, the value that accepted rows are to reach")
    if target is None or len(target) != 1:
        raise DataError("--error-budget needs one --target, the column that --threshold is for")
    drawn = "all" if drawn_at_random else None
    return accept(table, feature or None, target[0], threshold=threshold, error_budget=budget, drawn=drawn, **common)


def show_accepted(answer: pd.DataFrame, table: Path) -> None:
    """Print the accepted rows, and what is promised of them."""
    from calibo.cli.output import wrapped

    about: dict[str, Any] = answer.attrs["calibo"]
    for note in about["notes"]:
        wrapped(f"note: {note}")
    if len(answer):
        first = answer.head(_MOST_ACCEPTED)
        print_rows(first, about, [["probability", *map(_percent, first.iloc[:, -1])]])
        if len(answer) > len(first):
            typer.echo(f"({len(answer) - len(first)} more rows; -o FILE.csv has them all.)")
    wrapped(f"{table}: {about['message']}")


def _write_page(answer: pd.DataFrame, table: Path, report: Path) -> Path:
    from calibo.report.ranking import write_ranking_report

    names = identifying(answer, answer.attrs["calibo"])[1][1:]
    return write_ranking_report(answer, report, title=table.name, labels=names)


def show_ranking(answer: pd.DataFrame, table: Path) -> None:
    """Print the suggested rows as a table, and how earlier forecasts came out."""
    from calibo.cli.output import what_better_means, wrapped

    about: dict[str, Any] = answer.attrs["calibo"]
    wrapped(
        f"{table}: {_counted(about['measured'], 'row is', 'rows are')} measured, "
        f"{_counted(about['candidates'], 'is a candidate', 'are candidates')}. Round {about['round']}."
    )
    for note in about["notes"]:
        wrapped(f"note: {note}")
    targets: list[str] = about["targets"]
    # The columns that rank adds come last: three for each target, the probability and the reason.
    ours = list(answer.iloc[:, -3 * len(targets) - 2 :].itertuples(index=False, name=None))
    columns = [
        [f"{name}: mean (80 %)", *_expected([one[3 * j : 3 * j + 3] for one in ours])] for j, name in enumerate(targets)
    ]
    columns += [["better", *(_percent(one[-2]) for one in ours)], ["why", *(_short(one[-1]) for one in ours)]]
    hidden = print_rows(answer, about, columns)
    if hidden:
        typer.echo(f"({_counted(hidden, 'more column', 'more columns')} of the table not shown; -o FILE.csv has all.)")
    if any(one[-2] == one[-2] for one in ours):
        wrapped(f"Each row is chosen for what it adds to those above it; {what_better_means(len(targets))}")
    if about["outlook"]:
        wrapped(about["outlook"])
    for name in targets:
        _print_calibration(name, about["calibration"].get(name))
    if about["study"] is not None:
        stored = f"The forecasts are stored in {about['study']}."
        wrapped(f"{stored} Fill in the results in {table}, then run this again.")


def _print_calibration(target: str, found: dict[str, Any] | None) -> None:
    """Print how the forecasts of earlier rounds came out."""
    from calibo.cli.output import wrapped

    if found is None:
        wrapped(f"{target}: no forecast has met its result yet, so it is too early to judge the intervals.")
        return
    fell = f"{found['contained']['0.8']} fell inside their 80 % intervals"
    wrapped(f"{target}: of {_counted(found['of'], 'result', 'results')} {fell}. {found['headline']}")


def print_rows(answer: pd.DataFrame, about: dict[str, Any], columns: list[list[str]]) -> int:
    """Print rows by what identifies them, some columns, and as many features as the terminal has room for.

    Args:
        answer: The rows.
        about: What `rank` or `accept` says of them.
        columns: Columns that are always shown, each a heading and its cells.

    Returns:
        The number of features that are not shown.
    """
    from calibo.cli.output import console, wide_table

    label, names = identifying(answer, about)
    room = console().width - 3 - sum(3 + max(map(len, column)) for column in [names, *columns])
    shown: list[list[str]] = []
    for name in about["features"]:
        cells = [_cut(name), *(_cell(value) for value in answer[name])] if name != label else []
        room -= 3 + max(map(len, cells), default=0)
        if not cells or room < 0:
            break
        shown.append(cells)
    wide_table(names, [*shown, *columns])
    return len(about["features"]) - len(shown)


def identifying(answer: pd.DataFrame, about: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the column that tells rows apart, with its heading first: an identifier if there is one, else the row."""
    import pandas as pd

    known = {*about["features"], *about["targets"]}
    table = answer.columns[: len(answer.columns) - about["added"]]
    words = [name for name in table if name not in known and pd.api.types.is_string_dtype(answer[name])]
    # In a single row every text would tell it apart.
    for name in [*about["identifiers"], *(words if len(answer) > 1 else ())]:
        if bool(answer[name].notna().all()) and answer[name].is_unique:
            return name, [_cut(name), *(_cell(value) for value in answer[name])]
    return "row", ["row", *map(str, answer.index)]


def _expected(forecasts: Sequence[tuple[float, float, float]]) -> list[str]:
    """Return means with their intervals, all to as many decimals as the narrowest interval is worth."""
    decimals = _decimals(min((high - low for mean, low, high in forecasts if mean == mean), default=nan))
    return [
        "not known" if three[0] != three[0] else "{} ({} to {})".format(*_rounded(three, decimals))
        for three in forecasts
    ]


def _decimals(width: float) -> int | None:
    """Return to how many decimals numbers are worth showing if they are uncertain by ``width``: two digits of it."""
    if not (isfinite(width) and width > 0.0):
        return None
    decimals = 1 - floor(log10(width))
    return decimals if -4 <= decimals <= 5 else None


def _rounded(numbers: Sequence[float], decimals: int | None) -> list[str]:
    return side_by_side(*numbers) if decimals is None else [f"{number:.{max(decimals, 0)}f}" for number in numbers]


def _percent(chance: float) -> str:
    return "not known" if chance != chance else f"{100 * chance:.0f} %"


def _short(reason: str) -> str:
    """Return a reason in a word or two; the file has it in full."""
    from calibo.optimize.reasons import BOTH, GOOD
    from calibo.tables.answer import DRAWN, LITTLE_MEASURED, NOTHING_MEASURED

    short = {BOTH: "good, unsure", GOOD: "good", DRAWN: "random", LITTLE_MEASURED: "spread", NOTHING_MEASURED: "spread"}
    return short.get(reason, reason)


def _cut(text: str) -> str:
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _cell(value: Any) -> str:
    from calibo.cli.output import shown

    return _cut("" if value != value or value is None else shown(value))


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
    """Write the rows to a file atomically, with their row numbers first and forecasts to twelve significant digits."""
    from calibo.tables.answer import free_names

    own = answer.select_dtypes("number").columns.intersection(answer.columns[-answer.attrs["calibo"]["added"] :])
    answer = answer.assign(**{name: [float(f"{number:.12g}") for number in answer[name]] for name in own})
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
