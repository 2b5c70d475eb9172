"""Studies: calibrated suggestions in Optuna's storages, shared by many workers and resumed at any time."""

from calibo.study.asking import ask_study, tell_study
from calibo.study.attributes import write_context, write_sem, write_vector
from calibo.study.metrics import trial_metrics
from calibo.study.minimize import Interrupted, maximize, minimize
from calibo.study.result import Result, load_result
from calibo.study.sampler import CalibratedSampler
from calibo.study.stopping import StopWhen
from calibo.study.storage import open_storage

__all__ = [
    "CalibratedSampler",
    "Interrupted",
    "Result",
    "StopWhen",
    "ask_study",
    "load_result",
    "maximize",
    "minimize",
    "open_storage",
    "tell_study",
    "trial_metrics",
    "write_context",
    "write_sem",
    "write_vector",
]
