"""The numbers of a trial, for loggers of experiments: MLflow, Weights & Biases, and others that take names and numbers."""

from __future__ import annotations

import math

import optuna
from optuna.trial import FrozenTrial

from calibo.arguments import checked
from calibo.study.trials import read_trials
from calibo.trials.history import objective_columns

#: Coverage of the interval that is logged.
COVERAGE = 0.8


@checked
def trial_metrics(study: optuna.Study, trial: FrozenTrial) -> dict[str, float]:
    """Return what was observed in a trial and what was forecast for it, by name; only what is known, and finite.

    Of a single objective: ``value``, ``sem``, ``forecast_mean``, ``forecast_low_80``, ``forecast_high_80``, and
    ``inside_80``, which is 1 if the value lies between the last two, else 0; their mean over many trials should be close to
    .8. Of objectives with names, or several, their names or indices follow: ``value_error``, ``forecast_error_mean``. A
    constraint has ``constraint_<name>`` and the same of its forecast.

    Args:
        study: The study.
        trial: One of its trials, as callbacks get it.

    Examples:
        >>> from calibo import Float, minimize
        >>> from calibo.study import trial_metrics
        >>> result = minimize(lambda p: (p["x"] - 1) ** 2, {"x": Float(-2, 2)}, 8, "gp_ei", seed=0, progress=False)
        >>> sorted(trial_metrics(result.study, result.study.trials[-1]))
        ['forecast_high_80', 'forecast_low_80', 'forecast_mean', 'inside_80', 'value']
    """
    known = read_trials([trial])[0]
    goals = objective_columns(tuple(study.metric_names or ()), len(study.directions))
    found: dict[str, float] = {}
    outcomes: list[tuple[int | str, str]] = [(i, name) for i, name in enumerate(goals)]
    outcomes += [(name, f"constraint_{name}") for name in known.constraints]
    for outcome, name in outcomes:
        after = f"_{name}" if name else ""
        value = known.observed(outcome)
        if value is not None:
            found[name if isinstance(outcome, str) else f"value{after}"] = value
        if isinstance(outcome, int) and known.sem is not None:
            found[f"sem{after}"] = known.sem[outcome]
        forecast = known.forecast_of(outcome, len(goals))
        if forecast is not None:
            low, high = forecast.calibrated.interval(COVERAGE)
            found |= {f"forecast{after}_mean": forecast.calibrated.mean}
            found |= {f"forecast{after}_low_80": low, f"forecast{after}_high_80": high}
            if value is not None:
                found[f"inside{after}_80"] = float(low <= value <= high)
    return {name: float(number) for name, number in found.items() if math.isfinite(number)}
