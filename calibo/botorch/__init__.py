"""Calibrated models for BoTorch's acquisition functions, and BoTorch models as surrogates (extra ``botorch``)."""

from calibo.errors import MissingExtra

try:
    from calibo.botorch.model import CalibratedBoTorchModel, calibrated
    from calibo.botorch.posterior import CalibratedPosterior
    from calibo.botorch.score_map import ScoreMap, score_map
    from calibo.botorch.self_calibration import self_calibrated
    from calibo.botorch.surrogate import BoTorchSurrogate
except ModuleNotFoundError as error:
    missing = (error.name or "").partition(".")[0]
    if missing not in {"torch", "botorch", "gpytorch", "linear_operator"}:
        raise
    raise MissingExtra(
        f'calibo.botorch needs {missing}, which is not installed: pip install "calibo[botorch]"'
    ) from error

__all__ = [
    "BoTorchSurrogate",
    "CalibratedBoTorchModel",
    "CalibratedPosterior",
    "ScoreMap",
    "calibrated",
    "score_map",
    "self_calibrated",
]
