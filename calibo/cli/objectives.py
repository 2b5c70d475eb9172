"""Objectives and spaces named on the command line: in Python and TOML files, and commands that print a value."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import shlex
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

from calibo.checks import did_you_mean
from calibo.cli.styles import adapted
from calibo.data import Outcome
from calibo.errors import ObjectiveError, RecipeError, SpaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from calibo.optimize import Strategy
    from calibo.spaces import Space

#: Name of the objective in a file if none is given.
OBJECTIVE = "objective"
#: Table of a space's TOML file with the outcomes and their directions.
OUTCOMES = "outcomes"
#: Lines of the output of a failed command that are shown.
TAIL_LINES = 12
#: Characters of the output of a command that are kept with its trial, from the end.
OUTPUT_LENGTH = 4_000
_TAIL_BYTES = 16_384
#: What separates the output from the standard error.
_ERRORS = "--- standard error ---"

#: Seconds that an interrupted command may take to stop by itself.
_PATIENCE = 5.0


def load_objective(reference: str, names: Sequence[str]) -> Callable[[Any], Any]:
    """Load the function that `FILE.py:name` (or `FILE.py`, with the name `objective`) refers to, as one of a dict.

    `names` are those of the parameters of the space.
    """
    return adapted(_function(reference, OBJECTIVE, "the parameters"), names, reference)


def load_method(reference: str) -> str | Strategy:
    """Return the name of a method as it is given, or load the strategy that `FILE.py:name` refers to.

    In the file it may be a strategy or a function without arguments that returns one; by default it is called `method`.

    Raises:
        RecipeError: If it is neither.
    """
    from calibo.optimize import Strategy

    if split_reference(reference, "method")[0].suffix != ".py":
        return reference
    found = _load(reference, default="method")
    if not isinstance(found, Strategy) and callable(found):
        try:
            found = found()
        except Exception as error:
            raise RecipeError(f"{reference}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, Strategy):
        raise RecipeError(
            f"{reference} is a {type(found).__name__}; name a strategy, such as ocbo(rule=...), or a function that "
            "returns one"
        )
    return found


def load_composite(reference: str) -> Callable[[Any], Any]:
    """Load the known function of a composite objective from `FILE.py:name` (by default `composite`)."""
    return _function(reference, "composite", "a torch tensor m x k that returns m values")


def _function(reference: str, default: str, argument: str) -> Callable[[Any], Any]:
    found = _load(reference, default)
    if not callable(found):
        raise ObjectiveError(f"{reference} is a {type(found).__name__}; name a function of {argument}")
    return found


def load_space_and_outcomes(reference: str) -> tuple[Space, dict[str, str]]:
    """Load a space, and from a TOML file the directions of the outcomes in its table `[outcomes]`, if it has one.

    Raises:
        SpaceError: If the file cannot be read, or does not describe a space.
    """
    from calibo.spaces import space_from_dict, tables_of_toml

    if not reference.endswith(".toml"):
        return load_space(reference), {}
    table = tables_of_toml(reference)
    outcomes = table.get(OUTCOMES)
    if not isinstance(outcomes, Mapping) or "type" in outcomes:
        return space_from_dict(table, source=reference), {}
    if not outcomes or not all(isinstance(way, str) for way in outcomes.values()):
        raise SpaceError(f'{reference}: [{OUTCOMES}] has lines such as yield = "max", got {dict(outcomes)!r}')
    parameters = {name: one for name, one in table.items() if name != OUTCOMES}
    return space_from_dict(parameters, source=reference), dict(outcomes)


def load_space(reference: str) -> Space:
    """Load the space in `FILE.toml`, or the one that `FILE.py:name` (by default `space`) refers to.

    In a Python file it may be a space, a mapping of names to parameters, a table of rows, or a function without
    arguments that returns one of these.
    """
    from calibo.spaces import as_space

    path, _ = split_reference(reference, default="space")
    if path.suffix == ".toml":
        return load_space_and_outcomes(str(path))[0]
    if path.suffix != ".py":
        raise SpaceError(f"{reference}: a space is FILE.toml or FILE.py:name, got neither")
    found = _load(reference, default="space")
    if callable(found):
        try:
            found = found()
        except Exception as error:
            raise SpaceError(f"{reference}() failed: {type(error).__name__}: {error}") from error
    try:
        return as_space(found)
    except SpaceError as error:
        raise SpaceError(f"{reference}: {error}") from None


def split_reference(reference: str, default: str) -> tuple[Path, str]:
    """Return the file and the name that `FILE.py:name` refers to; without a name the default one."""
    # Only an identifier after the last colon is a name, so that a colon may be part of the path.
    path, colon, name = reference.rpartition(":")
    return (Path(path), name) if colon and name.isidentifier() else (Path(reference), default)


def _load(reference: str, default: str) -> Any:
    path, name = split_reference(reference, default)
    if path.suffix != ".py":
        raise ObjectiveError(f"{reference}: expected FILE.py:name, such as train.py:objective")
    if not path.is_file():
        raise ObjectiveError(f"{path}: there is no such file (looked for from {Path.cwd()})")
    module = _module(path)
    if not hasattr(module, name):
        public = {key: value for key, value in vars(module).items() if not key.startswith("_")}
        there = [key for key, value in public.items() if not isinstance(value, ModuleType)]
        has = ", ".join(there) or "no names at all"
        raise ObjectiveError(f"{path} has no {name!r}; it has {has}{did_you_mean(name, there)}")
    return getattr(module, name)


def _module(path: Path) -> ModuleType:
    """Import the file as a module, once, with the files beside it importable as if it were run itself."""
    full = path.resolve()
    name = _module_name(full)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(full):
        return loaded
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None:
        raise ObjectiveError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    if str(full.parent) not in sys.path:
        sys.path.insert(0, str(full.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = f"{type(error).__name__}: {error}{_line(error, full)}"
        raise ObjectiveError(f"{path} could not be loaded: {reason}") from error
    return module


def _module_name(path: Path) -> str:
    """Return the file's own name, by which worker processes can import it, unless that is taken."""
    name = path.stem
    taken = sys.modules.get(name)
    if taken is not None:
        free = getattr(taken, "__file__", None) == str(path)
    else:
        # A file with the name of a package (random.py, torch.py) must not replace it.
        found = importlib.util.find_spec(name) if name.isidentifier() else None
        free = name.isidentifier() and (found is None or found.origin == str(path))
    return name if free else f"_calibo_file_{name}"


def _line(error: BaseException, path: Path) -> str:
    """Return the line of the file where an error was raised, if it was raised there."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == str(path)]
    return f" (line {lines[-1]})" if lines else ""


@dataclass(frozen=True)
class CommandObjective:
    """An objective that runs a command with placeholders for the parameters and reads the last line of its output.

    Several objectives, or the vector of a composite one, are several numbers in that line, also in brackets. The line
    may be a JSON object with constraints, each met where it is at most 0, and standard errors of the values:
    `{"values": [0.3, 12], "constraints": {"memory": -1.5}, "sem": [0.01, 0.5]}`. Of objectives with names, values and
    standard errors may be objects by name: `{"values": {"error": 0.3, "latency": 12}}`.

    No shell is involved: the command is split into words before the values are put in, so that every value stays part
    of one word.

    Attributes:
        words: The words of the command, each a sequence of (text, placeholder after it or `None`).
        objectives: Number of values in the last line; `None` for a vector of any length.
        names: Names of the objectives; `()` if they have none.
    """

    words: tuple[tuple[tuple[str, str | None], ...], ...]
    objectives: int | None = 1
    names: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls, command: str, names: Iterable[str], objectives: int | None = 1, called: tuple[str, ...] = ()
    ) -> CommandObjective:
        """Parse a command line with a placeholder for each of the named parameters.

        `called` are the names of the objectives, if they have any.

        Raises:
            ObjectiveError: If the command cannot be parsed or found, or its placeholders are not the parameters.
        """
        try:
            split = shlex.split(command)
        except ValueError as error:
            raise ObjectiveError(f"the command cannot be split into words ({error}): {command}") from None
        if not split:
            raise ObjectiveError('the command is empty; write e.g. --command "python train.py --lr {lr}"')
        words = tuple(_placeholders(word) for word in split)
        used = {name for word in words for _, name in word if name is not None}
        known = list(names)
        if unknown := sorted(used.difference(known)):
            raise ObjectiveError(
                f"the command has {_braced(unknown)}, but the space has {_braced(known)}; "
                "correct the name, or write {{ and }} where braces are meant"
            )
        if unused := [name for name in known if name not in used]:
            raise ObjectiveError(f"the command does not use {_braced(unused)}; add it, or remove it from the space")
        program = "".join(text for text, _ in words[0])
        if all(name is None for _, name in words[0]) and shutil.which(program) is None:
            raise ObjectiveError(f"the command's program {program!r} was not found or is not executable; give its path")
        return cls(words, objectives, called)

    def arguments(self, params: Mapping[str, Any]) -> list[str]:
        """Return the words of the command for some parameters."""
        return [
            "".join(text + ("" if name is None else _text(params[name])) for text, name in word) for word in self.words
        ]

    def __call__(self, params: Mapping[str, Any]) -> Outcome:
        """Run the command and return the outcome it prints.

        Raises:
            ObjectiveError: If it fails, or its last line is not as many finite numbers as there are objectives.
                Either way the output is kept with the trial.
        """
        arguments = self.arguments(params)
        # Output goes to files rather than memory, since a training run may print a lot.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
            except (OSError, ValueError) as error:
                raise ObjectiveError(f"{shlex.join(arguments)}: could not be started ({error})") from error
            with _stopped_if_interrupted(process):
                status = process.wait()
            printed, complaint = _tail(out), _tail(errors)
        output = _output(printed, complaint)
        printed, complaint = printed[-TAIL_LINES:], complaint[-TAIL_LINES:]
        if status != 0:
            raise ObjectiveError(f"{shlex.join(arguments)}: {_ended(status)}{_shown(complaint or printed)}", output)
        try:
            outcome = _outcome(printed[-1].strip() if printed else "", self.objectives, self.names)
        except ValueError as wrong:
            shown = _shown(complaint) if complaint else ""
            raise ObjectiveError(f"{shlex.join(arguments)}: {wrong}{shown}", output) from None
        return replace(outcome, output=output)


def _placeholders(word: str) -> tuple[tuple[str, str | None], ...]:
    try:
        parts = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ObjectiveError(
            f"{word!r} in the command: {error}; a placeholder is {{name}}, and braces that are meant are {{{{ and }}}}"
        ) from None
    for _, name, spec, conversion in parts:
        if name == "" or spec or conversion:
            raise ObjectiveError(
                f"{word!r} in the command: a placeholder is the name of a parameter in braces, no more"
            )
    return tuple((text, name) for text, name, _, _ in parts)


def _text(value: Any) -> str:
    """Format a value, floats with all their digits, so that what is run is what is stored."""
    return repr(value) if isinstance(value, float) else str(value)


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


@contextlib.contextmanager
def _stopped_if_interrupted(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _tail(file: IO[bytes]) -> list[str]:
    """Return the last lines of a file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    return file.read().decode(errors="replace").rstrip().splitlines()


def _output(printed: list[str], complaint: list[str]) -> str:
    """Return what is kept of a command's output: its end, then that of the standard error."""
    out, errors = "\n".join(printed), "\n".join(complaint)
    if not errors:
        return out[-OUTPUT_LENGTH:]
    half = OUTPUT_LENGTH // 2
    errors = errors[-max(half, OUTPUT_LENGTH - len(out)) :]
    return f"{out[len(errors) - OUTPUT_LENGTH :] if out else ''}\n{_ERRORS}\n{errors}".lstrip("\n")


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _shown(lines: list[str]) -> str:
    return "".join(f"\n    {line}" for line in lines) if lines else " and printed nothing"


def _outcome(line: str, objectives: int | None, names: Sequence[str] = ()) -> Outcome:
    """Parse the last line of a command's output; a `ValueError` explains what is wrong with it."""
    if not line:
        raise ValueError("it printed nothing, not a number")
    printed: dict[str, Any] = {"values": line.strip("[]()").replace(",", " ").split()}
    if line.startswith("{"):
        printed = _json_object(line)
    from calibo.trials import finite_constraints, standard_errors
    from calibo.trials.direction import by_name

    values: Any = by_name(printed["values"], names, "the values that it printed")
    sem: Any = by_name(printed.get("sem"), names, "the standard errors (sem) that it printed")
    numbers = [_number(value, line) for value in (values if isinstance(values, list) else [values])]
    if not numbers or objectives not in (None, len(numbers)):
        expected = f"{objectives} numbers, one for each direction" if (objectives or 1) > 1 else "a number"
        raise ValueError(f"the last line of its output is {line[:200]!r}, not {expected}")
    limits = finite_constraints(printed.get("constraints"))
    if objectives == 1:
        noise = standard_errors(sem[0] if isinstance(sem, list) and len(sem) == 1 else sem, 1)
        return Outcome(numbers[0], limits, noise and noise[0])
    return Outcome(tuple(numbers), limits, standard_errors(sem, len(numbers)))


def _json_object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except RecursionError:
        raise ValueError("the last line of its output is JSON that is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the last line of its output is not valid JSON ({error})") from None
    unknown = sorted(set(found) - {"values", "constraints", "sem"})
    if unknown or "values" not in found:
        raise ValueError(
            f'the JSON it printed must have "values" and may have "constraints" and "sem", got {sorted(found)}'
        )
    return found


def _number(value: Any, line: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the last line of its output is {line[:200]!r}, not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"the value it printed is {number}")
    return number
