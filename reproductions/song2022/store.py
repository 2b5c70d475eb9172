"""Finished runs on disk: one line of JSON each, written at once, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from settings import Job


@dataclass(frozen=True)
class Store:
    """A folder with a file of finished runs for each problem. Deleting it starts afresh.

    Attributes:
        folder: Where the files are.
    """

    folder: Path

    def load(self) -> dict[str, dict[str, Any]]:
        """What came of all finished jobs, by key; a line that was cut off is left out, and so is run again."""
        found: dict[str, dict[str, Any]] = {}
        for file in sorted(self.folder.glob("*.jsonl")):
            for line in file.read_text().splitlines():
                try:
                    record = json.loads(line)
                    found[Job(**record["job"]).key] = record["found"]
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue
        return found

    def add(self, job: Job, found: dict[str, Any]) -> None:
        """Writes down a finished job."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{job.problem}.jsonl"
        settings = {name: value for name, value in asdict(job).items() if value is not None}
        line = json.dumps({"job": settings, "found": found}, separators=(",", ":"))
        cut_off = file.exists() and not file.read_bytes().endswith(b"\n")
        with file.open("a") as stream:
            stream.write(("\n" if cut_off else "") + line + "\n")
