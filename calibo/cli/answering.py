"""What every command has in common: errors and warnings in a line, ``--json``, ``--quiet`` and ``--log-level``.

A command that has something to say returns an ``Answer``: for people as text, for scripts as one JSON object.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import json
import logging
import math
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer

from calibo.errors import CaliboError, CaliboWarning, TrialFailedWarning
from calibo.secrets import redacted

#: Exit code of errors. A run that was stopped by a signal ends with 128 and its number, as shells have it.
FAILED = 2

#: Version of the JSON objects: raised when a field is removed or changes its meaning, not when one is added.
FORMAT = 1

#: The one logger of calibo.
LOGGER = logging.getLogger("calibo")

_Command = TypeVar("_Command", bound=Callable[..., Any])


class LogLevel(enum.StrEnum):
    """From which level on the log is shown."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
_Level = Annotated[
    LogLevel,
    typer.Option(
        case_sensitive=False, help="From which level on to show the log, and warnings, on the standard error."
    ),
]


@dataclass(frozen=True)
class Answer:
    """What a command says.

    Attributes:
        show: Prints it for people.
        data: Returns it for scripts: plain data, of which numbers that are not finite become null.
        code: Exit code of the command.
    """

    show: Callable[[], None]
    data: Callable[[], Mapping[str, Any]]
    code: int = 0


def explained(command: _Command) -> _Command:
    """Decorate a command with what all have in common.

    Errors of calibo are printed as a message instead of a traceback, and warnings as a line. The command gets the option
    ``--log-level``, and ``--json`` if it returns an ``Answer``; the options ``--quiet`` and ``--debug`` are its own.
    """
    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter("log_level", inspect.Parameter.KEYWORD_ONLY, default=LogLevel.WARNING, annotation=_Level)
    ]
    if signature.return_annotation is Answer:
        added.insert(0, inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Json))

    @functools.wraps(command)
    def wrapped(*args: Any, as_json: bool = False, log_level: LogLevel = LogLevel.WARNING, **kwargs: Any) -> None:
        debug, quiet = kwargs.get("debug", False), kwargs.get("quiet", False)
        with _logging(log_level):
            try:
                # What an objective prints must not get into the one object that a script reads.
                with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                    answer: Answer | None = command(*args, **kwargs)
                    text = document(command_name(command), answer.data()) if as_json and answer is not None else None
                if text is not None:
                    typer.echo(text)
                elif answer is not None and not quiet:
                    answer.show()
            except BrokenPipeError:
                # The reader of a pipe has closed it; Typer ends quietly then.
                raise
            except (CaliboError, OSError) as error:
                if debug:
                    typer.echo(redacted(traceback.format_exc()), err=True)
                from calibo.checks import message_of

                typer.echo(_for_terminal(redacted(f"error: {message_of(error)}")), err=True)
                raise typer.Exit(FAILED) from None
        if answer is not None and answer.code:
            raise typer.Exit(answer.code)

    own = [one for one in signature.parameters.values() if one.name not in ("quiet", "debug")]
    last = [one for one in signature.parameters.values() if one.name in ("quiet", "debug")]
    ordered = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *added, *last)]
    wrapped.__signature__ = signature.replace(parameters=ordered)  # pyright: ignore[reportAttributeAccessIssue]
    return wrapped  # pyright: ignore[reportReturnType]


def command_name(command: Callable[..., Any]) -> str:
    """Return the name of a command as it is called."""
    return command.__name__.replace("_", "-")


def document(command: str, data: Mapping[str, Any]) -> str:
    """Return what a command says as the text of one JSON object, with the version of its format."""
    return json.dumps({"format": FORMAT, "command": command, **plain(data)}, allow_nan=False, indent=2)


def plain(value: Any) -> Any:
    """Return a value as JSON data: numbers that are not finite become null, and what is no plain value its text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    import numpy as np

    return plain(value.tolist()) if isinstance(value, np.generic | np.ndarray) else str(value)


@contextlib.contextmanager
def _logging(level: LogLevel) -> Iterator[None]:
    """Show the log and the warnings of calibo on the standard error, from a level on."""
    before, handler = LOGGER.level, _LineHandler()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level.upper())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CaliboWarning)
            warnings.showwarning = _show_warning
            yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before)


class _LineHandler(logging.Handler):
    """Writes the log line by line, without breaking a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"{record.levelname.lower()}: {record.getMessage()}")


def complain(message: str) -> None:
    """Print a message to the standard error, without breaking a progress bar."""
    from tqdm import tqdm

    tqdm.write(_for_terminal(redacted(message)), file=sys.stderr)


def _for_terminal(message: str) -> str:
    """Break lines between words where the standard error is a terminal; a log gets a message in one line."""
    if not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns
    fill = functools.partial(
        textwrap.fill, width=width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    return "\n".join(line if len(line) <= width else fill(line) for line in message.split("\n"))


def _show_warning(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
    # Failed trials are shown by `Watched`.
    ours = issubclass(category, CaliboWarning) and category is not TrialFailedWarning
    if ours and LOGGER.isEnabledFor(logging.WARNING):
        complain(f"warning: {message}")
