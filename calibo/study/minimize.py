"""minimize and maximize: run an objective over a space and return the result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import optuna
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import FrozenTrial

from calibo.checks import check_name, check_seed, read_items, shown
from calibo.classifiers.composite import Outer
from calibo.data import Outcome, Params
from calibo.errors import ObjectiveError, RecipeError, StudyError
from calibo.optimize import StoppingRule, Strategy
from calibo.progress import progress_bar
from calibo.spaces import as_space, check_no_contexts, checked_context
from calibo.study.attributes import write_total
from calibo.study.budget import counted
from calibo.study.copying import copied
from calibo.study.distributions import optuna_space
from calibo.study.holding import ContextSource, checked_fixed
from calibo.study.limits import Limits
from calibo.study.method import StudyMethod, method_for
from calibo.study.opening import find_study, open_study, quiet_optuna, storage_errors
from calibo.study.optuna_private import clear_stop
from calibo.study.processes import reason_of
from calibo.study.recording import Recorder
from calibo.study.result import Result, result_of
from calibo.study.running import Callback, Run
from calibo.study.sampler import CalibratedSampler
from calibo.study.signals import Signalled
from calibo.study.stopping import StopWhen
from calibo.study.storage import open_storage
from calibo.study.workers import run_processes, run_threads, temporary_store
from calibo.trials import Direction, completed, objective_names, reference_values

Objective = Callable[[Params], float | Sequence[float] | Outcome]


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C or a signal to end; everything that was measured is stored.

    Attributes:
        result: Result of the study up to then.
        signal: Number of the signal; that of Ctrl-C is 2.
    """

    def __init__(self, message: str, result: Result, signal: int = 2) -> None:
        super().__init__(message)
        self.result: Result = result
        self.signal: int = signal


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
    directions: Sequence[str] | Mapping[str, str] | None = None,
    reference: Sequence[float] | Mapping[str, float] | None = None,
    composite: Outer | None = None,
    stop: StoppingRule | Sequence[StoppingRule] | None = None,
    total: int | None = None,
    trial_timeout: float | None = None,
    hard_timeout: bool = False,
    n_jobs: int = 1,
    parallel: str = "processes",
    fixed: Mapping[str, Any] | None = None,
    context: ContextSource = None,
) -> Result:
    """Minimize an objective, with a calibrated forecast of every trial before it is run.

    A trial whose objective raises, or returns anything but a finite number, is a failed one: the run goes on with a
    warning, and ``Result.failures`` has the reasons. If the first 5 trials of a study, those of all workers together, fail,
    or none succeeds, the run ends with an ``ObjectiveError``. Ctrl-C, SIGTERM and SIGHUP end it with ``Interrupted`` (a
    ``KeyboardInterrupt``), which has the ``result`` so far; the trial that was running is not counted against its
    parameters. Other exceptions that are no ``Exception`` (``asyncio.CancelledError``) end it as they are, once the trial
    is settled in the same way.

    Many workers may call this with the same storage and study name, on one machine or many: see ``open_storage``.

    Args:
        objective: Function of a dict of parameters that returns a number, a tuple with one number for each of several
            objectives (or a mapping, if they have names), or an ``Outcome``, which may also have constraints and noise.
            With ``composite`` it returns the vector h.
        space: A mapping of names to parameters, a space, or a table of rows (a DataFrame or a list of dicts), each of
            which is a candidate.
        n_trials: Number of *new* trials, also when a study is resumed; if ``total`` is given, that alone counts.
        method: Name of a method ("auto", "gp_ei", ...) or a strategy. By default the method of the study that is
            resumed; for a new study "auto". With ``composite`` "composite_lfbo".
        storage: Where the study is stored: see ``open_storage``; by default only in memory.
        study_name: Name of the study. If the storage has one of this name, it is resumed; without a name a new study is
            made, and ``Result.study_name`` has its name.
        seed: Makes all suggestions reproducible. It is stored with a new study and used again when the study is resumed;
            a seed given then holds for the trials of that call only.
        timeout: Seconds after which no new trial is started.
        callbacks: Called with the Optuna study and the finished trial after each trial, in the process that ran it.
        progress: Whether to show a progress bar on standard error.
        directions: For several objectives: "minimize" or "maximize" for each, in order or by name:
            ``{"error": "minimize", "speed": "maximize"}``. Names are stored with the study and shown in its tables and
            figures. ``Result.pareto_front`` has the result.
        reference: Reference point for the hypervolume, one value per objective, in order or by name; inferred from the
            outcomes if ``None``.
        composite: Known function g of a composite objective g(h(x)): it takes an `m x k` torch tensor and returns `m`
            values, differentiably. ``minimize`` minimizes and ``maximize`` maximizes these values; vectors are stored with
            their trials.
        stop: When to stop before ``n_trials``: a rule such as ``RegretBelow(0.1)`` or ``Patience(20)``, or a list of rules,
            any of which stops. It is asked after each trial, and before the first one if a study is resumed;
            ``Result.stopped`` has the reason.
        total: Number of trials that the study is to have in the end, run by all of its workers together; interrupted
            ones do not count. A worker stops when it is reached.
        trial_timeout: Seconds that one evaluation may take. The objective is then evaluated in a process of its own, which is
            ended when time is up; the trial has failed, with that reason. A process that dies (a segmentation fault) is a
            failed trial as well.
        hard_timeout: Whether ``timeout`` also ends the evaluation that is running then, as above; its trial is interrupted.
        n_jobs: Number of workers that this call starts.
        parallel: Whether they are "processes" or "threads". Processes share a file if there is no ``storage``.
        fixed: Values of parameters that all new trials must have, by name.
        context: Values of the space's contexts: a mapping by name, or a function without arguments that returns one, called
            before every trial. The objective finds them among its parameters; if it observes others, it returns them
            as ``Outcome(value, context={...})``.

    Returns:
        The result of the study, trials of earlier calls included.

    Raises:
        RecipeError: If a setting is wrong, or a stopping rule cannot be used with the method or for several objectives.
        StudyError: If the storage cannot be used, has a study of that name with other directions or names of objectives,
            another space or another version of the format, or the study's own method has to be given again.
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
    names = objective_names(directions)
    point = _reference(reference, ways, names)
    limits = Limits.checked(
        n_trials=n_trials,
        total=total,
        timeout=timeout,
        trial_timeout=trial_timeout,
        hard_timeout=hard_timeout,
        n_jobs=n_jobs,
        parallel=parallel,
    )
    called = read_items(callbacks)
    if called is None or not all(callable(one) for one in called):
        raise RecipeError(f"callbacks are a list of functions of a study and a trial, got {shown(callbacks)}")
    if study_name is not None:
        check_name("the name of a study (study_name, --study)", study_name, StudyError)
    seen = optuna_space(as_space(space))
    checked_fixed(seen, fixed)
    if not callable(context):
        checked_context(seen.space, context)
    if stop is not None:
        check_no_contexts(seen.space, "how much better another point is", "leave stop out")
    seed = None if seed is None else check_seed(seed)
    resuming = method is None and composite is None and storage is not None and study_name is not None
    chosen = None if resuming else method_for(None, method, composite).with_directions(ways)
    stopping = None if stop is None else StopWhen(stop)
    if chosen is not None:
        _check_stopping(stopping, chosen[0], ways)
    with contextlib.ExitStack() as stack:
        opened = open_storage(storage)
        in_memory = isinstance(opened, InMemoryStorage)
        if in_memory and not limits.one_process:
            opened = open_storage(stack.enter_context(temporary_store()))
        if chosen is None:
            # Which method a study has is only known from its storage.
            with storage_errors():
                chosen = method_for(find_study(opened, study_name), None).with_directions(ways)
            _check_stopping(stopping, chosen[0], ways)
        own, function = chosen
        study, seed, point = open_study(
            opened, study_name, directions=ways, names=names, space=seen, seed=seed, method=own.name, reference=point
        )
        if limits.total is not None:
            write_total(study, limits.total)
        study.sampler = CalibratedSampler(
            own, seed=seed, space=seen.space, reference=point, fixed=fixed, context=context, takes_all=True
        )
        recorder, deadline = Recorder.of(study, seen.space, function), limits.deadline()
        run = Run(limits.timed(objective, deadline), seen, recorder, limits.budget(study), deadline)
        stopped = _run(run, study, called, progress, stopping, limits)
        if in_memory and not limits.one_process:
            study = copied(study, InMemoryStorage())
        result = result_of(study, space=seen, method=own, seed=seed, reference=point)
    _raise_if_stopped(stopped, result, in_memory)
    if not completed(result.trials):
        _raise_if_none_succeeded(result, run)
    return result


def _run(
    run: Run,
    study: optuna.Study,
    callbacks: Iterable[Callback],
    progress: bool,
    stopping: StopWhen | None,
    limits: Limits,
) -> KeyboardInterrupt | None:
    """Run the trials with a progress bar, and return what the user or a signal stopped them by."""
    done, _ = counted(study.get_trials(deepcopy=False))
    to_do = run.budget.own if run.budget.total is None else max(0, run.budget.total - done)
    bar = progress_bar(to_do, shown=progress, unit="trial")

    def show(study: optuna.Study, trial: FrozenTrial) -> None:
        if not progress:
            return
        sure = None if stopping is None else stopping.verdict.probability
        shown = [_best_so_far(study), "" if sure is None else f"sure={sure:.2f}"]
        if any(shown):
            bar.set_postfix_str(", ".join(filter(None, shown)), refresh=False)
        # Others may have finished trials as well.
        steps = 1 if run.budget.total is None else counted(study.get_trials(deepcopy=False))[0] - done - bar.n
        bar.update(steps)

    with storage_errors(), quiet_optuna(), bar:
        clear_stop(study)
        if stopping is not None and stopping.stops(study):
            return None
        asked = [*callbacks, *([] if stopping is None else [stopping])]
        if limits.n_jobs == 1:
            return run.work(study, [*asked, show])
        if limits.threads:
            return run_threads(run, study, [*asked, show], limits.n_jobs)
        return run_processes(run, study, asked, show, limits.n_jobs)


def _raise_if_stopped(stopped: KeyboardInterrupt | None, result: Result, in_memory: bool) -> None:
    if stopped is None:
        return
    where = (
        "they are in this exception's result, and in no storage"
        if in_memory
        else f"call again with study_name={result.study_name!r} to go on"
    )
    how = f" by {stopped}" if isinstance(stopped, Signalled) else ""
    number = stopped.number if isinstance(stopped, Signalled) else 2
    done = len(completed(result.trials))
    raise Interrupted(f"stopped{how} with {done} trials completed; {where}", result, number)


def _raise_if_none_succeeded(result: Result, run: Run) -> None:
    failures = result.failures
    # Of other processes only the stored reason is known.
    reason = failures[-1].error if run.last_error is None and failures else None
    if run.last_error is not None:
        reason = reason_of(run.last_error)
    if reason is not None and (run.last_error is not None or run.elsewhere):
        raise ObjectiveError(
            f"none of {len(failures)} trials succeeded; the last failed with {reason}. "
            "Try the objective with one set of parameters by hand; a study whose objective was broken is best begun "
            "again under another name (study_name=, --study), as its failures count against their parameters"
        ) from run.last_error


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
    total: int | None = None,
    trial_timeout: float | None = None,
    hard_timeout: bool = False,
    n_jobs: int = 1,
    parallel: str = "processes",
    fixed: Mapping[str, Any] | None = None,
    context: ContextSource = None,
) -> Result:
    """Maximize one objective; everything else is as in ``minimize``.

    Examples:
        >>> from calibo import Int, maximize
        >>> maximize(lambda p: -abs(p["k"] - 3), {"k": Int(0, 9)}, 8, "gp_ei", seed=0, progress=False).best_params
        {'k': 3}
    """
    settings = (n_trials, method, storage, study_name, seed, timeout, callbacks, progress)
    return minimize(
        objective,
        space,
        *settings,
        directions=["maximize"],
        composite=composite,
        stop=stop,
        total=total,
        trial_timeout=trial_timeout,
        hard_timeout=hard_timeout,
        n_jobs=n_jobs,
        parallel=parallel,
        fixed=fixed,
        context=context,
    )


def _reference(
    given: Sequence[float] | Mapping[str, float] | None, directions: Sequence[Direction], names: Sequence[str]
) -> list[float] | None:
    """Check a reference point and return its values in the order of the objectives, in the user's sign."""
    values = reference_values(given, directions, names)
    return [way.value * value for way, value in zip(directions, values, strict=True)] if values else None


def _check_stopping(stopping: StopWhen | None, method: StudyMethod, directions: Sequence[Direction]) -> None:
    if stopping is not None:
        stopping.rule.check(method.strategy, len(directions))


def _best_so_far(study: optuna.Study) -> str:
    """Return what a progress bar shows: the best value, or the size of the Pareto front."""
    if len(study.directions) > 1:
        return f"front={len(study.best_trials)}"
    try:
        return f"best={study.best_value:.6g}"
    except ValueError:
        return ""
