"""The study file of a table, or of experiments: a small JSON file with the forecasts of what was suggested so far.

The next round is calibrated by them. Tables themselves are never written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from calibo.data import Forecast, KnownForecasts
from calibo.errors import StudyError
from calibo.files import replacing, why_unwritable
from calibo.trials.serialization import forecast_from_json, forecast_to_json, names_from_json

#: What identifies the study file of a table, that of experiments in a space, and the version of both.
FORMAT = "calibo ranking study"
EXPERIMENTS = "calibo study of experiments"
VERSION = 2


@dataclass(frozen=True)
class Round:
    """One state of the measurements, and how suggestions were made for it.

    Attributes:
        fingerprint: Hash of the measured rows and their outcomes.
        method: Name of the method.
        seed: Seed of the call.
        features: Names of the feature columns.
        targets: Names of the columns of outcomes.
        hyperparameters: Hyperparameters of the model of each target.
    """

    fingerprint: int
    method: str
    seed: int
    features: tuple[str, ...]
    targets: tuple[str, ...]
    hyperparameters: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class SuggestedRow:
    """A row that was suggested.

    Attributes:
        round: Number of the latest round that suggested it, from 1 on.
        place: Its position among the suggestions of that round, from 0 on.
        forecasts: Forecasts of its measurements by target, in the user's sign; empty without a model.
        measured: Number of the round in which its outcome was first seen; ``None`` if it was not measured yet.
        params: Its parameters by name, where they are not those of a table's row.
        drawn: Number of the round in which it was drawn at random; ``None`` if it was not.
    """

    round: int
    place: int
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    measured: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    drawn: int | None = None

    def of(self, targets: Sequence[str]) -> KnownForecasts | None:
        """Return the forecasts of some targets, ``None`` for a target without one; ``None`` if no target has one."""
        found = tuple(self.forecasts.get(name) for name in targets)
        return found if any(one is not None for one in found) else None


@dataclass(frozen=True)
class StudyFile:
    """Contents of a study file.

    Attributes:
        path: Path of the file; ``None`` stores nothing.
        key_columns: Columns whose values identify a row.
        rounds: One for each state of the measurements for which suggestions were made, in order.
        rows: Suggested rows by their keys.
        format: What the file keeps the forecasts of: a ranked table, or experiments in a space.
    """

    path: Path | None
    key_columns: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()
    rows: Mapping[int, SuggestedRow] = field(default_factory=dict)
    format: str = FORMAT

    @classmethod
    def open(cls, path: Path | None, format: str = FORMAT) -> StudyFile:
        """Open a study file, or start a new one if there is none.

        Raises:
            StudyError: If the file is not a study, or cannot be read or written.
        """
        if path is None or not path.exists():
            if path is not None:
                _check_writable(path)
            return cls(path, format=format)
        try:
            text = path.read_text(encoding="utf-8")
            body = json.loads(text)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise _not_ours(path, f"it cannot be read as JSON: {error}") from None
        if not isinstance(body, dict) or body.get("format") != format:
            raise _not_ours(path, f"its format is not {format!r}")
        if body.get("version") != VERSION:
            raise StudyError(
                f"{path} has version {body.get('version')!r}, and this calibo reads version {VERSION}: use the calibo that "
                "wrote it, or another file with study= (--study)"
            )
        try:
            study = _from_plain(path, body, format)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _not_ours(path, f"something in it is missing or wrong: {type(error).__name__} {error}") from None
        _check_writable(path)
        return study

    def number(self, fingerprint: int) -> int:
        """Return the number of the round for these measurements: the latest if nothing has changed since, else a new one."""
        return max(1, len(self.rounds) + (not self.rounds or self.rounds[-1].fingerprint != fingerprint))

    def start(self, number: int, features: tuple[str, ...], targets: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
        """Return the hyperparameters of the round before ``number`` if its model used the same columns; else none."""
        if number < 2:
            return ()
        before = self.rounds[number - 2]
        return before.hyperparameters if (before.features, before.targets) == (features, targets) else ()

    def measured(self, keys: Sequence[int], number: int) -> StudyFile:
        """Return the study after rows with these keys were seen to be measured in a round."""
        new = {
            k: replace(self.rows[k], measured=number) for k in keys if k in self.rows and self.rows[k].measured is None
        }
        return replace(self, rows={**self.rows, **new})

    def after(self, number: int, made: Round, suggested: Mapping[int, SuggestedRow]) -> StudyFile:
        """Return the study with the suggestions of a round, which replace earlier ones of the same rows.

        A row that was drawn at random stays one, whatever else suggests it, until rows are drawn again in the same round.
        """
        again = any(row.drawn is not None for row in suggested.values())
        before = {k: replace(row, drawn=None) if again and row.drawn == number else row for k, row in self.rows.items()}
        new = {
            k: row if again or k not in before else replace(row, drawn=before[k].drawn) for k, row in suggested.items()
        }
        return replace(self, rounds=(*self.rounds[: number - 1], made), rows={**before, **new})

    def last_drawn(self) -> tuple[int, frozenset[int]] | None:
        """Return the number of the last round in which rows were drawn at random, and their keys; ``None`` without one."""
        numbers = [row.drawn for row in self.rows.values() if row.drawn is not None]
        if not numbers:
            return None
        return max(numbers), frozenset(key for key, row in self.rows.items() if row.drawn == max(numbers))

    def write(self) -> None:
        """Write the file atomically."""
        if self.path is None:
            return
        try:
            with replacing(self.path) as new:
                new.write_text(json.dumps(_plain(self), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise _unwritable(self.path, error.strerror or str(error)) from error


def _check_writable(path: Path) -> None:
    if reason := why_unwritable(path):
        raise _unwritable(path, reason)


def _unwritable(path: Path, reason: str) -> StudyError:
    return StudyError(
        f"the study file {path} cannot be written ({reason}); choose another with study= (--study), or do without and its "
        "calibration with study=False (--no-study)"
    )


def _not_ours(path: Path, reason: str) -> StudyError:
    return StudyError(
        f"expected the study file of this table at {path}, but it is not one ({reason}). It is left as it is: move it away, "
        "or choose another file with study= (--study)"
    )


def _plain(study: StudyFile) -> dict[str, Any]:
    return {
        "format": study.format,
        "version": VERSION,
        "key_columns": list(study.key_columns),
        "rounds": [asdict(one) | {"fingerprint": f"{one.fingerprint:016x}"} for one in study.rounds],
        "rows": {
            f"{key:016x}": {
                "round": row.round,
                "place": row.place,
                "measured": row.measured,
                "forecasts": {name: forecast_to_json(forecast) for name, forecast in row.forecasts.items()},
                **({"params": dict(row.params)} if row.params else {}),
                **({} if row.drawn is None else {"drawn": row.drawn}),
            }
            for key, row in study.rows.items()
        },
    }


def _from_plain(path: Path, body: dict[str, Any], format: str) -> StudyFile:
    rounds = tuple(
        Round(
            fingerprint=int(one["fingerprint"], 16),
            method=str(one["method"]),
            seed=int(one["seed"]),
            features=names_from_json(one["features"]),
            targets=names_from_json(one["targets"]),
            hyperparameters=tuple(tuple(float(v) for v in h) for h in one["hyperparameters"]),
        )
        for one in body["rounds"]
    )
    rows = {
        int(key, 16): SuggestedRow(
            round=int(row["round"]),
            place=int(row["place"]),
            forecasts={name: forecast_from_json(forecast) for name, forecast in row["forecasts"].items()},
            measured=None if row["measured"] is None else int(row["measured"]),
            params=dict(row.get("params", {})),
            drawn=None if row.get("drawn") is None else int(row["drawn"]),
        )
        for key, row in body["rows"].items()
    }
    return StudyFile(path, names_from_json(body["key_columns"]), rounds, rows, format)
