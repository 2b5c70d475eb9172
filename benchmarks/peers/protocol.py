"""One run of one optimizer on one problem: the same initial points, noise and budget for all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.peers import problems
from benchmarks.peers.hosts import Host
from benchmarks.peers.spaces import Params


@dataclass(frozen=True)
class Job:
    """What is to be run.

    Attributes:
        optimizer: Name of the optimizer, as it is given.
        problem: Name of the problem.
        seed: Seed of the initial points, the noise, the instance and the optimizer.
        budget: Evaluations, initial points included.
    """

    optimizer: str
    problem: str
    seed: int
    budget: int


@dataclass(frozen=True)
class Run:
    """What a run gave.

    Attributes:
        points: The points in order, values only.
        measured: What the optimizer was told, n.
        values: Noise-free values, n.
        seconds: CPU seconds of each suggestion, n less the initial points.
        forecasts: Low, high and CRPS of each suggestion's forecast, or ``None``.
    """

    points: list[list[Any]] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    forecasts: list[tuple[float, float, float] | None] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the run as plain values."""
        return asdict(self)


def perform(job: Job, host: Host) -> Run:
    """Run an optimizer on a problem."""
    problem = problems.get(job.problem, job.seed)
    run = Run()

    def evaluate(params: Params) -> float:
        measured, value = problem.evaluate(params, job.seed, len(run.values))
        run.points.append(list(params.values()))
        run.measured.append(measured)
        run.values.append(value)
        return measured

    host.start(problem.space, job.seed, problem.n_initial)
    for params in problem.initial(job.seed)[: job.budget]:
        host.tell(params, evaluate(params))
    while len(run.values) < job.budget:
        asked = host.ask()
        judged = host.tell(asked.params, evaluate(asked.params))
        run.seconds.append(asked.seconds)
        run.forecasts.append((judged.low, judged.high, judged.crps) if judged else None)
    return run
