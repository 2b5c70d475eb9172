"""The posterior of a calibrated BoTorch model: relevelled marginals under the base posterior's Gaussian copula."""

# pyright: reportMissingImports=false
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
    """Posterior Y = m + s T(Z) at q points, with Z the standardized Gaussian base posterior, dependent between points.

    The mean is exact. Reading ``variance`` raises an error: BoTorch code that reads it (analytic acquisition functions above
    all) then treats the distribution as Gaussian, which silently undoes the calibration. Call ``moments()`` for the number.
    """

    def __init__(self, base: GPyTorchPosterior, score_map: ScoreMap) -> None:
        """Create a calibrated posterior.

        Args:
            base: Gaussian posterior of one outcome, ``batch_shape x q``.
            score_map: The level map, as a map of normal scores.
        """
        self.base = base
        self.score_map = score_map

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
        """Standard deviations of the base, ``batch_shape x q``."""
        return self.base.distribution.variance.clamp_min(_SMALLEST_VARIANCE).sqrt()

    @cached_property
    def _root(self) -> Tensor:
        """Cholesky factor of the base's correlations, ``batch_shape x q x q``."""
        covariance = self.base.distribution.covariance_matrix.double()
        std = self._std.double()
        correlation = covariance / (std.unsqueeze(-1) * std.unsqueeze(-2))
        unit = torch.eye(correlation.shape[-1], dtype=correlation.dtype, device=correlation.device)
        return psd_safe_cholesky(correlation * (1.0 - unit) + unit, max_tries=_CHOLESKY_TRIES)

    def rsample_from_base_samples(self, sample_shape: torch.Size, base_samples: Tensor) -> Tensor:
        """Return joint samples.

        Args:
            sample_shape: Shape of the samples.
            base_samples: Standard normal samples, ``sample_shape x batch_shape x q``.

        Returns:
            ``sample_shape x batch_shape x q x 1`` samples.
        """
        if base_samples.shape[: len(sample_shape)] != sample_shape:
            raise RecipeError(
                f"base samples of shape {tuple(base_samples.shape)} do not start with the sample shape "
                f"{tuple(sample_shape)}: draw them with the sampler that get_sampler() gives for this posterior"
            )
        z = (self._root @ base_samples.double().unsqueeze(-1)).squeeze(-1)
        return self._at(self.score_map(z)).unsqueeze(-1)

    def rsample(self, sample_shape: torch.Size | None = None) -> Tensor:
        shape = torch.Size([1]) if sample_shape is None else sample_shape
        base = torch.randn(shape + self.base_sample_shape, dtype=self.dtype, device=self.device)
        return self.rsample_from_base_samples(shape, base)

    def _at(self, z: Tensor) -> Tensor:
        """Return m + s z, broadcast over ``... x q``, in the base's precision."""
        return (self.base.distribution.mean + self._std * z).to(self.dtype)

    @property
    def mean(self) -> Tensor:
        """Expected value, ``batch_shape x q x 1``, in closed form."""
        return self._at(torch.as_tensor(self.score_map.mean, dtype=torch.float64)).unsqueeze(-1)

    def moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance, each ``batch_shape x q x 1``, in closed form; the distribution is not Gaussian."""
        variance = self._std.square() * self.score_map.variance
        return self.mean, variance.unsqueeze(-1)

    def quantile(self, value: Tensor) -> Tensor:
        """Return marginal quantiles at k levels, ``k x batch_shape x q x 1``; without the first dimension for one level."""
        if value.numel() > 1:
            return torch.stack([self.quantile(v) for v in value], dim=0)
        return self._at(self.score_map(torch.special.ndtri(value.double()))).unsqueeze(-1)

    def density(self, value: Tensor) -> Tensor:
        """Return marginal densities at k values, ``k x batch_shape x q x 1``; without the first dimension for one value."""
        if value.numel() > 1:
            return torch.stack([self.density(v) for v in value], dim=0)
        h = (value - self.base.distribution.mean) / self._std
        return (self.score_map.density(h) / self._std).to(self.dtype).unsqueeze(-1)

    @property
    def variance(self) -> Tensor:
        """Not available: raises an error, see the class."""
        self._refuse("variance")

    @property
    def distribution(self) -> NoReturn:
        """Not available: the distribution is not Gaussian."""
        self._refuse("distribution")

    @property
    def mvn(self) -> NoReturn:
        """Not available: the distribution is not Gaussian."""
        self._refuse("mvn")

    def _refuse(self, name: str) -> NoReturn:
        raise RecipeError(
            f"`{name}` of a calibrated posterior is not available: acquisition functions that read it assume a Gaussian "
            "(analytic EI, PI, UCB, entropy search) and would undo the calibration. Use "
            "qLogExpectedImprovement or qLogNoisyExpectedImprovement (any Monte Carlo acquisition works), or calibo's "
            "own closed forms (calibo.acquisition); for the moments themselves call posterior.moments()"
        )


@GetSampler.register(CalibratedPosterior)
def _sampler(posterior: CalibratedPosterior, sample_shape: torch.Size, *, seed: int | None = None) -> MCSampler:
    """Return the sampler of the base posterior: its base samples are the same standard normal ones."""
    return get_sampler(posterior.base, sample_shape=sample_shape, seed=seed)
