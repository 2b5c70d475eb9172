"""The posterior of a calibrated BoTorch model: relevelled marginals under the base posterior's Gaussian copula."""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

import torch
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from botorch.sampling.base import MCSampler
from botorch.sampling.get_sampler import GetSampler, get_sampler
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

from calibo.botorch.score_map import ScoreMap
from calibo.errors import RecipeError

_SMALLEST_VARIANCE = 1e-20
#: Jitter grows tenfold with every try, from 1e-8: correlations next to singular need little, broken ones much.
_CHOLESKY_TRIES = 8


class CalibratedPosterior(Posterior):
    """Y = m + s T(Z) at q points, Z the standardised Gaussian base posterior with its dependence between points.

    The mean is exact. Reading ``variance`` is an error: in BoTorch those who read it (analytic acquisition functions
    first of all) go on as if the distribution were Gaussian with that mean and variance, which silently undoes the calibration.
    Whoever wants the number calls ``moments()``.
    """

    def __init__(self, base: GPyTorchPosterior, scores: ScoreMap) -> None:
        """A calibrated posterior.

        Args:
            base: Gaussian, one outcome, batch_shape x q.
            scores: The level map as a map of scores.
        """
        self.base = base
        self.scores = scores

    @property
    def device(self) -> torch.device:
        return self.base.device

    @property
    def dtype(self) -> torch.dtype:
        return self.base.dtype

    @property
    def batch_shape(self) -> torch.Size:
        """Shape of the batches of joint distributions."""
        return self.base.distribution.batch_shape

    @property
    def base_sample_shape(self) -> torch.Size:
        return self.base.base_sample_shape

    @property
    def batch_range(self) -> tuple[int, int]:
        return self.base.batch_range

    def _extended_shape(self, sample_shape: torch.Size = torch.Size()) -> torch.Size:  # noqa: B008
        return self.base._extended_shape(sample_shape)

    @cached_property
    def _std(self) -> Tensor:
        """The base's standard deviations, batch_shape x q."""
        return self.base.distribution.variance.clamp_min(_SMALLEST_VARIANCE).sqrt()

    @cached_property
    def _root(self) -> Tensor:
        """Cholesky factor of the base's correlations, batch_shape x q x q."""
        covariance = self.base.distribution.covariance_matrix.double()
        std = self._std.double()
        correlation = covariance / (std.unsqueeze(-1) * std.unsqueeze(-2))
        unit = torch.eye(correlation.shape[-1], dtype=correlation.dtype, device=correlation.device)
        return psd_safe_cholesky(correlation * (1.0 - unit) + unit, max_tries=_CHOLESKY_TRIES)

    def rsample_from_base_samples(self, sample_shape: torch.Size, base_samples: Tensor) -> Tensor:
        """Joint draws, sample_shape x batch_shape x q x 1, from base samples, sample_shape x batch_shape x q."""
        if base_samples.shape[: len(sample_shape)] != sample_shape:
            raise RecipeError(
                f"base samples of shape {tuple(base_samples.shape)} do not start with the sample shape "
                f"{tuple(sample_shape)}: draw them with the sampler that get_sampler() gives for this posterior"
            )
        z = (self._root @ base_samples.double().unsqueeze(-1)).squeeze(-1)
        return self._at(self.scores(z)).unsqueeze(-1)

    def rsample(self, sample_shape: torch.Size | None = None) -> Tensor:
        shape = torch.Size([1]) if sample_shape is None else sample_shape
        base = torch.randn(shape + self.base_sample_shape, dtype=self.dtype, device=self.device)
        return self.rsample_from_base_samples(shape, base)

    def _at(self, score: Tensor) -> Tensor:
        """m + s score, broadcast over ... x q, in the base's precision."""
        return (self.base.distribution.mean + self._std * score).to(self.dtype)

    @property
    def mean(self) -> Tensor:
        """Expected value, batch_shape x q x 1, in closed form."""
        return self._at(torch.as_tensor(self.scores.mean, dtype=torch.float64)).unsqueeze(-1)

    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and variance, each batch_shape x q x 1, in closed form; the distribution is not Gaussian with these moments."""
        variance = self._std.square() * self.scores.variance
        return self.mean, variance.unsqueeze(-1)

    def quantile(self, value: Tensor) -> Tensor:
        """Marginal quantiles at levels ``value``, k: k x batch_shape x q x 1, or batch_shape x q x 1 for one level."""
        if value.numel() > 1:
            return torch.stack([self.quantile(v) for v in value], dim=0)
        return self._at(self.scores(torch.special.ndtri(value.double()))).unsqueeze(-1)

    def density(self, value: Tensor) -> Tensor:
        """Marginal densities at ``value``, k: k x batch_shape x q x 1, or batch_shape x q x 1 for one value."""
        if value.numel() > 1:
            return torch.stack([self.density(v) for v in value], dim=0)
        h = (value - self.base.distribution.mean) / self._std
        return (self.scores.density(h) / self._std).to(self.dtype).unsqueeze(-1)

    @property
    def variance(self) -> Tensor:
        """Refused, see the class."""
        self._refuse("variance")

    @property
    def distribution(self) -> NoReturn:
        """Refused: there is no Gaussian to hand out."""
        self._refuse("distribution")

    @property
    def mvn(self) -> NoReturn:
        """Refused: there is no Gaussian to hand out."""
        self._refuse("mvn")

    def _refuse(self, name: str) -> NoReturn:
        raise RecipeError(
            f"`{name}` of a calibrated posterior was read, as acquisition functions do that assume a Gaussian "
            "(analytic EI, PI, UCB, entropy search): they would match moments and undo the calibration. Use "
            "qLogExpectedImprovement or qLogNoisyExpectedImprovement (any acquisition by samples works), or calibo's "
            "own closed forms (calibo.acquisition); for the moments themselves call posterior.moments()"
        )


@GetSampler.register(CalibratedPosterior)
def _sampler(posterior: CalibratedPosterior, sample_shape: torch.Size, *, seed: int | None = None) -> MCSampler:
    """The base's sampler: the base samples are the same standard normal ones."""
    return get_sampler(posterior.base, sample_shape=sample_shape, seed=seed)
