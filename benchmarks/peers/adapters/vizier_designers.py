"""Vizier: its Gaussian process bandit, called directly."""

from __future__ import annotations

import tempfile
from pathlib import Path

import jax
from vizier import algorithms
from vizier import pyvizier as vz
from vizier._src.algorithms.designers.gp_bandit import VizierGPBandit
from vizier.pyvizier.converters import padding

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Params, PeerSpace, from_indices, to_indices

_CACHE = Path(tempfile.gettempdir()) / "vizier-compiled"


class VizierBandit(Adapter):
    """``VizierGPBandit`` (UCB, eagle strategy). Ordinals are whole numbers.

    Trials are padded to multiples of 10 and what was compiled is kept on disk: otherwise every suggestion compiles anew,
    which takes ten times as long.
    """

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        jax.config.update("jax_compilation_cache_dir", str(_CACHE))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        schedule = padding.PaddingSchedule(
            num_trials=padding.PaddingType.MULTIPLES_OF_10,
            num_features=padding.PaddingType.NONE,
            num_metrics=padding.PaddingType.NONE,
        )
        self.designer = VizierGPBandit(_problem(space), rng=jax.random.PRNGKey(seed), padding_schedule=schedule)
        self.told = 0
        self.suggestion: vz.TrialSuggestion | None = None

    def ask(self) -> Params:
        self.suggestion = self.designer.suggest(1)[0]
        return from_indices(self.space, {name: self.suggestion.parameters.get_value(name) for name in self.space})

    def tell(self, params: Params, value: float) -> None:
        suggestion, self.suggestion = self.suggestion, None
        if suggestion is None:
            given = to_indices(self.space, params)
            suggestion = vz.TrialSuggestion(
                {name: str(given[name]) if p.kind == "categorical" else given[name] for name, p in self.space.items()}
            )
        self.told += 1
        trial = suggestion.to_trial(self.told)
        trial.complete(vz.Measurement(metrics={"value": value}))
        self.designer.update(algorithms.CompletedTrials([trial]), algorithms.ActiveTrials([]))


def _problem(space: PeerSpace) -> vz.ProblemStatement:
    statement = vz.ProblemStatement()
    root = statement.search_space.root
    for name, p in space.items():
        scale = vz.ScaleType.LOG if p.log else vz.ScaleType.LINEAR
        if p.kind == "float":
            root.add_float_param(name, p.low, p.high, scale_type=scale)
        elif p.kind == "int":
            root.add_int_param(name, int(p.low), int(p.high), scale_type=scale)
        elif p.kind == "ordinal":
            root.add_int_param(name, 0, len(p.choices) - 1)
        else:
            root.add_categorical_param(name, [str(choice) for choice in p.choices])
    statement.metric_information.append(vz.MetricInformation("value", goal=vz.ObjectiveMetricGoal.MINIMIZE))
    return statement
