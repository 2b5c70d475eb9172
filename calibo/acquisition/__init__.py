"""Acquisition rules: (model, observations) -> acquisition function."""

from calibo.acquisition.base import Acquisition, AcquisitionRule, BatchAcquisition, incumbent
from calibo.acquisition.hypervolume import HypervolumeImprovement, TradeoffRule
from calibo.acquisition.hypervolume_by_noise import HypervolumeByNoise, HypervolumeInTurns
from calibo.acquisition.improvement import (
    ExpectedImprovement,
    ImprovementByNoise,
    ImprovementInTurns,
    NoisyExpectedImprovement,
    ProbabilityOfImprovement,
    noise_share,
)
from calibo.acquisition.joint import SampledUtility
from calibo.acquisition.risk import PenalizedEI, RiskAverseUCB
from calibo.acquisition.scalarized import ScalarizedImprovement
from calibo.acquisition.thompson import ThompsonSampling
from calibo.acquisition.upper_bounds import ConformalUCB, UpperBound, UpperQuantile
from calibo.acquisition.weighting import (
    Feasibility,
    FirstFeasible,
    Weight,
    last_points,
    log_of,
    weighted,
    weighted_last,
)

__all__ = [
    "Acquisition",
    "AcquisitionRule",
    "BatchAcquisition",
    "ConformalUCB",
    "ExpectedImprovement",
    "Feasibility",
    "FirstFeasible",
    "HypervolumeByNoise",
    "HypervolumeImprovement",
    "HypervolumeInTurns",
    "ImprovementByNoise",
    "ImprovementInTurns",
    "NoisyExpectedImprovement",
    "PenalizedEI",
    "ProbabilityOfImprovement",
    "RiskAverseUCB",
    "SampledUtility",
    "ScalarizedImprovement",
    "ThompsonSampling",
    "TradeoffRule",
    "UpperBound",
    "UpperQuantile",
    "Weight",
    "incumbent",
    "last_points",
    "log_of",
    "noise_share",
    "weighted",
    "weighted_last",
]
