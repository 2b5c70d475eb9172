"""Errors and warnings of calibo. Each message says what was expected, what was given and what to do."""

from __future__ import annotations

import sys
import warnings

#: Packages whose lines may stand between one of the user's and the one in calibo that warns; the last two begin threads.
_BETWEEN = frozenset({"calibo", "optuna", "sklearn", "joblib", "contextlib", "functools", "concurrent", "threading"})


class CaliboError(Exception):
    """Base class of all errors that calibo raises on purpose."""


class SpaceError(CaliboError, ValueError):
    """Invalid search space, or parameters that do not belong to the space."""


class ValueRejected(CaliboError, ValueError):
    """Outcome or standard error that is not a finite number; nothing was stored."""


class DataError(CaliboError, ValueError):
    """Arrays or records whose shapes or contents do not fit together."""


class RecipeError(CaliboError, ValueError):
    """Strategy, method or setting that is unknown or cannot be composed as asked."""


class ArgumentError(DataError, RecipeError):
    """Argument or setting of a wrong type; the message says which, and what it must be."""


class CapabilityError(RecipeError):
    """Capability that a model does not have; the message says what to use instead."""


class StudyError(CaliboError):
    """Study or storage that cannot be opened, found or written."""


class ObjectiveError(CaliboError):
    """Objective that cannot be loaded, started or understood.

    Attributes:
        output: What it printed before it failed, which is kept with its trial; empty if that is not known.
    """

    def __init__(self, message: str = "", output: str = "") -> None:
        super().__init__(message)
        self.output: str = output


class MissingExtra(CaliboError, ImportError):
    """Optional dependency that is not installed; the message says which extra to install."""


class CaliboWarning(UserWarning):
    """Base class of all warnings of calibo."""


class FallbackWarning(CaliboWarning):
    """Something else than what was asked for is done; the message gives the reason."""


class SpaceWarning(CaliboWarning):
    """Points that break constraints among parameters, or constraints that leave hardly any points."""


class ContextWarning(CaliboWarning):
    """A context was observed outside of its range; models see the nearest value inside."""


class TrialFailedWarning(CaliboWarning):
    """A trial failed and the run continues; shown once in a run."""


class LateResultWarning(CaliboWarning):
    """A trial was finished by another worker in the meantime, so that a result is not stored."""


class RepeatWarning(CaliboWarning):
    """Every point of a finite space has been tried, so that a point is suggested again."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of calibo, and of the packages that call it, which led here.

    In a thread that another package began there is none: the warning is then placed where it is given.

    Args:
        message: What is done instead, why, and what to do about it.
        category: One of the warnings above, or a library's own that its users filter.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    if frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level = 2
    warnings.warn(message, category, stacklevel=level)
