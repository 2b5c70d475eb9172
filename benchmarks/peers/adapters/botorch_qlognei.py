"""BoTorch: a Gaussian process with its defaults, and log noisy expected improvement."""

from __future__ import annotations

import warnings

import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf, optimize_acqf_mixed_alternating
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.peers.adapters.base import Adapter, Judged, gaussian_judged
from benchmarks.peers.spaces import Parameter, Params, PeerSpace

#: Of the search for the best point: between BoTorch's getting-started page (5 and 20) and its tutorials (10 and 512), which
#: take 1.7 times as long.
RESTARTS, RAW_SAMPLES = 4, 128
#: Most iterations of the fit with categories; without a limit it takes about 500, which are 4 s.
MIXED_ITERATIONS = 100


class BoTorchQLogNEI(Adapter):
    """SingleTaskGP (MixedSingleTaskGP with categories) on the unit cube, qLogNoisyExpectedImprovement.

    Floats are searched by ``optimize_acqf``; with whole numbers, ordinals or categories ``optimize_acqf_mixed_alternating``
    searches. Categories are numbered, ordinals and whole numbers lie on their scale.
    """

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        warnings.filterwarnings("ignore", module=r"botorch|gpytorch|linear_operator")
        self.X: list[list[float]] = []
        self.y: list[float] = []
        parameters = list(enumerate(space.values()))
        self.choices = {j: _grid(p) for j, p in parameters if p.kind in ("int", "ordinal")}
        self.categories = {
            j: [float(i) for i in range(len(p.choices))] for j, p in parameters if p.kind == "categorical"
        }
        listed = self.choices | self.categories
        ends = [(listed[j][0], listed[j][-1]) if j in listed else (0.0, 1.0) for j, _ in parameters]
        self.bounds = torch.tensor(ends, dtype=torch.float64).T
        self.forecast: tuple[float, float] | None = None

    def ask(self) -> Params:
        X = torch.tensor(self.X, dtype=torch.float64)
        Y = -torch.tensor(self.y, dtype=torch.float64)[:, None]
        model = MixedSingleTaskGP(X, Y, cat_dims=list(self.categories)) if self.categories else SingleTaskGP(X, Y)
        limit = {"options": {"maxiter": MIXED_ITERATIONS}} if self.categories else {}
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=limit)
        acquisition = qLogNoisyExpectedImprovement(model, X, prune_baseline=True)
        size = {"q": 1, "num_restarts": RESTARTS, "raw_samples": RAW_SAMPLES}
        if self.categories or self.choices:
            x, _ = optimize_acqf_mixed_alternating(
                acquisition, self.bounds, discrete_dims=self.choices, cat_dims=self.categories, **size
            )
        else:
            x, _ = optimize_acqf(acquisition, self.bounds, **size)
        with torch.no_grad():
            posterior = model.posterior(x, observation_noise=True)
            self.forecast = -float(posterior.mean), float(posterior.variance.sqrt())
        return self._params(x[0].tolist())

    def tell(self, params: Params, value: float) -> None:
        self.X.append(self._point(params))
        self.y.append(value)

    def judged(self, value: float) -> Judged | None:
        return None if self.forecast is None else gaussian_judged(*self.forecast, value)

    def _point(self, params: Params) -> list[float]:
        return [
            float(p.choices.index(params[name])) if j in self.categories else p.to_unit(params[name])
            for j, (name, p) in enumerate(self.space.items())
        ]

    def _params(self, x: list[float]) -> Params:
        return {
            name: p.choices[round(x[j])] if j in self.categories else p.from_unit(x[j])
            for j, (name, p) in enumerate(self.space.items())
        }


def _grid(parameter: Parameter) -> list[float]:
    """Return the places of all values of a whole number or an ordinal on the unit interval."""
    values = parameter.choices or range(int(parameter.low), int(parameter.high) + 1)
    return [parameter.to_unit(value) for value in values]
