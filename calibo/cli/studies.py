"""``calibo studies``, ``best``, ``show`` and ``delete``: what a storage holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibo.cli.answering import Answer, Debug, Quiet, explained
from calibo.cli.app import StorageArgument, StudyArgument, app, complete_studies
from calibo.errors import CaliboError, DataError, StudyError
from calibo.secrets import redacted

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from calibo.study import Result
    from calibo.trials import Trial


@app.command()
@explained
def studies(storage: StorageArgument, debug: Debug = False) -> Answer:
    """List the studies of a storage."""
    from calibo.cli.records import best_record, study_record
    from calibo.study import open_storage
    from calibo.study.opening import storage_errors

    opened = open_storage(storage, create=False)
    with storage_errors():
        names = sorted(one.study_name for one in opened.get_all_studies())
    found = {name: _read(opened, name) for name in names}

    def show() -> None:
        if found:
            _show_studies(found)
        else:
            typer.echo(f"{redacted(storage)} has no studies.")

    def data() -> dict[str, Any]:
        records = [
            {"study": name, "error": str(one)}
            if isinstance(one, CaliboError)
            else {**study_record(one), **best_record(one)}
            for name, one in found.items()
        ]
        return {"studies": records}

    return Answer(show, data)


def _read(storage: BaseStorage, name: str) -> Result | CaliboError:
    """Return a study, or why it cannot be read: one that is damaged must not hide the others."""
    from calibo.study import load_result

    try:
        return load_result(storage, name)
    except CaliboError as error:
        return error


def _show_studies(found: Mapping[str, Result | CaliboError]) -> None:
    from rich.text import Text

    from calibo.cli.output import console, counted, plain_table, wrapped

    table = plain_table("study", "goal", "trials", "best")
    for name, one in found.items():
        if isinstance(one, CaliboError):
            table.add_row(Text(name), "", "cannot be read", "")
        else:
            goals = ", ".join(direction.name.lower() for direction in one.directions)
            table.add_row(Text(name), goals, counted(one), _best(one))
    console().print(table)
    for name, one in found.items():
        if isinstance(one, CaliboError):
            wrapped(f"{name}: {one}")


def _best(result: Result) -> str:
    if not result.feasible_trials:
        return ""
    return f"{result.best_value:.6g}" if len(result.directions) == 1 else f"{len(result.pareto_front)} on the front"


@app.command()
@explained
def best(storage: StorageArgument, study: StudyArgument = None, debug: Debug = False) -> Answer:
    """Show the best trial of a study, or its Pareto front."""
    from calibo.cli.output import show_best
    from calibo.cli.records import best_record, study_record
    from calibo.study import load_result

    result = load_result(storage, study)
    if not result.feasible_trials:
        limits = " that meets all constraints" if any(trial.values for trial in result.trials) else ""
        raise DataError(f"study {result.study_name!r} has no complete trial{limits} yet")
    return Answer(lambda: show_best(result), lambda: {**study_record(result), **best_record(result)})


@app.command()
@explained
def show(
    storage: StorageArgument,
    study: StudyArgument = None,
    trial: Annotated[
        int | None, typer.Option("--trial", "-t", min=0, help="By default the last one.", show_default=False)
    ] = None,
    debug: Debug = False,
) -> Answer:
    """Show a trial: parameters, forecast, and what came of it.

    Also what its command printed.
    """
    from calibo.cli.records import study_record, trial_record
    from calibo.study import load_result
    from calibo.study.attributes import read_output

    result = load_result(storage, study)
    if not result.trials:
        raise DataError(f"study {result.study_name!r} has no trials yet")
    number = result.trials[-1].number if trial is None else trial
    found = [one for one in result.trials if one.number == number]
    if not found:
        raise DataError(
            f"study {result.study_name!r} has no trial {number}: there are {len(result.trials)}, counted from 0"
        )
    output = read_output(next(one for one in result.optuna_trials if one.number == number))

    def data() -> dict[str, Any]:
        return {**study_record(result), "trial": {**trial_record(found[0], result), "output": output}}

    return Answer(lambda: _show_trial(found[0], result, output), data)


def _show_trial(trial: Trial, result: Result, output: str | None) -> None:
    from calibo.cli.output import show_forecasts, show_outcome, show_params, wrapped

    wrapped(f"Trial {trial.number} of study {result.study_name!r}: {show_outcome(trial, result)}.")
    show_params(trial.params)
    show_forecasts(trial, result)
    if output:
        typer.echo("It printed, at the end:")
        for line in output.splitlines():
            typer.echo(f"  {line}")


@app.command()
@explained
def delete(
    storage: StorageArgument,
    study: Annotated[str, typer.Argument(metavar="STUDY", autocompletion=complete_studies)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Delete a study with all of its trials, for good. `calibo copy` makes a copy before."""
    from calibo.cli.output import counted
    from calibo.study import load_result, open_storage
    from calibo.study.opening import storage_errors

    opened = open_storage(storage, create=False)
    result = load_result(opened, study)
    what = f"study {study!r} in {redacted(storage)}: {counted(result)}"
    if not yes:
        try:
            sure = typer.confirm(f"Delete {what}?", err=True)
        except typer.Abort:
            sure = False
        if not sure:
            raise StudyError(f"nothing was deleted from {redacted(storage)}; --yes deletes without asking")
    from calibo.study.optuna_private import part

    with storage_errors():
        opened.delete_study(part(result.study, "_study_id"))
    return Answer(lambda: typer.echo(f"Deleted {what}."), lambda: {"deleted": study, "states": _states(result)})


def _states(result: Result) -> dict[str, int]:
    from calibo.cli.records import study_record

    return study_record(result)["states"]
