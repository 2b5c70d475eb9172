"""Stopping rules in studies: a callback of Optuna's that ends a run, and stores why."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import optuna
from optuna.trial import FrozenTrial

from calibo.errors import RecipeError
from calibo.optimize import StoppingRule, StoppingVerdict
from calibo.optimize.stopping import as_rule
from calibo.spaces import check_no_contexts
from calibo.study.attributes import write_stopped
from calibo.study.sampler import CalibratedSampler

_LOGGER = logging.getLogger("calibo")
_NO_RESULT = StoppingVerdict(False, "there is no result yet")


class StopWhen:
    """Callback for ``study.optimize`` that ends a run as soon as a stopping rule says so, and stores why with the study.

    The study's sampler must be a ``CalibratedSampler``, whose model the rule asks. Everything is read from the storage, so
    that the decision is the same after a restart, and in every worker that sees the same trials.

        >>> import optuna
        >>> from calibo import CalibratedSampler, Patience, StopWhen
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0))
        >>> objective = lambda trial: abs(trial.suggest_float("x", -2, 2))
        >>> study.optimize(objective, n_trials=60, callbacks=[StopWhen(Patience(6))])
        >>> len(study.trials) < 60
        True

    Args:
        rules: A rule such as ``RegretBelow(0.1)`` or ``Patience(20)``, or a list of rules, any of which stops.

    Attributes:
        verdict: What the rule said last.
    """

    def __init__(self, rules: StoppingRule | Sequence[StoppingRule]) -> None:
        self.rule: StoppingRule = as_rule(rules)
        self.verdict: StoppingVerdict = _NO_RESULT

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Stop the run if the rule says so (Optuna calls this after each trial)."""
        if self.stops(study):
            study.stop()

    def stops(self, study: optuna.Study) -> bool:
        """Return whether the rule says stop, after storing why.

        Raises:
            RecipeError: If the study has another sampler, or the rule cannot be used with its method.
        """
        sampler = study.sampler
        if not isinstance(sampler, CalibratedSampler):
            raise RecipeError(
                f"StopWhen asks the model of a CalibratedSampler, and the study has a {type(sampler).__name__}: make the "
                "study with sampler=CalibratedSampler()"
            )
        progress = sampler.progress(study)
        if progress is not None:
            check_no_contexts(progress.space, "how much better another point is", "leave StopWhen out")
        self.verdict = _NO_RESULT if progress is None else self.rule.judge(progress)
        if self.verdict.stop:
            write_stopped(study, self.verdict.sentence)
            _LOGGER.info("stopped: %s", self.verdict.sentence)
        return self.verdict.stop
