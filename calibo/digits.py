"""Numbers that are read side by side, such as the ends of an interval, with as many digits as tell them apart.

An energy of -13245.6775 with an interval of a thousandth would read "-1.325e+04 to -1.325e+04" with four digits.

>>> side_by_side(0.25112, 0.75334)
['0.2511', '0.7533']
>>> side_by_side(-13245.67750, -13245.67631)
['-13245.6775', '-13245.67631']
"""

from __future__ import annotations

import math
from collections.abc import Iterable

#: Digits of the range of the numbers that are written at least, and of a number at most.
_OF_RANGE, _MOST = 2, 12


def side_by_side(*numbers: float, least: int = 4) -> list[str]:
    """Format numbers that are read side by side, all with the same number of significant digits.

    Args:
        *numbers: The numbers; those that are not finite are written as such.
        least: Significant digits, unless the range of the numbers needs more of them.
    """
    digits = min(max(least, shared_digits(numbers) + _OF_RANGE), _MOST)
    return [f"{number:.{digits}g}" for number in numbers]


def interval_text(low: float, high: float, least: int = 4) -> str:
    """Format an interval: "0.2511 to 0.7533"."""
    return " to ".join(side_by_side(low, high, least=least))


def shared_digits(numbers: Iterable[float]) -> int:
    """Return about how many leading digits pass before some numbers, the finite ones, differ; 0 if all are equal."""
    finite = [float(number) for number in numbers if math.isfinite(number)]
    # By halves, since the difference of two floats need not be one.
    spread = max(finite, default=0.0) / 2 - min(finite, default=0.0) / 2
    if spread == 0.0:
        return 0
    return max(0, math.ceil(math.log10(max(map(abs, finite)) / 2 / spread)))
