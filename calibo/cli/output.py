"""What the commands print, and the parameters they read."""

from __future__ import annotations

import csv as csv_format
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibo.errors import DataError, SpaceError
from calibo.optimize.predictions import COVERAGES
from calibo.spaces import Categorical, Float, Int, Ordinal, Space

if TYPE_CHECKING:
    import pandas as pd

    from calibo.study import Result

#: Columns of a table of predictions: which distribution, and what it is called.
_LAWS = {"measured": "next measurement", "mean": "mean value"}


def show_result(result: Result) -> None:
    """The best parameters, and how far the forecasts can be believed."""
    typer.echo(f"Study {result.study_name!r}: {counted(result)}.")
    if not any(entry.values is not None for entry in result.entries):
        return
    if not any(entry.feasible for entry in result.entries):
        typer.echo(f"No trial meets all constraints yet ({', '.join(result.constraints)}).")
    elif len(result.directions) > 1:
        _show_front(result)
    else:
        _show_best(result)
    several = len(result.directions) > 1
    for outcome in (*range(len(result.directions)), *result.constraints):
        name = f"Objective {outcome}: " if several and isinstance(outcome, int) else ""
        _show_calibration(result, outcome, f"Constraint {outcome!r}: " if isinstance(outcome, str) else name)
    if result.constraints:
        typer.echo(result.feasibility().headline())


def _show_best(result: Result) -> None:
    direction = "smallest" if result.directions[0].value < 0 else "largest"
    typer.echo(f"The {direction} value is {result.best_value:.6g}, found with")
    width = max(len(name) for name in result.best_params)
    for name, value in result.best_params.items():
        typer.echo(f"  {name:<{width}} = {shown(value)}")


def _show_front(result: Result) -> None:
    """The results that no other dominates, by the first objective."""
    front = result.pareto_front.sort_values("value_0")
    volume = result.hypervolume().iloc[-1]
    typer.echo(f"{len(front)} results that no other beats in every objective (hypervolume {volume:.6g}):")
    names = [name for name in front.columns if name.startswith(("value_", "constraint_", "params_"))]
    table = _table("trial", *(name.removeprefix("params_") for name in names))
    for _, row in front.iterrows():
        table.add_row(str(row["number"]), *(Text(shown(row[name])) for name in names))
    _console().print(table)


def _show_calibration(result: Result, outcome: int | str, name: str) -> None:
    table = result.calibration(outcome)
    typer.echo(f"{name}{table.headline()}")
    for sentence in table.sentences():
        typer.echo(f"  {sentence}")


def counted(result: Result) -> str:
    """How many trials a study has, and what became of them."""
    states = [entry.state for entry in result.entries]
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{len(states)} {'trial' if len(states) == 1 else 'trials'} ({', '.join(parts)})" if states else "no trials"


def show_methods() -> None:
    """The methods that can be had by name."""
    from calibo.methods import METHODS

    table = _table("name", "what it does", "paper")
    for name, method in METHODS.items():
        table.add_row(*(Text(text) for text in (name, method.summary, method.paper)))
    _console().print(table)


def show_predictions(points: Sequence[Mapping[str, Any]], table: pd.DataFrame) -> None:
    """A table for each point: intervals of the next measurement, and of the mean value."""
    console = _console()
    outcomes = [column.removesuffix("median") for column in table.columns if column.endswith("median")]
    for point, (_, row) in zip(points, table.iterrows(), strict=True):
        for prefix in outcomes:
            console.print(_prediction(point, row, prefix))
        if "feasible" in table.columns:
            typer.echo(f"meets all constraints with probability {row['feasible']:.3g}")


def _prediction(point: Mapping[str, Any], row: pd.Series, prefix: str) -> Table:
    """What is believed of one outcome at one point; ``prefix`` begins the names of its columns."""
    predictions = _table(prefix.removesuffix("_"), *_LAWS.values())
    predictions.title = Text(", ".join(f"{name} = {shown(value)}" for name, value in point.items()))
    predictions.add_row("expected", Text(f"{row[f'{prefix}mean']:.5g}"), "")
    predictions.add_row("median", Text(f"{row[f'{prefix}median']:.5g}"), "")
    for c in (round(100 * coverage) for coverage in COVERAGES):
        ends = [
            f"{row[f'{prefix}{distribution}_low_{c}']:.5g} to {row[f'{prefix}{distribution}_high_{c}']:.5g}"
            for distribution in _LAWS
        ]
        predictions.add_row(f"{c} %", *(Text(end) for end in ends))
    return predictions


def write_predictions(points: Sequence[Mapping[str, Any]], table: pd.DataFrame, path: str) -> None:
    """Parameters and predictions as CSV, into a file or (``-``) to the output."""
    import pandas as pd

    whole = pd.concat([pd.DataFrame(list(points)), table], axis=1)
    if path == "-":
        sys.stdout.write(whole.to_csv(index=False))
        return
    try:
        whole.to_csv(path, index=False)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); give another file") from error
    typer.echo(f"Wrote {path}")


def read_params(given: Sequence[str], space: Space | None) -> list[dict[str, Any]]:
    """Sets of parameters, each given as a JSON object, or many in a .json or .csv file."""
    points = [point for text in given for point in _points(text, space)]
    if not points:
        raise SpaceError("say which parameters are meant: --params '{\"lr\": 0.01}', or a .json or .csv file")
    return points


def _points(text: str, space: Space | None) -> list[dict[str, Any]]:
    if text.lstrip().startswith(("{", "[")):
        return _from_json(text, "--params")
    path = Path(text)
    if path.suffix not in (".json", ".csv"):
        raise SpaceError(f"--params takes a JSON object in quotes, or a .json or .csv file, got {text!r}")
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SpaceError(f"{path} cannot be read ({error})") from error
    if path.suffix == ".json":
        return _from_json(content, text)
    rows = list(csv_format.DictReader(content.splitlines()))
    return [{name: _from_text(name, value, space) for name, value in row.items()} for row in rows]


def _from_json(text: str, source: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpaceError(f"{source} is not valid JSON ({error}); write e.g. '{{\"lr\": 0.01}}'") from None
    points = found if isinstance(found, list) else [found]
    if not all(isinstance(point, dict) for point in points):
        raise SpaceError(f"{source} must be a JSON object of parameters by name, or a list of them")
    return points


def _from_text(name: str, text: str, space: Space | None) -> Any:
    """A cell of a CSV file as the value of its parameter; a text that cannot be one stays and is rejected later."""
    parameter = space.columns[space.names.index(name)] if space is not None and name in space.names else None
    if isinstance(parameter, Categorical | Ordinal):
        return next((choice for choice in parameter.choices if str(choice) == text), text)
    kinds = {Int: (int, float), Float: (float,)}.get(type(parameter), (int, float))
    for kind in kinds:
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def shown(value: Any) -> str:
    """A parameter's value, with as many digits as a reader wants."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title_justify="left")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def _console() -> Console:
    return Console(highlight=False)
