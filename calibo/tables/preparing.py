"""Open, check and survey a table before its rows are ranked or accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from calibo.checks import check_whole
from calibo.errors import DataError, FallbackWarning, RecipeError, warn
from calibo.tables.answer import own_columns
from calibo.tables.columns import Keys, row_keys
from calibo.tables.encoding import Encoding, encoding
from calibo.tables.reading import Table, joined, open_table
from calibo.tables.study_file import StudyFile
from calibo.tables.survey import SAMPLE, Question, Survey, surveyed
from calibo.trials import Direction


@dataclass(frozen=True, eq=False)
class Prepared:
    """A surveyed table with an encoding of its rows.

    Attributes:
        table: The table.
        question: What was collected from it.
        found: The survey.
        encoding: Encoder of rows as points.
        directions: Directions of the targets, `m`.
        study: What was suggested before; its key columns are known.
        watched: Wraps an iterator to show its progress under a description.
    """

    table: Table
    question: Question
    found: Survey
    encoding: Encoding
    directions: tuple[Direction, ...]
    study: StudyFile
    watched: Progress

    @cached_property
    def seen(self) -> Keys:
        """Sorted keys of all measured points."""
        return np.unique(self.point_keys(self.found.seen))

    def point_keys(self, keys: Keys) -> Keys:
        """Compute the keys of points, which only the columns that are used tell apart, from `N x c` keys of values."""
        used = [self.question.columns.index(name) for name in self.encoding.names]
        return row_keys(keys[:, used])


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user says of a table; see ``calibo.rank``, whose arguments these are.

    Attributes:
        features: Names of the feature columns; ``None`` for all that can be used.
        target: Name of the column of outcomes, or several names.
        direction: "max" or "min", one for all targets or one for each.
        study: Path of the study file; ``None`` for the one beside the table, ``False`` for none.
        smiles: Columns of molecules; ``None`` finds them by their names.
        progress: Whether to show a progress bar if reading the table takes long.
        max_labels: Maximum number of measured rows to keep.
        batch_size: Rows in memory at once.
        sample: Size of the random sample of candidates.
    """

    features: Sequence[str] | None
    target: str | Sequence[str] | None
    direction: str | Sequence[str]
    study: str | Path | Literal[False] | None
    smiles: Sequence[str] | None
    progress: bool
    max_labels: int
    batch_size: int
    sample: int = SAMPLE

    def prepare(self, table: Any) -> Prepared:
        """Open a table, check what was said of it, and survey it.

        Raises:
            DataError: If the table, its columns or their values cannot be used, or no candidate is left.
            RecipeError: If a setting is wrong.
            StudyError: If the study file cannot be read or written.
        """
        max_labels = check_whole("max_labels", self.max_labels)
        opened = open_table(table, batch=check_whole("batch_size", self.batch_size))
        targets = _checked_targets(opened.columns, self.target)
        directions = _checked_directions(self.direction, targets)
        columns = _checked_features(opened.columns, self.features, targets)
        study = StudyFile.open(_study_path(table, self.study))
        _check_key_columns(study, opened.columns, targets)
        question = Question(
            columns=(*columns, *(name for name in study.key_columns if name not in columns)),
            targets=targets,
            signs=tuple(direction.value for direction in directions),
            key_columns=study.key_columns,
            known=frozenset(study.rows),
            most_labels=max_labels,
            sample=self.sample,
        )
        watched = Progress(opened.rows, self.progress)
        found, question = surveyed(opened, question, watched)
        _check_candidates(found)
        named = self.features is not None
        profiles = {name: found.profiles[name] for name in _of_candidates(columns, found, named=named)}
        # Medians and descriptors are computed from the sampled and the measured rows.
        looked_at = joined([found.sample.frame, found.labels.frame])
        different = None if found.points is None else len(found.points)
        points = encoding(profiles, looked_at, named=named, smiles=self.smiles, points=different)
        study = study if study.key_columns else replace(study, key_columns=points.names)
        question = replace(question, key_columns=study.key_columns)
        return Prepared(opened, question, found, points, directions, study, watched)


def _check_candidates(found: Survey) -> None:
    if not found.candidates:
        partial = f", and {found.partial} have some of the targets" if found.partial else ""
        raise DataError(
            f"nothing is left to suggest: of {found.rows} rows {found.measured} are measured{partial}; add rows whose target "
            "is empty, or clear the targets of rows that are to be suggested"
        )


def _of_candidates(columns: Sequence[str], found: Survey, *, named: bool) -> list[str]:
    """Leave out columns in which no candidate has a value; most likely these are outcomes, too."""
    sample = found.sample.frame
    lacking = [name for name in columns if not named and len(sample) and sample[name].isna().all()]
    if lacking:
        warn(
            f"no sampled candidate has a value in {', '.join(map(repr, lacking))}, so it is left out: if these are outcomes, "
            "give them as targets; name the features to use it all the same",
            FallbackWarning,
        )
    return [name for name in columns if name not in lacking]


@dataclass(frozen=True)
class Progress:
    """Progress bar of a pass over a table, on standard error, shown if the pass takes long.

    Attributes:
        total: Number of rows of the table, if known.
        shown: Whether to show the bar at all.
    """

    total: int | None
    shown: bool

    def __call__(self, parts: Iterable[Any], what: str) -> Iterator[Any]:
        from calibo.progress import progress_bar

        with progress_bar(self.total, shown=self.shown, unit="row", desc=what, unit_scale=True, delay=1.0) as bar:
            for part in parts:
                bar.update(part.rows)
                yield part


def _checked_targets(columns: Sequence[str], target: str | Sequence[str] | None) -> tuple[str, ...]:
    targets = (target,) if isinstance(target, str) else tuple(target or ())
    have = f"the columns are {', '.join(map(repr, columns))}"
    if not targets:
        raise DataError(f"say which column holds the outcomes with target= (--target); {have}")
    missing = [name for name in targets if name not in columns]
    if missing:
        raise DataError(f"there is no target column {', '.join(map(repr, missing))}; {have}")
    if len(set(targets)) < len(targets):
        raise DataError(f"the targets must be different columns, got {', '.join(map(repr, targets))}")
    return targets


def _checked_directions(direction: str | Sequence[str], targets: Sequence[str]) -> tuple[Direction, ...]:
    given = [direction] * len(targets) if isinstance(direction, str | Direction) else list(direction)
    if len(given) != len(targets):
        raise RecipeError(f"give one direction, or one for each of the {len(targets)} targets, got {len(given)}")
    return tuple(Direction.of(name) for name in given)


def _checked_features(
    columns: Sequence[str], features: Sequence[str] | None, targets: Sequence[str]
) -> tuple[str, ...]:
    if isinstance(features, str):
        raise DataError(f"features must be a list of columns, got the string {features!r}; write [{features!r}]")
    if features is None:
        features = [name for name in columns if name not in targets]
        ours = own_columns(targets)
        if set(ours) <= set(columns):
            warn(
                f"the columns {', '.join(ours)} come from an earlier ranking and are left out; name the features to use "
                "them",
                FallbackWarning,
            )
            features = [name for name in features if name not in ours]
    names = tuple(features)
    missing = [name for name in names if name not in columns]
    if missing:
        raise DataError(
            f"there is no column {', '.join(map(repr, missing))}; the columns are {', '.join(map(repr, columns))}"
        )
    if not names or len(set(names)) < len(names) or set(names) & set(targets):
        raise DataError(f"features must be different columns that are not targets, at least one, got {list(names)}")
    return names


def _check_key_columns(study: StudyFile, columns: Sequence[str], targets: Sequence[str]) -> None:
    missing = [name for name in study.key_columns if name not in columns or name in targets]
    if missing:
        raise DataError(
            f"the study file {study.path} identifies rows by the columns {', '.join(study.key_columns)}, but the table "
            f"has no {', '.join(map(repr, missing))} among its features; choose another study file with study= (--study)"
        )


def _study_path(table: Any, study: str | Path | Literal[False] | None) -> Path | None:
    if study is False:
        return None
    if study is not None:
        path = Path(study)
        if isinstance(table, str | Path) and path.exists() and Path(table).exists() and path.samefile(table):
            raise DataError(f"the study file cannot be the table {table} itself; choose another with study= (--study)")
        return path
    return Path(f"{table}.calibo.json") if isinstance(table, str | Path) else None
