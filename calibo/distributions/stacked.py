"""Distributions of several sources side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import shown
from calibo.data import Array
from calibo.distributions.base import Distribution
from calibo.distributions.gaussian import Gaussian
from calibo.errors import DataError


@checked
def stacked(parts: Sequence[Distribution], order: npt.NDArray[np.intp] | None = None) -> Distribution:
    """Concatenate distributions along their points; joint draws are independent between points.

    Args:
        parts: Each over its own points, `q`, without batch dimensions.
        order: Which of the concatenated points to keep, in which order, each at most once; by default all as they come.

    Returns:
        A `Gaussian` if all parts are Gaussian, else the parts side by side.
    """
    if order is not None and (
        np.ndim(order) != 1 or np.asarray(order).dtype.kind not in "iu" or np.min(order, initial=0) < 0
    ):
        raise DataError(f"order are the numbers of points, got {shown(order)}")
    if not len(parts):
        raise DataError("there must be at least one distribution, got none")
    if order is not None and len(order):
        total = sum(np.shape(part.at_levels(0.5))[-1] for part in parts)
        if int(np.max(order)) >= total:
            raise DataError(f"order are numbers of the {total} points, got {shown(order)}")
    gaussians = [part for part in parts if isinstance(part, Gaussian)]
    if len(gaussians) == len(parts):
        kept = slice(None) if order is None else order
        mean, std = np.concatenate([g.mean for g in gaussians]), np.concatenate([g.std for g in gaussians])
        return Gaussian(mean[kept], std[kept])
    sizes = tuple(np.shape(part.at_levels(0.5))[-1] for part in parts)
    every = np.arange(sum(sizes))
    if len(parts) == 1 and (order is None or np.array_equal(order, every)):
        return parts[0]
    return Stacked(tuple(parts), sizes, every if order is None else order)


@dataclass(frozen=True, eq=False, repr=False)
class Stacked(Distribution):
    """Distributions of any kind side by side; see `stacked`.

    Attributes:
        parts: The distributions.
        sizes: Number of points of each.
        order: Which of all their points stand where, t.
    """

    parts: tuple[Distribution, ...]
    sizes: tuple[int, ...]
    order: npt.NDArray[np.intp]

    @cached_property
    def _place(self) -> npt.NDArray[np.intp]:
        """Where each of the concatenated points stands in the order; 0 for those left out."""
        place = np.zeros(sum(self.sizes), dtype=np.intp)
        place[self.order] = np.arange(len(self.order))
        return place

    def _each(self, of: Callable[[Distribution, Array], Array], argument: Array | float) -> Array:
        """Evaluate each part at its share of an argument that broadcasts with `... x t`."""
        argument = np.asarray(argument, dtype=np.float64)
        shares = np.split(self._place, np.cumsum(self.sizes)[:-1])
        if argument.ndim == 0 or argument.shape[-1] == 1:
            return self._joined([of(part, argument) for part in self.parts])
        return self._joined([of(part, argument[..., s]) for part, s in zip(self.parts, shares, strict=True)])

    def _joined(self, values: Sequence[Array]) -> Array:
        return np.concatenate(values, axis=-1)[..., self.order]

    def cdf(self, y: Array | float) -> Array:
        return self._each(lambda part, own: part.cdf(own), y)

    def icdf(self, u: Array | float) -> Array:
        return self._each(lambda part, own: part.icdf(own), u)

    def at_levels(self, u: Array | float) -> Array:
        return self._each(lambda part, own: part.at_levels(own), u)

    def normal_scores(self, y: Array | float) -> Array:
        return self._each(lambda part, own: part.normal_scores(own), y)

    @property
    def backed(self) -> tuple[float, float]:
        """The levels that are supported at every point."""
        return max(part.backed[0] for part in self.parts), min(part.backed[1] for part in self.parts)

    @cached_property
    def mean(self) -> Array:
        return self._joined([part.mean for part in self.parts])

    @cached_property
    def std(self) -> Array:
        return self._joined([part.std for part in self.parts])

    def over_samples(self) -> Stacked:
        return Stacked(tuple(part.over_samples() for part in self.parts), self.sizes, self.order)

    def negated(self) -> Stacked:
        return Stacked(tuple(part.negated() for part in self.parts), self.sizes, self.order)
