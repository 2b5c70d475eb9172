"""Relevelled distributions in closed form are those of the general one."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.distributions import (
    Composed,
    Distribution,
    Gaussian,
    LevelFunction,
    Levels,
    LowerTailPower,
    QuantileTable,
    Relevelled,
    Stretched,
    StretchedScores,
    Tempered,
    Transformed,
    relevel,
)

LEVELS = Levels(np.array([0.0, 0.3, 0.7, 1.0]), np.array([0.0, 0.2, 0.9, 1.0]))
SCORES = StretchedScores(np.array([0.5, 1.5]), np.array([0.3, 2.5]))
NORMAL = Gaussian(np.array([0.0, 2.0]), np.array([1.0, 0.5]))
TABLE = QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[-1.0, 0.0, 2.0], [0.0, 1.0, 1.5]]))
WARPED = Transformed(NORMAL, LowerTailPower(0.3, 0.5, 2.0, -4.0))


@pytest.mark.parametrize(
    ("distribution", "levels", "kind"),
    [
        (NORMAL, Tempered(2.0), Gaussian),
        (NORMAL, SCORES, Stretched),
        (NORMAL, LEVELS, Relevelled),
        (Relevelled(NORMAL, LEVELS), LEVELS, Relevelled),
        (TABLE, LEVELS, QuantileTable),
        (TABLE, SCORES, Composed),
        (WARPED, SCORES, Transformed),
        (WARPED, LEVELS, Transformed),
    ],
)
def test_the_form_with_closed_forms_has_the_same_quantiles(
    distribution: Distribution, levels: LevelFunction, kind: type[Distribution]
) -> None:
    found, general = relevel(distribution, levels), Composed(distribution, levels)
    assert type(found) is kind
    for u in (0.05, 0.2, 0.3, 0.5, 0.62, 0.9):
        np.testing.assert_allclose(found.icdf(u), general.icdf(u), atol=1e-9)
        np.testing.assert_allclose(found.cdf(found.icdf(u)), u, atol=1e-9)
