"""Methods of others that are compared with: TPE from Optuna, and expected improvement from BoTorch, plain and composite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from calibo.data import Array
from calibo.problems import CompositeProblem
from calibo.spaces import Categorical, Parameter

#: Of BoTorch's search for the largest acquisition, and of the Monte Carlo average of composite EI.
RESTARTS, RAW, DRAWS = 4, 64, 64
#: Candidates predicted in one call.
TOGETHER = 500


#: Of an objective, as Optuna names it.
Direction = Literal["minimize", "maximize"]


class OptunaTPE:
    """Optuna's sampler on a grid of choices, by ask and tell: unordered choices by name, ordered ones by number."""

    def __init__(self, space: Mapping[str, Parameter], direction: Direction, seed: int, initial: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space: dict[str, Any] = dict(space)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=initial)
        self._study = optuna.create_study(direction=direction, sampler=sampler)

    def ask(self) -> tuple[Any, dict[str, Any]]:
        """Ask for a trial and return it with its parameters."""
        trial = self._study.ask(self._distributions())
        return trial, {
            name: value if isinstance(self._space[name], Categorical) else self._space[name].choices[value]
            for name, value in trial.params.items()
        }

    def tell(self, trial: Any, value: float) -> None:
        """Record the result of a trial."""
        self._study.tell(trial, value)

    def add(self, params: Mapping[str, Any], value: float) -> None:
        """Add a result from elsewhere."""
        import optuna

        coded = {
            name: value if isinstance(self._space[name], Categorical) else self._space[name].choices.index(value)
            for name, value in params.items()
        }
        trial = optuna.trial.create_trial(params=coded, distributions=self._distributions(), value=value)
        self._study.add_trial(trial)

    def _distributions(self) -> dict[str, Any]:
        from optuna.distributions import CategoricalDistribution, IntDistribution

        return {
            name: CategoricalDistribution(parameter.choices)
            if isinstance(parameter, Categorical)
            else IntDistribution(0, len(parameter.choices) - 1)
            for name, parameter in self._space.items()
        }


def gp_ei_choice(X: Array, y: Array, candidates: Array) -> int:
    """Which candidate, of c x d, BoTorch's Gaussian process and EI choose after results, n x d and n; larger is better.

    BoTorch's defaults, refitted from the start. The candidates are predicted some hundreds at a time: one by one, as
    BoTorch's own acquisition functions see them, they take twice as long or more.
    """
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    model = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None], outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    improvement = []
    with torch.no_grad():
        for some in torch.tensor(candidates).split(TOGETHER):
            distribution = model.posterior(some)
            mean, std = distribution.mean[:, 0].numpy(), distribution.variance[:, 0].sqrt().numpy()
            z = (mean - y.max()) / std
            improvement.append(std * (z * ndtr(z) + np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)))
    return int(np.argmax(np.concatenate(improvement)))


def composite_ei_choice(problem: CompositeProblem, seed: int) -> Callable[[Array, Array], Array]:
    """Return the point of the unit cube, d, that BoTorch's composite expected improvement chooses after points and vectors.

    One Gaussian process for each of the k outputs (Astudillo and Frazier 2019), draws of all of them through the known
    function, and a multi-start search. ``seed`` is of the draws and of the search.
    """

    def choose(X: Array, H: Array) -> Array:
        import torch
        from botorch.acquisition import qLogExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.set_num_threads(1)
        inputs, vectors = torch.tensor(X), torch.tensor(H)
        noise = torch.full_like(vectors, 1e-6) * vectors.var(dim=0)
        model = SingleTaskGP(inputs, vectors, noise, outcome_transform=Standardize(H.shape[1]))
        with torch.random.fork_rng():
            torch.manual_seed(seed + len(X))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = qLogExpectedImprovement(
                model,
                best_f=problem.outer(vectors).max(),
                sampler=SobolQMCNormalSampler(torch.Size([DRAWS]), seed=seed),
                objective=GenericMCObjective(lambda values, X=None: problem.outer(values)),
            )
            bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
            found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW)
        return np.asarray(found[0])

    return choose
