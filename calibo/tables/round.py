"""One round: a table that was surveyed, and what is remembered of it, -> suggested rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibo.data import Array, Dataset, Forecasts
from calibo.diagnostics import forecast_table
from calibo.errors import DataError, FallbackWarning
from calibo.models.gp_posterior import Features
from calibo.optimize import ModelBased, Plan, generator
from calibo.pareto import pareto_front
from calibo.tables.answer import LITTLE_MEASURED, NOTHING_MEASURED, answer, expectations, reasons
from calibo.tables.columns import Keys, column_keys, row_keys
from calibo.tables.encoding import Encoding
from calibo.tables.reading import Frame, Table
from calibo.tables.recalibration import corrected
from calibo.tables.shortlist import SHORTLIST, Scoring, Shortlist, chosen_batch, is_among, shortlisted, spread
from calibo.tables.study_file import Round, StudyFile, Suggested
from calibo.tables.survey import SAMPLE, Labels, Question, Survey
from calibo.trials import Direction, convert_forecasts

#: With fewer measured rows a model is not trusted with the choice.
_FEWEST_LABELS = 3
#: Rows of a batch that are chosen together; beyond them, those chosen count as measured with what is expected of them.
_TOGETHER = 16
#: Candidates with which suggested ones are compared for their reasons.
_COMPARED = 512


@dataclass(frozen=True, eq=False)
class TableRound:
    """A table that was surveyed, and what is to be done with it.

    Attributes:
        table: The table.
        question: What was asked of it.
        found: What was found.
        encoding: Rows -> points.
        strategy: How to choose.
        directions: Of the targets, m.
        count: How many rows are wanted.
        seed: Of what is random.
        watched: Shows the progress of an iterator.
    """

    table: Table
    question: Question
    found: Survey
    encoding: Encoding
    strategy: ModelBased
    directions: tuple[Direction, ...]
    count: int
    seed: int
    watched: Callable[[Any, str], Any]

    def answered(self, study: StudyFile) -> Frame:
        """The suggested rows with their forecasts, after they have been remembered in the study."""
        question = replace(self.question, key_columns=study.key_columns)
        number = study.number(self.found.fingerprint)
        keys = question.study_keys(self.found.labels.keys).tolist()
        study = study.told(keys, number)
        start = study.start(number, self.encoding.names, question.targets)
        data = self._dataset(self.found.labels, keys, study, start)
        rows, plan, forecasts, why = self._suggested(data, generator(self.seed, number))
        made = Round(
            fingerprint=self.found.fingerprint,
            method=self.strategy.name,
            seed=self.seed,
            features=self.encoding.names,
            targets=question.targets,
            hyperparameters=() if plan is None else plan.hyperparameters,
        )
        suggested = row_keys(column_keys(rows, study.key_columns, question.text)).tolist()
        study.after(number, made, self._remembered(suggested, forecasts, number)).write()
        front = pareto_front(data.Y) if len(data) else data.Y
        frame = answer(rows, forecasts, why, front, targets=question.targets, directions=self.directions)
        frame.attrs["calibo"] = {
            "round": number,
            "measured": self.found.measured,
            "candidates": self.found.candidates,
            "features": list(self.encoding.names),
            "targets": list(question.targets),
            "notes": list(self.encoding.notes),
            "calibration": _calibration(data, question.targets, self.directions),
            "study": None if study.path is None else str(study.path),
        }
        return frame

    def _suggested(
        self, data: Dataset, rng: np.random.Generator
    ) -> tuple[Frame, Plan | None, tuple[Forecasts, ...] | None, list[str]]:
        """The rows, how they were chosen, what is expected of them, and why."""
        if len(data) < _FEWEST_LABELS:
            rows, X, why = self._spread(data)
            plan = self._corrected(self._planned(data, X[:0], rng), data, rng) if len(data) else None
            return rows, plan, None if plan is None else _forecasts(plan, X), why
        rows, X, plan, sample = self._chosen(data, rng)
        forecasts = _forecasts(self._corrected(plan, data, rng), X)
        return rows, plan, forecasts, _why(plan, X, sample)

    def _dataset(
        self, labels: Labels, keys: Sequence[int], study: StudyFile, start: tuple[tuple[float, ...], ...]
    ) -> Dataset:
        """The measured rows in the order of their outcomes: those never suggested, then round by round."""
        d = len(self.encoding.categories)
        first: dict[int, int] = {}
        for i, key in enumerate(keys):
            # Of several measurements of a point the forecast was for the first.
            if key in study.rows:
                first.setdefault(key, i)
        stored = {i: study.rows[key] for key, i in first.items()}

        def moment(i: int) -> tuple[int, int, int]:
            row = stored.get(i)
            return (0, 0, 0) if row is None else (row.measured or 0, row.round, row.place)

        order = np.array(sorted(range(len(keys)), key=moment), dtype=np.intp)
        forecasts = [stored[i].of(self.question.targets) if i in stored else None for i in order.tolist()]
        return Dataset(
            X=self.encoding(labels.frame)[order] if len(order) else np.empty((0, d)),
            Y=labels.Y[order] * np.asarray(self.question.signs),
            forecasts=tuple(convert_forecasts(f, self.directions) for f in forecasts),
            categories=self.encoding.categories,
            hyperparameters=start,
        )

    @property
    def _seen(self) -> Keys:
        """The keys of all measured points, sorted."""
        used = [self.question.columns.index(name) for name in self.encoding.names]
        return np.unique(row_keys(self.found.seen[:, used]))

    def _candidates(self) -> tuple[Frame, Array]:
        """The sample of candidates: different points that were not measured, and the same encoded."""
        frame = self.found.sample.frame
        keys = row_keys(column_keys(frame, self.encoding.names, self.question.text))
        first = np.sort(np.unique(keys, return_index=True)[1])
        first = first[~is_among(keys[first], self._seen)]
        frame = frame.iloc[first]
        return frame, self.encoding(frame) if len(frame) else np.empty((0, len(self.encoding.categories)))

    def _spread(self, data: Dataset) -> tuple[Frame, Array, list[str]]:
        """Rows that are spread over the table, from the sample of candidates."""
        frame, X = self._candidates()
        self._announce(len(frame), again=0, repeats=0)
        seen = Features(self.encoding.categories)
        chosen = spread(seen(X), seen(data.X), self.count)
        return frame.iloc[chosen], X[chosen], [LITTLE_MEASURED if len(data) else NOTHING_MEASURED] * len(chosen)

    def _planned(self, data: Dataset, sample: Array, rng: np.random.Generator) -> Plan:
        """The plan; one whose acquisition depends on where the search goes learns it from the sample (CBO, appendix C.3)."""
        plan = self.strategy.plan(data, rng=rng)
        return plan.learned(sample[:SAMPLE], rng=rng) if len(sample) else plan

    def _corrected(self, plan: Plan, data: Dataset, rng: np.random.Generator) -> Plan:
        """The plan with forecasts that learn from those of earlier rounds."""
        return corrected(plan, self.strategy.surrogate, data, rng)

    def _chosen(self, data: Dataset, rng: np.random.Generator) -> tuple[Frame, Array, Plan, Array]:
        """The batch by the plan, from the best of all candidates."""
        sample = self._candidates()[1]
        plan = self._planned(data, sample, rng)
        size = max(SHORTLIST, 4 * self.count)
        scoring = Scoring(self.encoding, plan.acquisition, self.question.targets, self.question.text, self._seen, size)
        best = shortlisted(self.table, scoring, self.watched)
        self._announce(len(best.keys), again=best.again, repeats=best.repeats)
        chosen = self._batch(plan, data, best, sample, rng)
        return best.frame.iloc[chosen], best.X[chosen], plan, sample if len(sample) else best.X

    def _batch(self, plan: Plan, data: Dataset, best: Shortlist, sample: Array, rng: np.random.Generator) -> list[int]:
        """Which rows of the shortlist are suggested: some at a time, for which earlier ones count as measured."""
        left, chosen, models = np.arange(len(best.X)), list[int](), plan.models
        while len(chosen) < min(self.count, len(best.X)):
            if chosen:
                taken = best.X[chosen]
                expected = np.column_stack([model.predict(taken, latent=True).mean for model in models])
                believed = replace(
                    data,
                    X=np.vstack([data.X, taken]),
                    Y=np.vstack([data.Y, expected]),
                    forecasts=(*data.forecasts, *(None for _ in chosen)),
                    hyperparameters=plan.hyperparameters,
                )
                acquisition = self._planned(believed, sample, rng).acquisition
            else:
                acquisition = plan.acquisition
            picked = chosen_batch(acquisition, best.X[left], min(_TOGETHER, self.count - len(chosen)))
            chosen += left[picked].tolist()
            left = np.delete(left, picked)
        return chosen

    def _announce(self, points: int, *, again: int, repeats: int) -> None:
        """Says what the number of suggestions, and their being different points, depend on."""
        if not points:
            raise DataError(
                "every row that is not measured has the features of a measured one; nothing is left to suggest"
            )
        if points < self.count:
            warnings.warn(
                f"{self.count} rows were asked for, but there are only {points} different candidates: all are given",
                FallbackWarning,
                stacklevel=6,
            )
        if again + repeats:
            warnings.warn(
                f"{again + repeats} candidates have the same features as another row (measured: {again}, not measured: "
                f"{repeats}); each point is suggested once, and a measured one not at all",
                FallbackWarning,
                stacklevel=6,
            )

    def _remembered(
        self, keys: Sequence[int], forecasts: Sequence[Forecasts] | None, number: int
    ) -> dict[int, Suggested]:
        stored: dict[int, Suggested] = {}
        for place, key in enumerate(keys):
            mine = None if forecasts is None else convert_forecasts(forecasts[place], self.directions)
            named = dict(zip(self.question.targets, mine or (), strict=False))
            stored.setdefault(key, Suggested(number, place, named))
        return stored


def _why(plan: Plan, X: Array, sample: Array) -> list[str]:
    """The reasons of points, n x d, beside a sample of candidates, s x d, by the method's own distributions."""
    with warnings.catch_warnings():
        # What the forecasts of the suggestions fall back to has been announced; of the sample nobody asked.
        warnings.simplefilter("ignore", FallbackWarning)
        return reasons(expectations(plan.models, X), expectations(plan.models, sample[:_COMPARED]))


def _forecasts(plan: Plan, X: Array) -> tuple[Forecasts, ...]:
    assert plan.forecaster is not None, "a strategy with a model has forecasts"
    return plan.forecaster(X)


def _calibration(data: Dataset, targets: Sequence[str], directions: Sequence[Direction]) -> dict[str, dict[str, Any]]:
    """How the forecasts came out, in the user's sign, for each target of which one has met its result."""
    told: dict[str, dict[str, Any]] = {}
    for j, (name, way) in enumerate(zip(targets, directions, strict=True)):
        pairs = [(f[j], y) for f, y in zip(data.forecasts, data.Y[:, j], strict=True) if f is not None]
        known = [(f.negated() if way is Direction.MINIMIZE else f, y * way.value) for f, y in pairs if f is not None]
        if known:
            table = forecast_table([f for f, _ in known], [float(y) for _, y in known])
            counts = {f"{row.nominal:g}": row.contained for row in table.rows}
            told[name] = {
                "of": len(known),
                "contained": counts,
                "headline": table.headline(),
                "sentences": table.sentences(),
            }
    return told
