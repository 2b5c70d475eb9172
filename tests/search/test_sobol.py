"""Sobol points: SciPy's sequence, shifted, and any of it by its number."""

import numpy as np
import pytest
from scipy.stats import qmc

from calibo.search.sobol import MAX_DIMENSIONS, sobol_points


def unshifted(numbers: range, d: int, seed: int) -> np.ndarray:
    """The points with the seed's digital shift taken off again."""
    shift = np.random.default_rng([seed, 0x50B01]).integers(2**32, size=d, dtype=np.uint64)
    digits = (sobol_points(numbers, d, seed=seed) * 2.0**32 - 0.5).astype(np.uint64)
    return (digits ^ shift) / 2.0**32


@pytest.mark.parametrize("d", [1, 2, 7, 21, MAX_DIMENSIONS])
def test_without_its_shift_the_sequence_is_scipys(d: int) -> None:
    np.testing.assert_array_equal(unshifted(range(64), d, seed=3), qmc.Sobol(d, scramble=False).random(64))


@pytest.mark.parametrize("d", [3, MAX_DIMENSIONS + 5])
def test_any_stretch_can_be_had_by_its_numbers(d: int) -> None:
    whole = sobol_points(range(32), d, seed=1)
    np.testing.assert_array_equal(sobol_points(range(8, 16), d, seed=1), whole[8:16])


def test_every_column_is_stratified_and_seeds_differ() -> None:
    points = sobol_points(range(16), 5, seed=0)
    np.testing.assert_array_equal(
        np.sort(np.floor(points * 16), axis=0), np.repeat(np.arange(16.0)[:, None], 5, axis=1)
    )
    assert not np.allclose(points, sobol_points(range(16), 5, seed=1))
