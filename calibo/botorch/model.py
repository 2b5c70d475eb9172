"""BoTorch models with calibrated marginals."""

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
    """Return a BoTorch model with calibrated marginals, for Monte Carlo acquisition functions.

    Args:
        model: A fitted single-output BoTorch model with a Gaussian posterior (``SingleTaskGP`` and the like).
        level_map: What `fit(evidence)` of a recalibrator returns, or its `Levels` or `Tempered`. It must have been learned
            from forecasts of this kind of model, in the same sign.

    Returns:
        A BoTorch model. For several outcomes put one of these per outcome into ``botorch.models.ModelList``.
    """
    if model.num_outputs != 1:
        raise RecipeError(
            f"a level map is for one outcome, the model has {model.num_outputs}: calibrate one model per outcome "
            "and join them with botorch.models.ModelList"
        )
    if model._is_ensemble:
        raise RecipeError(
            f"{type(model).__name__} is an ensemble whose posterior is a mixture: calibrating its members one by one "
            "would not calibrate the mixture. Use a model with a Gaussian posterior, such as SingleTaskGP"
        )
    return CalibratedBoTorchModel(model, score_map(level_map))


class CalibratedBoTorchModel(Model):
    """A BoTorch model whose posterior passes through a level map; see `calibrated`.

    It cannot be conditioned on fantasies: the level map was learned from real outcomes.
    """

    #: Cached roots bypass the posterior's own sampling, and with it the level map.
    _supports_cache_root = False

    def __init__(self, base: Model, scores: ScoreMap) -> None:
        """Make a calibrated model.

        Args:
            base: A model of one outcome with a Gaussian posterior.
            scores: The level map as a map of normal scores.
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
        """Return the calibrated posterior at `batch_shape x q x d` points; affine posterior transforms are exact."""
        base = _gaussian(self.base.posterior(X, output_indices=output_indices, observation_noise=observation_noise))
        if posterior_transform is None:
            return CalibratedPosterior(base, self.scores)
        if not isinstance(posterior_transform, ScalarizedPosteriorTransform):
            raise RecipeError(
                f"{type(posterior_transform).__name__} needs a Gaussian posterior and would remove the calibration: use "
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
