"""``calibo worker``: join a study from any machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from calibo.cli.app import (
    Answer,
    CompositeOption,
    Debug,
    HardTimeoutOption,
    Quiet,
    TimeoutOption,
    TrialTimeoutOption,
    WorkersOption,
    app,
    complete_studies,
    explained,
)
from calibo.errors import ObjectiveError, StudyError


@app.command()
@explained
def worker(
    context: typer.Context,
    storage: Annotated[str, typer.Argument(metavar="STORAGE", help="A URL such as postgresql+psycopg://host/name.")],
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="Name of the study, which must have been begun.", autocompletion=complete_studies
        ),
    ],
    objective: Annotated[
        str | None, typer.Argument(metavar="FILE.py:FUNCTION", help="The objective, as in `calibo run`.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Instead of a function: a command, as in `calibo run`.", show_default=False)
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many trials the study is to have in the end; by default as it was begun.",
            show_default=False,
        ),
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="Needed only for pools, and for choices that are no plain values.")
    ] = None,
    composite: CompositeOption = None,
    workers: WorkersOption = 1,
    lease: Annotated[
        float, typer.Option(min=1.0, help="Seconds without a sign of life after which others run its trial again.")
    ] = 60.0,
    timeout: TimeoutOption = None,
    hard_timeout: HardTimeoutOption = False,
    trial_timeout: TrialTimeoutOption = None,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> Answer:
    """Join a study that `calibo run` or `minimize` began.

    The worker leaves when the study has all of its trials.

    \b
    calibo worker postgresql+psycopg://me@host/name first train.py:objective
    """
    if (objective is None) == (command is None):
        raise ObjectiveError(
            "give either FILE.py:FUNCTION or --command, such as `calibo worker STORAGE STUDY train.py:f`"
        )
    from calibo.cli.objectives import CommandObjective, load_composite, load_objective, load_space
    from calibo.cli.output import counted
    from calibo.cli.records import result_record
    from calibo.cli.run import Watched, parameter_names, resume_line, stopped_answer
    from calibo.study import Interrupted, load_result, minimize, open_storage
    from calibo.study.attributes import read_total

    where = None if space is None else load_space(space)
    known = None if composite is None else load_composite(composite)
    opened = open_storage(storage, create=False, lease=lease)
    begun = load_result(opened, study, space=where)
    if begun.space is None:
        raise StudyError(f"the space of study {study!r} is not known from its storage: give it with --space")
    total = trials if trials is not None else read_total(begun.study)
    if total is None:
        raise StudyError(f"it is not known how many trials study {study!r} is to have: give --trials")
    evaluate: Any
    if objective is not None:
        evaluate = load_objective(objective, parameter_names(begun.space))
    else:
        objectives = None if composite else len(begun.directions)
        evaluate = CommandObjective.parse(command or "", parameter_names(begun.space), objectives, begun.names)
    watched = Watched(evaluate)
    try:
        result = minimize(
            watched,
            begun.space,
            total=total,
            storage=opened,
            study_name=study,
            timeout=timeout,
            callbacks=[watched.after],
            progress=progress and not quiet,
            directions=[direction.name.lower() for direction in begun.directions],
            composite=known,
            trial_timeout=trial_timeout,
            hard_timeout=hard_timeout,
            n_jobs=workers,
        )
    except Interrupted as stop:
        return stopped_answer(stop, resume_line(context))
    return Answer(
        lambda: typer.echo(f"Study {study!r}: {counted(result)} of {total}."),
        lambda: {**result_record(result), "interrupted": None, "total": total},
    )
