"""``calibo doctor`` and ``calibo copy``: what is wrong with a storage, and studies moved to another one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from calibo.cli.app import Answer, Debug, Quiet, StorageArgument, app, explained


@app.command()
@explained
def doctor(
    storage: StorageArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what is safe to repair.")] = False,
    wait: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds to watch leases for; by default as long as they last.", show_default=False),
    ] = None,
    debug: Debug = False,
) -> Answer:
    """Look for what is wrong with the studies of a storage.

    Trials without a worker, results kept in files, missing or damaged forecasts, and other oddities. Nothing is changed
    without --repair, which stores results that were kept in files and lets trials be run again whose workers are gone;
    the rest is for you to decide. Ends with 1 if something is wrong.
    """
    from calibo.study.doctor import examine

    findings = examine(storage, repair=repair, wait=wait)
    left = [finding for finding in findings if finding.wrong and not finding.repaired]

    def show() -> None:
        for finding in findings:
            where = f"{finding.study}: " if finding.study else ""
            typer.echo(f"{where}{finding.text}{' - repaired' if finding.repaired else ''}")
        if not findings:
            typer.echo("Nothing is wrong.")
        if not repair and any(finding.repairable for finding in left):
            typer.echo("calibo doctor --repair repairs what is marked (repairable).")

    return Answer(show, lambda: {"findings": [asdict(one) for one in findings]}, code=1 if left else 0)


@app.command()
@explained
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A storage.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another storage; created if it does not exist.")],
    study: Annotated[str | None, typer.Option(help="Copy only this study; by default all.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option(help="Name of the copy, of a single study.", show_default=False)] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Copy studies to another storage.

    Forecasts, attributes and times are copied as well, and the copies are compared by their hashes.
    """
    import optuna

    from calibo.errors import StudyError
    from calibo.study import open_storage
    from calibo.study.copying import copied, study_hash
    from calibo.study.opening import load_study, quiet_optuna

    opened = open_storage(source, create=False)
    names = [one.study_name for one in opened.get_all_studies()] if study is None else [study]
    if name is not None and len(names) != 1:
        raise StudyError(f"--name is for a single study, and there are {len(names)}: say which with --study")
    there, copies = open_storage(target), list[dict[str, Any]]()
    for one in names:
        with quiet_optuna():
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            made = copied(load_study(opened, one), there, name)
        trials = len(made.get_trials(deepcopy=False))
        copies.append({"study": one, "copy": made.study_name, "trials": trials, "hash": study_hash(made)})

    def show() -> None:
        for one in copies:
            typer.echo(f"{one['study']}: {one['trials']} trials, {one['hash'][:16]}")

    return Answer(show, lambda: {"copies": copies})
