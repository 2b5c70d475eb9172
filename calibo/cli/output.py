"""Output of the commands, and the parameters they read."""

from __future__ import annotations

import contextlib
import csv as csv_format
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibo.data import COVERAGES
from calibo.digits import interval_text, side_by_side
from calibo.errors import DataError, SpaceError
from calibo.formulas import inert_table

if TYPE_CHECKING:
    import pandas as pd

    from calibo.spaces import Parameter, Space
    from calibo.study import Result
    from calibo.trials import Trial

#: Distributions in a table of predictions, and the headings of their columns.
_DISTRIBUTIONS = {"measured": "next measurement", "mean": "mean value"}
#: Probabilities are shown down to this, and up to 1 less this: no model knows the tails of its forecasts better.
_UNSURE = 0.001
#: Significant digits of predictions, unless their intervals need more.
_DIGITS = 5
#: Values of a parameter that are compared with the text of a CSV file.
_MOST_VALUES = 1000


def what_better_means(targets: int) -> str:
    """Return a sentence about the column "better" of suggested rows and experiments."""
    best = "a measurement is better than the best result so far"
    many = "no result so far is better than the measurement in all outcomes"
    return f'"better" is the probability that {best if targets == 1 else many}.'


def show_result(result: Result) -> None:
    """Print the best parameters or the Pareto front, and the calibration of the forecasts."""
    typer.echo(f"Study {result.study_name!r}: {counted(result)}.")
    if result.stopped is not None:
        wrapped(f"Stopped early: {result.stopped}.")
    if not any(trial.values is not None for trial in result.trials):
        return
    if not result.feasible_trials:
        typer.echo(f"No trial meets all constraints yet ({', '.join(result.constraints)}).")
    else:
        show_best(result)
    several = len(result.directions) > 1
    for outcome in (*range(len(result.directions)), *result.constraints):
        name = f"Objective {objective_name(result, outcome)}: " if several and isinstance(outcome, int) else ""
        _show_calibration(result, outcome, f"Constraint {outcome!r}: " if isinstance(outcome, str) else name)
    if result.constraints:
        wrapped(result.feasibility().headline())


def show_best(result: Result) -> None:
    """Print the best parameters, or the Pareto front."""
    if len(result.directions) > 1:
        _show_front(result)
    else:
        _show_best(result)


def show_params(params: Mapping[str, Any]) -> None:
    """Print parameters, a line each."""
    width = max(map(len, params), default=0)
    for name, value in params.items():
        typer.echo(f"  {name:<{width}} = {shown(value)}")


def show_forecasts(trial: Trial, result: Result) -> None:
    """Print what was forecast for a trial, a line for each outcome."""
    outcomes: list[int | str] = [*range(len(result.directions)), *result.constraints]
    for outcome in outcomes:
        forecast = trial.forecast_of(outcome, len(result.directions))
        if forecast is not None:
            name = outcome if isinstance(outcome, str) else result.names[outcome] if result.names else ""
            which = f" of {name}" if name else f" of objective {outcome}" if len(result.directions) > 1 else ""
            median, low, high = side_by_side(forecast.calibrated.icdf(0.5), *forecast.calibrated.interval(0.8))
            typer.echo(f"Forecast{which}: {median}, with 80 % probability {low} to {high}.")
    if trial.forecasts is None:
        typer.echo("No forecast: it was not chosen by a model.")


def show_outcome(trial: Trial, result: Result) -> str:
    """Return in words what came of a trial."""
    if trial.values is None:
        return str(trial.state) + (f" ({trial.error})" if trial.error else "")
    names = [f"{name} " for name in result.names] or [""] * len(trial.values)
    noise = trial.sem or [None] * len(trial.values)
    parts = [
        f"{name}{value:.6g}" + ("" if sem is None else f" ± {sem:.2g}")
        for name, value, sem in zip(names, trial.values, noise, strict=True)
    ]
    parts += [f"constraint {name} {value:.6g}" for name, value in trial.constraints.items()]
    return ", ".join(parts)


def _show_best(result: Result) -> None:
    direction = "smallest" if result.directions[0].value < 0 else "largest"
    what = result.names[0] if result.names else "value"
    typer.echo(f"The {direction} {what} is {result.best_value:.6g}, found with")
    show_params(result.best_params)


def _show_front(result: Result) -> None:
    """Print the Pareto-optimal trials by the first objective, in as many tables as the width of the terminal needs."""
    front = result.pareto_front.sort_values(f"value_{(result.names or ('0',))[0]}")
    volume = result.hypervolume().iloc[-1]
    typer.echo(f"{len(front)} Pareto-optimal trials (hypervolume {volume:.6g}):")
    names = ["number", *(name for name in front.columns if name.startswith(("value_", "constraint_", "params_")))]
    first, *others = [[_heading(name, bool(result.names)), *(shown(value) for value in front[name])] for name in names]
    wide_table(first, others)


def wide_table(first: list[str], others: Sequence[list[str]]) -> None:
    """Print columns, each a heading and its cells, in as many tables as the width of the terminal needs.

    Args:
        first: The column that begins each table.
        others: The other columns.
    """
    terminal = console()
    tables: list[list[list[str]]] = []
    room = 0
    for column in others:
        width = 3 + max(map(len, column))
        if width > room:
            tables.append([first])
            room = terminal.width - 3 - max(map(len, first))
        tables[-1].append(column)
        room -= width
    for columns in tables:
        headings, *rows = zip(*columns, strict=True)
        table = plain_table(*headings)
        for row in rows:
            table.add_row(*map(Text, row))
        terminal.print(table)


def objective_name(result: Result, index: int) -> str:
    """Return the name of an objective, or its index if it has none."""
    return repr(result.names[index]) if result.names else str(index)


def _heading(column: str, named: bool) -> str:
    """Return a column of the history as the heading of a table; `named` says whether objectives have names."""
    value = "" if named else "objective "
    for start, heading in (("number", "trial"), ("value_", value), ("constraint_", ""), ("params_", "")):
        if column.startswith(start):
            return heading + column.removeprefix(start)
    return column


def _show_calibration(result: Result, outcome: int | str, name: str) -> None:
    table = result.calibration(outcome)
    wrapped(f"{name}{table.headline()}")
    for sentence in table.sentences():
        wrapped(sentence, indent="  ")
    if (places := result.calibration_by_place(outcome)).judged:
        wrapped(places.headline(), indent="  ")


def counted(result: Result) -> str:
    """Count the trials of a study by state: "8 trials (7 complete, 1 failed)"."""
    states = [trial.state for trial in result.trials]
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{len(states)} {'trial' if len(states) == 1 else 'trials'} ({', '.join(parts)})" if states else "no trials"


def show_methods() -> None:
    """Print the methods that have a name."""
    from calibo.methods import METHODS

    table = plain_table("name", "what it does", "paper")
    for name, method in METHODS.items():
        table.add_row(*(Text(text) for text in (name, method.summary, method.paper)))
    console().print(table)


def show_predictions(points: Sequence[Mapping[str, Any]], table: pd.DataFrame) -> None:
    """Print the predictions for each point: intervals of the next measurement, and of the mean value."""
    outcomes = [column.removesuffix("median") for column in table.columns if column.endswith("median")]
    for point, row in zip(points, table.to_dict("records"), strict=True):
        typer.echo(", ".join(f"{name} = {shown(value)}" for name, value in point.items()))
        for prefix in outcomes:
            console().print(_prediction(row, prefix))
        if "feasible" in table.columns:
            wrapped(f"meets all constraints with probability {_feasible(row)}")


def _feasible(row: Mapping[Any, Any]) -> str:
    """Return the probability that a point meets all constraints, and for which of them it rests on the model alone."""
    from calibo.diagnostics.tables import listed
    from calibo.models.base import MODEL_ALONE

    chance, start, end = float(row["feasible"]), "constraint_", "_calibration"
    text = f"{chance:.3g}"
    if chance < _UNSURE:
        text = f"below {_UNSURE:g}"
    elif chance > 1.0 - _UNSURE:
        text = f"above {1.0 - _UNSURE:g}"
    columns = [name for name in row if name.startswith(start) and name.endswith(end)]
    alone = [name.removeprefix(start).removesuffix(end) for name in columns if row[name] == MODEL_ALONE]
    return f"{text} ({MODEL_ALONE} for {listed(alone)})" if alone else text


def _prediction(row: Mapping[Any, Any], prefix: str) -> Table:
    """Return the prediction of one outcome at one point; `prefix` begins the names of its columns."""
    name = prefix.removesuffix("_")
    heading = f"objective {name}" if name.isdigit() else name.removeprefix("constraint_")
    predictions = plain_table(heading, *_DISTRIBUTIONS.values())
    percents = [round(100 * coverage) for coverage in COVERAGES]
    ends = {
        (kind, c): (float(row[f"{prefix}{kind}_low_{c}"]), float(row[f"{prefix}{kind}_high_{c}"]))
        for kind in _DISTRIBUTIONS
        for c in percents
    }
    middle = (float(row[f"{prefix}mean"]), float(row[f"{prefix}median"]))
    mean, median, *_ = side_by_side(*middle, *ends["measured", percents[0]], least=_DIGITS)
    predictions.add_row("mean", Text(mean), "")
    predictions.add_row("median", Text(median), "")
    for c in percents:
        texts = (interval_text(*ends[kind, c], least=_DIGITS) for kind in _DISTRIBUTIONS)
        predictions.add_row(f"{c} %", *map(Text, texts))
    predictions.add_row("rests on", Text(str(row[f"{prefix}calibration"])), "")
    return predictions


def write_predictions(points: Sequence[Mapping[str, Any]], table: pd.DataFrame, path: str) -> None:
    """Write parameters and predictions as CSV to a file, or to the standard output if `path` is `-`."""
    import pandas as pd

    write_csv(pd.concat([pd.DataFrame(list(points)), table], axis=1), path)


def write_csv(table: pd.DataFrame, path: str, quiet: bool = False) -> None:
    """Write a table as CSV to a file, or to the standard output if `path` is `-`."""
    table = inert_table(table)
    if path == "-":
        sys.stdout.write(table.to_csv(index=False))
        return
    try:
        table.to_csv(path, index=False)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); give another file") from error
    if not quiet:
        typer.echo(f"Wrote {path}")


def read_params(given: Sequence[str], space: Space | None) -> list[dict[str, Any]]:
    """Read sets of parameters, each given as a JSON object, or many in a .json or .csv file.

    Args:
        given: JSON objects or names of files.
        space: The space, whose parameters say how the text of a CSV file is read; may be unknown.

    Raises:
        SpaceError: If there are none, or a text or file cannot be read.
    """
    columns = {} if space is None else dict(zip(space.names, space.columns, strict=True))
    points = [point for text in given for point in _points(text, columns)]
    if not points:
        raise SpaceError("give the parameters: --params '{\"lr\": 0.01}', or a .json or .csv file")
    return points


def _points(text: str, columns: Mapping[str, Parameter]) -> list[dict[str, Any]]:
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
    return [{name: _from_text(value, columns.get(name)) for name, value in row.items()} for row in rows]


def _from_json(text: str, source: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except RecursionError:
        raise SpaceError(f"{source} is nested too deeply; write e.g. '{{\"lr\": 0.01}}'") from None
    except ValueError as error:
        raise SpaceError(f"{source} is not valid JSON ({error}); write e.g. '{{\"lr\": 0.01}}'") from None
    points = found if isinstance(found, list) else [found]
    if not all(isinstance(point, dict) for point in points):
        raise SpaceError(f"{source} must be a JSON object of parameters by name, or a list of them")
    return points


def _from_text(text: str, parameter: Parameter | None) -> Any:
    """Return the value of a parameter in a cell of a CSV file; a text that is none is returned and rejected later."""
    if parameter is not None and parameter.cells is not None and parameter.cells <= _MOST_VALUES:
        values = [parameter.decode(float(u)) for u in parameter.position(np.arange(parameter.cells))]
        matches = [value for value in values if str(value) == text]
        if matches:
            return matches[0]
    for kind in (int, float):
        with contextlib.suppress(TypeError, ValueError):
            return kind(text)
    return text


def shown(value: Any) -> str:
    """Format the value of a parameter, with six significant digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def wrapped(text: str, indent: str = "", hanging: int = 2) -> None:
    """Print a sentence in lines of at most 80 characters, all but the first indented by ``hanging`` more."""
    later = indent + " " * hanging
    typer.echo(textwrap.fill(text, 80, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False))


def plain_table(*columns: str) -> Table:
    """Return an empty table with these headings, in which long cells are folded."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def console() -> Console:
    """Return a console that prints text as it is."""
    return Console(highlight=False)
