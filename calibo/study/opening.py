"""Opening a study: a new one, one to be resumed, or one only to be read; everything is checked before anything runs."""

from __future__ import annotations

import contextlib
import json
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import check_distribution_compatibility
from optuna.storages import BaseStorage

from calibo.checks import check_name, did_you_mean, message_of
from calibo.errors import CaliboError, CaliboWarning, StudyError, warn
from calibo.secrets import redacted
from calibo.study.attributes import read_description, study_seed, write_description, write_seed
from calibo.study.description import described, differences
from calibo.study.distributions import OptunaSpace
from calibo.study.persistence import storage_failure
from calibo.trials import Direction


def open_study(
    storage: BaseStorage,
    name: str | None,
    *,
    directions: Sequence[Direction],
    names: Sequence[str] = (),
    space: OptunaSpace,
    seed: int | None,
    method: str | None,
    reference: Sequence[float] | None = None,
) -> tuple[optuna.Study, int, list[float] | None]:
    """Open a study to add trials to: a new one, or the one of that name in the storage.

    Args:
        storage: The storage.
        name: Name of the study, or ``None`` for a new one.
        directions: One direction per objective.
        names: Names of the objectives; by default those of the study, if it has any.
        space: The space as Optuna sees it.
        seed: Seed of the suggestions; by default that of the study.
        method: Name of the method, ``None`` if it has none.
        reference: Reference point, one value per objective; by default that of the study.

    Returns:
        The study, with the seed and the reference point to go on with.

    Raises:
        StudyError: If there is a study of that name with other directions, names of objectives, or another space.
    """
    if name is not None:
        check_name("the name of a study (study_name, --study)", name, StudyError)
    with quiet_optuna(), storage_errors():
        study = optuna.create_study(
            storage=storage,
            study_name=name,
            directions=[optuna.study.StudyDirection[direction.name] for direction in directions],
            load_if_exists=name is not None,
        )
        _check_directions(study, directions)
        _name_objectives(study, names)
        _check_space(study, space)
        description = read_description(study)
        if description is None and seed is not None:
            write_seed(study, seed)
        before = description or {}
        point = before.get("reference") if reference is None else [float(value) for value in reference]
        changes: list[str] = []
        if description is not None and before.get("method") != method:
            was, now = (one or "a method without a name" for one in (before.get("method"), method))
            changes.append(f"was made with {was} and goes on with {now}")
        if description is not None and before.get("reference") != point:
            was = before.get("reference") or "an inferred one"
            changes.append(f"goes on with the reference point {point} instead of {was}")
        for change in changes:
            warn(f"study {study.study_name!r} {change}", CaliboWarning)
        if description is None or changes:
            stored = {} if point is None else {"reference": point}
            write_description(study, {"space": described(space.space), "method": method, **stored})
        return study, study_seed(study) if seed is None else seed, point


def find_study(storage: BaseStorage, name: str | None) -> optuna.Study | None:
    """Return the study of that name, ``None`` if there is none."""
    if name is not None:
        check_name("the name of a study (study_name, --study)", name, StudyError)
    with quiet_optuna(), storage_errors():
        if name not in [one.study_name for one in storage.get_all_studies()]:
            return None
        return optuna.load_study(storage=storage, study_name=name)


def load_study(storage: BaseStorage, name: str | None) -> optuna.Study:
    """Return the study of that name, or the only one there is, to be read.

    Raises:
        StudyError: If there is no such study, or several to choose from; the message names those that there are.
    """
    if name is not None:
        check_name("the name of a study", name, StudyError)
    with quiet_optuna(), storage_errors():
        known = sorted(one.study_name for one in storage.get_all_studies())
        if name is None and len(known) == 1:
            name = known[0]
        if name is None or name not in known:
            there = f"the storage has {', '.join(map(repr, known))}" if known else "the storage has no studies"
            asked = "say which study is meant" if name is None else f"there is no study {name!r}"
            raise StudyError(f"{asked}: {there}{did_you_mean(name or '', known)}")
        return optuna.load_study(storage=storage, study_name=name)


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Raise failures of a storage while it is used as a ``StudyError``."""
    try:
        yield
    except CaliboError:
        raise
    except Exception as error:
        if _unreadable(error):
            raise StudyError(
                f"a file of the storage cannot be read ({message_of(error)}): it was damaged. What it has is left as it is"
            ) from error
        if _missing(error):
            raise StudyError(
                "the study is no longer in its storage: it was deleted. Load or create one that is there (optuna.load_study, "
                "optuna.create_study)"
            ) from error
        failure = storage_failure(error)
        if failure is None:
            raise
        reason = redacted((message_of(failure.__cause__ or failure).splitlines() or [type(failure).__name__])[0])
        raise StudyError(
            f"the storage could not be used ({reason}); what was stored before is left as it is. See that it can be "
            "reached and written, then call again with the same storage and study_name to go on"
        ) from error


def _unreadable(error: Exception) -> bool:
    """Return whether a storage of Optuna's, such as a journal, found text that is none, or is not JSON."""
    if not isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return False
    return any(parts[-4:-1] == ("optuna", "storages", "journal") for parts in _files(error))


def _missing(error: Exception) -> bool:
    """Return whether a storage of Optuna's, or a part of one, found no study or trial of a number."""
    return isinstance(error, KeyError) and {"optuna", "storages"} <= {*_files(error)[-1]}


def _files(error: Exception) -> list[tuple[str, ...]]:
    """Return the parts of the names of the files that an error came through, the one where it was raised last."""
    return [Path(frame.f_code.co_filename).parts for frame, _ in traceback.walk_tb(error.__traceback__)]


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Silence Optuna's log line for every trial and every failure: calibo reports those itself."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _check_directions(study: optuna.Study, directions: Sequence[Direction]) -> None:
    stored = [one.name.lower() for one in study.directions]
    asked = [direction.name.lower() for direction in directions]
    if not stored:
        raise StudyError(
            f"study {study.study_name!r} has no directions in the storage: it was damaged, or written by another program. "
            "Start a new one with another study_name (--study)"
        )
    if stored != asked:
        single, several = f"{stored[0]}() (--{stored[0]})", f"directions={stored} (--directions {','.join(stored)})"
        raise StudyError(
            f"study {study.study_name!r} {' and '.join(f'{one}s' for one in stored)}, but you asked to "
            f"{' and '.join(asked)}; resume it with {several if len(stored) > 1 else single}, "
            "or start a new one with another study_name (--study)"
        )


def _name_objectives(study: optuna.Study, names: Sequence[str]) -> None:
    """Store the names of the objectives, where Optuna's figures and tables find them too; other names are an error."""
    stored = study.metric_names
    if stored is not None and names and list(names) != stored:
        raise StudyError(
            f"the objectives of study {study.study_name!r} are called {', '.join(map(repr, stored))}, but you gave "
            f"{', '.join(map(repr, names))}; resume it with the same names in the same order, or start a new one with "
            "another study_name (--study)"
        )
    if stored is None and names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names(list(names))


def _check_space(study: optuna.Study, space: OptunaSpace) -> None:
    description = read_description(study)
    if description is None:
        wrong = _incompatible(study, space.distributions)
    else:
        wrong = differences(description["space"], described(space.space))
    if wrong:
        raise StudyError(
            f"study {study.study_name!r} was made with another space: {'; '.join(wrong)}. Give the same space to "
            "resume it, or another study_name (--study) to start a new one"
        )


def _incompatible(study: optuna.Study, distributions: Mapping[str, Any]) -> list[str]:
    """Return why trials of a study that calibo did not make cannot be followed by ones with these distributions."""
    wrong: list[str] = []
    held = {name: one for trial in study.get_trials(deepcopy=False) for name, one in trial.distributions.items()}
    for name, old in held.items():
        try:
            if name in distributions:
                check_distribution_compatibility(old, distributions[name])
        except ValueError:
            wrong.append(f"{name!r} was {old} and is now {distributions[name]}")
    return wrong
