"""The next experiments in a space, from tables of what was measured: rounds of a laboratory, without Python.

A round reads all results, matches them with what was suggested before, tells them to an ``Optimizer`` in the order of the
rounds, and asks for a batch. What was suggested, with its forecasts, is kept in a study file; results stay in the tables.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, cast

import numpy as np

from calibo.data import Array, Dataset, Forecasts, Suggestion
from calibo.digits import side_by_side
from calibo.errors import (
    ContextWarning,
    DataError,
    FallbackWarning,
    RecipeError,
    SpaceError,
    SpaceWarning,
    StudyError,
    ValueRejected,
)
from calibo.optimize import Optimizer, Strategy, fitted_plan, generator
from calibo.optimize.reasons import BOTH, COVERAGE, GOOD, UNCERTAIN, chance_beyond, expectations, reasons
from calibo.optimize.suggest import designs_due
from calibo.pareto import pareto_front
from calibo.spaces import Float, Space, checked_context, held_values
from calibo.tables.answer import own_columns
from calibo.tables.cells import Blank, read_outcome, read_parameter
from calibo.tables.sheets import Dialect, Sheet, read_sheet
from calibo.tables.study_file import EXPERIMENTS, Round, StudyFile, SuggestedRow
from calibo.trials import Direction, State, calibration_of, convert_forecasts

#: Column with the name of a suggestion, by which its result is recognized.
NAME = "experiment"
#: Points of the space with which suggestions are compared for their reasons.
_COMPARED = 512
#: Suggested numbers are rounded to this share of their range.
_RESOLUTION = 1e-4
#: Numbers that may be rounded away from the nearest value, those first that lie nearly halfway.
_ROUNDED_AWAY = 8
#: Numbers are equal up to this share, so that what a spreadsheet shows of them is enough.
_EQUAL = 1e-6

#: Why an experiment is suggested, in plain words.
WORDS = {
    GOOD: "exploit: expected to be good",
    UNCERTAIN: "explore: little is known here",
    BOTH: "both: promising and uncertain",
}
DESIGN = "start: spread over the space"


@dataclass(frozen=True)
class Observed:
    """A row of a table of results.

    Attributes:
        where: File and row, for messages.
        params: Parameters by name, as they were measured.
        state: Complete, failed, or running if its outcome is not there yet.
        values: One value per target, if complete.
        name: Name of the suggestion that it is the result of, if the row has one.
    """

    where: str
    params: Mapping[str, Any]
    state: State
    values: tuple[float, ...] = ()
    name: str | None = None


@dataclass(frozen=True)
class Experiment:
    """A suggested experiment.

    Attributes:
        number: Its number, counted from 0 over all rounds.
        params: Parameters by name.
        reason: Why it is suggested, in words.
        forecasts: Forecasts of the targets in the user's sign, ``None`` without a model.
        chance: Probability that a measurement is better than the best so far, or not dominated; NaN without a model.
    """

    number: int
    params: Mapping[str, Any]
    reason: str
    forecasts: Forecasts | None = None
    chance: float = math.nan

    @property
    def name(self) -> str:
        """The name by which its result is recognized, such as "E012"."""
        return experiment_name(self.number)


@dataclass(frozen=True)
class Batch:
    """The experiments of a round, and what they were concluded from.

    Attributes:
        round: Number of the round, from 1 on.
        experiments: The suggestions.
        parameters: Names of the parameters.
        targets: Names of the outcomes.
        directions: Their directions.
        measured, failed, pending: Number of results, of failures, and of experiments whose results are awaited.
        notes: What was noticed in the tables.
        calibration: How earlier forecasts of each target came out: the number compared, how many lay within the 80 %
            intervals, and the verdict in words; only of targets with at least one.
        study: The study file, ``None`` if nothing is kept.
        dialect: How the first table of results is written, for the table of the suggestions.
    """

    round: int
    experiments: tuple[Experiment, ...]
    parameters: tuple[str, ...]
    targets: tuple[str, ...]
    directions: tuple[Direction, ...]
    measured: int
    failed: int
    pending: int
    notes: tuple[str, ...] = ()
    calibration: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)
    study: Path | None = None
    dialect: Dialect = field(default_factory=Dialect)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table to fill in: name, parameters, empty cells for the outcomes, then forecasts and reason."""
        taken = (NAME, *self.parameters, *self.targets)
        added = [f"calibo_{name}" if name in taken else name for name in own_columns(self.targets)]
        return [
            {
                NAME: one.name,
                **{name: one.params.get(name) for name in self.parameters},
                **dict.fromkeys(self.targets),
                **dict(zip(added, _forecast_cells(one, len(self.targets)), strict=True)),
            }
            for one in self.experiments
        ]


def _forecast_cells(one: Experiment, targets: int) -> list[Any]:
    if one.forecasts is None:
        return [None] * (3 * targets + 1) + [one.reason]
    numbers = [(f.calibrated.mean, *f.calibrated.interval(COVERAGE)) for f in one.forecasts]
    shown = [float(text) for three in numbers for text in side_by_side(*three, least=6)]
    return [*shown, float(f"{one.chance:.3g}"), one.reason]


def experiment_name(number: int) -> str:
    """Return the name of a suggestion by its number; no spreadsheet takes it for a date or a number."""
    return f"E{number + 1:03d}"


def _numbered(name: str | None) -> int | None:
    """Return the number of a suggestion by its name; ``None`` for a name of another kind."""
    digits = (name or "").removeprefix("E")
    number = int(digits) - 1 if digits.isdecimal() and len(digits) < 10 else -1
    return number if number >= 0 and experiment_name(number) == name else None


def next_experiments(
    space: Space,
    targets: Mapping[str, str | Direction],
    n: int,
    *,
    results: Sequence[Path] = (),
    method: str | Strategy = "auto",
    fixed: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    study: Path | None = None,
    seed: int = 0,
) -> Batch:
    """Suggest the next ``n`` experiments from what was measured, and keep their forecasts in the study file.

    Args:
        space: The search space.
        targets: Directions of the outcomes, by the names of their columns.
        n: Number of experiments.
        results: Tables of results; none in the first round.
        method: Name of a method with a model, or such a strategy.
        fixed: Values of parameters that all suggestions must have.
        context: Values of the space's contexts at the time of the experiments.
        study: The study file; ``None`` keeps nothing.
        seed: Seed of all random choices.

    Raises:
        DataError: If a table or its cells cannot be used.
        StudyError: If the study file cannot be used, or is that of another space.
        RecipeError: If the method makes no forecasts.
    """
    directions = Direction.several(dict(targets))
    optimizer = Optimizer(
        space, method, directions={k: v.name.lower() for k, v in zip(targets, directions, strict=True)}, seed=seed
    )
    if not optimizer.strategy.makes_forecasts:
        raise RecipeError(
            f"{optimizer.strategy.name} makes no forecasts; suggest needs a method with a model, such as auto"
        )
    kept = _opened(study, space)
    sheets = [read_sheet(path) for path in results]
    rows, notes = _all_observed(sheets, space, tuple(targets))
    held = {"n": n, "method": optimizer.strategy.name, "seed": seed, "fixed": fixed, "context": context}
    fingerprint = _fingerprint(
        rows, {**held, "targets": [f"{k}: {v.name}" for k, v in zip(targets, directions, strict=True)]}
    )
    number = kept.number(fingerprint)
    matching = Matching.of(rows, kept, space.contexts)
    kept = kept.measured([key for i, key in matching.keys.items() if rows[i].state is not State.RUNNING], number)
    notes += matching.notes(rows, kept)
    _tell_all(optimizer, rows, matching, kept, number, tuple(targets))
    data = optimizer.data()
    suggested = optimizer.ask(n, fixed=fixed or None, context=context or None)
    suggestions = [suggested] if isinstance(suggested, Suggestion) else suggested
    experiments = _explained(optimizer, data, suggestions, held_values(space, fixed or None, context or None))
    made = Round(
        fingerprint=fingerprint,
        method=optimizer.strategy.name,
        seed=seed,
        features=space.names,
        targets=tuple(targets),
        hyperparameters=next((s.hyperparameters for s in reversed(suggestions) if s.hyperparameters), ()),
    )
    _with_round(kept, number, made, experiments).write()
    states = [row.state for row in rows]
    return Batch(
        round=number,
        experiments=tuple(experiments),
        parameters=space.names,
        targets=tuple(targets),
        directions=directions,
        measured=states.count(State.COMPLETE),
        failed=states.count(State.FAILED),
        pending=states.count(State.RUNNING),
        notes=tuple(notes),
        calibration=_calibration(optimizer, tuple(targets)),
        study=study,
        dialect=sheets[0].dialect if sheets else Dialect(),
    )


def _opened(study: Path | None, space: Space) -> StudyFile:
    """Return the study file, which must be of the space's parameters."""
    kept = StudyFile.open(study, EXPERIMENTS)
    if kept.key_columns and set(kept.key_columns) != set(space.names):
        raise StudyError(
            f"the study file {study} is of experiments with {', '.join(kept.key_columns)}, and the space has "
            f"{', '.join(space.names)}: give another file with --study, or move it away to begin anew"
        )
    return kept


def _with_round(kept: StudyFile, number: int, made: Round, experiments: Sequence[Experiment]) -> StudyFile:
    """Return the study file with a round and the forecasts of its experiments."""
    stored = {
        one.number: SuggestedRow(
            number, place, dict(zip(made.targets, one.forecasts or (), strict=False)), params=one.params
        )
        for place, one in enumerate(experiments)
    }
    return replace(kept.after(number, made, stored), key_columns=made.features)


def _all_observed(sheets: Sequence[Sheet], space: Space, targets: Sequence[str]) -> tuple[list[Observed], list[str]]:
    rows, notes = list[Observed](), list[str]()
    for sheet in sheets:
        found, left_out = _observed(sheet, space, targets)
        rows += found
        notes += left_out
    return rows, notes


def _observed(sheet: Sheet, space: Space, targets: Sequence[str]) -> tuple[list[Observed], list[str]]:
    """Return the rows of a table, and why others are left out."""
    columns = _columns(sheet, (*space.names, *targets))
    kinds = dict(zip(space.names, space.columns, strict=True))
    names = next((name for name in sheet.columns if name.strip().lower() == NAME), None)
    rows, notes = list[Observed](), list[str]()
    for line, cells in sheet.rows:
        where = f"{sheet.path.name}, row {line}"
        given = {name: cells[columns[name]] for name in space.names if cells[columns[name]] is not None}
        params = dict[str, Any]()
        for name, cell in given.items():
            try:
                params[name] = read_parameter(cell, kinds[name], sheet.dialect.decimal)
            except ValueRejected as error:
                raise DataError(f"{where}, parameter {name!r}: {error}") from None
        try:
            read = [read_outcome(cells[columns[name]], sheet.dialect.decimal) for name in targets]
        except ValueRejected as error:
            raise DataError(f"{where}, outcome {' or '.join(targets)}: {error}") from None
        state = _state(read)
        if state is State.RUNNING and any(isinstance(value, float) for value in read):
            notes.append(f"{where} has some of the outcomes but not all: it counts as not measured yet")
        try:
            x = _encoded(params, space)
        except SpaceError as error:
            if not (state is State.RUNNING and not params):
                # The space counts the parameters that it is given; here there is one set of them.
                why = str(error).removeprefix("parameters 0").lstrip(",: ")
                notes.append(f"{where} is left out, as it is not in the space: {why}")
            continue
        decoded = space.decode(x[None, :])[0]
        if inactive := [name for name in params if name not in decoded]:
            verb, which = ("is", "it is") if len(inactive) == 1 else ("are", "they are")
            notes.append(f"{where}: {', '.join(inactive)} {verb} ignored, as {which} inactive with the other values")
            params = {name: value for name, value in params.items() if name in decoded}
        if state is not State.RUNNING and (broken := space.broken(x)):
            said = " and ".join(map(repr, broken))
            notes.append(f"{where} breaks {said}: it counts as measured, but no such experiment is suggested")
        values = tuple(value for value in read if isinstance(value, float)) if state is State.COMPLETE else ()
        name = None if names is None or cells[names] is None else str(cells[names]).strip()
        rows.append(Observed(where, {**decoded, **params}, state, values, name))
    return rows, notes


def _encoded(params: Mapping[str, Any], space: Space) -> Array:
    """Return the encoded point of parameters, d, with contexts outside of their ranges as the nearest inside.

    Telling these contexts warns; values of parameters that are inactive are for the caller to announce.
    """
    own = {name: params[name] for name in space.contexts if name in params}
    with warnings.catch_warnings():
        for category in (ContextWarning, FallbackWarning):
            warnings.simplefilter("ignore", category)
        return space.encode([{**params, **checked_context(space, own, partly=True)}])[0]


def _state(read: Sequence[float | Blank]) -> State:
    if Blank.FAILED in read:
        return State.FAILED
    return State.RUNNING if Blank.PENDING in read else State.COMPLETE


def _columns(sheet: Sheet, needed: Sequence[str]) -> dict[str, str]:
    """Return the columns that hold the parameters and the outcomes; spaces around names and their case do not matter."""
    alike = {name.strip().lower(): name for name in sheet.columns}
    found = {name: name if name in sheet.columns else alike.get(name.strip().lower()) for name in needed}
    if missing := [name for name, column in found.items() if column is None]:
        raise DataError(
            f"{sheet.path} has no column {', '.join(map(repr, missing))}; its columns are "
            f"{', '.join(map(repr, sheet.columns))}. It needs one for every parameter and every outcome"
        )
    return cast("dict[str, str]", found)


def _fingerprint(rows: Sequence[Observed], settings: Mapping[str, Any]) -> int:
    """Return a hash of all results, whatever their order, and of what was asked for."""
    lines = sorted(json.dumps([dict(row.params), row.values, row.state], sort_keys=True, default=str) for row in rows)
    text = "\n".join([json.dumps(dict(settings), sort_keys=True, default=str), *lines])
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)


@dataclass(frozen=True)
class Matching:
    """Which suggestions the rows of the tables are results of.

    Attributes:
        keys: Number of the suggestion by index of the row; of several results of one, the first in the tables.
        changed: Indices of rows that have the name of a suggestion, but other parameters.
    """

    keys: Mapping[int, int]
    changed: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[Observed], study: StudyFile, contexts: Sequence[str] = ()) -> Matching:
        """Match rows by name, if the parameters are those suggested, else by the parameters alone.

        Contexts are observed, not chosen, and may differ.
        """
        names = {experiment_name(key): key for key in study.rows}
        # What is measured already keeps its result; then what was suggested last.
        order = sorted(study.rows, key=lambda key: (study.rows[key].measured is None, -study.rows[key].round, key))
        keys, taken, changed = dict[int, int](), set[int](), list[int]()
        # Results before rows that are still empty: those of one suggestion may stand in two tables.
        for i in sorted(range(len(rows)), key=lambda i: rows[i].state is State.RUNNING):
            named = names.get(rows[i].name or "")
            if named is not None and not _same(rows[i].params, study.rows[named].params, contexts):
                changed.append(i)
                named = None
            alike = (k for k in order if k not in taken and _same(rows[i].params, study.rows[k].params, contexts))
            key = named if named is not None else next(alike, None)
            if key is not None and key not in taken:
                keys[i] = key
                taken.add(key)
        return cls(keys, tuple(sorted(changed)))

    def notes(self, rows: Sequence[Observed], study: StudyFile) -> list[str]:
        """Say what is unusual about the rows."""
        said = [
            f"{rows[i].where}: {rows[i].name} was made with other parameters than suggested; they count as measured"
            for i in self.changed
            if rows[i].state is not State.RUNNING
        ]
        found = set(self.keys.values())
        lost = [experiment_name(k) for k, row in study.rows.items() if row.measured is not None and k not in found]
        if lost:
            shown = ", ".join(lost[:4]) + (", ..." if len(lost) > 4 else "")
            results = "1 result of an earlier round" if len(lost) == 1 else f"{len(lost)} results of earlier rounds"
            verb = "is" if len(lost) == 1 else "are"
            said.append(
                f"{results} ({shown}) {verb} not in these tables any more: give all tables with --results, one after the "
                "other"
            )
        return said


def _same(one: Mapping[str, Any], other: Mapping[str, Any], contexts: Sequence[str]) -> bool:
    """Return whether two sets of parameters are equal but for contexts, as far as a spreadsheet shows numbers."""
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one if name not in contexts)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=_EQUAL, abs_tol=1e-12)
    return str(a) == str(b)


def _tell_all(
    optimizer: Optimizer,
    rows: Sequence[Observed],
    matching: Matching,
    study: StudyFile,
    number: int,
    targets: tuple[str, ...],
) -> None:
    """Tell all results before a round, those never suggested first, then round by round; others are pending."""
    known = [key for key, row in study.rows.items() if row.round < number]
    # Names in the tables that this study file did not give, as after it was lost, are not given again.
    known += [
        taken for i, row in enumerate(rows) if i not in matching.keys and (taken := _numbered(row.name)) is not None
    ]
    start = 1 + max(known, default=-1)
    before = study.start(number, optimizer.space.names, targets)
    restored, awaited, numbers = list[Suggestion](), max(start, 1 + max(study.rows, default=-1)), set(study.rows)
    contexts = optimizer.space.contexts
    for i, row in enumerate(rows):
        key = matching.keys.get(i)
        if key is not None:
            forecasts = cast("Forecasts | None", study.rows[key].of(targets))
            whole = forecasts is not None and None not in forecasts
            asked = {name: study.rows[key].params[name] for name in contexts}
            params = {**row.params, **asked}
            restored.append(Suggestion(params, np.empty(0), forecasts if whole else None, before, key))
        elif row.state is State.RUNNING:
            # Somebody else's idea that is being measured, or a suggestion that no study file kept: that has its number.
            own = _numbered(row.name)
            given = awaited if own is None or own in numbers else own
            restored.append(Suggestion(row.params, np.empty(0), number=given))
            numbers.add(given)
            awaited += given == awaited
    optimizer.restore(restored, asked=start)

    def moment(i: int) -> tuple[int, int]:
        key = matching.keys.get(i)
        return (0, 0) if key is None else (study.rows[key].measured or 0, key)

    for i in sorted((i for i, row in enumerate(rows) if row.state is not State.RUNNING), key=moment):
        key = matching.keys.get(i)
        what = dict(rows[i].params) if key is None else optimizer.pending(key)
        seen = {name: rows[i].params[name] for name in contexts} or None
        with warnings.catch_warnings():
            # A note has named the row that breaks constraints.
            warnings.simplefilter("ignore", SpaceWarning)
            if rows[i].state is State.FAILED:
                optimizer.tell_failed(what, context=seen)
            else:
                optimizer.tell(what, dict(zip(targets, rows[i].values, strict=True)), context=seen)


def _explained(
    optimizer: Optimizer, data: Dataset, suggestions: Sequence[Suggestion], held: Mapping[str, Any]
) -> list[Experiment]:
    """Return suggestions as experiments: rounded, with the probability of improvement and the reason."""
    space = optimizer.space
    why = [DESIGN] * designs_due(data, space, optimizer.strategy, len(suggestions))
    chosen = suggestions[len(why) :]
    if chosen:
        why += _reasons(optimizer, data, np.stack([s.x for s in chosen]), held)
    front = pareto_front(data.Y) if len(data) else data.Y
    return [
        Experiment(
            number=suggestion.number,
            params=rounded(suggestion.params, space, held),
            reason=reason,
            forecasts=suggestion.forecasts,
            chance=_chance(suggestion, optimizer.directions, front),
        )
        for suggestion, reason in zip(suggestions, why, strict=True)
    ]


def _chance(suggestion: Suggestion, directions: Sequence[Direction], front: Array) -> float:
    forecasts = convert_forecasts(suggestion.forecasts, directions)
    return math.nan if forecasts is None else chance_beyond([f.calibrated.cdf for f in forecasts], front)


def _reasons(optimizer: Optimizer, data: Dataset, X: Array, held: Mapping[str, Any]) -> list[str]:
    """Explain why `n x d` points were suggested, compared with random ones that have the same held values."""
    rng = generator(optimizer.seed, len(data))
    plan = fitted_plan(data, optimizer.strategy, rng=rng)
    others = optimizer.space.holding(held).sample(_COMPARED, rng)
    with warnings.catch_warnings():
        # Fallbacks in forecasts of the suggestions are announced; those for the sample concern nobody.
        warnings.simplefilter("ignore", FallbackWarning)
        found = reasons(expectations(plan.models, X), expectations(plan.models, others))
    return [WORDS[reason] for reason in found]


def rounded(params: Mapping[str, Any], space: Space, held: Mapping[str, Any]) -> dict[str, Any]:
    """Round the numbers of a suggestion to what can be weighed out, unless that leaves the space.

    A point at the border of a constraint may lie beyond it once every number is rounded to the nearest: then some are
    rounded the other way, those first that lie nearly halfway.

    Args:
        params: Parameters by name.
        space: Their space.
        held: Parameters that stay as they are.
    """
    choices = dict[str, tuple[float, float]]()
    for name, column in zip(space.names, space.columns, strict=True):
        value = params.get(name)
        if isinstance(column, Float) and column.step is None and name not in held and isinstance(value, float):
            choices[name] = _rounded(value, column)
    for changed in _other_ways(params, choices):
        found = {**params, **{name: choice[name in changed] for name, choice in choices.items()}}
        _balance(found, space, held)
        try:
            if space.valid(_encoded(found, space)[None, :])[0]:
                return found
        except SpaceError:
            continue
    return dict(params)


def _other_ways(params: Mapping[str, Any], choices: Mapping[str, tuple[float, float]]) -> Iterator[tuple[str, ...]]:
    """Return which numbers are rounded away from the nearest value: none, then one, two or three of them, then ever more."""

    def cost(name: str) -> float:
        near, other = choices[name]
        return (abs(other - params[name]) - abs(near - params[name])) / (abs(other - near) or 1.0)

    names = sorted((name for name, (near, other) in choices.items() if near != other), key=cost)
    few = (combinations(names[:_ROUNDED_AWAY], count) for count in range(4))
    return chain(chain.from_iterable(few), (tuple(names[:count]) for count in range(4, len(names) + 1)))


def _balance(params: dict[str, Any], space: Space, held: Mapping[str, Any]) -> None:
    """Give what rounding has left of the total of a mixture to its largest component."""
    for components, total in space.totals:
        free = [name for name in components if name not in held]
        if not free:
            continue
        largest = max(free, key=lambda name: params[name])
        rest = math.fsum(params[name] for name in components if name != largest)
        # The digits of the sum beyond those of its terms are rounding errors.
        params[largest] = round(total - rest, 10)


def _rounded(value: float, column: Float) -> tuple[float, float]:
    """Return the nearest value with few digits, and the next one on the other side."""
    if column.log:
        unit = 10.0 ** (math.floor(math.log10(value)) - 3)
        near = float(f"{value:.4g}")
        other = float(f"{near + math.copysign(unit, value - near):.4g}")
    else:
        digits = -math.ceil(math.log10(_RESOLUTION * (column.high - column.low)))
        near = round(value, digits) + 0.0
        other = round(near + math.copysign(10.0**-digits, value - near), digits) + 0.0
    near, other = (min(max(one, column.low), column.high) for one in (near, other))
    return near, other


def _calibration(optimizer: Optimizer, targets: Sequence[str]) -> dict[str, tuple[int, int, str]]:
    """Say how earlier forecasts came out, for each target with at least one that was measured."""
    found: dict[str, tuple[int, int, str]] = {}
    for j, name in enumerate(targets):
        table = calibration_of(optimizer.trials, optimizer.directions, j)
        if count := max((row.of + row.unbounded for row in table.rows), default=0):
            inside = next(row.contained for row in table.rows if math.isclose(row.nominal, COVERAGE))
            found[name] = (count, inside, table.headline())
    return found
