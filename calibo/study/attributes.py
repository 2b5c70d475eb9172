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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from calibo.arguments import checked
from calibo.data import Suggestion
from calibo.errors import StudyError
from calibo.secrets import redacted
from calibo.spaces.parameters import plain
from calibo.study.backends import Known
from calibo.study.leased import LeasedStorage, backend_of
from calibo.study.optuna_private import part
from calibo.trials import standard_errors, suggestion_from_json, suggestion_to_json

#: Version of the format; records of another version are refused.
VERSION = 2

#: Longest attribute, as JSON: a text of MySQL's has at most 65,535 characters. Nearly all suggestions are one attribute, and
#: so one column of Optuna's ``trials_dataframe``.
PIECE_LENGTH = 60_000

#: Characters reserved for what surrounds the text in the first piece.
HEAD_LENGTH = 120

#: Suggestions whose text is not read again: more than a study has trials. One of five parameters takes about 10 kB.
REMEMBERED = 32_768

_SUGGESTION = "calibo:suggestion"
_VECTOR = "calibo:vector"
_SEM = "calibo:sem"
_CONTEXT = "calibo:context"
_OUTPUT = "calibo:output"
_SEED = "calibo:seed"
_DESCRIPTION = "calibo:study"
_STOPPED = "calibo:stopped"
_TOTAL = "calibo:total"


def write_suggestion(
    study: optuna.Study, trial: FrozenTrial, suggestion: Suggestion, known: Collection[int] | None = None
) -> bool:
    """Store what was suggested for a trial, for other workers to see.

    Args:
        study: The study.
        trial: The running trial.
        suggestion: What was suggested; its params are the numbers in which Optuna stores them.
        known: Numbers of the trials whose suggestions were known when this one was made; ``None`` if that does not matter.

    Returns:
        ``False`` if a worker has stored another point in the meantime, so that it should be made again.
    """
    storage = part(study, "_storage")
    _write_to_trial(storage, trial, _SUGGESTION, suggestion_to_json(suggestion))
    before = None if known is None else Known(part(study, "_study_id"), _SUGGESTION, frozenset({*known, trial.number}))
    if isinstance(storage, LeasedStorage):
        return storage.flush(part(trial, "_trial_id"), known=before)
    # Of workers that choose at the same moment the later trials give way.
    return before is None or not before.lacks(study.get_trials(deepcopy=False), before=trial.number)


def read_suggestion(trial: FrozenTrial) -> Suggestion | None:
    """Return what was suggested for a trial; ``None`` if nothing was, or only for the trial that it is a retry of."""
    text = _read(_SUGGESTION, trial.system_attrs, trial.number)
    return None if text is None else _suggestion(text, trial.number)


def published(trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of the trials with which a suggestion is stored, be it a damaged one or that of another trial."""
    return {trial.number for trial in trials if _SUGGESTION in trial.system_attrs}


@checked
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


@checked
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


def write_output(trial: optuna.Trial, text: str) -> None:
    """Store text with a trial, such as the output of a command, without passwords."""
    # Not every storage takes every character.
    clean = redacted(text).encode("utf-8", "replace").decode("utf-8").replace("\x00", "")
    _write_to_trial(trial.storage, trial, _OUTPUT, clean)


def read_output(trial: FrozenTrial) -> str | None:
    """Return the text stored with a trial; ``None`` if there is none."""
    text = _read(_OUTPUT, trial.system_attrs, trial.number)
    return None if text is None else str(json.loads(text))


@checked
def write_context(trial: optuna.Trial, context: Mapping[str, Any]) -> None:
    """Store the contexts that were observed in a trial, where they differ from those that it was suggested for.

    Args:
        trial: The running trial, in an objective of Optuna's.
        context: Plain values by name.
    """
    _write_to_trial(trial.storage, trial, _CONTEXT, {str(name): plain(value) for name, value in context.items()})


def read_context(trial: FrozenTrial) -> dict[str, Any]:
    """Return the contexts that were observed in a trial, by name; empty if they were those it was suggested for."""
    text = _read(_CONTEXT, trial.system_attrs, trial.number)
    return {} if text is None else json.loads(text)


def write_description(study: optuna.Study, description: Mapping[str, Any]) -> None:
    """Store the description of a study: JSON data."""
    _write(_DESCRIPTION, description, None, functools.partial(_set_study_attribute, study))


def read_description(study: optuna.Study) -> dict[str, Any] | None:
    """Return the description of a study, or ``None`` if calibo has not stored one."""
    text = _read(_DESCRIPTION, _study_attributes(study), None)
    found = None if text is None else _json(text, "description", study)
    if found is not None and not (isinstance(found, dict) and isinstance(found.get("space", {}), dict)):
        raise _damaged("description", study)
    return found


def write_stopped(study: optuna.Study, sentence: str) -> None:
    """Store why a study was stopped early; it holds until a worker begins another trial."""
    if read_stopped(study) != sentence:
        reason = {"sentence": sentence, "begun": _begun(study)}
        _write(_STOPPED, reason, None, functools.partial(_set_study_attribute, study))


def read_stopped(study: optuna.Study) -> str | None:
    """Return why a study was stopped early; ``None`` if it was not, or went on since."""
    text = _read(_STOPPED, _study_attributes(study), None)
    found = None if text is None else _json(text, "reason for stopping", study)
    if not isinstance(found, dict) or not isinstance(found.get("sentence"), str):
        return (
            found if isinstance(found, str) else None
        )  # a study that was stored by an earlier calibo has the sentence
    return found["sentence"] if found.get("begun") == _begun(study) else None


def _begun(study: optuna.Study) -> int:
    """Return how many trials of a study were ever begun."""
    return sum(one.state is not TrialState.WAITING for one in study.get_trials(deepcopy=False))


def write_total(study: optuna.Study, total: int) -> None:
    """Store how many trials a study is to have in the end."""
    if read_total(study) != total:
        _set_study_attribute(study, _TOTAL, total)


def read_total(study: optuna.Study) -> int | None:
    """Return how many trials a study is to have in the end; ``None`` if nobody has said so."""
    total = _study_attributes(study).get(_TOTAL)
    return total if isinstance(total, int) else None


def study_seed(study: optuna.Study) -> int:
    """Return the seed of a study, drawn on first use: the same for every worker and after a restart."""
    seed = read_seed(study)
    return (
        write_seed(study, int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)) if seed is None else seed
    )


def read_seed(study: optuna.Study) -> int | None:
    """Return the seed of a study, or ``None`` if it has none yet."""
    storage, study_id = part(study, "_storage"), part(study, "_study_id")
    # It is written once, and asked for at every suggestion.
    known = isinstance(storage, LeasedStorage)
    seed = storage.get_once(study_id, _SEED) if known else _study_attributes(study).get(_SEED)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise _damaged("seed", study)
    return seed


def write_seed(study: optuna.Study, seed: int) -> int:
    """Store the seed of a study unless it has one, also if many workers do so at once; return the one it has."""
    return int(backend_of(part(study, "_storage")).set_once(part(study, "_study_id"), _SEED, seed))


def _json(text: str, what: str, study: optuna.Study) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged(what, study) from None


def _damaged(what: str, study: optuna.Study) -> StudyError:
    return StudyError(
        f"the {what} stored with study {study.study_name!r} is damaged, or was not written by calibo: restore a copy of the "
        "storage, or start a new study with another study_name (--study)"
    )


def _set_study_attribute(study: optuna.Study, key: str, value: Any) -> None:
    part(study, "_storage").set_study_system_attr(part(study, "_study_id"), key, value)


def _study_attributes(study: optuna.Study) -> Mapping[str, Any]:
    return part(study, "_storage").get_study_system_attrs(part(study, "_study_id"))


# Stored text never changes, and a sampler reads all of it at every suggestion.
@functools.lru_cache(maxsize=REMEMBERED)
def _suggestion(text: str, number: int) -> Suggestion | None:
    """Return the suggestion that a text holds; ``None`` if it has another shape, and is none of ours."""
    try:
        return suggestion_from_json(json.loads(text), number)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _read_floats(key: str, trial: FrozenTrial) -> tuple[float, ...] | None:
    text = _read(key, trial.system_attrs, trial.number)
    return None if text is None else _floats(text)


@functools.lru_cache(maxsize=REMEMBERED)
def _floats(text: str) -> tuple[float, ...] | None:
    try:
        return tuple(float(number) for number in json.loads(text))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


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
    first, pieces = head.get("text"), head.get("pieces")
    # A record cannot have more pieces than there are attributes, whatever its head says.
    if not isinstance(first, str) or not isinstance(pieces, int) or not 1 <= pieces <= len(attributes):
        return None
    others = [attributes.get(f"{key}:{i}") for i in range(1, pieces)]
    if not all(isinstance(piece, str) for piece in others):
        return None
    text = "".join([first, *map(str, others)])
    return text if zlib.crc32(text.encode("utf-8", "surrogatepass")) == head.get("sum") else None


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
