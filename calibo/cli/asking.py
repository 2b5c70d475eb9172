"""``calibo ask`` and ``calibo tell``: suggestions for the shell, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.answering import Answer, Debug, Quiet, explained
from calibo.cli.app import (
    CompositeOption,
    SpaceOption,
    StorageArgument,
    StudyArgument,
    app,
    complete_methods,
    complete_studies,
)
from calibo.errors import ObjectiveError, StudyError, ValueRejected
from calibo.secrets import redacted

if TYPE_CHECKING:
    from calibo.data import Outcome
    from calibo.study import Result

_Space = Annotated[
    str | None,
    typer.Option(help="FILE.toml or FILE.py:NAME; needed for a new study, and for pools.", show_default=False),
]


@app.command()
@explained
def ask(
    storage: StorageArgument,
    study: StudyArgument = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of suggestions.")] = 1,
    space: _Space = None,
    directions: Annotated[
        str | None,
        typer.Option(
            help='Of a new study: "minimize", "maximize", or one for each objective, also by name.', show_default=False
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="By default that of the study; of a new one auto.",
            show_default=False,
            autocompletion=complete_methods,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the suggestions reproducible.")] = None,
    composite: CompositeOption = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Hold a parameter; may be repeated.", show_default=False),
    ] = None,
    observed: Annotated[
        list[str] | None,
        typer.Option(
            "--context", metavar="NAME=VALUE", help="A context as observed; may be repeated.", show_default=False
        ),
    ] = None,
    debug: Debug = False,
) -> Answer:
    """Suggest the next trials of a study, with their forecasts.

    `calibo tell` takes the results. With --space it begins the study if there is none of that name. A suggestion waits
    for its result for as long as it takes, and further ones keep away from it.

    \b
    calibo ask study.db tuning --space space.toml --json
    calibo tell study.db tuning 0 0.31 --sem 0.02
    """
    from calibo.cli.assignments import assigned
    from calibo.cli.objectives import load_composite, load_method, load_space
    from calibo.cli.records import study_record, trial_record
    from calibo.cli.run import read_directions
    from calibo.study import load_result, open_storage
    from calibo.study.asking import ask_study

    if space is None and directions is not None:
        raise StudyError("--directions are those of a new study, which needs --space; a stored study has its own")
    where, opened = None if space is None else load_space(space), open_storage(storage, create=space is not None)
    known = where if where is not None or not (fixed or observed) else load_result(opened, study).space
    if known is None and (fixed or observed):
        raise StudyError("the space of the study is not known from its storage: give it with --space")
    result, numbers = ask_study(
        opened,
        study,
        n,
        space=where,
        directions=None if directions is None else read_directions(directions, False),
        method=None if method is None else load_method(method),
        seed=seed,
        composite=None if composite is None else load_composite(composite),
        fixed=None if known is None else assigned("--fixed", fixed, known),
        context=None if known is None else assigned("--context", observed, known),
    )
    asked = [trial for trial in result.trials if trial.number in numbers]
    return Answer(
        lambda: _show_asked(result, numbers, storage),
        lambda: {**study_record(result), "trials": [trial_record(one, result) for one in asked]},
    )


def _show_asked(result: Result, numbers: Sequence[int], storage: str) -> None:
    from calibo.cli.output import show_forecasts, show_params

    for trial in (one for one in result.trials if one.number in numbers):
        typer.echo(f"Trial {trial.number} of study {result.study_name!r}:")
        show_params(trial.params)
        show_forecasts(trial, result)
    values = " ".join(result.names and (f"{name}=VALUE" for name in result.names)) or " ".join(
        ["VALUE"] * len(result.directions)
    )
    values += "".join(f" --constraint {name}=VALUE" for name in result.constraints)
    number = numbers[0] if len(numbers) == 1 else "NUMBER"
    from shlex import join

    typer.echo("Then tell what came of it:")
    typer.echo(f"  calibo tell {redacted(join([storage, result.study_name]))} {number} {values}")


@app.command(context_settings={"ignore_unknown_options": True})
@explained
def tell(
    context: typer.Context,
    storage: StorageArgument,
    study: Annotated[str, typer.Argument(metavar="STUDY", autocompletion=complete_studies)],
    trial: Annotated[int, typer.Argument(metavar="TRIAL", help="Number of the trial.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VALUE|NAME=VALUE]...", help="One for each objective, by name if they have names."),
    ] = None,
    sem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER|NAME=NUMBER",
            help="Standard error of the value; of several objectives one for each, repeated.",
            show_default=False,
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A constraint, met where at most 0; may be repeated.", show_default=False
        ),
    ] = None,
    observed: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            metavar="NAME=VALUE",
            help="A context that differed from what was asked for; may be repeated.",
            show_default=False,
        ),
    ] = None,
    failed: Annotated[
        str | None,
        typer.Option(
            metavar="REASON", help="The experiment failed, and why; keeps away from there.", show_default=False
        ),
    ] = None,
    interrupted: Annotated[
        bool, typer.Option("--interrupted", help="It was not measured, which says nothing about its parameters.")
    ] = False,
    space: SpaceOption = None,
    composite: CompositeOption = None,
    force: Annotated[bool, typer.Option("--force", help="Also if a worker is running the trial.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Tell the result of a trial that `calibo ask` suggested.

    \b
    calibo tell study.db tuning 7 0.31 --sem 0.02 --constraint memory=-1.5
    calibo tell study.db tuning 8 error=0.31 latency=12
    calibo tell study.db tuning 9 --failed "the loss is NaN"
    """
    _check_options(values or (), context)
    given = [bool(values), failed is not None, interrupted]
    if sum(given) != 1:
        raise ObjectiveError("give either the values, --failed REASON or --interrupted, and one of these only")
    from calibo.cli.objectives import load_composite, load_space
    from calibo.cli.records import study_record, trial_record
    from calibo.study import load_result, open_storage
    from calibo.study.asking import tell_study

    where, opened = None if space is None else load_space(space), open_storage(storage, create=False)
    stored = load_result(opened, study, space=where)
    known = None if composite is None else load_composite(composite)
    outcome = _outcome(stored, values, sem, constraint, observed, known is not None) if values else None
    result = tell_study(
        opened,
        study,
        trial,
        outcome,
        failed=failed,
        interrupted=interrupted,
        space=where,
        composite=known,
        force=force,
    )
    told = next(one for one in result.trials if one.number == trial)
    return Answer(
        lambda: _show_told(result, trial),
        lambda: {**study_record(result), "trial": trial_record(told, result)},
    )


def _check_options(values: Sequence[str], context: typer.Context) -> None:
    """Refuse options that do not exist, which are among the values: these may be negative numbers."""
    from calibo.checks import did_you_mean

    known = [option for parameter in context.command.params for option in parameter.opts if option.startswith("--")]
    for word in values:
        if word.startswith("--"):
            option = word.partition("=")[0]
            raise ValueRejected(f"there is no option {option}{did_you_mean(option, known)}")


def _show_told(result: Result, number: int) -> None:
    from calibo.cli.output import counted, show_outcome, wrapped

    told = next(one for one in result.trials if one.number == number)
    wrapped(f"Trial {number}: {show_outcome(told, result)}.")
    typer.echo(f"Study {result.study_name!r}: {counted(result)}.")


def _outcome(
    stored: Result,
    values: Sequence[str],
    sem: Sequence[str] | None,
    constraints: Sequence[str] | None,
    observed: Sequence[str] | None,
    composite: bool,
) -> Outcome:
    """Return the outcome that the words of a command mean."""
    from calibo.cli.assignments import assigned
    from calibo.data import Outcome

    many = None if composite else len(stored.directions)
    limits = _by_name("--constraint", constraints or ())
    numbers = _numbers("a value", values, stored.names, many)
    noise = _numbers("--sem", sem, stored.names, many) if sem else None
    if observed and stored.space is None:
        raise StudyError("the space of the study is not known from its storage: give it with --space")
    context = assigned("--context", observed, stored.space) if stored.space is not None else {}
    return Outcome(numbers if many != 1 else numbers[0], limits, noise and (noise if many != 1 else noise[0]), context)


def _numbers(what: str, words: Sequence[str], names: Sequence[str], many: int | None) -> tuple[float, ...]:
    """Return one number per objective, from numbers in their order or from NAME=NUMBER."""
    if names and any("=" in word for word in words):
        found = _by_name(what, words)
        if set(found) != set(names):
            raise ValueRejected(f"{what}: expected {', '.join(names)} by name, got {', '.join(found)}")
        return tuple(found[name] for name in names)
    if many is not None and len(words) != many:
        called = f" ({', '.join(names)})" if names else ""
        raise ValueRejected(
            f"{what}: the study has {many} objective{'s' * (many > 1)}{called}, got {len(words)}: {' '.join(words)}"
        )
    return tuple(_number(what, word) for word in words)


def _by_name(what: str, words: Sequence[str]) -> dict[str, float]:
    pairs = [(name.strip(), equals, text) for name, equals, text in (word.partition("=") for word in words)]
    if wrong := [word for word, (name, equals, _) in zip(words, pairs, strict=True) if not (name and equals)]:
        raise ValueRejected(f"{what} is NAME=NUMBER, such as memory=-1.5, got {wrong[0]!r}")
    found = {name: _number(f"{what} {name}", text) for name, _, text in pairs}
    if len(found) < len(pairs):
        raise ValueRejected(f"{what}: a name is given twice in {' '.join(words)}")
    return found


def _number(what: str, text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        raise ValueRejected(f"{what}: expected a number with a decimal point, got {text!r}") from None
