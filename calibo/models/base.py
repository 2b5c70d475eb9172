"""What a surrogate is: a recipe that turns a dataset into a model, and what models may declare they can do besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Dataset
from calibo.distributions import Distribution


class Model(Protocol):
    """A fitted surrogate."""

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """The distribution at each point of ``X``, q x d or ... x q x d (the leading dimensions are batches of joint distributions).

        Args:
            X: Encoded points.
            latent: ``True`` for the noise-free value f, ``False`` for the next measurement y = f + noise.
        """
        ...


class Surrogate(Protocol):
    """A recipe for a model of one outcome."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        """The model of ``data``, which has one outcome."""
        ...


@runtime_checkable
class FitsMany(Protocol):
    """A surrogate that trains the models of several parts of the data together, in less time than one after another."""

    def fit_many(
        self, data: Dataset, subsets: Sequence[npt.NDArray[np.intp]], *, rng: np.random.Generator
    ) -> Sequence[Model]:
        """A model of each subset of rows of ``data``; rows may occur several times."""
        ...


@runtime_checkable
class HasHyperparameters(Protocol):
    """A model whose hyper-parameters can be stored, so that the next fit starts from them."""

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        """The fitted hyper-parameters as plain numbers."""
        ...


@runtime_checkable
class HasLeaveOneOut(Protocol):
    """A model with its own predictions at the data without refitting."""

    def leave_one_out(self) -> Distribution:
        """Distributions of each measurement given all the others, n."""
        ...

    def one_step_ahead(self) -> Distribution:
        """Distributions of each measurement given those before it, n."""
        ...


@runtime_checkable
class LearnsFromProposals(Protocol):
    """A model whose beliefs depend on which points it is going to be asked about."""

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Model:
        """The model for a search that has gone to ``proposals``, p x d: all of them so far."""
        ...


@runtime_checkable
class KnowsItsDistribution(Protocol):
    """A model that knows how far its data reach."""

    def in_distribution(self, X: Array) -> Array:
        """The probability that the data say enough of points, m x d, to keep the model's promise there, m."""
        ...
