"""A classifier for few points and another for many."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.classifiers import BySize, GradientBoosting, KernelLogistic, WeightedLabels
from calibo.errors import RecipeError


@pytest.mark.parametrize("n", [30, 31])
def test_the_limit(n: int) -> None:
    X = np.random.default_rng(0).random((n, 2))
    labelled = WeightedLabels().label(X, X[:, 0])
    assert labelled is not None
    found = BySize(limit=30).fit(labelled, categories=(0, 0), rng=np.random.default_rng(0))(X)
    own = KernelLogistic() if n == 30 else GradientBoosting(rounds=50)
    np.testing.assert_array_equal(found, own.fit(labelled, categories=(0, 0), rng=np.random.default_rng(0))(X))


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match="limit"):
        BySize(limit=-1)
    with pytest.raises(RecipeError, match="many must be a Classifier"):
        BySize(many=GradientBoosting)  # type: ignore[arg-type]
