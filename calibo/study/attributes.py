"""What calibo writes beside trials and studies, and reads back: the only place to touch Optuna's system attributes.

A record is JSON text (floats survive exactly), cut into pieces that any storage takes, with a checksum. The last piece
written is the first one read, so that a record is there as a whole or not at all. Its first piece says the version of
the format and the number of the trial it was made for: a retried trial carries a copy of another trial's attributes,
which is not read as its own.
"""

from __future__ import annotations

import functools
import itertools
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial

from calibo.data import Forecast, Forecasts, Marginal

#: Version of the format; records of another version are passed over.
VERSION = 1

#: Longest attribute, as JSON; some storages take no more than 2048 characters.
PIECE_LENGTH = 2000

#: Room for what surrounds the text in the first piece.
HEAD_LENGTH = 120

_STAMP = "calibo:suggestion"
_VECTOR = "calibo:vector"
_SEED = "calibo:seed"
_DESCRIPTION = "calibo:study"

#: User attribute of a failed trial: why it failed.
ERROR = "error"
#: User attribute of a failed trial that was stopped by the user, which says nothing of its parameters.
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Stamp:
    """What is published with a trial when it is suggested.

    Attributes:
        number: The number of that trial.
        params: The parameters suggested, by name, as the numbers in which Optuna stores them.
        forecasts: What is believed of its outcomes, in the user's sign; ``None`` without a model.
        hyperparameters: Per outcome, those of the model.
        method: The name of the method, if it has one.
        constraints: Names of the constraints whose forecasts come after those of the objectives.
    """

    number: int
    params: Mapping[str, float]
    forecasts: Forecasts | None = None
    hyperparameters: tuple[tuple[float, ...], ...] = ()
    method: str | None = None
    constraints: tuple[str, ...] = ()


def write_stamps(study: optuna.Study, trial: FrozenTrial, stamps: Sequence[Stamp]) -> None:
    """Publish a suggestion with its trial: one stamp for each group of parameters that is optimised by itself."""
    # The first is written last, so that they are there all together or not at all.
    for part, stamp in reversed(list(enumerate(stamps))):
        write_stamp(study, trial, stamp, part)


def read_stamps(trial: FrozenTrial) -> tuple[Stamp, ...]:
    """All that was published with a trial; empty if nothing was, or only with the trial that it is a retry of."""
    parts = itertools.takewhile(lambda stamp: stamp is not None, (read_stamp(trial, i) for i in itertools.count()))
    return tuple(stamp for stamp in parts if stamp is not None)


def write_stamp(study: optuna.Study, trial: FrozenTrial, stamp: Stamp, part: int = 0) -> None:
    """Publish one part of a suggestion with its trial."""
    body = {
        "params": dict(stamp.params),
        "forecasts": None if stamp.forecasts is None else [_plain(f) for f in stamp.forecasts],
        "method": stamp.method,
        "hyperparameters": stamp.hyperparameters,
    }
    if stamp.constraints:
        body["constraints"] = stamp.constraints
    storage, trial_id = study._storage, trial._trial_id
    _write(_part(part), body, stamp.number, lambda key, value: storage.set_trial_system_attr(trial_id, key, value))


def read_stamp(trial: FrozenTrial, part: int = 0) -> Stamp | None:
    """One part of what was published with a trial, or ``None`` if there is none of its own."""
    text = _read(_part(part), trial.system_attrs, trial.number)
    return None if text is None else _stamp(text, trial.number)


def _part(part: int) -> str:
    return f"{_STAMP}/{part}" if part else _STAMP


def write_vector(trial: optuna.Trial, vector: Sequence[float]) -> None:
    """Store the vector of a composite objective with the trial in which it was measured."""
    storage, trial_id = trial.storage, trial._trial_id
    plain = [float(number) for number in vector]
    _write(_VECTOR, plain, trial.number, lambda key, value: storage.set_trial_system_attr(trial_id, key, value))


def read_vector(trial: FrozenTrial) -> tuple[float, ...]:
    """The vector that was measured in a trial; empty if none was."""
    text = _read(_VECTOR, trial.system_attrs, trial.number)
    return () if text is None else _vector(text)


def write_description(study: optuna.Study, description: Mapping[str, Any]) -> None:
    """Write down what a study is about: JSON-like data."""
    storage, study_id = study._storage, study._study_id
    _write(_DESCRIPTION, description, None, lambda key, value: storage.set_study_system_attr(study_id, key, value))


def read_description(study: optuna.Study) -> dict[str, Any] | None:
    """What was written down of a study, or ``None`` if calibo has not written anything."""
    text = _read(_DESCRIPTION, study._storage.get_study_system_attrs(study._study_id), None)
    return None if text is None else json.loads(text)


def study_seed(study: optuna.Study) -> int:
    """The seed of a study, drawn when it is first asked for: the same for every worker and after a restart."""
    stored = read_seed(study)
    if stored is not None:
        return stored
    drawn = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    write_seed(study, drawn)
    # Another worker may have written one at the same time: whichever was written last is the study's.
    again = read_seed(study)
    return drawn if again is None else again


def read_seed(study: optuna.Study) -> int | None:
    """The seed of a study, or ``None`` if it has none yet."""
    seed = study._storage.get_study_system_attrs(study._study_id).get(_SEED)
    return None if seed is None else int(seed)


def write_seed(study: optuna.Study, seed: int) -> None:
    """Make ``seed`` the seed of a study."""
    study._storage.set_study_system_attr(study._study_id, _SEED, seed)


def _plain(forecast: Forecast) -> dict[str, Any]:
    stages = [distribution.plain() for distribution in forecast.stages]
    return {"stages": stages, "makers": forecast.makers}


# Stored text never changes, and a sampler reads all of it at every suggestion.
@functools.lru_cache(maxsize=4096)
def _stamp(text: str, number: int) -> Stamp:
    body = json.loads(text)
    forecasts = None if body["forecasts"] is None else tuple(_forecast(one) for one in body["forecasts"])
    hyperparameters = tuple(tuple(float(h) for h in one) for one in body["hyperparameters"])
    constraints = tuple(body.get("constraints", ()))
    return Stamp(number, body["params"], forecasts, hyperparameters, body["method"], constraints)


@functools.lru_cache(maxsize=4096)
def _vector(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in json.loads(text))


def _forecast(plain: dict[str, Any]) -> Forecast:
    return Forecast(
        tuple(Marginal.from_plain(distribution) for distribution in plain["stages"]), tuple(plain["makers"])
    )


def _write(key: str, body: Any, number: int | None, set_: Callable[[str, Any], None]) -> None:
    text = json.dumps(body, separators=(",", ":"))
    first, *others = _pieces(text)
    for i, piece in reversed(list(enumerate(others, start=1))):
        set_(f"{key}:{i}", piece)
    head = {"version": VERSION, "number": number, "pieces": 1 + len(others), "sum": zlib.crc32(text.encode())}
    set_(key, head | {"text": first})


def _read(key: str, attributes: Mapping[str, Any], number: int | None) -> str | None:
    head = attributes.get(key)
    if not isinstance(head, dict) or head.get("version") != VERSION or head.get("number") != number:
        return None
    text = head["text"] + "".join(attributes.get(f"{key}:{i}", "") for i in range(1, head["pieces"]))
    return text if zlib.crc32(text.encode()) == head["sum"] else None


def _pieces(text: str) -> list[str]:
    """``text`` cut so that every piece, quoted as JSON, is short enough."""
    pieces: list[str] = []
    room, piece = PIECE_LENGTH - HEAD_LENGTH, ""
    for character in text:
        # A quotation mark or a backslash takes two characters once it is quoted.
        cost = 2 if character in '"\\' else 1
        if cost > room:
            pieces.append(piece)
            room, piece = PIECE_LENGTH - 2, ""
        piece += character
        room -= cost
    return [*pieces, piece]
