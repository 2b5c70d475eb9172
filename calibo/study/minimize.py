"""minimize and maximize: an objective, a space, and the result."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial
from tqdm import tqdm

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Outcome, Params
from calibo.errors import ObjectiveError, RecipeError, TrialFailedWarning, ValueRejected
from calibo.optimize import (
    Direction,
    Strategy,
    finite_constraints,
    finite_values,
    reference_values,
)
from calibo.optimize.composite import Composite, composed, default_method
from calibo.spaces import as_space
from calibo.study.attributes import ERROR, INTERRUPTED
from calibo.study.composite import stored_length, stored_value
from calibo.study.distributions import OptunaSpace, optuna_space, suggest
from calibo.study.opening import open_study, quiet_optuna, storage_errors, stored_reference
from calibo.study.result import Result, method_name, result_of
from calibo.study.sampler import CalibratedSampler
from calibo.study.storage import open_storage
from calibo.study.trials import completed

Objective = Callable[[Params], float | Sequence[float] | Outcome]
Callback = Callable[[optuna.Study, FrozenTrial], None]

#: So many failures, and no success ever, mean that the objective does not work.
HOPELESS = 5

#: Seconds between the signs of life that a running trial gives to a database.
HEARTBEAT = 60

#: Longest reason of a failure that is stored with its trial.
REASON_LENGTH = 500


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; all that was measured is stored.

    Attributes:
        result: The result up to then.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result: Result = result


def minimize(
    objective: Objective,
    space: Any,
    n_trials: int = 50,
    method: str | Strategy | None = None,
    storage: str | os.PathLike[str] | BaseStorage | None = None,
    study_name: str | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    directions: Sequence[str] | None = None,
    reference: Sequence[float] | None = None,
    composite: Outer | None = None,
) -> Result:
    """Look for the parameters with the smallest value, and say what was believed of each before it was tried.

    A trial whose objective raises, or returns anything but a finite number, is a failed one: the run goes on, a warning
    says so once, and ``Result.failures`` says why. If the first 5 trials of a study all fail, or none succeeds, the run
    ends with an ``ObjectiveError``. Ctrl-C ends it with ``Interrupted`` (a ``KeyboardInterrupt``), which has the
    ``result`` so far; the trial that was running is not held against its parameters.

    Args:
        objective: Takes a dict of parameters and returns a number; of several objectives a tuple of them; or an
            ``Outcome``, which also has constraints. Of a composite objective it returns the vector h.
        space: What may be tried: a mapping of names to parameters, a space, or a table of rows (a DataFrame or a list
            of dicts), each of which is a candidate.
        n_trials: Number of *new* trials, also when a study is resumed.
        method: A method's name ("ocbo", "gp_ei", ...) or a strategy; by default "ocbo", or "composite_lfbo" with
            ``composite``.
        storage: Where the study is kept: see ``open_storage``; by default only in memory.
        study_name: Name of the study. If the storage has one of this name, it is resumed; without a name a new study is
            made, and ``Result.study_name`` tells its name.
        seed: Makes all suggestions reproducible. It is stored with a new study, which by default goes on with it when
            it is resumed; a seed given then holds for the trials of that call only.
        timeout: Seconds after which no new trial is started.
        callbacks: Called with the Optuna study and the finished trial after each trial.
        progress: Whether to show a progress bar on standard error.
        directions: For several objectives: "minimize" or "maximize" for each. ``Result.pareto_front`` has the answer.
        reference: Of several objectives, the values that are just not worth having; inferred from the data if not given.
        composite: The known function g of an objective g(h(x)): of a torch tensor m x k, m values, differentiable. It is
            the value that ``minimize`` makes small and ``maximize`` large; vectors are stored with their trials.

    Raises:
        StudyError: If the storage cannot be used, or has a study of that name with another direction or space.
        ObjectiveError: If no trial succeeds.
    """
    wanted = Direction.several(Direction.MINIMIZE if directions is None else directions)
    run = _Run(objective, wanted, method, n_trials, timeout, tuple(callbacks), progress, composite, reference)
    return run(space, storage, study_name, seed)


def maximize(
    objective: Objective,
    space: Any,
    n_trials: int = 50,
    method: str | Strategy | None = None,
    storage: str | os.PathLike[str] | BaseStorage | None = None,
    study_name: str | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    composite: Outer | None = None,
) -> Result:
    """Look for the parameters with the largest value of one objective; all else as in ``minimize``."""
    run = _Run(objective, (Direction.MAXIMIZE,), method, n_trials, timeout, tuple(callbacks), progress, composite)
    return run(space, storage, study_name, seed)


class _Failed(Exception):
    """The objective failed: the one exception after which a run goes on; what else is raised is not about a trial."""


@dataclass
class _Run:
    """One call of minimize or maximize, with its only state: how many trials failed, and why the last one did.

    Of a composite objective also the known function as its user sees it, and the length of its vectors once it is known.
    """

    objective: Objective
    directions: tuple[Direction, ...]
    method: str | Strategy | None
    n_trials: int
    timeout: float | None
    callbacks: tuple[Callback, ...]
    progress: bool
    composite: Outer | None = None
    reference: Sequence[float] | None = None
    known: Composite | None = field(default=None, init=False)
    length: int | None = field(default=None, init=False)
    failures: int = field(default=0, init=False)
    last_error: Exception | None = field(default=None, init=False)

    def __call__(self, space: Any, storage: Any, study_name: str | None, seed: int | None) -> Result:
        strategy = self._checked()
        seen = optuna_space(as_space(space))
        seed = None if seed is None else check_seed(seed)
        study, seed = open_study(
            # Signs of life, without which a trial whose process was killed would stay pending for ever.
            open_storage(storage, heartbeat_interval=HEARTBEAT, grace_period=3 * HEARTBEAT),
            study_name,
            directions=self.directions,
            space=seen,
            seed=seed,
            method=method_name(self.method),
            reference=self.reference,
        )
        reference = stored_reference(study)
        self.length = None if self.known is None else stored_length(study, self.known)
        study.sampler = CalibratedSampler(
            self.method, seed=seed, space=seen.space, reference=reference, composite=self.composite
        )
        interrupted = self._optimize(study, seen)
        result = result_of(study, space=seen, method=self.method, seed=seed, reference=reference)
        result = replace(result, strategy=strategy)
        if interrupted:
            raise Interrupted(_stopped(result, storage), result)
        if self.last_error is not None and all(entry.values is None for entry in result.entries):
            raise ObjectiveError(
                f"none of {len(result.failures)} trials succeeded; the last failed with {_reason(self.last_error)}. "
                "Try the objective with one set of parameters by hand; a study whose objective was broken is best begun "
                "again under another name (study_name=, --study), as its failures count against their parameters"
            ) from self.last_error
        return result

    def _checked(self) -> Strategy:
        """The strategy, once all settings are known to be right: what is wrong is told before anything is written."""
        from calibo.methods import strategy

        if not callable(self.objective):
            raise ObjectiveError(f"the objective must be a function of a dict, got a {type(self.objective).__name__}")
        self.method = default_method(self.method, self.composite)
        chosen, self.known = composed(strategy(self.method), self.composite, self.directions)
        reference_values(self.reference, self.directions)
        self.n_trials = check_whole("n_trials, the number of new trials,", self.n_trials)
        if self.timeout is not None and not (isinstance(self.timeout, int | float) and self.timeout > 0):
            raise RecipeError(f"timeout is a number of seconds above 0, or None, got {self.timeout!r}")
        return chosen

    def _optimize(self, study: optuna.Study, space: OptunaSpace) -> bool:
        """Run the trials; whether the user stopped them."""
        with storage_errors(), quiet_optuna(), _bar(self.n_trials, self.progress) as bar:

            def show(study: optuna.Study, trial: FrozenTrial) -> None:
                if best := _best_so_far(study):
                    bar.set_postfix_str(best, refresh=False)
                bar.update()

            def give_up(study: optuna.Study, trial: FrozenTrial) -> None:
                if self.failures >= HOPELESS and not completed(study.get_trials(deepcopy=False)):
                    study.stop()

            try:
                study.optimize(
                    lambda trial: self._evaluate(trial, space),
                    n_trials=self.n_trials,
                    timeout=self.timeout,
                    catch=(_Failed,),
                    callbacks=[*self.callbacks, show, give_up],
                )
            except KeyboardInterrupt:
                return True
        return False

    def _evaluate(self, trial: optuna.Trial, space: OptunaSpace) -> tuple[float, ...]:
        try:
            params = space.params(suggest(trial, space))
            return self._outcome(trial, params)
        except KeyboardInterrupt:
            trial.set_user_attr(INTERRUPTED, True)
            raise

    def _outcome(self, trial: optuna.Trial, params: Params) -> tuple[float, ...]:
        try:
            return self._measured(trial, self.objective(params))
        except optuna.TrialPruned:
            raise
        except SystemExit as stop:
            # Optuna would let it end the run and leave the trial running for ever.
            error = ObjectiveError(f"the objective called sys.exit({stop.code!r})")
        except Exception as raised:
            error = raised
        self._note(trial, error)
        raise _Failed from error

    def _measured(self, trial: optuna.Trial, returned: Any) -> tuple[float, ...]:
        """What the objective returned as values, one for each objective; all else of it is stored with the trial."""
        outcome = returned if isinstance(returned, Outcome) else Outcome(returned)
        if self.known is None:
            values = _values(outcome, len(self.directions))
        else:
            values = (stored_value(trial, outcome.values, self.known, self.length),)
            self.length = self.length or len(outcome.values)  # pyright: ignore[reportArgumentType]
        for name, value in finite_constraints(outcome.constraints).items():
            trial.set_constraint(name, value)
        return values

    def _note(self, trial: optuna.Trial, error: Exception) -> None:
        self.failures += 1
        self.last_error = error
        trial.set_user_attr(ERROR, _reason(error))
        if self.failures == 1:
            warnings.warn(
                f"trial {trial.number} failed ({_reason(error)}); the run goes on. Result.failures lists all that fail",
                TrialFailedWarning,
                stacklevel=2,
            )


def _values(outcome: Outcome, count: int) -> tuple[float, ...]:
    """The values of an outcome, one for each objective."""
    try:
        return finite_values(outcome.values, count)
    except ValueRejected:
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ValueRejected(f"the objective must return {wanted}, it returned {outcome.values!r}") from None


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:REASON_LENGTH]


def _best_so_far(study: optuna.Study) -> str:
    """What a progress bar says: the best value, or how many results no other dominates."""
    if len(study.directions) > 1:
        return f"front={len(study.best_trials)}"
    try:
        return f"best={study.best_value:.6g}"
    except ValueError:
        return ""


def _bar(total: int, shown: bool) -> tqdm[Any]:
    return tqdm(total=total, disable=not shown, file=sys.stderr, unit="trial", dynamic_ncols=True)


def _stopped(result: Result, storage: Any) -> str:
    done = sum(entry.values is not None for entry in result.entries)
    if storage is None:
        return f"stopped with {done} trials completed; they are in this exception's result, and in no storage"
    return f"stopped with {done} trials completed; call again with study_name={result.study_name!r} to go on"
