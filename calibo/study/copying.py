"""Copies of studies in another storage, and what they are compared by."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import optuna
from optuna.distributions import distribution_to_json
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from calibo.errors import StudyError
from calibo.study.leases import PREFIX
from calibo.study.opening import quiet_optuna, storage_errors
from calibo.study.optuna_private import part


def copied(study: optuna.Study, to: BaseStorage, name: str | None = None) -> optuna.Study:
    """Copy a study with everything that is stored with it: all trials under their numbers, forecasts, attributes, times.

    Trials that are running are copied as running: their workers tell the outcome to the study they belong to.

    Args:
        study: The study.
        to: Another storage.
        name: Name of the copy; by default the same.

    Returns:
        The copy, with the study's sampler.

    Raises:
        StudyError: If there is a study of that name already, or the copy is not the same as the study.
    """
    name = study.study_name if name is None else name
    with quiet_optuna(), storage_errors():
        try:
            made = optuna.create_study(
                storage=to, study_name=name, directions=study.directions, sampler=study.sampler, pruner=study.pruner
            )
        except optuna.exceptions.DuplicatedStudyError:
            raise StudyError(
                f"there is a study {name!r} in the storage to copy to, which is left as it is: copy under another name"
            ) from None
        old, new = part(study, "_storage"), part(made, "_storage")
        for key, value in old.get_study_system_attrs(part(study, "_study_id")).items():
            new.set_study_system_attr(part(made, "_study_id"), key, value)
        for key, value in old.get_study_user_attrs(part(study, "_study_id")).items():
            new.set_study_user_attr(part(made, "_study_id"), key, value)
        trials = study.get_trials(deepcopy=False)
        for trial in sorted(trials, key=lambda one: one.number):
            new.create_new_trial(part(made, "_study_id"), trial)
        if study_hash(made, trials=len(trials)) != study_hash(study, trials=len(trials)):
            raise StudyError(
                f"the copy of {study.study_name!r} is not the same as the study; it is left to be looked at"
            )
    return made


def study_hash(study: optuna.Study, trials: int | None = None) -> str:
    """Return a hash of all that a study has stored, the same in every storage.

    Not part of it are the study's name and the leases of its trials, which are about workers and not about results.

    Args:
        study: The study.
        trials: How many trials it is made of, by number; by default all.
    """
    storage, study_id = part(study, "_storage"), part(study, "_study_id")
    whole = {
        "directions": [one.name for one in study.directions],
        "system_attrs": storage.get_study_system_attrs(study_id),
        "user_attrs": storage.get_study_user_attrs(study_id),
        "trials": [_content(one) for one in study.get_trials(deepcopy=False)[:trials]],
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=repr).encode()).hexdigest()


def _content(trial: FrozenTrial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "state": trial.state.name,
        "values": None if trial.values is None else [_exact(value) for value in trial.values],
        "params": {
            name: [_exact(one.to_internal_repr(trial.params[name])), distribution_to_json(one)]
            for name, one in trial.distributions.items()
        },
        "user_attrs": trial.user_attrs,
        "system_attrs": {key: value for key, value in trial.system_attrs.items() if not key.startswith(PREFIX)},
        "intermediate": {str(step): _exact(value) for step, value in trial.intermediate_values.items()},
        "started": None if trial.datetime_start is None else trial.datetime_start.timestamp(),
        "finished": None if trial.datetime_complete is None else trial.datetime_complete.timestamp(),
    }


def _exact(value: float) -> str:
    return float(value).hex() if math.isfinite(value) else str(value)
