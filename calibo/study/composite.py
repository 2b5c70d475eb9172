"""The vectors of composite objectives in a study: stored with the trial that measured each, in full precision."""

from __future__ import annotations

import numpy as np
import optuna

from calibo.errors import StudyError
from calibo.optimize.composite import Composite
from calibo.study.attributes import read_vector, write_vector
from calibo.study.trials import completed


def stored_value(trial: optuna.Trial, vector: object, composite: Composite, length: int | None) -> float:
    """The value of a vector that was measured, which is stored with its trial; what is no such vector is rejected."""
    numbers, value = composite.measured(vector, length)
    write_vector(trial, numbers)
    return value


def stored_length(study: optuna.Study, composite: Composite) -> int | None:
    """The length of the vectors in a study, ``None`` if it has none yet.

    Raises:
        StudyError: If the values of the study are not those that the function gives for its vectors. A function cannot be
            stored, so this is how another one is noticed.
    """
    done = [(vector, trial) for trial in completed(study.get_trials(deepcopy=False)) if (vector := read_vector(trial))]
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
