"""``calibo watch``: the report of a study that is running, in a browser."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from calibo.cli.app import Debug, MethodOption, SpaceOption, StorageArgument, StudyArgument, app, explained, load
from calibo.errors import StudyError


@app.command()
@explained
def watch(
    storage: StorageArgument,
    study: StudyArgument = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this computer; 0 for any that is free.")] = 0,
    every: Annotated[float, typer.Option(min=0.5, help="Seconds between two looks at the study.")] = 2.0,
    space: SpaceOption = None,
    method: MethodOption = None,
    debug: Debug = False,
) -> None:
    """Serve the report of a study, refreshed while it runs.

    It is served on this computer only, until Ctrl-C. The study is only read. The address has a token that changes with
    every start; who does not know it sees nothing.

    \b
    calibo watch study.db my-study
    """
    from calibo.study.live import LiveReport, ReportServer

    load(storage, study, space, method)  # a wrong name is said at once, not in the browser
    report = LiveReport(lambda: load(storage, study, space, method), every=every)
    try:
        server = ReportServer(report, secrets.token_urlsafe(24), port)
    except OSError as error:
        raise StudyError(f"port {port} cannot be used ({error.strerror}): give another with --port, or none") from error
    with server:
        typer.echo(f"Open {server.url}\nStop with Ctrl-C. The study goes on without this.")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("Stopped.")
