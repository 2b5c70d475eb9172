"""Sobol points with a random digital shift, each determined by its number.

SciPy has them too, in ``scipy.stats``, whose import takes longer (about half a second) than all the rest of a first
suggestion. The primitive polynomials and initial direction numbers are those published by Joe and Kuo (2008).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from calibo.data import Array

_BITS = 32

# fmt: off
#: For the second dimension on: primitive polynomial (bits of its coefficients) and initial direction numbers.
_JOE_KUO: tuple[tuple[int, tuple[int, ...]], ...] = (
    (3, (1,)), (7, (1, 3)), (11, (1, 3, 1)), (13, (1, 1, 1)), (19, (1, 1, 3, 3)), (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)), (41, (1, 1, 5, 5, 5)), (47, (1, 1, 7, 11, 19)), (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)), (61, (1, 3, 5, 5, 31)), (67, (1, 3, 3, 9, 7, 49)), (91, (1, 1, 1, 15, 21, 21)),
    (97, (1, 3, 1, 13, 27, 49)), (103, (1, 1, 1, 15, 7, 5)), (109, (1, 3, 1, 15, 13, 25)),
    (115, (1, 1, 5, 5, 19, 61)), (131, (1, 3, 7, 11, 23, 15, 103)), (137, (1, 3, 7, 13, 13, 15, 69)),
    (143, (1, 1, 3, 13, 7, 35, 63)), (145, (1, 3, 5, 9, 1, 25, 53)), (157, (1, 3, 1, 13, 9, 35, 107)),
    (167, (1, 3, 1, 5, 27, 61, 31)), (171, (1, 1, 5, 11, 19, 41, 61)), (185, (1, 3, 5, 3, 3, 13, 69)),
    (191, (1, 1, 7, 13, 1, 19, 1)), (193, (1, 3, 7, 5, 13, 19, 59)), (203, (1, 1, 3, 9, 25, 29, 41)),
    (211, (1, 3, 5, 13, 23, 1, 55)), (213, (1, 3, 7, 3, 13, 59, 17)), (229, (1, 3, 1, 3, 5, 53, 69)),
    (239, (1, 1, 5, 5, 23, 33, 13)), (241, (1, 1, 7, 7, 1, 61, 123)), (247, (1, 1, 7, 9, 13, 61, 49)),
    (253, (1, 3, 3, 5, 3, 55, 33)), (285, (1, 3, 1, 15, 31, 13, 49, 245)), (299, (1, 3, 5, 15, 31, 59, 63, 97)),
    (301, (1, 3, 1, 11, 11, 11, 77, 249)), (333, (1, 3, 1, 11, 27, 43, 71, 9)),
    (351, (1, 1, 7, 15, 21, 11, 81, 45)), (355, (1, 3, 7, 3, 25, 31, 65, 79)), (357, (1, 3, 1, 1, 19, 11, 3, 205)),
    (361, (1, 1, 5, 9, 19, 21, 29, 157)), (369, (1, 3, 7, 11, 1, 33, 89, 185)), (391, (1, 3, 3, 3, 15, 9, 79, 71)),
    (397, (1, 3, 7, 11, 15, 39, 119, 27)), (425, (1, 1, 3, 1, 11, 31, 97, 225)),
    (451, (1, 1, 1, 3, 23, 43, 57, 177)), (463, (1, 3, 7, 7, 17, 17, 37, 71)),
    (487, (1, 3, 1, 5, 27, 63, 123, 213)), (501, (1, 1, 3, 5, 11, 43, 53, 133)),
    (529, (1, 3, 5, 5, 29, 17, 47, 173, 479)), (539, (1, 3, 3, 11, 3, 1, 109, 9, 69)),
    (545, (1, 1, 1, 5, 17, 39, 23, 5, 343)), (557, (1, 3, 1, 5, 25, 15, 31, 103, 499)),
    (563, (1, 1, 1, 11, 11, 17, 63, 105, 183)), (601, (1, 1, 5, 11, 9, 29, 97, 231, 363)),
    (607, (1, 1, 5, 15, 19, 45, 41, 7, 383)),
)
# fmt: on

#: Dimensions with direction numbers in the table; beyond, SciPy is used.
MAX_DIMENSIONS = 1 + len(_JOE_KUO)


def sobol_points(numbers: range, d: int, *, seed: int) -> Array:
    """Return points of the seed's shifted sequence, `len(numbers) x d`, in [0, 1)."""
    rng = np.random.default_rng([seed, 0x50B01])
    if d > MAX_DIMENSIONS:
        return _scipy_points(numbers, d, rng)
    shift = rng.integers(2**_BITS, size=d, dtype=np.uint64)
    gray = np.array([number ^ (number >> 1) for number in numbers], dtype=np.uint64)
    digits = np.zeros((len(gray), d), dtype=np.uint64)
    for bit, directions in enumerate(_direction_numbers(d)):
        used = (gray >> np.uint64(bit)) & np.uint64(1)
        digits ^= used[:, None] * directions
    return ((digits ^ shift).astype(np.float64) + 0.5) / 2.0**_BITS


@lru_cache(maxsize=8)
def _direction_numbers(d: int) -> Array:
    """Return the direction numbers of each dimension, scaled to 32 bits, `bits x d` (Bratley and Fox 1988, recurrence 2)."""
    table = np.empty((_BITS, d), dtype=np.uint64)
    table[:, 0] = [1 << (_BITS - 1 - k) for k in range(_BITS)]
    for j, (polynomial, initial) in enumerate(_JOE_KUO[: d - 1], start=1):
        degree = polynomial.bit_length() - 1
        m = list(initial)
        for k in range(degree, _BITS):
            value = m[k - degree] ^ (m[k - degree] << degree)
            for i in range(1, degree):
                if polynomial >> (degree - i) & 1:
                    value ^= m[k - i] << i
            m.append(value)
        table[:, j] = [m[k] << (_BITS - 1 - k) for k in range(_BITS)]
    return table  # pyright: ignore[reportReturnType]


def _scipy_points(numbers: range, d: int, rng: np.random.Generator) -> Array:
    from scipy.stats import qmc

    sobol = qmc.Sobol(d, scramble=True, rng=rng)
    if numbers.start:
        sobol.fast_forward(numbers.start)
    return sobol.random(len(numbers))
