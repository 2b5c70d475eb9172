"""The density ratio of Stanton et al. (2023): a small neural classifier with averaged weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from calibo.arguments import check_fields
from calibo.calibration.density_ratio import (
    LARGEST_RATIO,
    LEAST_RATIO,
    Ratio,
    RatioEstimator,
    Unshifted,
    checked_counts,
)
from calibo.checks import check_between, check_whole
from calibo.data import Array
from calibo.networks import CrossEntropy, Networks, Training, TrainingState, descend

#: Probabilities are kept this far from 0 and 1, which keeps ratios within 1e-6 and 1e6.
_LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class NeuralRatio(RatioEstimator):
    """A classifier d - hidden - hidden - 1 (ReLU) that is trained a little at each fit and used with averaged weights.

    Steps of a fit (Stanton et al. 2023, section 4.3 and Algorithm 4; batches as in the published code):

    1. While there are fewer proposals than data, nothing is learned.
    2. ``steps`` times: Adam on the binary cross-entropy of all data (label 0) and as many proposals drawn at random
       (label 1), so that the prior ratio of eq. (8) is 1; then average <- (1 - averaging) average + averaging weights.
    3. r = p / (1 - p) by the averaged network, p kept within 1e-6 of 0 and 1.

    The average starts at 0, so the ratio is exactly 1 at first and departs from it slowly: like
    (1 - (1 - averaging)^t)^3 after t steps, since three layers grow together. With one step for each fit, as in the
    paper, the search must fit often (``Langevin.paper()``); for a search that fits a few times take more steps.

    Attributes:
        hidden: Width of both hidden layers.
        learning_rate: Step size of Adam.
        weight_decay: Penalty on half of the squared weights and biases.
        averaging: Weight of the newest parameters in the moving average; 1 for no averaging (the paper's rankings).
        steps: Gradient steps of each fit.
    """

    hidden: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    averaging: float = 2e-2
    steps: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("the hidden width of a neural ratio", self.hidden)
        check_whole("the number of steps of a neural ratio", self.steps)
        check_between("averaging", self.averaging, 0.0, 1.0, including="high")
        self._training()

    @classmethod
    def repository(cls) -> NeuralRatio:
        """Return the settings of the published code, which differ from the paper's."""
        return cls(learning_rate=5e-3, weight_decay=5e-6)

    def fit(self, data: Array, proposals: Array, *, previous: Ratio | None, rng: np.random.Generator) -> Ratio:
        n, p = checked_counts(data, proposals)
        if not n or not p:
            return Unshifted()
        sizes = (data.shape[1], self.hidden, self.hidden, 1)
        if isinstance(previous, NetworkRatio) and previous.state.networks.sizes == sizes:
            state = previous.state
        else:
            widths = [inputs**-0.5 for inputs in sizes[:-1]]
            state = TrainingState.initial(Networks.uniform(sizes, weights=widths, biases=widths, rng=rng))
        if p >= n:
            drawn = [np.append(np.arange(n), n + rng.choice(p, size=n, replace=False)) for _ in range(self.steps)]
            labels = np.repeat([0.0, 1.0], [n, p])
            state = descend(state, np.vstack([data, proposals]), labels, np.stack(drawn)[:, None], self._training())
        return NetworkRatio(state)

    def _training(self) -> Training:
        return Training(
            CrossEntropy(), self.learning_rate, weight_decay=self.weight_decay, averaging=self.averaging, per_row=True
        )


@dataclass(frozen=True, eq=False)
class NetworkRatio:
    """The density ratio by a classifier with averaged weights.

    Attributes:
        state: The classifier, its averaged weights and the state of Adam, from which a later fit continues.
    """

    state: TrainingState

    def __call__(self, X: Array) -> Array:
        """Return the ratios, `...`, at points, `... x d`."""
        outputs = self.state.average(X.reshape(-1, X.shape[-1]))[0, :, 0].reshape(X.shape[:-1])
        chance = np.clip(expit(outputs), _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        return np.clip(chance / (1.0 - chance), LEAST_RATIO, LARGEST_RATIO)
