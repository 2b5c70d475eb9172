"""The environmental model of Bliznyuk et al. (2008): a composite objective.

Pollutant is spilled into a long, narrow channel, once at place 0 and once more later, elsewhere. Concentrations measured at
3 places and 4 times are to be explained. A method may see only how well parameters explain them (``problem``), or the 12
concentrations (``inner``) and the known function of them to maximise (``outer``).

Notation:
    X  points, n x 4: mass of a spill M, rate of diffusion D, place L and time tau of the second spill
    H  concentrations, n x 12: places in rows, times in columns, one row after the other
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.data import Array
from calibo.problems.synthetic import Point, Problem

#: Where and when the concentrations are measured.
PLACES: Point = (0.0, 1.0, 2.5)
TIMES: Point = (15.0, 30.0, 45.0, 60.0)
#: The parameters that explain the measurements: M, D, L, tau.
TRUTH: Point = (10.0, 0.07, 1.505, 30.1525)
_BOX = ((7.0, 13.0), (0.02, 0.12), (0.01, 3.0), (30.01, 30.295))


@dataclass(frozen=True)
class CompositeProblem:
    """An objective g(h(x)) of which h is measured and g is known: minus the squared distance of h from a target.

    Attributes:
        problem: The whole objective g(h(x)), n x d -> n.
        inner: Vectorised h without noise, n x d -> n x k.
        target: Target of h, k.
    """

    problem: Problem
    inner: Callable[[Array], Array]
    target: tuple[float, ...]

    def vectors(self, X: npt.ArrayLike) -> Array:
        """Evaluate h without noise, n x k, at points in original units, n x d."""
        return self.inner(self.problem.points(X))

    def outer(self, H: Any) -> Any:
        """Evaluate g, minus the squared distance from the target, n x k -> n, also of torch tensors. Larger is better."""
        # A tensor makes the target one of its own kind and place, so that this file needs no torch.
        target = H.new_tensor(self.target) if hasattr(H, "new_tensor") else np.array(self.target)
        return -((H - target) ** 2).sum(-1)

    def loss(self, H: Any) -> Any:
        """Evaluate the squared distance from the target, n x k -> n, also of torch tensors. Smaller is better."""
        return -self.outer(H)

    def measure(self, params: Mapping[str, float]) -> list[float]:
        """Return h without noise, k, of parameters given by name: what a composite method observes."""
        return self.inner(self.problem.point(params))[0].tolist()


@checked
def environmental() -> CompositeProblem:
    """Return the problem of estimating four parameters of two spills from 12 concentrations, by squared errors.

    As in Song et al. (2022), appendix B.4, whose equation (39) has b - b0 where b - xi, the time since the second spill,
    is meant. Astudillo and Frazier's code multiplies all concentrations by sqrt(4 pi) and has another range of masses.
    """
    problem = Problem("environmental", _objective, _BOX, 0.0, direction="maximize", optimizers=(TRUTH,))
    return CompositeProblem(problem, concentrations, tuple(_measured().tolist()))


def concentrations(X: Array) -> Array:
    """Return the concentrations at all places and times, n x 4 -> n x 12."""
    mass, diffusion, place, time = (X[:, i, None, None] for i in range(4))
    a, b = np.array(PLACES)[:, None], np.array(TIMES)
    since = b - time
    second = np.where(since > 0.0, _spill(mass, diffusion, a - place, np.where(since > 0.0, since, 1.0)), 0.0)
    return (_spill(mass, diffusion, a, b) + second).reshape(len(X), -1)


def _spill(mass: Array, diffusion: Array, distance: Array, elapsed: Array) -> Array:
    """Return the concentration at a distance from a spill, some time after it."""
    spread = 4.0 * diffusion * elapsed
    return mass / np.sqrt(np.pi * spread) * np.exp(-(distance**2) / spread)


def _measured() -> Array:
    return concentrations(np.array([TRUTH]))[0]


def _objective(X: Array) -> Array:
    return -np.sum((concentrations(X) - _measured()) ** 2, axis=1)
