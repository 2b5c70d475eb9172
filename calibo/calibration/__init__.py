"""Calibrators: Surrogate -> Surrogate, from evidence of how past forecasts came out."""

from calibo.calibration.adaptive import ACI, AgACI, DtACI
from calibo.calibration.base import (
    Calibrated,
    CalibratedModel,
    LevelMap,
    Recalibrator,
    Relevel,
    identity,
)
from calibo.calibration.conditional_quantile import ConditionalQuantile
from calibo.calibration.conformal import CONFORMAL_LEVELS, Conformal, QuantileShift, Residual, Score
from calibo.calibration.conformal_bayes import ConformalBayes, ShrinkingAlpha
from calibo.calibration.density_ratio import DensityRatio, Ratio, RatioEstimator
from calibo.calibration.evidence import Evidence
from calibo.calibration.grouped_quantile import GroupedQuantile
from calibo.calibration.isotonic import Isotonic, Regressor
from calibo.calibration.localized_online import LocalizedOnline
from calibo.calibration.localized_quantile import LocalizedQuantile
from calibo.calibration.neural_ratio import NeuralRatio
from calibo.calibration.online_quantile import OnlineQuantile
from calibo.calibration.reach import OutcomeScale, Reach, Similarity
from calibo.calibration.resampling import (
    Bootstrap,
    KFold,
    LeaveOneOut,
    Prequential,
    Resampler,
    Split,
    StoredAndLeaveOneOut,
    TimeSeries,
)
from calibo.calibration.shape_average import ShapeAverage
from calibo.calibration.temperature import Temperature

__all__ = [
    "ACI",
    "AgACI",
    "Bootstrap",
    "CONFORMAL_LEVELS",
    "Calibrated",
    "CalibratedModel",
    "ConditionalQuantile",
    "Conformal",
    "ConformalBayes",
    "DensityRatio",
    "DtACI",
    "Evidence",
    "GroupedQuantile",
    "Isotonic",
    "KFold",
    "LeaveOneOut",
    "LevelMap",
    "LocalizedOnline",
    "LocalizedQuantile",
    "NeuralRatio",
    "OnlineQuantile",
    "OutcomeScale",
    "Prequential",
    "QuantileShift",
    "Ratio",
    "RatioEstimator",
    "Reach",
    "Recalibrator",
    "Regressor",
    "Relevel",
    "Resampler",
    "Residual",
    "Score",
    "ShapeAverage",
    "ShrinkingAlpha",
    "Similarity",
    "Split",
    "StoredAndLeaveOneOut",
    "Temperature",
    "TimeSeries",
    "identity",
]
