"""Studies: calibrated suggestions in Optuna's storages, shared by many workers and resumed at any time."""

from calibo.study.attributes import write_context, write_sem, write_vector
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
    "load_result",
    "maximize",
    "minimize",
    "open_storage",
    "write_context",
    "write_sem",
    "write_vector",
]
