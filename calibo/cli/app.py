"""The commands. Slow imports are inside them, so that `--help` is quick."""

from __future__ import annotations

import functools
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from calibo.errors import CaliboError, CaliboWarning, ObjectiveError, StudyError, TrialFailedWarning
from calibo.files import why_unwritable
from calibo.secrets import HIDDEN, redacted

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from calibo.optimize import StoppingRule
    from calibo.study import Result

#: Exit code of errors. A run that was stopped by a signal ends with 128 and its number, as shells have it.
FAILED = 2

#: Default storage of studies.
STORAGE = "calibo.db"

#: Failed trials shown with the output of their command; later ones are shown in one line.
SHOWN_IN_FULL = 3

app = typer.Typer(
    help="Calibrated Bayesian optimization: suggestions with forecasts whose calibration is checked.",
    no_args_is_help=True,
    # Help in boxes would take twice as long.
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Command = TypeVar("_Command", bound=Callable[..., None])

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
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
StorageArgument = Annotated[
    str, typer.Argument(metavar="STORAGE", help="A URL such as sqlite:///study.db, or a .db file.")
]
StudyArgument = Annotated[str | None, typer.Argument(metavar="STUDY", help="Not needed if there is only one study.")]
SpaceOption = Annotated[
    str | None, typer.Option(help="Needed only for pools, and for choices that are no plain values.")
]
MethodOption = Annotated[str | None, typer.Option(help="Instead of the method the study was made with.")]
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


def explained(command: _Command) -> _Command:
    """Decorate a command to print errors of calibo as a message instead of a traceback, and warnings as a line."""

    @functools.wraps(command)
    def wrapped(*args: Any, debug: bool = False, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CaliboWarning)
            warnings.showwarning = _show_warning
            try:
                command(*args, debug=debug, **kwargs)
            except BrokenPipeError:
                # The reader of a pipe has closed it; Typer ends quietly then.
                raise
            except (CaliboError, OSError) as error:
                if debug:
                    typer.echo(redacted(traceback.format_exc()), err=True)
                from calibo.checks import message_of

                typer.echo(redacted(f"error: {message_of(error)}"), err=True)
                raise typer.Exit(FAILED) from None

    return wrapped  # pyright: ignore[reportReturnType]


def _show_warning(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
    # Failed trials are shown by `Watched`.
    if issubclass(category, CaliboWarning) and category is not TrialFailedWarning:
        typer.echo(redacted(f"warning: {message}"), err=True)


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
def run(
    context: typer.Context,
    objective: Annotated[
        str | None, typer.Argument(metavar="FILE.py:FUNCTION", help="Takes a dict of parameters, returns a number.")
    ] = None,
    space: Annotated[str, typer.Option(help="FILE.toml, or FILE.py:NAME.", show_default=False)] = "",
    command: Annotated[
        str | None,
        typer.Option(
            help="Instead of a function: a command with a {placeholder} for every parameter, run without a shell; the "
            "last line of its output is the value."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="How many trials the study is to have in the end, by all of its workers.")
    ] = 50,
    more: Annotated[
        int | None, typer.Option(min=1, help="How many trials to add, instead of --trials.", show_default=False)
    ] = None,
    workers: WorkersOption = 1,
    method: Annotated[
        str | None,
        typer.Option(help="See `calibo methods`; by default that of the study, or auto.", show_default=False),
    ] = None,
    storage: Annotated[str, typer.Option(help="A URL such as sqlite:///study.db, or a .db file.")] = STORAGE,
    study: Annotated[
        str | None,
        typer.Option(
            help="Name of the study; resumed if it exists. By default that of the objective.", show_default=False
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the suggestions reproducible.")] = None,
    maximize: Annotated[bool, typer.Option("--maximize/--minimize", help="Direction of a single objective.")] = False,
    directions: Annotated[
        str | None,
        typer.Option(
            help='One direction for each of several objectives, such as "minimize,maximize", or by name, such as '
            '"error=minimize,speed=maximize".',
            show_default=False,
        ),
    ] = None,
    reference: ReferenceOption = None,
    composite: CompositeOption = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Hold a parameter in the trials of this run; may be repeated.",
            show_default=False,
        ),
    ] = None,
    observed: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            metavar="NAME=VALUE",
            help="A context of the space, as observed for this run; may be repeated.",
            show_default=False,
        ),
    ] = None,
    timeout: TimeoutOption = None,
    hard_timeout: HardTimeoutOption = False,
    trial_timeout: TrialTimeoutOption = None,
    stop_regret: Annotated[
        float | None,
        typer.Option(
            help="Stop when, by the calibrated model, no point is better than the best one found by more than this.",
            show_default=False,
        ),
    ] = None,
    stop_confidence: Annotated[float, typer.Option(help="Probability with which --stop-regret must hold.")] = 0.9,
    patience: Annotated[
        int | None,
        typer.Option(help="Stop when this many trials in a row have brought no improvement.", show_default=False),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report to this HTML file.")] = None,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = True,
    debug: Debug = False,
) -> None:
    """Optimize the parameters of a function or a command; run it again to go on with the same study.

    \b
    calibo run train.py:objective --space space.toml --trials 50
    calibo run train.py:objective --space space.toml --more 20 --workers 4
    calibo run --command "python train.py --lr {lr} --depth {depth}" --space space.toml
    """
    if (objective is None) == (command is None):
        raise ObjectiveError("give either FILE.py:FUNCTION or --command, such as `calibo run train.py:objective ...`")
    if not space:
        raise ObjectiveError("give the space with --space FILE.toml or --space FILE.py:NAME")
    given = context.get_parameter_source("trials")
    if more is not None and given is not None and given.name == "COMMANDLINE":
        raise ObjectiveError("give either --trials, the total of the study, or --more, how many to add, not both")
    if report is not None:
        check_report(report)
    from calibo.cli.assignments import assigned
    from calibo.cli.objectives import CommandObjective, load_composite, load_objective, load_space
    from calibo.cli.output import counted, show_result

    name, ways = study or _study_name(objective, command), read_directions(directions, maximize)
    where = load_space(space)
    if objective is not None:
        evaluate: Any = load_objective(objective)
    else:
        called = tuple(ways) if isinstance(ways, dict) else ()
        many = None if composite else len(ways)
        evaluate = CommandObjective.parse(command or "", _parameter_names(where), many, called)
    held, seen = assigned("--fixed", fixed, where), assigned("--context", observed, where)
    known = None if composite is None else load_composite(composite)
    stop = _stopping_rules(stop_regret, stop_confidence, patience)

    from calibo.study import Interrupted, minimize

    before = so_far(storage, name)
    if before is not None and before.trials:
        typer.echo(f"Resuming study {name!r} in {redacted(storage)}: {counted(before)}.")
    watched = Watched(evaluate)
    try:
        result = minimize(
            watched,
            where,
            n_trials=trials if more is None else more,
            total=trials if more is None else None,
            method=method,
            storage=storage,
            study_name=name,
            seed=seed,
            timeout=timeout,
            callbacks=[watched.after],
            progress=progress,
            directions=ways,
            reference=None if reference is None else _numbers(reference),
            composite=known,
            stop=stop or None,
            fixed=held or None,
            context=seen or None,
            trial_timeout=trial_timeout,
            hard_timeout=hard_timeout,
            n_jobs=workers,
        )
    except Interrupted as stop:
        added = _counted_trials(stop.result) - (0 if before is None else _counted_trials(before))
        show_stopped(stop.result, resume_line(context, None if more is None else max(1, more - added)))
        raise typer.Exit(128 + stop.signal) from None
    show_result(result)
    if report is not None:
        _write_report(result, report)


@dataclass
class Watched:
    """An objective that shows its failures.

    Attributes:
        objective: The objective.
        failures: Number of failed trials.
        error: Exception raised by the latest evaluation, if any.
    """

    objective: Callable[[dict[str, Any]], Any]
    failures: int = 0
    error: Exception | None = None

    def __call__(self, params: dict[str, Any]) -> Any:
        self.error = None
        try:
            return self.objective(params)
        except Exception as error:
            self.error = error
            raise

    def after(self, study: Any, trial: FrozenTrial) -> None:
        """Show a trial that failed (an Optuna callback)."""
        if trial.state.name == "FAIL":
            self.failures += 1
            self._show(trial)

    def _show(self, trial: FrozenTrial) -> None:
        from tqdm import tqdm

        # A trial stores only the beginning of a message, but the output of a failed command matters at the end.
        reason = str(self.error) if isinstance(self.error, ObjectiveError) else trial.user_attrs.get("error", "")
        message = redacted(f"trial {trial.number} failed: {reason}")
        if self.failures > SHOWN_IN_FULL:
            message = message.splitlines()[0]
        # A plain print would break the progress bar.
        tqdm.write(message, file=sys.stderr)


def show_stopped(result: Result, line: str) -> None:
    """Show what a run that was stopped has found, and the command line to go on with."""
    from calibo.cli.output import show_result

    done = sum(trial.values is not None for trial in result.trials)
    typer.echo("")
    if done:
        show_result(result)
    typer.echo(f"Stopped. All {done} completed trials are stored. To go on:")
    typer.echo(f"  {redacted(line)}")
    if redacted(line) != line:
        typer.echo(f"(with the password in the place of {HIDDEN})")


def _counted_trials(result: Result) -> int:
    """Return how many finished trials count towards --trials and --more: not those that were interrupted."""
    from calibo.study.budget import counted

    return counted(list(result.optuna_trials))[0]


def resume_line(context: typer.Context, more: int | None = None) -> str:
    """Return the command line that goes on with the same options, with `more` trials to add if that was asked for."""
    words = ["calibo", context.command.name or "run"]
    for parameter in context.command.params:
        value = more if parameter.name == "more" else context.params.get(parameter.name or "")
        needed = parameter.name == "trials" and more is None
        if value is None or (value == parameter.default and not needed):
            continue
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        elif isinstance(value, list | tuple):
            words += [word for one in value for word in (parameter.opts[0], str(one))]
        else:
            words += [*(() if parameter.param_type_name == "argument" else parameter.opts[:1]), str(value)]
    return shlex.join(words)


@app.command()
@explained
def report(
    storage: StorageArgument,
    study: StudyArgument = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    space: SpaceOption = None,
    method: MethodOption = None,
    debug: Debug = False,
) -> None:
    """Write the report of a study, one self-contained HTML file."""
    _write_report(load(storage, study, space, method), output)


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
) -> None:
    """Predict the outcomes of given parameters: mean, median and calibrated intervals."""
    from calibo.cli.output import read_params, show_predictions, write_predictions

    result = load(storage, study, space, method)
    points = read_params(params or [], result.space)
    table = result.predict(points)
    if csv is None or csv != "-":
        show_predictions(points, table)
    if csv is not None:
        write_predictions(points, table, csv)


@app.command()
@explained
def methods(debug: Debug = False) -> None:
    """List the methods."""
    from calibo.cli.output import show_methods

    show_methods()


def load(storage: str, study: str | None, space: str | None, method: str | None) -> Result:
    """Load a study to read it."""
    from calibo.cli.objectives import load_space
    from calibo.study import load_result

    return load_result(storage, study, space=None if space is None else load_space(space), method=method)


def so_far(storage: str, study: str) -> Result | None:
    """Return the study to resume, if there is one."""
    from calibo.study import load_result

    try:
        return load_result(storage, study)
    except StudyError:
        # There is none yet, or opening it will raise the same error.
        return None


def read_directions(given: str | None, maximize: bool) -> tuple[str, ...] | dict[str, str]:
    """Return the directions by their full names, in order or by the names of the objectives.

    Raises:
        ObjectiveError: If some objectives have names and others have none, or two have the same.
        RecipeError: If there is no such direction.
    """
    from calibo.trials import Direction

    if given is None:
        return ("maximize" if maximize else "minimize",)
    if maximize:
        raise ObjectiveError("give either --directions or --maximize, not both")
    pairs = [word.rpartition("=") for word in given.split(",")]
    names = [name.strip() for name, equals, _ in pairs if equals]
    ways = [Direction.of(way.strip()).name.lower() for _, _, way in pairs]
    if names and len(set(names)) < len(ways):
        raise ObjectiveError(
            f"--directions takes a different name for each objective, or none at all, got {given!r}: write e.g. "
            '"error=minimize,speed=maximize"'
        )
    return dict(zip(names, ways, strict=True)) if names else tuple(ways)


def _stopping_rules(regret: float | None, confidence: float, patience: int | None) -> list[StoppingRule]:
    """Return the stopping rules asked for, any of which stops."""
    from calibo.optimize import Patience, RegretBelow

    rules: list[StoppingRule] = [] if regret is None else [RegretBelow(regret, confidence)]
    return rules if patience is None else [*rules, Patience(patience)]


def _numbers(text: str) -> tuple[float, ...]:
    """Parse numbers separated by commas."""
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise ObjectiveError(f'--reference takes numbers separated by commas, such as "1.5,0", got {text!r}') from None


def _study_name(objective: str | None, command: str | None) -> str:
    """Return the default name of the study, by which the same command line finds it again."""
    if objective is not None:
        path, _, name = objective.rpartition(":")
        return f"{Path(path).stem}:{name}" if path else Path(objective).stem
    return command or ""


def _parameter_names(space: Any) -> list[str]:
    import numpy as np

    # Names of a suggestion's parameters; a pool has columns that are no features, too.
    return list(space.decode(space.sample(1, np.random.default_rng(0)))[0])


def check_report(path: Path) -> None:
    """Fail before the first trial rather than after the last."""
    if reason := why_unwritable(path):
        raise StudyError(f"a report cannot be written to {path} ({reason}): give a file in a folder you may write to")


def _write_report(result: Result, path: Path) -> None:
    result.report(path)
    typer.echo(f"Wrote {path}")


import calibo.cli.audit  # noqa: E402 (adds its command to the app)
import calibo.cli.explain  # noqa: E402
import calibo.cli.rank  # noqa: E402
import calibo.cli.stores  # noqa: E402
import calibo.cli.suggest  # noqa: E402
import calibo.cli.watch  # noqa: E402
import calibo.cli.worker  # noqa: E402, F401
