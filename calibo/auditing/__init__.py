"""Audit of a finished Optuna study: the forecasts that several forecasters would have made, and how they came out.

>>> import optuna
>>> from calibo import audit
>>> optuna.logging.set_verbosity(optuna.logging.ERROR)
>>> study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
>>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
>>> found = audit(study, methods=["ocbo"], progress=False)
>>> [row.name for row in found.table.rows if row.is_reference]
['gp_ei']
"""

from calibo.auditing.audit import Audit, audit
from calibo.auditing.replay import Forecaster, replayed

__all__ = ["Audit", "Forecaster", "audit", "replayed"]
