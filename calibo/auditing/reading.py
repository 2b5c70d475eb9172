"""A study as an audit sees it: its results in the order of their completion, and what had to be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibo.checks import shown
from calibo.data import Dataset
from calibo.errors import DataError, RecipeError
from calibo.trials import Direction, State, Trial, completed, dataset, in_order_of_completion

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

    from calibo.study.distributions import OptunaSpace

#: Fewer results than this are not audited.
FEWEST = 10


@dataclass(frozen=True, eq=False)
class Audited:
    """The results of one objective of a study.

    Attributes:
        study_name: Name of the study.
        objective: Name of the objective.
        index: Its index.
        directions: One direction per objective.
        trials: The n complete trials in the order of their completion, in the user's sign, with their stored forecasts.
        data: Their outcomes in the internal sign, of this objective only.
        notes: What was left out, in sentences.
    """

    study_name: str
    objective: str
    index: int
    directions: tuple[Direction, ...]
    trials: tuple[Trial, ...]
    data: Dataset
    notes: tuple[str, ...]

    @property
    def direction(self) -> Direction:
        """Direction of the objective."""
        return self.directions[self.index]


def read_study(study: optuna.Study, objective: int | str) -> Audited:
    """Read the results of one objective.

    Raises:
        DataError: If there are too few results, or nothing varies.
        RecipeError: If there is no such objective.
    """
    from calibo.study.opening import storage_errors
    from calibo.study.trials import directions_of, read_trials

    with storage_errors():
        frozen = study.get_trials(deepcopy=False)
        space, notes = _space_of(study, frozen)
        index, name = _objective(study, objective)
    directions = directions_of(study)
    known = read_trials(frozen, space, columns=space.names, constrained=False)
    inside = [trial for trial in in_order_of_completion(completed(known)) if len(trial.x)]
    values = np.array([trial.observed(index) for trial in inside], dtype=np.float64)
    outside = len(completed(known)) - len(inside)
    _check_count(study.study_name, len(values), outside)
    _check_varies(study.study_name, values)
    data = dataset(
        inside,
        directions=directions,
        categories=space.space.categories,
        features=space.space.features,
        descriptors=space.space.descriptors,
        activity=space.space.activity,
    ).outcome(index)
    left_out = _left_out(known, outside)
    return Audited(study.study_name, name, index, directions, tuple(inside), data, (*left_out, *notes))


def _objective(study: optuna.Study, asked: int | str) -> tuple[int, str]:
    """Return the index and the name of an objective, which is asked for by either."""
    count = len(study.directions)
    names = study.metric_names or (["value"] if count == 1 else [f"objective {i}" for i in range(count)])
    index = names.index(asked) if asked in names else int(asked) if str(asked).isdecimal() else -1
    if not 0 <= index < count:
        one = "" if count == 1 else f", or its index from 0 to {count - 1}"
        raise RecipeError(f"there is no objective {shown(asked)}: give one of {', '.join(map(repr, names))}{one}")
    return index, names[index]


def _check_count(study_name: str, count: int, outside: int = 0) -> None:
    if count < FEWEST:
        others = f", apart from {outside} whose parameters are not in its latest search space" if outside else ""
        raise DataError(
            f"an audit needs at least {FEWEST} results, study {study_name!r} has {count}{others}: run more trials first "
            "(20 to 500 are a good number)"
        )


def _check_varies(study_name: str, values: np.ndarray) -> None:
    if values.min() == values.max():
        raise DataError(
            f"all {len(values)} results of study {study_name!r} are {values[0]:g}: there is nothing to forecast. Choose "
            "another objective (objective=, --objective), or see that the objective depends on the parameters"
        )


def _space_of(study: optuna.Study, trials: Sequence[FrozenTrial]) -> tuple[OptunaSpace, list[str]]:
    """Return the space that the forecasters see, and what is to be said of it.

    That is the space of a study that calibo made; else the one that the complete trials show, with all ranges they had.
    """
    from calibo.study.attributes import read_description
    from calibo.study.description import rebuilt
    from calibo.study.distributions import optuna_space
    from calibo.study.inference import inferred_space
    from calibo.study.trials import completed_frozen

    own = rebuilt((read_description(study) or {}).get("space", {}))
    if own is not None:
        return optuna_space(own), []
    done = completed_frozen(trials)
    space = inferred_space(done, whole=True)
    if space is None:
        _check_count(study.study_name, len(done))
        raise DataError(
            f"no parameter of study {study.study_name!r} varies, so there is nothing to forecast from: an audit needs "
            "trials that suggest at least one parameter of several values"
        )
    if not space.irregular:
        return space, []
    named = f"{', '.join(space.irregular[:6])}{' and others' if len(space.irregular) > 6 else ''}"
    note = f"Which trials have {named} is not explained by other parameters: the middle of its range stands for it elsewhere."
    return space, [note]


def _left_out(trials: Sequence[Trial], outside: int) -> list[str]:
    """Return the trials without a result, and those whose parameters are not in the space, in sentences."""
    counts = Counter(trial.state for trial in trials if trial.state is not State.COMPLETE)
    named = [f"{count} {state}" for state, count in counts.items()]
    sentences = [f"Trials left out, which have no finite result: {', '.join(named)}."] if named else []
    if outside:
        were, whose = ("1 complete trial", "its") if outside == 1 else (f"{outside} complete trials", "their")
        sentences.append(f"{were} left out: {whose} parameters are not in the latest search space.")
    return sentences
