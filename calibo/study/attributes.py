"""What calibo stores with trials and studies, in Optuna's system attributes.

A record is JSON text (floats survive exactly), cut into pieces that any storage takes, with a checksum. The last piece
written is the first one read, so that a record is there as a whole or not at all. Its first piece has the version of the
format and the number of the trial it was made for: a retried trial carries a copy of another trial's attributes, which is
not read as its own.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from calibo.data import Suggestion
from calibo.errors import StudyError
from calibo.study.optuna_private import part
from calibo.trials import standard_errors, suggestion_from_json, suggestion_to_json

#: Version of the format; records of another version are refused.
VERSION = 2

#: Longest attribute, as JSON; some storages take no more than 2048 characters.
PIECE_LENGTH = 2000

#: Characters reserved for what surrounds the text in the first piece.
HEAD_LENGTH = 120

_SUGGESTION = "calibo:suggestion"
_VECTOR = "calibo:vector"
_SEM = "calibo:sem"
_SEED = "calibo:seed"
_DESCRIPTION = "calibo:study"
_STOPPED = "calibo:stopped"

#: User attribute of a failed trial: reason of the failure.
ERROR = "error"
#: User attribute of a failed trial that was stopped by the user, which says nothing about its parameters.
INTERRUPTED = "interrupted"


def write_suggestions(study: optuna.Study, trial: FrozenTrial, suggestions: Sequence[Suggestion]) -> None:
    """Store what was suggested for a trial: one suggestion for each group of parameters that is optimized by itself.

    Their params are the numbers in which Optuna stores them.
    """
    # The first is written last, so that they are there all together or not at all.
    for place, suggestion in reversed(list(enumerate(suggestions))):
        _write_to_trial(part(study, "_storage"), trial, _key(place), suggestion_to_json(suggestion))


def read_suggestions(trial: FrozenTrial) -> tuple[Suggestion, ...]:
    """Return what was suggested for a trial; empty if nothing was, or only for the trial that it is a retry of."""
    found: list[Suggestion] = []
    while (text := _read(_key(len(found)), trial.system_attrs, trial.number)) is not None:
        found.append(_suggestion(text, trial.number))
    return tuple(found)


def has_suggestion(trial: FrozenTrial) -> bool:
    """Return whether a suggestion is stored with a trial."""
    return _read(_SUGGESTION, trial.system_attrs, trial.number) is not None


def _key(place: int) -> str:
    return f"{_SUGGESTION}/{place}" if place else _SUGGESTION


def write_vector(trial: optuna.Trial, vector: Sequence[float]) -> None:
    """Store the measured vector of a composite objective with its trial.

    Args:
        trial: The running trial, in an objective of Optuna's.
        vector: The vector.
    """
    _write_to_trial(trial.storage, trial, _VECTOR, [float(number) for number in vector])


def read_vector(trial: FrozenTrial) -> tuple[float, ...]:
    """Return the vector that was measured in a trial; empty if none was."""
    return _read_floats(_VECTOR, trial) or ()


def write_sem(trial: optuna.Trial, sem: float | Sequence[float]) -> None:
    """Store the standard error of a trial's value with it, for an objective of Optuna's.

    Args:
        trial: The running trial.
        sem: Standard error of the value; one for each of several objectives.

    Raises:
        ValueRejected: If it is negative, or not a finite number.
    """
    _write_to_trial(trial.storage, trial, _SEM, standard_errors(sem, len(trial.study.directions)))


def read_sem(trial: FrozenTrial) -> tuple[float, ...] | None:
    """Return the standard errors of a trial's values, ``None`` if they are not known."""
    return _read_floats(_SEM, trial)


def write_description(study: optuna.Study, description: Mapping[str, Any]) -> None:
    """Store the description of a study: JSON data."""
    _write(_DESCRIPTION, description, None, functools.partial(_set_study_attribute, study))


def read_description(study: optuna.Study) -> dict[str, Any] | None:
    """Return the description of a study, or ``None`` if calibo has not stored one."""
    text = _read(_DESCRIPTION, _study_attributes(study), None)
    return None if text is None else json.loads(text)


def write_stopped(study: optuna.Study, sentence: str | None) -> None:
    """Store why the last run of a study was stopped early; ``None`` if it was not."""
    if read_stopped(study) != sentence:
        _write(_STOPPED, sentence, None, functools.partial(_set_study_attribute, study))


def read_stopped(study: optuna.Study) -> str | None:
    """Return why the last run of a study was stopped early; ``None`` if it was not."""
    text = _read(_STOPPED, _study_attributes(study), None)
    return None if text is None else json.loads(text)


def study_seed(study: optuna.Study) -> int:
    """Return the seed of a study, drawn on first use: the same for every worker and after a restart."""
    if read_seed(study) is None:
        write_seed(study, int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1))
    # Another worker may have written one at the same time: whichever was written last is the study's.
    return read_seed(study) or 0


def read_seed(study: optuna.Study) -> int | None:
    """Return the seed of a study, or ``None`` if it has none yet."""
    seed = _study_attributes(study).get(_SEED)
    return None if seed is None else int(seed)


def write_seed(study: optuna.Study, seed: int) -> None:
    """Store the seed of a study."""
    _set_study_attribute(study, _SEED, seed)


def _set_study_attribute(study: optuna.Study, key: str, value: Any) -> None:
    part(study, "_storage").set_study_system_attr(part(study, "_study_id"), key, value)


def _study_attributes(study: optuna.Study) -> Mapping[str, Any]:
    return part(study, "_storage").get_study_system_attrs(part(study, "_study_id"))


# Stored text never changes, and a sampler reads all of it at every suggestion.
@functools.lru_cache(maxsize=4096)
def _suggestion(text: str, number: int) -> Suggestion:
    return suggestion_from_json(json.loads(text), number)


def _read_floats(key: str, trial: FrozenTrial) -> tuple[float, ...] | None:
    text = _read(key, trial.system_attrs, trial.number)
    return None if text is None else _floats(text)


@functools.lru_cache(maxsize=4096)
def _floats(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in json.loads(text))


def _write_to_trial(storage: BaseStorage, trial: optuna.Trial | FrozenTrial, key: str, body: Any) -> None:
    _write(key, body, trial.number, functools.partial(storage.set_trial_system_attr, part(trial, "_trial_id")))


def _write(key: str, body: Any, number: int | None, set_: Callable[[str, Any], None]) -> None:
    text = json.dumps(body, separators=(",", ":"))
    first, *others = _pieces(text)
    for i, piece in reversed(list(enumerate(others, start=1))):
        set_(f"{key}:{i}", piece)
    head = {"version": VERSION, "number": number, "pieces": 1 + len(others), "sum": zlib.crc32(text.encode())}
    set_(key, head | {"text": first})


def _read(key: str, attributes: Mapping[str, Any], number: int | None) -> str | None:
    head = attributes.get(key)
    if not isinstance(head, dict) or head.get("number") != number:
        return None
    if head.get("version") != VERSION:
        raise StudyError(
            f"the study was stored in format version {head.get('version')!r}, and this calibo reads version {VERSION}: use "
            "the calibo that wrote it, or start a new study with another study_name (--study)"
        )
    text = head["text"] + "".join(attributes.get(f"{key}:{i}", "") for i in range(1, head["pieces"]))
    return text if zlib.crc32(text.encode()) == head["sum"] else None


def _pieces(text: str) -> list[str]:
    """Cut ``text`` so that every piece, quoted as JSON, is short enough."""
    pieces: list[str] = []
    left, piece = PIECE_LENGTH - HEAD_LENGTH, ""
    for character in text:
        # A quotation mark or a backslash takes two characters once it is quoted.
        cost = 2 if character in '"\\' else 1
        if cost > left:
            pieces.append(piece)
            left, piece = PIECE_LENGTH - 2, ""
        piece += character
        left -= cost
    return [*pieces, piece]
