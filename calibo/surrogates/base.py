"""What a surrogate is: a recipe that turns a dataset into a model, and what models may declare they can do besides."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from calibo.data import Array, Dataset
from calibo.predictive import Predictive


class Model(Protocol):
    """A fitted surrogate."""

    def predict(self, X: Array, *, latent: bool) -> Predictive:
        """The law at each point of ``X``, q x d or ... x q x d (the leading dimensions are batches of joint laws).

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
class HasHyperparameters(Protocol):
    """A model whose hyper-parameters can be stored, so that the next fit starts from them."""

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        """The fitted hyper-parameters as plain numbers."""
        ...


@runtime_checkable
class HasLeaveOneOut(Protocol):
    """A model with its own predictions at the data without refitting."""

    def leave_one_out(self) -> Predictive:
        """Laws of each measurement given all the others, n."""
        ...

    def one_step_ahead(self) -> Predictive:
        """Laws of each measurement given those before it, n."""
        ...
