"""``calibo suggest``: the next experiments in a space, from tables of what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.app import Answer, Debug, Quiet, app, complete_methods, explained
from calibo.digits import side_by_side
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.files import why_unwritable

if TYPE_CHECKING:
    from calibo.spaces import Space
    from calibo.tables.experiments import Batch, Experiment

#: Characters of a cell shown.
_CELL = 28


@app.command()
@explained
def suggest(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="FILE.toml with the parameters, or FILE.py:NAME.")],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            help="A .csv, .tsv or .xlsx file of results; may be repeated. None in the first round.", show_default=False
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="The column of results; may be repeated. Or [outcomes] in FILE.toml.", show_default=False),
    ] = None,
    direction: Annotated[
        list[str] | None, typer.Option(help="max or min; for several targets one for each.", show_default="max")
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of experiments to suggest.")] = 8,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the experiments to this .csv, .tsv or .xlsx file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    fixed: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE that all suggestions must have; may be repeated.", show_default=False),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE of a context at the time; may be repeated.", show_default=False),
    ] = None,
    method: Annotated[
        str, typer.Option(help="See `calibo methods`, or FILE.py:NAME.", autocompletion=complete_methods)
    ] = "auto",
    study: Annotated[
        Path | None, typer.Option(help="File that keeps forecasts. By default SPACE.calibo.json.", show_default=False)
    ] = None,
    no_study: Annotated[bool, typer.Option("--no-study", help="Keep no forecasts.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Suggest the next experiments, without Python.

    Which values of the parameters to measure, with intervals and reasons. Fill in the results and run it again with
    that table: the forecasts of the last round calibrate the next.

    \b
    calibo suggest space.toml --target yield -n 8 -o round1.csv
    calibo suggest space.toml --target yield --results round1.csv -n 8 -o round2.csv
    """
    tables = results or []
    kept = None if no_study else study or Path(f"{_file_of(space)}.calibo.json")
    if output is not None:
        _check_output(output, [*tables, Path(_file_of(space)), *([] if kept is None else [kept])], force)
    from calibo.cli.objectives import load_method, load_space_and_outcomes

    where, given = load_space_and_outcomes(space)
    targets = _targets(target or [], direction or [], given)

    from calibo.cli.assignments import assigned
    from calibo.tables.experiments import next_experiments
    from calibo.tables.sheets import write_sheet

    batch = next_experiments(
        where,
        targets,
        n,
        results=tables,
        method=load_method(method),
        fixed=assigned("--fixed", fixed, where),
        context=_observed(assigned("--context", context, where), where),
        study=kept,
        seed=seed,
    )
    if output is not None:
        write_sheet(output, batch.rows(), batch.dialect)

    def show() -> None:
        show_batch(batch)
        if output is not None:
            typer.echo(f"Wrote {output}")

    return Answer(show, lambda: batch_record(batch))


def batch_record(batch: Batch) -> dict[str, Any]:
    """Return the experiments of a round, and how earlier forecasts came out."""
    from calibo.cli.records import forecast_record

    experiments = [
        {
            "name": one.name,
            "params": dict(one.params),
            "forecasts": {
                name: forecast_record(forecast)
                for name, forecast in zip(batch.targets, one.forecasts or (), strict=False)
            },
            "improvement": one.chance,
            "reason": one.reason,
        }
        for one in batch.experiments
    ]
    judged = {
        name: {"of": of, "inside": inside, "headline": headline}
        for name, (of, inside, headline) in batch.calibration.items()
    }
    return {
        "round": batch.round,
        "targets": dict(zip(batch.targets, (way.name.lower() for way in batch.directions), strict=True)),
        "measured": batch.measured,
        "failed": batch.failed,
        "pending": batch.pending,
        "notes": list(batch.notes),
        "experiments": experiments,
        "calibration": judged,
        "study": batch.study and str(batch.study),
    }


def _observed(context: dict[str, Any], space: Space) -> dict[str, Any]:
    """Return the contexts given on the command line, which must be all of the space's."""
    if missing := [name for name in space.contexts if name not in context]:
        words = " ".join(f"--context {name}=..." for name in missing)
        are, it_is = ("is", "it is") if len(missing) == 1 else ("are", "they are")
        raise SpaceError(f"{', '.join(missing)} {are} observed, not chosen: say what {it_is} at the time with {words}")
    return context


def _targets(names: Sequence[str], directions: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the directions of the outcomes by name: of the options, else those of the space's file."""
    if not names:
        if directions:
            raise RecipeError("--direction says how --target is optimized: give --target, too")
        if not given:
            raise DataError(
                "say which column holds the results: --target yield, or in the file of the space the lines\n"
                '    [outcomes]\n    yield = "max"'
            )
        return dict(given)
    if len(set(names)) < len(names):
        raise DataError(f"the targets must be different columns, got {', '.join(names)}")
    ways = list(directions) or [given.get(name, "max") for name in names]
    ways = ways * len(names) if len(ways) == 1 else ways
    if len(ways) != len(names):
        raise RecipeError(f"give one --direction, or one for each of the {len(names)} targets, got {len(ways)}")
    return dict(zip(names, ways, strict=True))


def show_batch(batch: Batch) -> None:
    """Print the experiments, what is expected of them, and how earlier forecasts came out."""
    from calibo.cli.output import wide_table, wrapped

    counts = [f"{batch.measured} {'result' if batch.measured == 1 else 'results'}"]
    counts += [f"{batch.failed} failed"] if batch.failed else []
    counts += [f"{batch.pending} not measured yet"] if batch.pending else []
    typer.echo(f"Round {batch.round}: {', '.join(counts)}.")
    for note in batch.notes:
        wrapped(f"note: {note}")
    names = ["experiment", *(one.name for one in batch.experiments)]
    chosen = [[name, *(_cell(one.params.get(name)) for one in batch.experiments)] for name in batch.parameters]
    wide_table(names, chosen)
    if any(one.forecasts is not None for one in batch.experiments):
        _show_forecasts(batch, names)
    else:
        wrapped("Too little is measured for forecasts yet: these experiments are spread over the space.")
    for name in batch.targets if batch.measured else ():
        _show_calibration(name, batch.calibration.get(name))
    if batch.study is not None:
        wrapped(
            f"The forecasts are kept in {batch.study}. Fill in the results, leave empty what is not measured yet and "
            "write failed where an experiment failed, then run this again with --results and the filled table."
        )


def _show_forecasts(batch: Batch, names: list[str]) -> None:
    from calibo.cli.output import what_better_means, wide_table, wrapped

    expected = [
        [f"{name} (80 %)", *(_expected(one, j) for one in batch.experiments)] for j, name in enumerate(batch.targets)
    ]
    better = ["better", *(_percent(one.chance) for one in batch.experiments)]
    wide_table(names, [*expected, better, ["why", *(one.reason for one in batch.experiments)]])
    wrapped(what_better_means(len(batch.targets)))


def _show_calibration(target: str, found: tuple[int, int, str] | None) -> None:
    from calibo.cli.output import wrapped

    if found is None:
        wrapped(f"{target}: no forecast has met its result yet, so it is too early to judge the intervals.")
        return
    of, inside, headline = found
    wrapped(
        f"{target}: of {of} {'result' if of == 1 else 'results'} {inside} fell inside their 80 % intervals. {headline}"
    )


def _expected(one: Experiment, outcome: int) -> str:
    if one.forecasts is None:
        return "not known"
    from calibo.optimize.reasons import COVERAGE

    known = one.forecasts[outcome].calibrated
    mean, low, high = side_by_side(known.mean, *known.interval(COVERAGE))
    return f"{mean} ({low} to {high})"


def _percent(chance: float) -> str:
    return "not known" if chance != chance else f"{100 * chance:.0f} %"


def _cell(value: Any) -> str:
    from calibo.cli.output import shown

    text = "" if value is None else shown(value)
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _file_of(space: str) -> str:
    path, colon, name = space.rpartition(":")
    return path if colon and name.isidentifier() and path.endswith(".py") else space


def _check_output(output: Path, others: Sequence[Path], force: bool) -> None:
    """Raise ``DataError`` if the output file cannot be written, before anything is computed."""
    from calibo.tables.sheets import WRITTEN

    if output.suffix.lower() not in WRITTEN:
        raise DataError(f"the experiments cannot be written to {output}: give a file that ends in {', '.join(WRITTEN)}")
    for other in others:
        if output.absolute() == other.absolute() or (output.exists() and other.exists() and output.samefile(other)):
            raise DataError(f"-o {output} is {other}, which is read and never replaced; give another file")
    if reason := why_unwritable(output):
        raise DataError(f"{output} cannot be written ({reason}): give a file in a folder you may write to")
    if output.exists() and not force:
        raise DataError(f"{output} exists; give another file, or replace it with --force")
