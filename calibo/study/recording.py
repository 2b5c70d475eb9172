"""Recording of outcomes: what an objective returns is checked and stored with its trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from calibo.checks import shown
from calibo.data import Outcome
from calibo.errors import StudyError, ValueRejected
from calibo.optimize.composite import Composite
from calibo.spaces import Space, checked_context
from calibo.study.attributes import read_vector, write_context, write_output, write_sem, write_vector
from calibo.study.trials import completed_frozen
from calibo.trials import finite_constraints, finite_values
from calibo.trials.direction import by_name


@dataclass
class Recorder:
    """Checks what an objective returns and stores it with its trial.

    Attributes:
        space: The search space, whose contexts may be observed.
        objectives: Number of objectives.
        names: Names of the objectives, by which values may be returned; ``()`` if they have none.
        composite: Known function of a composite objective, whose vectors are then stored; ``None`` for plain objectives.
        length: Length of these vectors once it is known.
        remedy: How a failure is reported instead, for messages.
    """

    space: Space
    objectives: int
    names: tuple[str, ...] = ()
    composite: Composite | None = None
    length: int | None = None
    remedy: str = "raise an exception to report a failure"

    @classmethod
    def of(cls, study: optuna.Study, space: Space, composite: Composite | None) -> Recorder:
        """Return the recorder of a study; another composite function than its own is a ``StudyError``."""
        length = None if composite is None else _stored_length(study, composite)
        names = tuple(study.metric_names or ())
        return cls(space, len(study.directions), names, composite, length)

    def __call__(self, trial: optuna.Trial, returned: Any) -> tuple[float, ...]:
        """Store what the objective returned and return its values, one per objective.

        Raises:
            ValueRejected: If it is not what an objective may return; nothing is stored then but what comes before it.
        """
        outcome = returned if isinstance(returned, Outcome) else Outcome(returned)
        if outcome.output:
            write_output(trial, outcome.output)
        if self.composite is not None and outcome.sem is not None:
            raise ValueRejected("the value of a composite objective is computed from its vector and has no sem")
        try:
            values = self._values(trial, outcome)
            limits = finite_constraints(outcome.constraints)
        except ValueRejected as error:
            raise ValueRejected(f"{error}; {self.remedy}") from None
        if outcome.context:
            checked_context(self.space, outcome.context, partly=True)
            write_context(trial, outcome.context)
        if outcome.sem is not None:
            sem: Any = by_name(outcome.sem, self.names, "the standard errors (sem)")
            write_sem(trial, sem)
        for name, value in limits.items():
            trial.set_constraint(name, value)
        return values

    def _values(self, trial: optuna.Trial, outcome: Outcome) -> tuple[float, ...]:
        if self.composite is not None:
            vector, value = self.composite.measured(outcome.values, self.length)
            write_vector(trial, vector)
            self.length = len(vector)
            return (value,)
        if isinstance(outcome.values, Mapping):
            return finite_values(outcome.values, self.objectives, self.names)
        try:
            return finite_values(outcome.values, self.objectives)
        except ValueRejected:
            expected = "a finite number" if self.objectives == 1 else f"{self.objectives} finite numbers"
            raise ValueRejected(f"the objective must return {expected}, it returned {shown(outcome.values)}") from None


def _stored_length(study: optuna.Study, composite: Composite) -> int | None:
    """Return the length of the vectors stored in a study, ``None`` if it has none yet.

    A function cannot be stored: another one is noticed by not giving the values stored for these vectors.
    """
    trials = completed_frozen(study.get_trials(deepcopy=False))
    done = [(vector, trial) for trial in trials if (vector := read_vector(trial))]
    if not done:
        return None
    length = len(done[-1][0])
    alike = [(vector, trial) for vector, trial in done if len(vector) == length]
    stored = np.array([(trial.values or [np.nan])[0] for _, trial in alike])
    now = composite.values(np.array([vector for vector, _ in alike]))
    wrong = np.flatnonzero(~np.isclose(now, stored, rtol=1e-6, atol=1e-9 * float(np.max(np.abs(stored)))))
    if len(wrong):
        raise StudyError(
            f"study {study.study_name!r} was made with another composite function: for the vector of trial "
            f"{alike[wrong[0]][1].number} it gave {stored[wrong[0]]}, the one given now {now[wrong[0]]}. Give the same "
            "function to resume it, or another study_name to start a new one"
        )
    return length
