"""BoTorch models calibrated by their own leave-one-out predictions."""

# pyright: reportMissingImports=false
from __future__ import annotations

from botorch.models.gpytorch import GPyTorchModel
from gpytorch.models import ExactGP

from calibo.botorch.model import CalibratedBoTorchModel, calibrated
from calibo.botorch.surrogate import BoTorchModel
from calibo.calibration import Evidence, Recalibrator, Temperature
from calibo.errors import RecipeError
from calibo.models.standardization import Standardization


def self_calibrated(model: GPyTorchModel, by: Recalibrator | None = None) -> CalibratedBoTorchModel:
    """Return a fitted BoTorch model calibrated by how far its own data were from their leave-one-out predictions.

    Nothing but the model is needed: the predictions are a closed form, under the hyperparameters of all data. They are not
    forecasts of points that a search chose, and no theorem covers them; where forecasts are kept, as calibo's studies
    do, give what a recalibrator learned from those to `calibrated`.

    Args:
        model: An exact Gaussian process of one outcome (``SingleTaskGP`` and the like). It is put into evaluation mode.
        by: What learns the level map, from evidence of which the points are the model's inputs as it sees them; by default
            `Temperature()`.

    Raises:
        RecipeError: If the model is not an exact Gaussian process, is a batch of models, or has several outcomes.
    """
    if not isinstance(model, ExactGP):
        raise RecipeError(
            f"self_calibrated needs an exact Gaussian process such as SingleTaskGP, got a {type(model).__name__}: "
            "learn a level map from stored forecasts and use calibrated(model, level_map)"
        )
    if model.num_outputs != 1 or len(model.batch_shape) != 0:
        raise RecipeError(
            f"self_calibrated takes one model of one outcome, got {model.num_outputs} outcomes and a batch of shape "
            f"{tuple(model.batch_shape)}: calibrate one model per outcome and join them with botorch.models.ModelList"
        )
    model.eval()
    # A level map does not depend on the units of the outcome, so those that the model was trained on will do.
    fitted = BoTorchModel(model, Standardization(1.0, 0.0, 1.0), encode=lambda points: points)
    X, y = (tensor.detach().double().cpu().numpy() for tensor in (model.train_inputs[0], model.train_targets))  # pyright: ignore
    evidence = Evidence(X=X, y=y, distribution=fitted.leave_one_out())
    return calibrated(model, (Temperature() if by is None else by).fit(evidence))
