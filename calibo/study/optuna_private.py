"""The private parts of Optuna that calibo uses, all of them.

Optuna has no public way to write system attributes, which a user's own attributes cannot collide with, nor to mark a
storage's transactions as reading. A part that has moved raises a ``StudyError`` that names it when it is used; importing
this package always works.
"""

from __future__ import annotations

from typing import Any

import optuna

from calibo.errors import StudyError

#: Private attributes by the public name of their owner. ``tests/study/test_optuna_private.py`` checks each of them.
PRIVATE: dict[str, tuple[str, ...]] = {
    "optuna.Study": ("_storage", "_study_id"),
    "optuna.Trial": ("_trial_id",),
    "optuna.trial.FrozenTrial": ("_trial_id",),
    # Optuna's cache in front of a database calls these instead of the public methods.
    "optuna.storages.RDBStorage": ("_get_trials", "_get_best_trial_id", "_get_stale_trial_ids"),
}


def part(owner: object, name: str) -> Any:
    """Return an attribute of one of Optuna's objects or classes.

    Raises:
        StudyError: If this version of Optuna does not have it.
    """
    try:
        return getattr(owner, name)
    except AttributeError:
        kind = owner if isinstance(owner, type) else type(owner)
        raise StudyError(
            f"Optuna {optuna.__version__} has no {kind.__name__}.{name}, which calibo uses: install optuna>=5,<6, and "
            "report the version"
        ) from None
