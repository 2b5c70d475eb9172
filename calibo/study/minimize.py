"""minimize and maximize: run an objective over a space and return the result."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial
from tqdm import tqdm

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Outcome, Params
from calibo.errors import ObjectiveError, RecipeError, TrialFailedWarning
from calibo.optimize import Strategy
from calibo.optimize.composite import Composite
from calibo.spaces import as_space
from calibo.study.attributes import ERROR, INTERRUPTED
from calibo.study.distributions import OptunaSpace, optuna_space, suggest
from calibo.study.method import StudyMethod, method_for
from calibo.study.opening import find_study, open_study, quiet_optuna, storage_errors, stored_reference
from calibo.study.recording import Recorder
from calibo.study.result import Result, result_of
from calibo.study.sampler import CalibratedSampler
from calibo.study.storage import open_storage
from calibo.study.trials import completed_frozen
from calibo.trials import Direction, reference_values

Objective = Callable[[Params], float | Sequence[float] | Outcome]
Callback = Callable[[optuna.Study, FrozenTrial], None]

#: A run ends after so many failures if no trial of the study ever succeeded.
HOPELESS = 5

#: Seconds between the heartbeats of a running trial in a database.
HEARTBEAT = 60

#: Longest reason of a failure, in characters, that is stored with its trial.
REASON_LENGTH = 500


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; everything that was measured is stored.

    Attributes:
        result: Result of the study up to then.
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
    """Minimize an objective, with a calibrated forecast of every trial before it is run.

    A trial whose objective raises, or returns anything but a finite number, is a failed one: the run goes on with a
    warning, and ``Result.failures`` has the reasons. If the first 5 trials of a study all fail, or none succeeds, the run
    ends with an ``ObjectiveError``. Ctrl-C ends it with ``Interrupted`` (a ``KeyboardInterrupt``), which has the
    ``result`` so far; the trial that was running is not counted against its parameters.

    Args:
        objective: Function of a dict of parameters that returns a number, a tuple with one number for each of several
            objectives, or an ``Outcome``, which may also have constraints and noise. With ``composite`` it returns the
            vector h.
        space: A mapping of names to parameters, a space, or a table of rows (a DataFrame or a list of dicts), each of
            which is a candidate.
        n_trials: Number of *new* trials, also when a study is resumed.
        method: Name of a method ("ocbo", "gp_ei", ...) or a strategy. By default the method of the study that is
            resumed; for a new study "ocbo". With ``composite`` "composite_lfbo".
        storage: Where the study is stored: see ``open_storage``; by default only in memory.
        study_name: Name of the study. If the storage has one of this name, it is resumed; without a name a new study is
            made, and ``Result.study_name`` has its name.
        seed: Makes all suggestions reproducible. It is stored with a new study and used again when the study is resumed;
            a seed given then holds for the trials of that call only.
        timeout: Seconds after which no new trial is started.
        callbacks: Called with the Optuna study and the finished trial after each trial.
        progress: Whether to show a progress bar on standard error.
        directions: For several objectives: "minimize" or "maximize" for each. ``Result.pareto_front`` has the result.
        reference: Reference point for the hypervolume, one value per objective; inferred from the Pareto front if
            ``None``.
        composite: Known function g of a composite objective g(h(x)): it takes an `m x k` torch tensor and returns `m`
            values, differentiably. ``minimize`` minimizes and ``maximize`` maximizes these values; vectors are stored with
            their trials.

    Returns:
        The result of the study, trials of earlier calls included.

    Raises:
        StudyError: If the storage cannot be used, has a study of that name with other directions or another space, or
            the study's own method has to be given again.
        ObjectiveError: If no trial succeeds.

    Examples:
        >>> from calibo import Float, Outcome, minimize
        >>> def objective(params):
        ...     x = params["x"]
        ...     return Outcome((x - 1) ** 2, constraints={"limit": x - 0.5}, sem=0.01)
        >>> result = minimize(objective, {"x": Float(-2, 2)}, n_trials=8, method="gp_ei", seed=0, progress=False)
        >>> result.best_params["x"] <= 0.5
        True
    """
    run = _Run(
        objective,
        Direction.several(Direction.MINIMIZE if directions is None else directions),
        n_trials=n_trials,
        timeout=timeout,
        callbacks=tuple(callbacks),
        progress=progress,
        reference=reference,
    )
    return run(space, storage, study_name, seed, method, composite)


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
    """Maximize one objective; everything else is as in ``minimize``.

    Examples:
        >>> from calibo import Int, maximize
        >>> maximize(lambda p: -abs(p["k"] - 3), {"k": Int(0, 9)}, 8, "gp_ei", seed=0, progress=False).best_params
        {'k': 3}
    """
    run = _Run(
        objective,
        (Direction.MAXIMIZE,),
        n_trials=n_trials,
        timeout=timeout,
        callbacks=tuple(callbacks),
        progress=progress,
    )
    return run(space, storage, study_name, seed, method, composite)


class _Failed(Exception):
    """The objective failed: the one exception after which a run goes on; others are not about a trial."""


@dataclass
class _Run:
    """One call of minimize or maximize, with its only state: the number of failures, and the last of them."""

    objective: Objective
    directions: tuple[Direction, ...]
    n_trials: int
    timeout: float | None
    callbacks: tuple[Callback, ...]
    progress: bool
    reference: Sequence[float] | None = None
    failures: int = field(default=0, init=False)
    last_error: Exception | None = field(default=None, init=False)

    def __call__(
        self,
        space: Any,
        storage: Any,
        study_name: str | None,
        seed: int | None,
        method: str | Strategy | None,
        composite: Outer | None,
    ) -> Result:
        self._check()
        seen = optuna_space(as_space(space))
        seed = None if seed is None else check_seed(seed)
        resuming = method is None and composite is None and storage is not None and study_name is not None
        # Settings are checked before anything is written; which method a study has is only known from its storage.
        chosen = None if resuming else self._composed(method_for(None, method, composite))
        # Heartbeats, without which a trial whose process was killed would stay pending for ever.
        opened = open_storage(storage, heartbeat_interval=HEARTBEAT, grace_period=3 * HEARTBEAT)
        if chosen is None:
            with storage_errors():
                chosen = self._composed(method_for(find_study(opened, study_name), None))
        own, function = chosen
        study, seed = open_study(
            opened,
            study_name,
            directions=self.directions,
            space=seen,
            seed=seed,
            method=own.name,
            reference=self.reference,
        )
        reference = stored_reference(study)
        study.sampler = CalibratedSampler(own, seed=seed, space=seen.space, reference=reference)
        interrupted = self._optimize(study, seen, Recorder.of(study, function))
        result = result_of(study, space=seen, method=own, seed=seed, reference=reference)
        if interrupted:
            raise Interrupted(_stopped(result, storage), result)
        if self.last_error is not None and all(trial.values is None for trial in result.trials):
            raise ObjectiveError(
                f"none of {len(result.failures)} trials succeeded; the last failed with {_reason(self.last_error)}. "
                "Try the objective with one set of parameters by hand; a study whose objective was broken is best begun "
                "again under another name (study_name=, --study), as its failures count against their parameters"
            ) from self.last_error
        return result

    def _check(self) -> None:
        """Check the settings, before anything is written."""
        if not callable(self.objective):
            raise ObjectiveError(f"the objective must be a function of a dict, got a {type(self.objective).__name__}")
        reference_values(self.reference, self.directions)
        self.n_trials = check_whole("n_trials, the number of new trials,", self.n_trials)
        if self.timeout is not None and not (isinstance(self.timeout, int | float) and self.timeout > 0):
            raise RecipeError(f"timeout is a number of seconds above 0, or None, got {self.timeout!r}")

    def _composed(self, method: StudyMethod) -> tuple[StudyMethod, Composite | None]:
        """Return a method for the directions of this run, and the function of a composite objective."""
        strategy, composite = method.with_directions(self.directions)
        return StudyMethod(method.name, strategy), composite

    def _optimize(self, study: optuna.Study, space: OptunaSpace, record: Recorder) -> bool:
        """Run the trials and return whether the user stopped them."""
        with storage_errors(), quiet_optuna(), _bar(self.n_trials, self.progress) as bar:

            def show(study: optuna.Study, trial: FrozenTrial) -> None:
                if best := _best_so_far(study):
                    bar.set_postfix_str(best, refresh=False)
                bar.update()

            def give_up(study: optuna.Study, trial: FrozenTrial) -> None:
                if self.failures >= HOPELESS and not completed_frozen(study.get_trials(deepcopy=False)):
                    study.stop()

            try:
                study.optimize(
                    lambda trial: self._evaluate(trial, space, record),
                    n_trials=self.n_trials,
                    timeout=self.timeout,
                    catch=(_Failed,),
                    callbacks=[*self.callbacks, show, give_up],
                )
            except KeyboardInterrupt:
                return True
        return False

    def _evaluate(self, trial: optuna.Trial, space: OptunaSpace, record: Recorder) -> tuple[float, ...]:
        try:
            params = space.params(suggest(trial, space))
            return self._outcome(trial, params, record)
        except KeyboardInterrupt:
            trial.set_user_attr(INTERRUPTED, True)
            raise

    def _outcome(self, trial: optuna.Trial, params: Params, record: Recorder) -> tuple[float, ...]:
        try:
            return record(trial, self.objective(params))
        except optuna.TrialPruned:
            raise
        except SystemExit as stop:
            # Optuna would let it end the run and leave the trial running for ever.
            error = ObjectiveError(f"the objective called sys.exit({stop.code!r})")
        except Exception as raised:
            error = raised
        self._note(trial, error)
        raise _Failed from error

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


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:REASON_LENGTH]


def _best_so_far(study: optuna.Study) -> str:
    """Return what a progress bar shows: the best value, or the size of the Pareto front."""
    if len(study.directions) > 1:
        return f"front={len(study.best_trials)}"
    try:
        return f"best={study.best_value:.6g}"
    except ValueError:
        return ""


def _bar(total: int, shown: bool) -> tqdm[Any]:
    return tqdm(total=total, disable=not shown, file=sys.stderr, unit="trial", dynamic_ncols=True)


def _stopped(result: Result, storage: Any) -> str:
    done = sum(trial.values is not None for trial in result.trials)
    if storage is None:
        return f"stopped with {done} trials completed; they are in this exception's result, and in no storage"
    return f"stopped with {done} trials completed; call again with study_name={result.study_name!r} to go on"
