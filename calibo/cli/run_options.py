"""Options of `calibo run`, and the command line that repeats them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunOptions:
    """Options of `calibo run` except the number of trials; see `calibo run --help`."""

    objective: str | None
    command: str | None
    space: str
    method: str | None
    storage: str
    study: str
    seed: int | None
    directions: tuple[str, ...]
    reference: tuple[float, ...] | None
    composite: str | None
    timeout: float | None
    report: Path | None
    progress: bool

    def line(self, trials: int) -> str:
        """Return the command line that adds `trials` trials."""
        what = [self.objective] if self.objective is not None else ["--command", self.command or ""]
        words = ["calibo", "run", *what, "--space", self.space, "--trials", str(trials)]
        words += [] if self.method is None else ["--method", self.method]
        words += ["--storage", self.storage, "--study", self.study]
        words += [] if self.seed is None else ["--seed", str(self.seed)]
        if len(self.directions) > 1:
            words += ["--directions", ",".join(self.directions)]
            words += [] if self.reference is None else ["--reference", ",".join(map(repr, self.reference))]
        elif self.directions == ("maximize",):
            words += ["--maximize"]
        words += [] if self.composite is None else ["--composite", self.composite]
        words += [] if self.timeout is None else ["--timeout", f"{self.timeout:g}"]
        words += [] if self.report is None else ["--report", str(self.report)]
        words += [] if self.progress else ["--no-progress"]
        return shlex.join(words)
