"""Numeric pathologies: no method refuses to ask, leaves the space, or predicts values that are not finite.

Every method is told outcomes that are equal, denormal, near the largest float, of mixed signs, far from zero, with one
outlier, or of the same point, in several spaces; it is then asked a few times more, and its forecasts and predictions are
looked at. Means, medians and standard deviations must be finite and nothing may be NaN; the ends of a conformal interval for
which there are too few results are infinite, as they should be. More than 30 CPU seconds count as slow.

Usage: ``python -m stress.numeric [--methods gp_ei,ocbo] [--budget 1200] [--no-store]``
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import collections
import math
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibo import Categorical, Float, Int, Optimizer
from calibo.errors import CaliboError
from calibo.methods import METHODS
from stress.results import printed, store

#: CPU seconds of one cell.
LIMIT = 30.0

SPACES: dict[str, Callable[[], dict[str, Any]]] = {
    "box": lambda: {"x": Float(0, 1), "y": Float(-5, 5)},
    "mixed": lambda: {"x": Float(1e-5, 1, log=True), "k": Int(1, 9), "c": Categorical(["a", "b", "c"])},
    "tiny range": lambda: {"x": Float(1.0, math.nextafter(1.0, 2.0)), "z": Float(0, 1)},
}


def _smooth(i: int) -> float:
    return (0.37 * i) % 1.0


#: Outcomes by number of the trial.
STREAMS: dict[str, Callable[[int], float]] = {
    "all equal": lambda i: 3.7,
    "all zero": lambda i: 0.0,
    "all 1e300": lambda i: 1e300,
    "all 1.7e308": lambda i: 1.7e308,
    "+-1.7e308": lambda i: (-1.0) ** i * 1.7e308,
    "+-1e308 and small": lambda i: (1e308, -1e308, 1.0, 1e-3)[i % 4],
    "times 1e300": lambda i: 1e300 * _smooth(i),
    "times 1e-300": lambda i: 1e-300 * _smooth(i),
    "denormals": lambda i: 5e-324 * (i % 3),
    "plus 1e16": lambda i: 1e16 + _smooth(i),
    "minus 1e308": lambda i: -1e308 + _smooth(i),
    "one outlier 1e12": lambda i: 1e12 if i == 5 else _smooth(i),
    "one outlier 1e300": lambda i: 1e300 if i == 5 else _smooth(i),
    "one outlier -1.7e308": lambda i: -1.7e308 if i == 5 else _smooth(i),
    "growing": lambda i: 10.0 ** (20 * i),
    "1e200 and 1e-200": lambda i: 1e200 if i % 2 else 1e-200,
}

#: How the points are placed, and how many there are before the method is asked.
PLACES = {"spread": 12, "same point": 12, "n = 1": 1}


class _Slow(BaseException):
    """A cell took too long."""


def cell(method: str, stream: str, space: str, place: str, *, direction: str = "minimize", asks: int = 2) -> str:
    """Return "ok", or what is wrong with a method on a stream of outcomes."""

    def stop(*_: Any) -> None:
        raise _Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _searched(method, STREAMS[stream], SPACES[space](), place, direction, asks) or "ok"
    except _Slow:
        return "slow"
    except CaliboError as error:
        return f"refused: {str(error)[:120]}"
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}calibo{os.sep}" in f.filename]
        return f"raw {type(error).__name__}: {str(error)[:80]} at {frames[-1].filename[-40:]}:{frames[-1].lineno}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _searched(
    method: str, y: Callable[[int], float], space: dict[str, Any], place: str, direction: str, asks: int
) -> str | None:
    composite = (lambda h: h.sum(-1)) if method == "composite_lfbo" else None
    optimizer = Optimizer(space, method, direction=direction, seed=5, n_initial=1, composite=composite)

    def tell(what: Any, i: int) -> None:
        # The vector of a composite objective adds up to the outcome.
        optimizer.tell(what, y(i) if composite is None else [0.5 * y(i), 0.5 * y(i)])

    n = PLACES[place]
    X = optimizer.space.sample(n, np.random.default_rng(1))
    if place == "same point":
        X[:] = X[0]
    for i, params in enumerate(optimizer.space.decode(X)):
        tell(params, i)
    for i in range(n, n + asks):
        suggestion = optimizer.ask()
        if wrong := _outside(suggestion.params, space) or _not_finite(suggestion.forecasts):
            return wrong
        tell(suggestion, i)
    if optimizer.strategy.makes_forecasts:
        table = optimizer.predict([suggestion.params]).select_dtypes("number")
        centre = table[[name for name in table.columns if name.endswith(("mean", "median"))]]
        if not np.isfinite(centre.to_numpy()).all() or table.isna().any(axis=None):
            return f"predicts {centre.iloc[0].to_dict()}"
    return None


def _outside(params: Mapping[str, Any], space: Mapping[str, Any]) -> str | None:
    for name, value in params.items():
        parameter = space[name]
        if isinstance(parameter, Float | Int) and not parameter.low <= value <= parameter.high:
            return f"suggests {name} = {value}"
    return None


def _not_finite(forecasts: Any) -> str | None:
    for forecast in forecasts or ():
        for stage in forecast.stages:
            if not (math.isfinite(stage.mean) and math.isfinite(stage.std)) or np.isnan(stage.quantiles or ()).any():
                return f"forecasts mean {stage.mean}, std {stage.std}"
    return None


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--budget", type=float, default=1200.0, help="CPU seconds in all")
    parser.add_argument("--no-store", action="store_true")
    asked = parser.parse_args()
    began, counts, wrong = time.process_time(), dict[str, collections.Counter[str]](), list[str]()
    names = asked.methods.split(",")
    cells = [(m, s, p, n) for s in STREAMS for p in SPACES for n in PLACES for m in names]
    # Spread over methods and streams, so that a budget that is used up leaves none of them out.
    order = np.random.default_rng(0).permutation(len(cells))
    for number in order:
        method, stream, space, place = cells[number]
        if time.process_time() - began > asked.budget:
            break
        found = cell(method, stream, space, place, direction="minimize" if number % 2 else "maximize")
        kind = found.partition(":")[0].partition(" ")[0]
        counts.setdefault(method, collections.Counter())[kind] += 1
        if found != "ok":
            wrong.append(f"{method}, {stream}, {space}, {place}: {found}")
            print(wrong[-1], flush=True)
    kinds = sorted({kind for counter in counts.values() for kind in counter} | {"ok"})
    rows = [
        [method, sum(counts[method].values()), *(counts[method][kind] for kind in kinds)] for method in sorted(counts)
    ]
    print(printed(("method", "cells", *kinds), rows))
    done = sum(sum(counter.values()) for counter in counts.values())
    print(f"{done} of {len(cells)} cells, {len(wrong)} not ok, {time.process_time() - began:.0f} CPU s")
    if not asked.no_store:
        store(
            "numeric",
            f"{done} of {len(cells)} cells (method x outcomes x space x points), drawn at random until the budget was used "
            f"up: {len(wrong)} with an error, a point outside of the space or a prediction that is not finite.",
            ("method", "cells", *kinds),
            rows,
            wrong=wrong[:20],
            cpu_seconds=round(time.process_time() - began),
        )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
