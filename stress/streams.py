"""Adversarial outcome streams through real storages with restarts: the calibration bound holds in every group, always.

A study has several objectives, each of which is a stream by itself. Before every trial the recalibrator is fitted to what the
storage gives back; an adversary sees what it will play and chooses the outcome (and how far the next forecast reaches) that
hurts most, or one at random. Forecast and outcome are stored by calibo, and at random moments the storage is closed and
opened again. What the adversary itself has noted must obey the theorem: of T outcomes in a group,
|share at or below the level played - level| <= (1 + eta) / (eta T).

The same is repeated with 8 planted bugs in reading, ordering, signs, grouping and updating: each must be noticed.

Usage: ``python -m stress.streams [--streams 10000] [--seed 0] [--no-store] [--resume]``
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import functools
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from scipy.special import ndtr, ndtri

from calibo import Float
from calibo.calibration import (
    GroupedQuantile,
    OnlineQuantile,
    Prequential,
    grouped_quantile,
    online_quantile,
    resampling,
)
from calibo.data import Array, Dataset, Forecast, Marginal, Suggestion
from calibo.distributions import Distribution, Gaussian, relative_spread
from calibo.models import Model, Surrogate
from calibo.spaces import as_space
from calibo.study import attributes, open_storage
from calibo.study import trials as study_trials
from calibo.study.attributes import write_suggestion
from calibo.study.distributions import optuna_space
from calibo.trials import Direction
from calibo.trials import trial as trial_module
from stress.results import printed, read_stored, store

SPACE = optuna_space(as_space({"x": Float(0, 1)}))
KINDS = ("memory", "journal", "sqlite")
LEVELS = ((0.1, 0.5, 0.9), (0.98, 0.99), (0.05, 0.25, 0.5, 0.75, 0.95))
ETAS = (0.2, 1.0, 5.0, 10.0)
SPREADS = (0.01, 0.3, 1.0, 30.0)
#: Streams of one study.
OBJECTIVES = 10


class _Nothing(Model):
    """A model that is never asked: streams have their forecasts in the storage."""

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return Gaussian(np.zeros(len(X)), np.ones(len(X)))


@dataclass(frozen=True)
class Stored(Surrogate):
    """Stands for whatever made the stored forecasts."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return _Nothing()


@dataclass
class Stream:
    """What the adversary of one objective knows: its own record, not that of the storage.

    Attributes:
        recipe: The recalibrator.
        outcomes: Outcomes so far, in the internal sign.
        hits: For each group, the sums over its outcomes of "at or below the level played" minus the level.
        counts: Number of outcomes of each group.
        worst: Largest error in units of the bound.
    """

    recipe: GroupedQuantile
    outcomes: list[float] = field(default_factory=list)
    hits: dict[int, Array] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    worst: float = 0.0

    def group(self, std: float) -> int:
        """Return the group of the next forecast by its spread relative to the outcomes before it."""
        scale = float(np.std(self.outcomes)) if self.outcomes else 0.0
        return len(self.recipe.edges) if scale == 0.0 else int(np.searchsorted(self.recipe.edges, std / scale))

    def choose(self, played: Array, group: int, rng: np.random.Generator) -> float:
        """Return the PIT of the next outcome: the one that makes the largest error largest, or one at random."""
        ends = np.concatenate([[0.0], np.unique(np.clip(played, 0.0, 1.0)), [1.0]])
        gaps = np.diff(ends) > 1e-6
        options = (0.5 * (ends[1:] + ends[:-1]))[gaps]
        if rng.random() < 0.2:
            return float(rng.choice(options))
        before = self.hits.get(group, np.zeros(len(played)))
        levels = np.asarray(self.recipe.levels)
        return float(max(options, key=lambda u: float(np.abs(before + (u <= played) - levels).max())))

    def note(self, pit: float, played: Array, group: int, y: float) -> None:
        """Record an outcome, and compare the errors of its group with the bound."""
        levels = np.asarray(self.recipe.levels)
        self.hits[group] = self.hits.get(group, np.zeros(len(levels))) + (pit <= played) - levels
        self.counts[group] = self.counts.get(group, 0) + 1
        self.outcomes.append(y)
        eta = self.recipe.eta
        bound = (1.0 + eta) / (eta * self.counts[group])
        self.worst = max(self.worst, float(np.abs(self.hits[group]).max() / self.counts[group] / bound))


class Store:
    """A storage that can be closed and opened again."""

    def __init__(self, kind: str, folder: Path, name: str) -> None:
        self.kind: str = kind
        self.place: Path = folder / f"{name}.{'db' if kind == 'sqlite' else 'log'}"
        self.name: str = name
        self._memory: InMemoryStorage = InMemoryStorage()

    def open(self) -> BaseStorage:
        """Open the storage anew; one in memory stays, but nothing that was read from it is remembered."""
        attributes._suggestion.cache_clear()
        if self.kind == "memory":
            return self._memory
        if self.kind == "sqlite":
            return open_storage(self.place)
        return JournalStorage(JournalFileBackend(str(self.place)))


def run_study(seed: int, kind: str, folder: Path, steps: int) -> list[Stream]:
    """Run a study of several streams against their adversaries and return their records."""
    rng = np.random.default_rng(seed)
    streams = [
        Stream(GroupedQuantile(float(rng.choice(ETAS)), LEVELS[int(rng.integers(len(LEVELS)))]))
        for _ in range(OBJECTIVES)
    ]
    ways = tuple(Direction.MINIMIZE if rng.random() < 0.5 else Direction.MAXIMIZE for _ in streams)
    place = Store(kind, folder, f"s{seed}")
    study = optuna.create_study(
        storage=place.open(), study_name=place.name, directions=[way.name.lower() for way in ways]
    )
    for _ in range(steps):
        if rng.random() < 0.2:
            study = optuna.load_study(storage=place.open(), study_name=place.name)
        _step(study, streams, ways, rng)
    return streams


def _step(study: optuna.Study, streams: list[Stream], ways: tuple[Direction, ...], rng: np.random.Generator) -> None:
    """Let calibo read, the adversary choose, and calibo store."""
    data, _ = study_trials.study_data(study.get_trials(deepcopy=False), SPACE, ways)
    forecasts: list[Forecast] = []
    values: list[float] = []
    for place, (stream, way) in enumerate(zip(streams, ways, strict=True)):
        std, mean = float(rng.choice(SPREADS)), float(rng.normal())
        group = stream.group(std)
        played = _played(stream.recipe, data, place, group, rng)
        pit = stream.choose(played, group, rng)
        y = mean + std * float(ndtri(pit))
        stream.note(float(ndtr((y - mean) / std)), played, group, y)
        # Two stages: what the evidence is about, and a shifted one that must not be taken for it.
        stages = (Marginal(way.value * mean, std), Marginal(way.value * mean + std, 2.0 * std))
        forecasts.append(Forecast(stages, ("Stored", "GroupedQuantile")))
        values.append(way.value * y)
    trial = study.ask()
    x = trial.suggest_float("x", 0, 1)
    frozen = study.get_trials(deepcopy=False)[trial.number]
    write_suggestion(study, frozen, Suggestion({"x": x}, forecasts=tuple(forecasts), number=trial.number))
    study.tell(trial, values)


def _played(recipe: GroupedQuantile, data: Dataset, place: int, group: int, rng: np.random.Generator) -> Array:
    """Return the levels that the recalibrator plays next in a group, from the data of a storage."""
    if not len(data):
        return np.asarray(recipe.levels)
    _, evidence = Prequential().fit(Stored(), data.outcome(place), rng=rng)
    return recipe.played(evidence)[group] if len(evidence) else np.asarray(recipe.levels)


def _lost(original: Callable[..., Any]) -> Callable[..., Any]:
    def read(trial: Any) -> Any:
        return None if trial.number % 3 == 2 else original(trial)

    return read


def _updates_on_misses_only(
    self: OnlineQuantile, pit: Array, state: list[float]
) -> Iterator[tuple[list[float], list[float]]]:
    yield state, self._play(state)
    for u in pit.tolist():
        played = self._play(state)
        state = [h + self.eta * p if u > r else h for h, r, p in zip(state, played, self.levels, strict=True)]
        yield state, self._play(state)


@contextlib.contextmanager
def _online(name: str, method: Callable[..., Any]) -> Iterator[None]:
    """Replace a method of online recalibrators for a while; the states that they remember are those of one method."""
    with (
        mock.patch.object(online_quantile.OnlineQuantile, name, method),
        mock.patch.object(online_quantile, "_STATES", deque(maxlen=1)),
    ):
        yield


def _last_counted_twice(original: Callable[..., Any]) -> Callable[..., Any]:
    def inside(*args: Any) -> Any:
        found = original(*args)
        return [*found, *found[-1:]] if len(found) % 2 else found

    return inside


def _after_the_outcome(distribution: Any, y: Array) -> Array:
    return relative_spread.log_spread(distribution, relative_spread.running_std(y)[1:])


def planted() -> dict[str, Callable[[], Any]]:
    """Return the planted bugs by what they do, each as a context in which it is there."""
    patch = mock.patch.object
    read = study_trials.read_suggestion
    ordered = study_trials.in_order_of_completion
    inside = study_trials.trials_inside
    return {
        "every third stored forecast is lost": lambda: patch(study_trials, "read_suggestion", _lost(read)),
        "outcomes are read in the reverse order": lambda: patch(
            study_trials, "in_order_of_completion", lambda trials: ordered(trials)[::-1]
        ),
        "forecasts of minimized objectives keep their sign": lambda: patch(
            trial_module, "signed_forecasts", lambda forecasts, directions: forecasts
        ),
        "the group of a forecast depends on its own outcome": lambda: patch(
            grouped_quantile, "log_spread_before", _after_the_outcome
        ),
        "levels move after misses only": lambda: _online("_steps", _updates_on_misses_only),
        "what is played is cut off at 0 and 1": lambda: _online(
            "_play", lambda self, h: sorted(min(max(v, 0.05), 0.95) for v in h)
        ),
        "evidence is that of the calibrated stage": lambda: patch(
            resampling, "_stage", lambda forecast, names: forecast.stages[-1]
        ),
        "the last outcome is counted twice": lambda: patch(study_trials, "trials_inside", _last_counted_twice(inside)),
    }


def torment(studies: int, seed: int, steps: int, kinds: tuple[str, ...] = KINDS) -> dict[str, list[Stream]]:
    """Run studies on storages of these kinds in turn; return the streams by kind."""
    found: dict[str, list[Stream]] = {kind: [] for kind in kinds}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    fast = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    try:
        with tempfile.TemporaryDirectory(dir=fast) as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(studies):
                kind = kinds[i % len(kinds)]
                found[kind] += run_study(seed + i, kind, Path(name), steps)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return found


def violations(streams: list[Stream]) -> int:
    """Return how many streams have left the bound, but for rounding."""
    return sum(stream.worst > 1.0 + 1e-9 for stream in streams)


def noticed(studies: int, seed: int, steps: int) -> dict[str, int]:
    """Return for each planted bug how many streams notice it."""
    found: dict[str, int] = {}
    for name, bug in planted().items():
        with bug():
            found[name] = violations(torment(studies, seed, steps, ("memory",))["memory"])
    return found


def added(before: list[list[Any]], now: list[list[Any]]) -> list[list[Any]]:
    """Return rows of two runs together: numbers of streams, outcomes and violations add up."""
    known = {row[0]: row for row in before}
    return [
        row
        if row[0] not in KINDS
        # The largest error is text, of as many digits in both.
        else [
            row[0],
            *(a + b for a, b in zip(known[row[0]][1:3], row[1:3], strict=True)),
            max(known[row[0]][3], row[3]),
            known[row[0]][4] + row[4],
        ]
        for row in now
    ]


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no further study is begun")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-store", action="store_true")
    parser.add_argument("--resume", action="store_true", help="add to the stored result, up to the number of streams")
    asked = parser.parse_args()
    began, end = time.process_time(), time.monotonic() + asked.limit
    before = read_stored("streams") if asked.resume else None
    done = 0 if before is None else sum(row[1] for row in before["rows"] if row[0] in KINDS)
    # Databases are slow to write: one study in ten is in SQLite, four in a journal.
    mix = functools.reduce(lambda a, b: a + b, [("memory", "journal")] * 4 + [("sqlite", "memory")])
    found: dict[str, list[Stream]] = {kind: [] for kind in KINDS}
    studies = -(-asked.streams // OBJECTIVES)
    bugs = noticed(4, asked.seed + 10**6, asked.steps)
    print(bugs, flush=True)
    for first in range(done // OBJECTIVES, studies, len(mix)):
        if time.monotonic() > end:
            break
        for i, kind in enumerate(mix[: studies - first]):
            for name, streams in torment(1, asked.seed + first + i, asked.steps, (kind,)).items():
                found[name] += streams
    rows: list[list[Any]] = [
        [
            kind,
            len(streams),
            sum(len(one.outcomes) for one in streams),
            f"{max((one.worst for one in streams), default=0.0):.4f}",
            violations(streams),
        ]
        for kind, streams in found.items()
    ]
    columns = ("storage", "streams", "outcomes", "largest error / bound", "violations")
    print(printed(columns, rows))
    rows += [[f"planted bug: {name}", 4 * OBJECTIVES, "", "", count] for name, count in bugs.items()]
    print(printed(columns, rows))
    rows = rows if before is None else added(before["rows"], rows)
    wrong = sum(row[4] for row in rows if row[0] in KINDS)
    caught = sum(count > 0 for count in bugs.values())
    print(f"{wrong} violations, {caught} of {len(bugs)} planted bugs noticed, {time.process_time() - began:.0f} CPU s")
    if not asked.no_store:
        total = done + sum(map(len, found.values()))
        store(
            "streams",
            f"{total} adversarial outcome streams through storages with restarts: {wrong} violations of the calibration "
            f"bound; {caught} of {len(bugs)} planted bugs noticed.",
            columns,
            rows,
            seed=asked.seed,
            steps=asked.steps,
            cpu_seconds=round(time.process_time() - began) + (0 if before is None else before["facts"]["cpu_seconds"]),
        )
    raise SystemExit(bool(wrong or caught < len(bugs)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
