"""The loop of a run: trials are begun, evaluated and settled, whatever happens in between.

Optuna's own loop leaves a trial running for ever when the objective raises something that is no ``Exception``, and ends in
an error of its own when Ctrl-C comes while an outcome is stored. Here every trial that was begun is settled.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from calibo.checks import shown
from calibo.data import Params, shown_params
from calibo.errors import ObjectiveError, TrialFailedWarning, warn
from calibo.study.attributes import write_output
from calibo.study.backends import BudgetReached
from calibo.study.budget import Budget
from calibo.study.distributions import OptunaSpace, suggest
from calibo.study.isolation import RunTimedOut
from calibo.study.leased import LeasedStorage
from calibo.study.leases import ERROR, INTERRUPTED
from calibo.study.optuna_private import optimize_loop, part
from calibo.study.processes import reason_of
from calibo.study.recording import Recorder
from calibo.study.signals import ending_signals, uninterrupted
from calibo.study.trials import completed_frozen

_LOGGER = logging.getLogger("calibo")

Callback = Callable[[optuna.Study, FrozenTrial], None]

#: Number of failures after which a run ends if no trial of the study has ever succeeded.
MAX_INITIAL_FAILURES = 5


@dataclass(frozen=True)
class Ending:
    """How an evaluation ended.

    Attributes:
        state: State of the trial.
        values: Its values, if it is complete.
        stop: What ended the run with it, if anything did.
        warning: What the user is to be warned of, once it is stored.
    """

    state: TrialState
    values: tuple[float, ...] | None = None
    stop: BaseException | None = None
    warning: str | None = None


@dataclass
class Run:
    """An objective that is evaluated trial by trial.

    Attributes:
        objective: The objective.
        space: The space as Optuna sees it.
        record: Checks and stores what the objective returns.
        budget: How many trials may be run.
        deadline: Monotonic time after which no trial is begun; ``None`` without one.
        failures: Number of failures so far.
        last_error: The last of them.
        elsewhere: Whether its trials were run by other processes, whose failures are known from the storage only.
    """

    objective: Callable[[Params], Any]
    space: OptunaSpace
    record: Recorder
    budget: Budget
    deadline: float | None = None
    failures: int = 0
    last_error: BaseException | None = None
    elsewhere: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def work(self, study: optuna.Study, callbacks: Sequence[Callback]) -> KeyboardInterrupt | None:
        """Run trials until the budget is used up, time is up or a callback stops the run.

        Returns:
            What the user or a signal stopped the run by; ``None`` if it was not stopped.

        Raises:
            BaseException: What else the objective raised that is no ``Exception``; its trial is settled as interrupted.
        """
        try:
            with ending_signals(), optimize_loop(study):
                while self._goes_on(study):
                    trial: optuna.Trial | None = None
                    try:
                        with uninterrupted():
                            trial = self._ask(study)
                        if trial is None:
                            continue
                        ending = self._evaluated(trial)
                    except KeyboardInterrupt as stop:
                        # It came between the parts, or a second time while the first was being dealt with.
                        if trial is None:
                            raise
                        ending = Ending(TrialState.FAIL, stop=stop)
                        with contextlib.suppress(KeyboardInterrupt), uninterrupted():
                            self._interrupted(trial, stop)
                    stopped = self._settle(study, trial, ending) or ending.stop
                    _LOGGER.debug("trial %d ended: %s", trial.number, _shown(ending))
                    if isinstance(stopped, RunTimedOut):
                        return None
                    if stopped is not None:
                        raise stopped
                    if ending.warning is not None:
                        warn(ending.warning, TrialFailedWarning)
                    finished = part(study, "_storage").get_trial(part(trial, "_trial_id"))
                    for callback in callbacks:
                        callback(study, finished)
                    self._give_up(study)
        except KeyboardInterrupt as stopped:
            return stopped
        finally:
            self.budget.close(study)
        return None

    def _goes_on(self, study: optuna.Study) -> bool:
        if part(study, "_stop_flag") or (self.deadline is not None and time.monotonic() >= self.deadline):
            return False
        return self.budget.another(study, self.deadline)

    def _ask(self, study: optuna.Study) -> optuna.Trial | None:
        """Begin a trial; ``None`` if others have used up the budget in the meantime."""
        try:
            trial = study.ask()
        except BudgetReached:
            self.budget.refused()
            return None
        storage = part(study, "_storage")
        if isinstance(storage, LeasedStorage):
            storage.begun_in_loop(part(trial, "_trial_id"))
        return trial

    def _evaluated(self, trial: optuna.Trial) -> Ending:
        """Evaluate the objective, and say how that ended."""
        try:
            params = self.space.params(suggest(trial, self.space))
        except BaseException as error:
            # Nothing was evaluated: what is wrong is not the objective.
            return self._interrupted(trial, error)
        _LOGGER.debug("trial %d begins: %s", trial.number, shown_params(params))
        try:
            return Ending(TrialState.COMPLETE, self.record(trial, self.objective(params)))
        except optuna.TrialPruned:
            return Ending(TrialState.PRUNED)
        except SystemExit as stop:
            error: BaseException = ObjectiveError(f"the objective called sys.exit({shown(stop.code)})")
        except Exception as raised:
            error = raised
        except BaseException as stop:
            return self._interrupted(trial, stop)
        return self._failed(trial, error)

    def _interrupted(self, trial: optuna.Trial, stop: BaseException) -> Ending:
        _noted(trial, INTERRUPTED, True)
        if not isinstance(stop, KeyboardInterrupt):
            _noted(trial, ERROR, reason_of(stop))
        return Ending(TrialState.FAIL, stop=stop)

    def _failed(self, trial: optuna.Trial, error: BaseException) -> Ending:
        with self._lock:
            self.failures += 1
            self.last_error = error
            first = self.failures == 1
        _noted(trial, ERROR, reason_of(error))
        if isinstance(error, ObjectiveError) and error.output:
            with contextlib.suppress(optuna.exceptions.OptunaError):
                write_output(trial, error.output)
        said = f"trial {trial.number} failed ({reason_of(error)}); the run goes on. Result.failures lists all that fail"
        return Ending(TrialState.FAIL, warning=said if first else None)

    def _settle(self, study: optuna.Study, trial: optuna.Trial, ending: Ending) -> KeyboardInterrupt | None:
        """Store how a trial ended, also if Ctrl-C comes in between; return what came."""
        came: KeyboardInterrupt | None = None
        storage, trial_id = part(study, "_storage"), part(trial, "_trial_id")
        # The second attempt is for an interruption of the first.
        for _ in range(2):
            try:
                with uninterrupted():
                    if not storage.get_trial(trial_id).state.is_finished():
                        study.tell(trial, ending.values, ending.state)
                return came
            except KeyboardInterrupt as stop:
                came = stop
        return came

    def _give_up(self, study: optuna.Study) -> None:
        if not self.failures:
            return
        trials = study.get_trials(deepcopy=False)
        # Of all workers, those that a user or a kill has interrupted left out.
        failed = [one for one in trials if one.state is TrialState.FAIL and not one.user_attrs.get(INTERRUPTED)]
        if len(failed) >= MAX_INITIAL_FAILURES and not completed_frozen(trials):
            study.stop()


def _shown(ending: Ending) -> str:
    return ending.state.name.lower() if ending.values is None else ", ".join(f"{value:g}" for value in ending.values)


def _noted(trial: optuna.Trial, key: str, value: Any) -> None:
    """Set an attribute of a trial; if the storage does not take it, its state says enough."""
    try:
        trial.set_user_attr(key, value)
    except optuna.exceptions.OptunaError:
        return
