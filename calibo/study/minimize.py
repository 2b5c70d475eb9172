"""minimize and maximize: run an objective over a space and return the result."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial
from tqdm import tqdm

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Outcome, Params
from calibo.errors import ObjectiveError, RecipeError, TrialFailedWarning
from calibo.optimize import StoppingRule, Strategy
from calibo.spaces import as_space
from calibo.study.attributes import ERROR, INTERRUPTED, write_stopped
from calibo.study.distributions import OptunaSpace, optuna_space, suggest
from calibo.study.method import StudyMethod, method_for
from calibo.study.opening import find_study, open_study, quiet_optuna, storage_errors
from calibo.study.recording import Recorder
from calibo.study.result import Result, result_of
from calibo.study.sampler import CalibratedSampler
from calibo.study.stopping import StopWhen
from calibo.study.storage import open_storage
from calibo.study.trials import completed_frozen
from calibo.trials import Direction, completed, reference_values

Objective = Callable[[Params], float | Sequence[float] | Outcome]
Callback = Callable[[optuna.Study, FrozenTrial], None]

#: Number of failures after which a run ends if no trial of the study has ever succeeded.
MAX_INITIAL_FAILURES = 5

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
    stop: StoppingRule | Sequence[StoppingRule] | None = None,
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
        method: Name of a method ("auto", "gp_ei", ...) or a strategy. By default the method of the study that is
            resumed; for a new study "auto". With ``composite`` "composite_lfbo".
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
        stop: When to stop before ``n_trials``: a rule such as ``RegretBelow(0.1)`` or ``Patience(20)``, or a list of rules,
            any of which stops. It is asked after each trial, and before the first one if a study is resumed;
            ``Result.stopped`` has the reason.

    Returns:
        The result of the study, trials of earlier calls included.

    Raises:
        RecipeError: If a setting is wrong, or a stopping rule cannot be used with the method or for several objectives.
        StudyError: If the storage cannot be used, has a study of that name with other directions, another space or
            another version of the format, or the study's own method has to be given again.
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
    ways = Direction.several(Direction.MINIMIZE if directions is None else directions)
    # Settings are checked before anything is written.
    if not callable(objective):
        raise ObjectiveError(f"the objective must be a function of a dict, got a {type(objective).__name__}")
    reference_values(reference, ways)
    n_trials = check_whole("n_trials, the number of new trials,", n_trials)
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise RecipeError(f"timeout is a number of seconds above 0, or None, got {timeout!r}")
    seen = optuna_space(as_space(space))
    seed = None if seed is None else check_seed(seed)
    resuming = method is None and composite is None and storage is not None and study_name is not None
    chosen = None if resuming else method_for(None, method, composite).with_directions(ways)
    stopping = None if stop is None else StopWhen(stop)
    if chosen is not None:
        _check_stopping(stopping, chosen[0], ways)
    # Heartbeats, without which a trial whose process was killed would stay pending for ever.
    opened = open_storage(storage, heartbeat_interval=HEARTBEAT, grace_period=3 * HEARTBEAT)
    if chosen is None:
        # Which method a study has is only known from its storage.
        with storage_errors():
            chosen = method_for(find_study(opened, study_name), None).with_directions(ways)
        _check_stopping(stopping, chosen[0], ways)
    own, function = chosen
    study, seed, reference = open_study(
        opened, study_name, directions=ways, space=seen, seed=seed, method=own.name, reference=reference
    )
    study.sampler = CalibratedSampler(own, seed=seed, space=seen.space, reference=reference)
    run = _Run(objective, seen, Recorder.of(study, function))
    interrupted = run.optimize(study, n_trials, timeout, callbacks, progress, stopping)
    result = result_of(study, space=seen, method=own, seed=seed, reference=reference)
    done = len(completed(result.trials))
    if interrupted:
        where = (
            "they are in this exception's result, and in no storage"
            if storage is None
            else f"call again with study_name={result.study_name!r} to go on"
        )
        raise Interrupted(f"stopped with {done} trials completed; {where}", result)
    if run.last_error is not None and not done:
        raise ObjectiveError(
            f"none of {len(result.failures)} trials succeeded; the last failed with {_reason(run.last_error)}. "
            "Try the objective with one set of parameters by hand; a study whose objective was broken is best begun "
            "again under another name (study_name=, --study), as its failures count against their parameters"
        ) from run.last_error
    return result


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
    stop: StoppingRule | Sequence[StoppingRule] | None = None,
) -> Result:
    """Maximize one objective; everything else is as in ``minimize``.

    Examples:
        >>> from calibo import Int, maximize
        >>> maximize(lambda p: -abs(p["k"] - 3), {"k": Int(0, 9)}, 8, "gp_ei", seed=0, progress=False).best_params
        {'k': 3}
    """
    settings = (n_trials, method, storage, study_name, seed, timeout, callbacks, progress)
    return minimize(objective, space, *settings, directions=["maximize"], composite=composite, stop=stop)


def _check_stopping(stopping: StopWhen | None, method: StudyMethod, directions: Sequence[Direction]) -> None:
    if stopping is not None:
        stopping.rule.check(method.strategy, len(directions))


class _Failed(Exception):
    """The objective failed: the one exception after which a run goes on; others are not about a trial."""


@dataclass
class _Run:
    """An objective as Optuna calls it, with the number of its failures and the last of them."""

    objective: Objective
    space: OptunaSpace
    record: Recorder
    failures: int = 0
    last_error: Exception | None = None

    def optimize(
        self,
        study: optuna.Study,
        n_trials: int,
        timeout: float | None,
        callbacks: Iterable[Callback],
        progress: bool,
        stopping: StopWhen | None,
    ) -> bool:
        """Run the trials and return whether the user stopped them."""
        bar = tqdm(total=n_trials, disable=not progress, file=sys.stderr, unit="trial", dynamic_ncols=True)

        def show(study: optuna.Study, trial: FrozenTrial) -> None:
            sure = None if stopping is None else stopping.verdict.probability
            shown = [_best_so_far(study), "" if sure is None else f"sure={sure:.2f}"]
            if any(shown):
                bar.set_postfix_str(", ".join(filter(None, shown)), refresh=False)
            bar.update()

        def give_up(study: optuna.Study, trial: FrozenTrial) -> None:
            if self.failures >= MAX_INITIAL_FAILURES and not completed_frozen(study.get_trials(deepcopy=False)):
                study.stop()

        with storage_errors(), quiet_optuna(), bar:
            try:
                write_stopped(study, None)
                if stopping is not None and stopping.stops(study):
                    return False
                asked = [] if stopping is None else [stopping]
                callbacks = [*callbacks, *asked, show, give_up]
                study.optimize(self, n_trials=n_trials, timeout=timeout, catch=(_Failed,), callbacks=callbacks)
            except KeyboardInterrupt:
                return True
        return False

    def __call__(self, trial: optuna.Trial) -> tuple[float, ...]:
        try:
            params = self.space.params(suggest(trial, self.space))
            return self._outcome(trial, params)
        except KeyboardInterrupt:
            trial.set_user_attr(INTERRUPTED, True)
            raise

    def _outcome(self, trial: optuna.Trial, params: Params) -> tuple[float, ...]:
        try:
            return self.record(trial, self.objective(params))
        except optuna.TrialPruned:
            raise
        except SystemExit as stop:
            # Optuna would let it end the run and leave the trial running for ever.
            error = ObjectiveError(f"the objective called sys.exit({stop.code!r})")
        except Exception as raised:
            error = raised
        self.failures += 1
        self.last_error = error
        trial.set_user_attr(ERROR, _reason(error))
        if self.failures == 1:
            warnings.warn(
                f"trial {trial.number} failed ({_reason(error)}); the run goes on. Result.failures lists all that fail",
                TrialFailedWarning,
                stacklevel=2,
            )
        raise _Failed from error


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
