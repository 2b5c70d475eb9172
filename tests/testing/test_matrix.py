"""Every pair of wrappers x every capability; the table in the docs; and that the checks notice what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import CapabilityError
from calibo.models import Capability, ModelWrapper, SurrogateWrapper
from calibo.models.warped import WarpedModel
from calibo.testing.matrix import MARKERS, WRAPPERS, NoisyProcess, examine, matrix, sample_data, with_matrix

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"


@pytest.mark.whole
def test_every_pair_of_wrappers_and_the_table_in_the_docs() -> None:
    """Make, fit and check all pairs; python -m calibo.testing.matrix docs/architecture.md refreshes the table."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(text.count(marker) == 1 for marker in MARKERS)
    assert with_matrix(text, matrix()) == text


def test_a_raw_surrogate_has_what_it_declares() -> None:
    added = {Capability.LEARNS_FROM_PROPOSALS, Capability.IN_DISTRIBUTION, Capability.SIMILAR_FORECASTS}
    assert examine(NoisyProcess).capabilities == set(Capability) - added


def test_the_transform_is_examined_and_not_the_identity() -> None:
    model = WRAPPERS["Warped"](NoisyProcess()).fit(sample_data(), rng=np.random.default_rng(1))
    assert isinstance(model, WarpedModel) and model.transform is not None


class Doubling(ModelWrapper):
    """A wrapper that changes its predictions, but neither changes nor hides what describes them."""

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self.base.predict(2.0 * X, latent=latent)


class Forgetful(Doubling):
    """A wrapper that declares a capability and does not have it."""

    adds = frozenset({Capability.IN_DISTRIBUTION})


@dataclass(frozen=True)
class Wrapping(SurrogateWrapper):
    wrapper: type[ModelWrapper]

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> ModelWrapper:
        return self.wrapper(self.surrogate.fit(data, rng=rng))


@pytest.mark.parametrize("wrapper", [Doubling, Forgetful])
def test_a_careless_wrapper_is_found_out(wrapper: type[ModelWrapper]) -> None:
    with pytest.raises((AssertionError, CapabilityError)):
        examine(lambda: Wrapping(NoisyProcess(), wrapper))
