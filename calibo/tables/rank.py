"""Rank the rows of a table of candidates: which to measure next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calibo.arguments import checked
from calibo.checks import check_seed, check_whole
from calibo.errors import RecipeError
from calibo.optimize import Strategy
from calibo.optimize.auto import default_for_rows
from calibo.tables.preparing import Request
from calibo.tables.reading import BATCH
from calibo.tables.round import TableRound
from calibo.tables.survey import SAMPLE

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
    at_random: bool = False,
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
        at_random: Whether to draw the rows at random, each candidate with the same probability, instead of by the method;
            ``calibo.accept`` needs some that were.
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
    request = Request(
        features=features,
        target=target,
        direction=direction,
        study=study,
        smiles=smiles,
        progress=progress,
        max_labels=max_labels,
        batch_size=batch_size,
        sample=max(SAMPLE, 2 * count),
    )
    prepared = request.prepare(table)
    strategy = asked or strategy_of(default_for_rows(prepared.encoding.categories))
    return TableRound(prepared, strategy, count, seed, at_random).run()


def _checked_strategy(strategy: Strategy) -> Strategy:
    if not strategy.compares_rows:
        raise RecipeError(
            f"ranking needs a method with one model and values that can be compared between any two rows, and "
            f"{strategy.name!r} is not one; use auto, cbo, ocbo, locbo, ocbo_local, cqr, conformal_ensemble or gp_ei"
        )
    return strategy
