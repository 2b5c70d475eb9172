"""How much a run does, for how long, and by how many workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import optuna

from calibo.checks import check_whole, real_number, shown
from calibo.errors import RecipeError
from calibo.study.budget import Budget, counted
from calibo.study.isolation import Isolated


@dataclass(frozen=True)
class Limits:
    """The limits of one run, as ``minimize`` describes them; ``checked`` makes them of what a user gave.

    Attributes:
        n_trials: Number of new trials.
        total: Number of trials that the study is to have in the end, in place of these, or ``None``.
        trial_timeout: Seconds that one evaluation may take, or ``None``.
        timeout: Seconds after which no trial is started, or ``None``.
        hard: Whether the end of that time also ends the evaluation that is running then.
        n_jobs: Number of workers.
        threads: Whether they are threads of this process.
    """

    n_trials: int
    total: int | None
    trial_timeout: float | None
    timeout: float | None
    hard: bool
    n_jobs: int
    threads: bool

    @classmethod
    def checked(
        cls,
        *,
        n_trials: Any,
        total: Any,
        timeout: Any,
        trial_timeout: Any,
        hard_timeout: bool,
        n_jobs: Any,
        parallel: Any,
    ) -> Self:
        """Return the limits that a user gave.

        Raises:
            RecipeError: If one of them is wrong.
        """
        n_trials = check_whole("n_trials, the number of new trials,", n_trials)
        n_jobs = check_whole("n_jobs, the number of workers,", n_jobs)
        total = None if total is None else check_whole("total, the number of trials of the study,", total)
        timeout, trial_timeout = _seconds("timeout", timeout), _seconds("trial_timeout", trial_timeout)
        if hard_timeout and timeout is None:
            raise RecipeError(
                "hard_timeout ends an evaluation when timeout is over: give timeout=, a number of seconds"
            )
        if parallel not in ("processes", "threads"):
            raise RecipeError(f'parallel is "processes" or "threads", got {shown(parallel)}')
        return cls(n_trials, total, trial_timeout, timeout, hard_timeout, n_jobs, parallel == "threads")

    @property
    def one_process(self) -> bool:
        """Whether all trials are run by this process."""
        return self.n_jobs == 1 or self.threads

    def budget(self, study: optuna.Study) -> Budget:
        """Return what is left to do of a study."""
        if self.total is not None:
            return Budget(total=self.total)
        if self.one_process:
            return Budget(own=self.n_trials)
        # Processes count together what they add.
        return Budget(total=counted(study.get_trials(deepcopy=False))[0] + self.n_trials)

    def deadline(self) -> float | None:
        """Return the monotonic time at which a run that begins now has used up its time."""
        return None if self.timeout is None else time.monotonic() + self.timeout

    def timed(self, objective: Callable[..., Any], deadline: float | None) -> Callable[..., Any]:
        """Return an objective, evaluated in a process of its own if an evaluation is to be ended when time is up."""
        if self.trial_timeout is None and not self.hard:
            return objective
        return Isolated(objective, self.trial_timeout, deadline if self.hard else None)


def _seconds(name: str, given: Any) -> float | None:
    """Return a number of seconds above 0, or ``None``."""
    number = None if given is None else real_number(given)
    if given is not None and not (number is not None and number > 0):
        raise RecipeError(f"{name} is a number of seconds above 0, or None, got {shown(given)}")
    return number
