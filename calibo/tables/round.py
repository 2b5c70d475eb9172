"""One round of ranking: from a surveyed table and its study file to suggested rows, stored with their forecasts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from calibo.calibration import Calibrated, Temperature
from calibo.data import Array, Dataset, Forecasts, Suggestion
from calibo.errors import FallbackWarning
from calibo.models.base import Model, Surrogate
from calibo.models.gp_posterior import Features
from calibo.optimize import Plan, Strategy, choose, generator
from calibo.optimize.reasons import COVERAGE, expectations, reasons
from calibo.optimize.strategy import ModelForecaster
from calibo.pareto import pareto_front
from calibo.tables.answer import DRAWN, LITTLE_MEASURED, NOTHING_MEASURED, answer, chances, outlook, own_columns
from calibo.tables.columns import column_keys, row_keys
from calibo.tables.encoding import Encoding
from calibo.tables.preparing import Prepared
from calibo.tables.reading import Frame, joined
from calibo.tables.source import SHORTLIST, CandidateSource, Scoring, TableSource, check_enough, is_among, spread
from calibo.tables.study_file import Round, StudyFile, SuggestedRow
from calibo.tables.survey import SAMPLE, Question, Survey
from calibo.trials import Direction, State, Trial, calibration_of, convert_forecasts, dataset

#: With fewer measured rows no model is used to choose.
_FEWEST_LABELS = 3
#: Rows of a batch that are chosen jointly; beyond them, chosen rows count as measured at their predicted means.
_TOGETHER = 16
#: Candidates with which suggested rows are compared for their reasons.
_COMPARED = 512


@dataclass(frozen=True, eq=False)
class TableRound:
    """A surveyed table, and what to do with it.

    Attributes:
        prepared: The table, its survey and its encoding.
        strategy: The method.
        count: Number of rows to suggest.
        seed: Seed of all random choices.
        at_random: Whether the rows are drawn at random instead of by the method.
    """

    prepared: Prepared
    strategy: Strategy
    count: int
    seed: int
    at_random: bool = False

    @property
    def question(self) -> Question:
        """What was collected from the table."""
        return self.prepared.question

    @property
    def found(self) -> Survey:
        """The survey."""
        return self.prepared.found

    @property
    def encoding(self) -> Encoding:
        """Encoder of rows as points."""
        return self.prepared.encoding

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Directions of the targets, `m`."""
        return self.prepared.directions

    def run(self) -> Frame:
        """Suggest rows, store them in the study, and return them with their forecasts."""
        question, study = self.question, self.prepared.study
        number = study.number(self.found.fingerprint)
        keys = question.study_keys(self.found.labels.keys).tolist()
        study = study.measured(keys, number)
        trials = self._trials(keys, study)
        data = dataset(
            trials,
            directions=self.directions,
            categories=self.encoding.categories,
            hyperparameters=study.start(number, self.encoding.names, question.targets),
            from_pool=True,
        )
        chosen = self._suggest(data, generator(self.seed, number))
        made = Round(
            fingerprint=self.found.fingerprint,
            method=self.strategy.name,
            seed=self.seed,
            features=self.encoding.names,
            targets=question.targets,
            hyperparameters=chosen.hyperparameters,
        )
        suggested = row_keys(column_keys(chosen.rows, study.key_columns, question.text)).tolist()
        study.after(number, made, self._stored(suggested, chosen.forecasts, number)).write()
        front = pareto_front(data.Y) if len(data) else data.Y
        frame = answer(
            chosen.rows, chosen.forecasts, chosen.reasons, front, targets=question.targets, directions=self.directions
        )
        frame.attrs["calibo"] = {
            "round": number,
            "measured": self.found.measured,
            "candidates": self.found.candidates,
            "features": list(self.encoding.names),
            "targets": list(question.targets),
            "identifiers": list(self.encoding.identifiers),
            "added": len(own_columns(question.targets)),
            "notes": list(self.encoding.notes),
            "calibration": _calibration(trials, question.targets, self.directions),
            "best": _best(data, self.directions),
            "promised": self._promised(study),
            "outlook": None if self.at_random or chosen.forecasts is None else outlook(chances(frame), len(data)),
            "study": None if study.path is None else str(study.path),
        }
        return frame

    def _trials(self, keys: Sequence[int], study: StudyFile) -> list[Trial]:
        """Return the measured rows in the order of their outcomes: those never suggested first, then round by round."""
        labels = self.found.labels
        first: dict[int, int] = {}
        for i, key in enumerate(keys):
            # Of several measurements of a point the forecast was for the first.
            if key in study.rows:
                first.setdefault(key, i)
        stored = {i: study.rows[key] for key, i in first.items()}

        def moment(i: int) -> tuple[int, int, int]:
            row = stored.get(i)
            return (0, 0, 0) if row is None else (row.measured or 0, row.round, row.place)

        X = self.encoding(labels.frame)
        return [
            Trial(
                # A target that was not forecast in that round has None, as in a dataset.
                Suggestion(
                    {}, X[i], cast("Forecasts | None", stored[i].of(self.question.targets)) if i in stored else None
                ),
                State.COMPLETE,
                tuple(labels.Y[i].tolist()),
            )
            for i in sorted(range(len(keys)), key=moment)
        ]

    def _sample(self) -> tuple[Frame, Array]:
        """Return the sampled candidates that are distinct, unmeasured points, and their encoding."""
        frame = self.found.sample.frame
        keys = row_keys(column_keys(frame, self.encoding.names, self.question.text))
        first = np.sort(np.unique(keys, return_index=True)[1])
        frame = frame.iloc[first[~is_among(keys[first], self.prepared.seen)]]
        return frame, self.encoding(frame)

    def _suggest(self, data: Dataset, rng: np.random.Generator) -> _Suggested:
        """Suggest rows at random if that is asked for, by the strategy if enough is measured, else spread over the table."""
        if self.at_random:
            return self._drawn(data, rng)
        return self._chosen(data, rng) if len(data) >= _FEWEST_LABELS else self._spread(data, rng)

    def _drawn(self, data: Dataset, rng: np.random.Generator) -> _Suggested:
        """Draw rows from the sample of candidates, itself drawn at random, each with the same probability."""
        frame, X = self._sample()
        check_enough(len(frame), self.count)
        index = rng.permutation(len(frame))[: self.count]
        return self._without_choice(frame.iloc[index], X[index], DRAWN, data, rng)

    def _spread(self, data: Dataset, rng: np.random.Generator) -> _Suggested:
        """Suggest rows spread over the table, from the sample of candidates."""
        frame, X = self._sample()
        check_enough(len(frame), self.count)
        features = Features(self.encoding.categories)
        index = spread(features(X), features(data.X), self.count)
        why = LITTLE_MEASURED if len(data) else NOTHING_MEASURED
        return self._without_choice(frame.iloc[index], X[index], why, data, rng)

    def _without_choice(self, rows: Frame, X: Array, why: str, data: Dataset, rng: np.random.Generator) -> _Suggested:
        """Return rows that no model chose, for one reason, with forecasts if anything is measured."""
        if not len(data):
            return _Suggested(rows, [why] * len(rows))
        plan = self.strategy.plan(data, rng=rng)
        return _Suggested(rows, [why] * len(rows), self._forecasts(plan, X, data, rng), plan.hyperparameters)

    def _chosen(self, data: Dataset, rng: np.random.Generator) -> _Suggested:
        """Suggest rows by the strategy: jointly up to 16, then given the predicted means of those chosen before."""
        sample = self._sample()[1]
        size = max(SHORTLIST, 4 * self.count)
        scoring = Scoring(self.encoding, self.question.targets, self.question.text, self.prepared.seen, size)
        source: CandidateSource | None = TableSource(
            self.prepared.table, scoring, sample[:SAMPLE], self.count, self.prepared.watched
        )
        first = None
        frames, X, known = list[Frame](), np.empty((0, data.X.shape[1])), data
        while source is not None and len(X) < self.count:
            q = min(_TOGETHER, self.count - len(X))
            chosen = choose(known, source=source, strategy=self.strategy, q=q, rng=rng)
            first = first or chosen
            frames.append(chosen.rows)
            X, source = np.vstack([X, chosen.X]), chosen.rest
            if source is not None and len(X) < self.count:
                means = np.column_stack([model.predict(X, latent=True).mean for model in first.plan.models])
                known = replace(data.with_observations(X, means), hyperparameters=first.plan.hyperparameters)
        assert first is not None, "at least one row is asked for"
        why = _reasons(first.plan, X, sample if len(sample) else X)
        return _Suggested(joined(frames), why, self._forecasts(first.plan, X, data, rng), first.plan.hyperparameters)

    def _forecasts(self, plan: Plan, X: Array, data: Dataset, rng: np.random.Generator) -> tuple[Forecasts, ...]:
        """Forecast measurements at `q x d` points, corrected by the forecasts of earlier rounds.

        CBO's conformal sets follow from the data alone, so how its forecasts came out is not used. The rounds of a table
        are stored, so one temperature corrects the intervals that are shown; what is suggested follows CBO itself.
        """
        surrogate = self.strategy.forecasting
        if surrogate is None or not surrogate.calibrated_without_forecasts:
            assert plan.forecaster is not None, "a strategy with models makes forecasts"
            return plan.forecaster(X)
        models = tuple(
            Calibrated(_Fitted(surrogate, model), by=Temperature()).fit(data.outcome(i), rng=rng)
            for i, model in enumerate(plan.models)
        )
        return ModelForecaster(models, (*surrogate.stage_names, Temperature.__name__))(X)

    def _promised(self, study: StudyFile) -> list[dict[str, Any]]:
        """Return the forecasts of measured rows beside their first results, in the order of the rounds."""
        labels, found = self.found.labels, list[dict[str, Any]]()
        keys = self.question.study_keys(labels.keys).tolist()
        first = {key: i for i, key in reversed(list(enumerate(keys))) if key in study.rows}
        for key, i in sorted(first.items(), key=lambda one: (study.rows[one[0]].round, study.rows[one[0]].place)):
            row = study.rows[key]
            for j, target in enumerate(self.question.targets):
                if (forecast := row.forecasts.get(target)) is not None:
                    low, high = forecast.calibrated.interval(COVERAGE)
                    found.append(
                        {
                            "round": row.round,
                            "row": labels.frame.index[i],
                            "target": target,
                            "mean": forecast.calibrated.mean,
                            "low_80": low,
                            "high_80": high,
                            "value": float(labels.Y[i, j]),
                        }
                    )
        return found

    def _stored(
        self, keys: Sequence[int], forecasts: Sequence[Forecasts] | None, number: int
    ) -> dict[int, SuggestedRow]:
        stored: dict[int, SuggestedRow] = {}
        for place, key in enumerate(keys):
            mine = None if forecasts is None else convert_forecasts(forecasts[place], self.directions)
            named = dict(zip(self.question.targets, mine or (), strict=False))
            stored.setdefault(key, SuggestedRow(number, place, named, drawn=number if self.at_random else None))
        return stored


@dataclass(frozen=True, eq=False)
class _Suggested:
    """Suggested rows.

    Attributes:
        rows: `n` rows.
        reasons: `n` reasons.
        forecasts: `n` forecasts in the internal sign; ``None`` without a model.
        hyperparameters: Those of each target's model.
    """

    rows: Frame
    reasons: list[str]
    forecasts: tuple[Forecasts, ...] | None = None
    hyperparameters: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class _Fitted(Surrogate):
    """A surrogate whose model is already fitted."""

    surrogate: Surrogate
    model: Model

    @property
    def stage_names(self) -> tuple[str, ...]:
        return self.surrogate.stage_names

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return self.model


def _reasons(plan: Plan, X: Array, sample: Array) -> list[str]:
    """Explain why `n x d` points were suggested, compared with a sample of candidates, `s x d`."""
    with warnings.catch_warnings():
        # Fallbacks in forecasts of the suggested rows are announced; those for the sample concern nobody.
        warnings.simplefilter("ignore", FallbackWarning)
        return reasons(expectations(plan.models, X), expectations(plan.models, sample[:_COMPARED]))


def _best(data: Dataset, directions: Sequence[Direction]) -> list[float]:
    """Return the best measured value of each target in the user's sign; none if nothing is measured."""
    best = data.Y.max(axis=0).tolist() if len(data) else []
    return [direction.value * value for direction, value in zip(directions, best, strict=False)]


def _calibration(
    trials: Sequence[Trial], targets: Sequence[str], directions: Sequence[Direction]
) -> dict[str, dict[str, Any]]:
    """Summarize how forecasts came out, for each target with at least one forecast that was measured."""
    found: dict[str, dict[str, Any]] = {}
    for j, name in enumerate(targets):
        table = calibration_of(trials, directions, j)
        if count := max((row.of + row.unbounded for row in table.rows), default=0):
            found[name] = {
                "of": count,
                "contained": {f"{row.nominal:g}": row.contained for row in table.rows},
                "headline": table.headline(),
                "sentences": table.sentences(),
            }
    return found
