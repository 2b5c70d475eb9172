"""The commands. Slow imports are inside them, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from calibo.cli.answering import FAILED, Answer, Debug, Quiet, explained
from calibo.errors import StudyError
from calibo.files import why_unwritable

if TYPE_CHECKING:
    from calibo.study import Result

__all__ = ["FAILED", "Answer", "Debug", "Quiet", "app", "explained"]

#: Default storage of studies.
STORAGE = "calibo.db"

#: Commands that --help lists first; the others follow in the order of their files.
_FIRST = ("run", "worker", "ask", "tell", "best", "show", "studies")


class _Commands(TyperGroup):
    """The commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))


app = typer.Typer(
    cls=_Commands,
    help="Calibrated Bayesian optimization: suggestions with forecasts whose calibration is checked.",
    no_args_is_help=True,
    # Help in boxes would take twice as long.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def complete_methods(incomplete: str) -> list[tuple[str, str]]:
    """Return the methods that begin with what was typed, for the completion of a shell."""
    from calibo.methods import METHODS

    return [(name, one.summary) for name, one in METHODS.items() if name.startswith(incomplete.lower())]


def complete_studies(context: typer.Context, incomplete: str) -> list[str]:
    """Return the studies of the storage that was typed before, for the completion of a shell."""
    from calibo.errors import CaliboError
    from calibo.study import open_storage

    try:
        storage = open_storage(str(context.params.get("storage") or STORAGE), create=False)
        names = [one.study_name for one in storage.get_all_studies()]
    except CaliboError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))


WorkersOption = Annotated[int, typer.Option(min=1, help="How many worker processes to start.")]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Seconds after which no trial is started.", show_default=False)
]
HardTimeoutOption = Annotated[
    bool, typer.Option("--hard-timeout", help="End the evaluation that is running when --timeout is over.")
]
TrialTimeoutOption = Annotated[
    float | None,
    typer.Option(help="Seconds that one evaluation may take; it is ended then and has failed.", show_default=False),
]
StorageArgument = Annotated[
    str,
    typer.Argument(metavar="STORAGE", help="A URL such as sqlite:///study.db, a .db file, or a journal of Optuna's."),
]
StudyArgument = Annotated[
    str | None,
    typer.Argument(metavar="STUDY", help="Not needed if there is only one study.", autocompletion=complete_studies),
]
SpaceOption = Annotated[
    str | None, typer.Option(help="Needed only for pools, and for choices that are no plain values.")
]
MethodOption = Annotated[
    str | None,
    typer.Option(help="Instead of the method the study was made with.", autocompletion=complete_methods),
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        help='Reference point for the hypervolume of several objectives, such as "1.5,0".', show_default=False
    ),
]
CompositeOption = Annotated[
    str | None,
    typer.Option(
        help="FILE.py:FUNCTION, a known function (m x k tensor to m values) of the vector that the objective returns.",
        show_default=False,
    ),
]


def _version(requested: bool) -> None:
    if requested:
        from calibo import __version__

        typer.echo(f"calibo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Calibrated Bayesian optimization: suggestions with forecasts whose calibration is checked."""


@app.command()
@explained
def report(
    storage: StorageArgument,
    study: StudyArgument = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    space: SpaceOption = None,
    method: MethodOption = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Write the report of a study, one self-contained HTML file."""
    from calibo.cli.records import study_record

    result = load(storage, study, space, method)
    result.report(output)
    return Answer(lambda: typer.echo(f"Wrote {output}"), lambda: {**study_record(result), "report": str(output)})


@app.command()
@explained
def predict(
    storage: StorageArgument,
    study: StudyArgument = None,
    params: Annotated[
        list[str] | None,
        typer.Option(help="A JSON object such as '{\"lr\": 0.01}', or a .json or .csv file of many; may be repeated."),
    ] = None,
    csv: Annotated[
        str | None, typer.Option(help="Write the predictions to this CSV file, or - for the output.")
    ] = None,
    space: SpaceOption = None,
    method: MethodOption = None,
    debug: Debug = False,
) -> Answer:
    """Predict the outcomes of given parameters, with intervals.

    Mean, median and calibrated intervals.
    """
    from calibo.cli.output import read_params, show_predictions, write_predictions
    from calibo.cli.records import study_record, table_records

    result = load(storage, study, space, method)
    points = read_params(params or [], result.space)
    table = result.predict(points)
    if csv is not None and csv != "-":
        write_predictions(points, table, csv)

    def show() -> None:
        if csv == "-":
            write_predictions(points, table, csv)
        else:
            show_predictions(points, table)

    def data() -> dict[str, Any]:
        both = zip(points, table_records(table), strict=True)
        return {**study_record(result), "predictions": [{"params": point, **row} for point, row in both]}

    return Answer(show, data)


@app.command()
@explained
def methods(debug: Debug = False) -> Answer:
    """List the methods."""
    from calibo.cli.output import show_methods
    from calibo.methods import METHODS

    listed = [{"name": name, "summary": one.summary, "paper": one.paper} for name, one in METHODS.items()]
    return Answer(show_methods, lambda: {"methods": listed})


def load(storage: str, study: str | None, space: str | None, method: str | None) -> Result:
    """Load a study to read it."""
    from calibo.cli.objectives import load_method, load_space
    from calibo.study import load_result

    where, chosen = None if space is None else load_space(space), None if method is None else load_method(method)
    return load_result(storage, study, space=where, method=chosen)


def check_writable(path: Path, what: str = "a report") -> None:
    """Fail before the work rather than after it."""
    if reason := why_unwritable(path):
        raise StudyError(f"{what} cannot be written to {path} ({reason}): give a file in a folder you may write to")


import calibo.cli.asking  # noqa: E402 (adds its commands to the app)
import calibo.cli.audit  # noqa: E402
import calibo.cli.explain  # noqa: E402
import calibo.cli.export  # noqa: E402
import calibo.cli.rank  # noqa: E402
import calibo.cli.run  # noqa: E402
import calibo.cli.stores  # noqa: E402
import calibo.cli.studies  # noqa: E402
import calibo.cli.suggest  # noqa: E402
import calibo.cli.watch  # noqa: E402
import calibo.cli.worker  # noqa: E402, F401
