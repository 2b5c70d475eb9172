"""Calibrators: Surrogate -> Surrogate, from evidence of how past forecasts came out."""

from calibo.calibration.base import (
    Calibrated,
    CalibratedModel,
    LevelMap,
    Recalibrator,
    Relevel,
    identity,
    makers,
    stages,
)
from calibo.calibration.isotonic import Isotonic, Regressor
from calibo.calibration.online_quantile import OnlineQuantile
from calibo.calibration.resampling import KFold, LeaveOneOut, Prequential, Resampler, TimeSeries
from calibo.calibration.temperature import Temperature

__all__ = [
    "Calibrated",
    "CalibratedModel",
    "Isotonic",
    "KFold",
    "LeaveOneOut",
    "LevelMap",
    "OnlineQuantile",
    "Prequential",
    "Recalibrator",
    "Regressor",
    "Relevel",
    "Resampler",
    "Temperature",
    "TimeSeries",
    "identity",
    "makers",
    "stages",
]
