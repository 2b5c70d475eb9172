"""Trials in notebooks: what was expected of the latest ones, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence

from calibo.data import shown_params
from calibo.notebooks import ShownOutcome, outcomes_html
from calibo.trials.trial import State, Trial

#: Trials that are shown, the latest ones.
MOST_SHOWN = 10


def trials_html(title: str, trials: Sequence[Trial], names: Sequence[str]) -> str:
    """Return a title and a table of the latest trials, with their intervals drawn and what was measured.

    Args:
        title: A sentence.
        trials: The trials, in the order in which they are to be shown.
        names: Names of the objectives; one without a name is empty.
    """
    latest = trials[-MOST_SHOWN:]
    several = len(names) > 1
    columns = ["trial", "parameters", *(["objective"] if several else [])]
    title += f" The latest {MOST_SHOWN}:" if len(trials) > MOST_SHOWN else ""
    return outcomes_html(title, columns, [row for trial in latest for row in _rows(trial, names)])


def _rows(trial: Trial, names: Sequence[str]) -> list[ShownOutcome]:
    number = "" if trial.number < 0 else str(trial.number)
    state = "" if trial.state is State.COMPLETE else f" ({trial.state.value})"
    said = (f"{number}{state}".strip(), shown_params(trial.params))
    forecasts = trial.forecasts or (None,) * len(names)
    values = trial.values or (None,) * len(names)
    return [
        ShownOutcome((*said, name or f"objective {i}") if len(names) > 1 else said, forecasts[i], values[i])
        for i, name in enumerate(names)
    ]
