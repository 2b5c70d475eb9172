"""Any single-output BoTorch model with calibrated marginals, again as a BoTorch model."""

# pyright: reportMissingImports=false
from __future__ import annotations

import torch
from botorch.acquisition.objective import PosteriorTransform, ScalarizedPosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from torch import Tensor

from calibo.botorch.posterior import CalibratedPosterior
from calibo.botorch.score_map import ScoreMap, score_map
from calibo.calibration import LevelMap
from calibo.distributions import LevelFunction
from calibo.errors import RecipeError


def calibrated(model: Model, level_map: LevelMap | LevelFunction) -> CalibratedBoTorchModel:
    """The model with its levels mapped, for BoTorch's Monte Carlo acquisition functions.

    Args:
        model: A fitted single-output BoTorch model with a Gaussian posterior (``SingleTaskGP`` and the like).
        level_map: What a recalibrator's ``fit(evidence)`` returns, or its ``Levels`` or ``Tempered``. It must have been
            learned from forecasts of this kind of model, in the same sign.

    Returns:
        A BoTorch model. For several outcomes put one of these per outcome into ``botorch.models.ModelList``.
    """
    if model.num_outputs != 1:
        raise RecipeError(
            f"a level map speaks of one outcome, the model has {model.num_outputs}: calibrate one model per outcome "
            "and join them with botorch.models.ModelList"
        )
    if model._is_ensemble:
        raise RecipeError(
            f"{type(model).__name__} is an ensemble whose posterior is a mixture: calibrating its members one by one "
            "would not calibrate the mixture. Use a model with a Gaussian posterior, such as SingleTaskGP"
        )
    return CalibratedBoTorchModel(model, score_map(level_map))


class CalibratedBoTorchModel(Model):
    """A BoTorch model seen through a level map; see ``calibrated``.

    It cannot be conditioned on made-up outcomes (fantasies): a level map learned from real ones says nothing of those.
    """

    #: Cached roots bypass the posterior's own sampling, and with it the level map.
    _supports_cache_root = False

    def __init__(self, base: Model, scores: ScoreMap) -> None:
        """A calibrated model.

        Args:
            base: One outcome, Gaussian posterior.
            scores: The level map as a map of scores.
        """
        super().__init__()
        self.base = base
        self.scores = scores

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        return self.base.batch_shape

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> CalibratedPosterior:
        """The calibrated posterior at ``X``, batch_shape x q x d; affine posterior transforms are followed exactly."""
        base = _gaussian(self.base.posterior(X, output_indices=output_indices, observation_noise=observation_noise))
        if posterior_transform is None:
            return CalibratedPosterior(base, self.scores)
        if not isinstance(posterior_transform, ScalarizedPosteriorTransform):
            raise RecipeError(
                f"{type(posterior_transform).__name__} needs a Gaussian posterior and would undo the calibration: use "
                "an objective (botorch.acquisition.objective), which works on samples"
            )
        flipped = float(torch.as_tensor(posterior_transform.weights)[0]) < 0.0
        return CalibratedPosterior(posterior_transform(base), self.scores.negated() if flipped else self.scores)


def _gaussian(posterior: Posterior) -> GPyTorchPosterior:
    if isinstance(posterior, GPyTorchPosterior) and not isinstance(posterior, GaussianMixturePosterior):
        return posterior
    raise RecipeError(
        f"a level map needs a Gaussian base posterior, the model gives a {type(posterior).__name__}: drop outcome "
        "transforms that are not linear, or use a model such as SingleTaskGP"
    )
