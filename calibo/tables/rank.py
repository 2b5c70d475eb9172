"""Rank the rows of a table of candidates: which to measure next."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calibo.arguments import checked
from calibo.checks import check_seed, check_whole
from calibo.errors import DataError, FallbackWarning, RecipeError
from calibo.optimize import Strategy
from calibo.optimize.auto import default_for_rows
from calibo.tables.answer import own_columns
from calibo.tables.encoding import encoding
from calibo.tables.reading import BATCH, joined, open_table
from calibo.tables.round import TableRound
from calibo.tables.study_file import StudyFile
from calibo.tables.survey import SAMPLE, Question, Survey, surveyed
from calibo.trials import Direction

if TYPE_CHECKING:
    import pandas as pd


@checked
def rank(
    table: Any,
    features: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    n: int = 10,
    method: str | Strategy | None = None,
    direction: str | Sequence[str] = "max",
    *,
    study: str | Path | Literal[False] | None = None,
    smiles: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
    max_labels: int = 2000,
    batch_size: int = BATCH,
) -> pd.DataFrame:
    """Suggest which rows of a table to measure next, best first, with calibrated forecasts.

    Rows whose targets are all measured are data, rows without any target are candidates; rows with some of several
    targets are ignored. A file is read in batches, so it need not fit into memory, and is never written.

    Args:
        table: A pandas DataFrame; the path of a .csv, .tsv, .parquet or .xlsx file; or a Ray Dataset.
        features: Names of the feature columns: numbers, text, dates, molecules. By default all columns but the targets,
            without those that are constant or look like identifiers.
        target: Name of the column of outcomes, or several names.
        n: Number of rows to suggest.
        method: Name of a method with a model ("auto", "cbo", "ocbo", "locbo", "gp_ei"), or such a strategy; by default
            "cbo" if a column is one of categories, else "auto".
        direction: "max" or "min", one for all targets or one for each.
        study: Path of the study file, which stores forecasts so that the next round is calibrated by them. By default a
            file beside the table, ``candidates.csv.calibo.json``, and none for a table in memory; ``False`` for none.
        smiles: Columns of molecules as SMILES; by default those whose names say so.
        seed: Seed of all random choices.
        progress: Whether to show a progress bar if reading the table takes long.
        max_labels: Maximum number of measured rows given to the model.
        batch_size: Rows in memory at once.

    Returns:
        The suggested rows with their index and all their columns, plus ``mean``, ``low_80``, ``high_80`` (the 80 % interval
        of the measurement; with several targets each name starts with the target's), ``probability_of_improvement`` and
        ``reason``. A name that the table already has is prefixed with ``calibo_``. Further information, such as the
        calibration of earlier forecasts, is in ``.attrs["calibo"]``.

    Raises:
        DataError: If the table, its columns or their values cannot be used.
        RecipeError: If the method cannot rank rows, or a setting is wrong.
        StudyError: If the study file cannot be read or written.

    Example:
        >>> import calibo, pandas as pd
        >>> table = pd.DataFrame({"x": range(10), "y": [0.0, None, None, 5.0, None, None, 4.0, None, None, 1.0]})
        >>> best = calibo.rank(table, target="y", n=2, method="gp_ei", progress=False)
        >>> list(best["x"])
        [4, 2]
    """
    from calibo.methods import strategy as strategy_of

    asked = None if method is None else _checked_strategy(strategy_of(method))
    count, seed = check_whole("n", n), check_seed(seed)
    max_labels = check_whole("max_labels", max_labels)
    opened = open_table(table, batch=check_whole("batch_size", batch_size))
    targets = _checked_targets(opened.columns, target)
    directions = _checked_directions(direction, targets)
    columns = _checked_features(opened.columns, features, targets)
    remembered = StudyFile.open(_study_path(table, study))
    _check_key_columns(remembered, opened.columns, targets)
    question = Question(
        columns=(*columns, *(name for name in remembered.key_columns if name not in columns)),
        targets=targets,
        signs=tuple(direction.value for direction in directions),
        key_columns=remembered.key_columns,
        known=frozenset(remembered.rows),
        most_labels=max_labels,
        sample=max(SAMPLE, 2 * count),
    )
    watched = Progress(opened.rows, progress)
    found, question = surveyed(opened, question, watched)
    if not found.candidates:
        partial = f", and {found.partial} have some of the targets" if found.partial else ""
        raise DataError(
            f"nothing is left to suggest: of {found.rows} rows {found.measured} are measured{partial}; add rows whose target "
            "is empty, or clear the targets of rows that are to be suggested"
        )
    profiles = {name: found.profiles[name] for name in _of_candidates(columns, found, named=features is not None)}
    # Medians and descriptors are computed from the sampled and the measured rows.
    looked_at = joined([found.sample.frame, found.labels.frame])
    points = encoding(profiles, looked_at, named=features is not None, smiles=smiles)
    strategy = asked or strategy_of(default_for_rows(points.categories))
    job = TableRound(opened, question, found, points, strategy, directions, count, seed, watched)
    return job.run(remembered if remembered.key_columns else replace(remembered, key_columns=points.names))


def _of_candidates(columns: Sequence[str], found: Survey, *, named: bool) -> list[str]:
    """Leave out columns in which no candidate has a value; most likely these are outcomes, too."""
    sample = found.sample.frame
    lacking = [name for name in columns if not named and len(sample) and sample[name].isna().all()]
    if lacking:
        warnings.warn(
            f"no sampled candidate has a value in {', '.join(map(repr, lacking))}, so it is left out: if these are outcomes, "
            "give them as targets; name the features to use it all the same",
            FallbackWarning,
            stacklevel=3,
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


def _checked_strategy(strategy: Strategy) -> Strategy:
    if not strategy.compares_rows:
        raise RecipeError(
            f"ranking needs a method with one model and values that can be compared between any two rows, and "
            f"{strategy.name!r} is not one; use auto, cbo, ocbo, locbo, ocbo_local, cqr, conformal_ensemble or gp_ei"
        )
    return strategy


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
            warnings.warn(
                f"the columns {', '.join(ours)} come from an earlier ranking and are left out; name the features to use "
                "them",
                FallbackWarning,
                stacklevel=3,
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
