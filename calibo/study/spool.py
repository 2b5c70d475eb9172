"""Results that could not be stored, kept in files until the next worker that opens the study stores them.

A file lies in a folder beside a SQLite store, or else in the folder for temporary files, and holds one outcome with its
trial and attempt. Folding it in twice, or after another attempt was stored, changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.distributions import distribution_to_json, json_to_distribution
from optuna.trial import TrialState

from calibo.files import replacing
from calibo.study.backends import Writes

#: Ending of the files.
ENDING = ".result.json"


@dataclass(frozen=True)
class Spooled:
    """An outcome that is not in the storage yet.

    Attributes:
        study: Name of the study.
        number: Number of the trial.
        attempt: Attempt in which it was measured.
        state: State of the trial.
        values: Its values, if there are any.
        writes: What else was to be written.
        file: Where it is kept; ``None`` if it is not kept yet.
    """

    study: str
    number: int
    attempt: int
    state: TrialState
    values: tuple[float, ...] | None
    writes: Writes
    file: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data; infinite values are the words that Python reads and writes."""
        return {
            "format": 1,
            "study": self.study,
            "number": self.number,
            "attempt": self.attempt,
            "state": self.state.name,
            "values": self.values,
            "params": {n: [v, distribution_to_json(d)] for n, (v, d) in self.writes.params.items()},
            "system_attrs": self.writes.system_attrs,
            "user_attrs": self.writes.user_attrs,
            "intermediate": list(self.writes.intermediate.items()),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], file: Path) -> Spooled:
        """Return what ``to_json`` stored."""
        writes = Writes(
            {name: (float(value), json_to_distribution(text)) for name, (value, text) in data["params"].items()},
            dict(data["system_attrs"]),
            dict(data["user_attrs"]),
            {int(step): float(value) for step, value in data["intermediate"]},
            replaces=True,
        )
        values = None if data["values"] is None else tuple(float(value) for value in data["values"])
        return cls(
            data["study"], int(data["number"]), int(data["attempt"]), TrialState[data["state"]], values, writes, file
        )


class Spool:
    """The files of one storage.

    Args:
        address: What tells the storage from others, without a password.
        beside: The file of a SQLite store, if it is one.
    """

    def __init__(self, address: str, beside: Path | None = None) -> None:
        name = f"calibo-spool-{hashlib.sha256(address.encode()).hexdigest()[:16]}"
        elsewhere = Path(os.environ.get("CALIBO_SPOOL") or tempfile.gettempdir()) / name
        self.folders: tuple[Path, ...] = (*([] if beside is None else [Path(f"{beside}.spool")]), elsewhere)

    def save(self, outcome: Spooled) -> Path:
        """Keep an outcome in a file, in the first folder that can be written.

        Raises:
            OSError: If none can.
        """
        stamp = f"{outcome.number}-{outcome.attempt}-{os.getpid()}-{time.time_ns()}"
        last: OSError | None = None
        for folder in self.folders:
            path = folder / f"{stamp}{ENDING}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with replacing(path) as new, new.open("w", encoding="utf-8") as file:
                    json.dump(outcome.to_json(), file)
                    file.flush()
                    os.fsync(file.fileno())
                return path
            except OSError as error:
                last = error
        raise last or OSError("there is no folder for it")

    def files(self) -> list[Path]:
        """Return the files that are there, oldest first."""
        found = [path for folder in self.folders if folder.is_dir() for path in folder.glob(f"*{ENDING}")]
        return sorted(found, key=lambda path: path.name.rpartition("-")[2])

    def read(self, study: str | None = None) -> Iterator[Spooled]:
        """Yield the outcomes that are kept, of one study or of all; files that cannot be read are left as they are."""
        for path in self.files():
            try:
                outcome = Spooled.from_json(json.loads(path.read_text(encoding="utf-8")), path)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
            if study is None or outcome.study == study:
                yield outcome

    def unreadable(self) -> Sequence[Path]:
        """Return the files that cannot be read."""
        readable = {outcome.file for outcome in self.read()}
        return [path for path in self.files() if path not in readable]
