"""``calibo run``: optimize the parameters of a function or a command."""

from __future__ import annotations

import logging
import shlex
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.answering import LOGGER, Answer, Debug, Quiet, complain, explained
from calibo.cli.app import (
    STORAGE,
    CompositeOption,
    HardTimeoutOption,
    ReferenceOption,
    TimeoutOption,
    TrialTimeoutOption,
    WorkersOption,
    app,
    check_writable,
    complete_methods,
)
from calibo.errors import ObjectiveError, StudyError
from calibo.secrets import HIDDEN, redacted

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from calibo.optimize import StoppingRule
    from calibo.study import Interrupted, Result

#: Failed trials shown with the output of their command, or the traceback; later ones are shown in one line.
SHOWN_IN_FULL = 3
#: Calls of a traceback that are shown, the last ones.
SHOWN_CALLS = 3

#: Options that a line to go on with does not repeat.
_NOT_REPEATED = ("as_json", "log_level", "quiet", "debug")


@app.command()
@explained
def run(
    context: typer.Context,
    objective: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE.py:FUNCTION",
            help="Takes a dict of parameters, the parameters by name, or an Optuna trial; returns a number.",
        ),
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
        typer.Option(
            help="See `calibo methods`, or FILE.py:NAME; by default that of the study, or auto.",
            show_default=False,
            autocompletion=complete_methods,
        ),
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
    report: Annotated[
        Path | None, typer.Option(help="Also write a report to this HTML file, also after Ctrl-C.")
    ] = None,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = True,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Optimize the parameters of a function or a command.

    The same line again goes on with the same study.

    \b
    calibo run train.py:objective --space space.toml --trials 50
    calibo run train.py:objective --space space.toml --more 20 --workers 4
    calibo run --command "python train.py --lr {lr} --depth {depth}" --space space.toml
    """
    if (objective is None) == (command is None):
        raise ObjectiveError("give either FILE.py:FUNCTION or --command, such as `calibo run train.py:objective ...`")
    if not space:
        raise ObjectiveError(
            "give the space with --space FILE.toml or --space FILE.py:NAME; a TOML file has a table for each parameter, such "
            'as [lr] with the lines type = "float", low = 0.001 and high = 1.0'
        )
    given = context.get_parameter_source("trials")
    if more is not None and given is not None and given.name == "COMMANDLINE":
        raise ObjectiveError("give either --trials, the total of the study, or --more, how many to add, not both")
    if report is not None:
        check_writable(report)
    from calibo.cli.assignments import assigned
    from calibo.cli.objectives import CommandObjective, load_composite, load_method, load_objective, load_space

    name, ways = study or _study_name(objective, command), read_directions(directions, maximize)
    where = load_space(space)
    if objective is not None:
        evaluate: Any = load_objective(objective, parameter_names(where))
    else:
        called = tuple(ways) if isinstance(ways, dict) else ()
        many = None if composite else len(ways)
        evaluate = CommandObjective.parse(command or "", parameter_names(where), many, called)
    held, seen = assigned("--fixed", fixed, where), assigned("--context", observed, where)
    known = None if composite is None else load_composite(composite)
    chosen = None if method is None else load_method(method)
    stop = _stopping_rules(stop_regret, stop_confidence, patience)

    from calibo.study import Interrupted, minimize

    before = so_far(storage, name)
    if before is not None and before.trials and not quiet:
        from calibo.cli.output import counted, wrapped

        wrapped(f"Resuming study {name!r} in {redacted(storage)}: {counted(before)}.")
        if more is None and _counted_trials(before) >= trials:
            wrapped(f"Nothing to run: --trials is the number of trials in the end, here {trials}. --more 10 adds ten.")
    watched = Watched(evaluate)
    try:
        result = minimize(
            watched,
            where,
            n_trials=trials if more is None else more,
            total=trials if more is None else None,
            method=chosen,
            storage=storage,
            study_name=name,
            seed=seed,
            timeout=timeout,
            callbacks=[watched.after],
            progress=progress and not quiet,
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
    except Interrupted as stopped:
        added = _counted_trials(stopped.result) - (0 if before is None else _counted_trials(before))
        left = None if more is None else max(1, more - added)
        return stopped_answer(stopped, resume_line(context, left), report)
    return _answer(result, report)


def _answer(result: Result, report: Path | None) -> Answer:
    from calibo.cli.output import show_result
    from calibo.cli.records import result_record

    if report is not None:
        result.report(report)

    def show() -> None:
        show_result(result)
        if report is not None:
            typer.echo(f"Wrote {report}")

    return Answer(show, lambda: {**result_record(result), "interrupted": None, "report": _text(report)})


def stopped_answer(stopped: Interrupted, line: str, report: Path | None = None) -> Answer:
    """Return what a run that was stopped has found, and the command line to go on with; write its report."""
    from calibo.cli.records import result_record

    result, done = stopped.result, sum(trial.values is not None for trial in stopped.result.trials)
    written = report if done else None
    if written is not None:
        result.report(written)

    def show() -> None:
        from calibo.cli.output import show_result

        typer.echo("")
        if done:
            show_result(result)
        if written is not None:
            typer.echo(f"Wrote {written}")
        typer.echo(f"Stopped. All {done} completed trials are stored. To go on:")
        typer.echo(f"  {redacted(line)}")
        if redacted(line) != line:
            typer.echo(f"(with the password in the place of {HIDDEN})")

    def data() -> dict[str, Any]:
        interrupted = {"signal": stopped.signal, "resume": redacted(line)}
        return {**result_record(result), "interrupted": interrupted, "report": _text(written)}

    return Answer(show, data, 128 + stopped.signal)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@dataclass
class Watched:
    """An objective that shows its failures.

    Attributes:
        objective: The objective.
        failures: Number of failed trials.
        error: Exception raised by the latest evaluation, if any.
        names: Names of the parameters of the latest evaluation.
    """

    objective: Callable[[dict[str, Any]], Any]
    failures: int = 0
    error: Exception | None = None
    names: tuple[str, ...] = ()

    def __call__(self, params: dict[str, Any]) -> Any:
        self.error, self.names = None, tuple(params)
        try:
            return self.objective(params)
        except Exception as error:
            self.error = error
            raise

    def after(self, study: Any, trial: FrozenTrial) -> None:
        """Show a trial that failed (an Optuna callback)."""
        if trial.state.name == "FAIL":
            self.failures += 1
            if LOGGER.isEnabledFor(logging.WARNING):
                complain(self._said(trial))

    def _said(self, trial: FrozenTrial) -> str:
        # A trial stores only the beginning of a message, but the output of a failed command matters at the end.
        reason = str(self.error) if isinstance(self.error, ObjectiveError) else trial.user_attrs.get("error", "")
        first, *others = f"trial {trial.number} failed: {reason}".splitlines()
        calls = [] if self.error is None else calls_of(self.error)
        if calls:
            last = calls[-1]
            first += f" ({Path(last.filename).name}, line {last.lineno})"
            others += [f"    {line}" for line in "".join(traceback.format_list(calls)).splitlines()]
        if isinstance(self.error, KeyError) and self.error.args and self.error.args[0] not in self.names:
            others.append(f"    (the parameters are {', '.join(self.names)})")
        return "\n".join([first, *others]) if self.failures <= SHOWN_IN_FULL else first


def calls_of(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the last calls that led to an error, without those of calibo; none if it is one of calibo's own messages."""
    from calibo.errors import CaliboError

    if isinstance(error, CaliboError):
        return []
    package = str(Path(__file__).resolve().parents[1])
    calls = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(package)]
    return [
        traceback.FrameSummary(_short(one.filename), one.lineno, one.name, line=one.line)
        for one in calls[-SHOWN_CALLS:]
    ]


def _short(file: str) -> str:
    """Return a file by its place below the current folder, if it is there."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


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
        if value is None or parameter.name in _NOT_REPEATED or (value == parameter.default and not needed):
            continue
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        elif isinstance(value, list | tuple):
            words += [word for one in value for word in (parameter.opts[0], str(one))]
        else:
            words += [*(() if parameter.param_type_name == "argument" else parameter.opts[:1]), str(value)]
    return shlex.join(words)


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
    if objective is None:
        return command or ""
    from calibo.cli.objectives import OBJECTIVE, split_reference

    path, name = split_reference(objective, OBJECTIVE)
    return f"{path.stem}:{name}"


def parameter_names(space: Any) -> list[str]:
    """Return the names of the parameters that an objective takes; a pool has columns that are no features, too."""
    import numpy as np

    return list(space.decode(space.sample(1, np.random.default_rng(0)))[0])
