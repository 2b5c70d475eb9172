"""Every error and warning calibo raises on purpose: what was expected, what was given, what to do."""


class CaliboError(Exception):
    """The parent of all of calibo's errors; catching it catches nothing else."""


class SpaceError(CaliboError, ValueError):
    """A search space, or a set of parameters, that does not describe anything that could be tried."""


class ValueRejected(CaliboError, ValueError):
    """An outcome (or its noise) that is not a finite number; nothing was stored."""


class DataError(CaliboError, ValueError):
    """Arrays or records whose shapes or contents do not fit together."""


class RecipeError(CaliboError, ValueError):
    """A strategy, method or setting that is unknown or cannot be composed as asked."""


class CapabilityError(RecipeError):
    """A model that cannot do what it is asked for; the message says what to use instead."""


class StudyError(CaliboError):
    """A study or its storage that cannot be opened, found or written."""


class ObjectiveError(CaliboError):
    """An objective that could not be loaded, started or understood."""


class MissingExtra(CaliboError, ImportError):
    """An optional dependency that is not installed; the message says which extra to install."""


class CaliboWarning(UserWarning):
    """The parent of all of calibo's warnings."""


class FallbackWarning(CaliboWarning):
    """Something other than what was asked for is being done; the message names the reason."""


class TrialFailedWarning(CaliboWarning):
    """A trial failed and the run goes on; said once in a run."""


class RepeatWarning(CaliboWarning):
    """Every point of a finite space has been tried, so a point is suggested again."""
