"""confopt, whose tuner calls the objective: it runs in a thread, and its calls become ask and tell."""

from __future__ import annotations

import threading
import weakref
from queue import Queue
from typing import Any

from confopt.tuning import ConformalTuner
from confopt.wrapping import CategoricalRange, FloatRange, IntRange

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, from_indices, to_indices

#: More evaluations than any run has; the tuner wants to know.
_MANY = 1000


class ConfOpt(Adapter):
    """``ConformalTuner`` with its defaults: quantile trees, Thompson sampling, adaptive conformal inference.

    The initial points are its warm start and count as its random searches. Ordinals are whole numbers.
    """

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        self.told: list[tuple[Params, float]] = []
        self.points: Queue[Any] = Queue()
        self.values: Queue[float | None] = Queue()
        self.thread: threading.Thread | None = None
        weakref.finalize(self, self.values.put, None)

    def ask(self) -> Params:
        if self.thread is None:
            ranges = {name: _range(parameter) for name, parameter in self.space.items()}
            given = (ranges, self.told, self.seed, self.points, self.values)
            self.thread = threading.Thread(target=_tune, args=given, daemon=True)
            self.thread.start()
        point = self.points.get()
        if isinstance(point, Exception):
            raise point
        return from_indices(self.space, point)

    def tell(self, params: Params, value: float) -> None:
        if self.thread is None:
            self.told.append((to_indices(self.space, params), value))
        else:
            self.values.put(value)


def _tune(
    ranges: dict[str, Any], told: list[tuple[Params, float]], seed: int, points: Queue[Any], values: Queue[float | None]
) -> None:
    """Run the tuner until there are no more values; what it raises is passed on."""

    def objective(configuration: dict) -> float:  # pyright: ignore[reportMissingTypeArgument]
        points.put(dict(configuration))
        value = values.get()
        if value is None:
            raise SystemExit
        return value

    objective.__annotations__.clear()  # the tuner takes no other annotation than typing.Dict
    try:
        tuner = ConformalTuner(objective, ranges, minimize=True, warm_starts=told)
        tuner.tune(max_searches=_MANY, n_random_searches=len(told), random_state=seed, verbose=False)
    except Exception as error:
        points.put(error)


def _range(parameter: Parameter) -> Any:
    if parameter.kind == "float":
        return FloatRange(min_value=parameter.low, max_value=parameter.high, log_scale=parameter.log)
    if parameter.kind == "int":
        return IntRange(min_value=int(parameter.low), max_value=int(parameter.high), log_scale=parameter.log)
    if parameter.kind == "ordinal":
        return IntRange(min_value=0, max_value=len(parameter.choices) - 1)
    return CategoricalRange(choices=list(parameter.choices))
