"""Target functions whose norm in the space of a kernel is known: Stanton et al. (2023), appendix B.8, Algorithm 3.

Such a function is a weighted sum of the kernel's bumps, so that a Gaussian process with that kernel is well specified for it,
and the constant that regret bounds ask for, the norm, is known exactly.

Notation:
    X  points, m x d, on the unit cube     Z  basis points, n x d     c  weights of their bumps, n
    k(x, z) = outputscale * kernel(|x - z|^2 / lengthscale^2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.optimize import minimize

from calibo.data import Array
from calibo.errors import DataError, RecipeError
from calibo.models.kernels import Kernel, Matern52, squared_distances
from calibo.problems import Problem

#: How many points the search for the maximum looks at, besides the basis points, and how many of the best it climbs from.
_SEARCH_POINTS, _BEST, _STARTS = 4096, 512, 32


@dataclass(frozen=True, eq=False)
class RKHSFunction:
    """f(x) = sum_i c_i k(x, z_i).

    Attributes:
        kernel: Correlation of a scaled squared distance.
        Z: Basis points, n x d.
        c: Weights, n.
        lengthscale: Length scale, the same in all directions.
        outputscale: Variance of the kernel, k(x, x).
    """

    kernel: Kernel
    Z: Array
    c: Array
    lengthscale: float
    outputscale: float

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Values, m, at points m x d."""
        return self._kernel_matrix(np.asarray(X, dtype=np.float64)) @ self.c

    @property
    def norm(self) -> float:
        """Norm in the space of the kernel, sqrt(c' K c)."""
        return float(np.sqrt(max(self.c @ self._kernel_matrix(self.Z) @ self.c, 0.0)))

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values, m, and gradients, m x d, at points m x d."""
        scaled, basis = X / self.lengthscale, self.Z / self.lengthscale
        k, slope = self.kernel.with_derivative(squared_distances(scaled, basis))
        # slope is -2 dk/ds, and ds/dx_j = 2 (x_j - z_j) / l^2.
        pull = self.outputscale * slope * self.c
        gradient = (pull @ basis - pull.sum(axis=1, keepdims=True) * scaled) / self.lengthscale
        return self.outputscale * (k @ self.c), gradient

    def _kernel_matrix(self, X: Array) -> Array:
        return _kernel_matrix(X, self.Z, self.kernel, self.lengthscale, self.outputscale)


def rkhs_function(
    Z: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    kernel: Kernel | None = None,
    lengthscale: float = 0.1,
    outputscale: float = 1.0,
    noise: float = 0.04,
) -> RKHSFunction:
    """Return the posterior mean of a Gaussian process given labels of the basis points: Algorithm 3, from the labels on.

    c = (K + noise I)^-1 y.

    Args:
        Z: Basis points, n x d.
        y: Their labels, n.
        kernel: Correlation, Matern 5/2 by default.
        lengthscale: Length scale.
        outputscale: Variance of the kernel.
        noise: Variance of the labels' noise.
    """
    _check_scales(lengthscale, outputscale, noise)
    basis, labels = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if basis.ndim != 2 or labels.shape != (len(basis),):
        raise DataError(f"expected basis points n x d and n labels, got shapes {basis.shape} and {labels.shape}")
    kind = kernel or Matern52()
    K = _kernel_matrix(basis, basis, kind, lengthscale, outputscale)
    try:
        c = cho_solve(cho_factor(K + noise * np.eye(len(K)), lower=True), labels)
    except LinAlgError as error:
        raise RecipeError(
            f"{len(basis)} basis points cannot be distinguished with a length scale of {lengthscale} and a noise variance of "
            f"{noise}: give more noise or a smaller length scale"
        ) from error
    return RKHSFunction(kind, basis, np.asarray(c, dtype=np.float64), lengthscale, outputscale)


def rkhs_problem(
    dimension: int,
    rng: np.random.Generator,
    *,
    kernel: Kernel | None = None,
    basis: int = 128,
    lengthscale: float = 0.1,
    outputscale: float = 1.0,
    noise: float = 0.04,
) -> Problem:
    """Return a random target on the unit cube with a known norm, which is the problem's ``norm``; maximised (Algorithm 3).

    Being random, it is not among the problems that ``problem`` finds by name.

    1. basis points Z: the first points of a scrambled Sobol sequence;
    2. u ~ N(0, K), a draw of the Gaussian process at Z;
    3. y ~ N(u, noise I);
    4. c = (K + noise I)^-1 y, f = sum_i c_i k(., z_i), norm = sqrt(c' K c).

    The optimum is found numerically, by ascent (L-BFGS-B) from up to 32 points apart from each other, the best of the basis
    points and of 4096 Sobol points: a maximum to rounding, in all likelihood the global one, but not a proven one.
    ``with_noise`` measures the problem with the variance ``noise``, so that the model it came from is right about it. The
    paper's studies use (dimension, basis) = (1, 16) with an RBF kernel, and (5, 128) with Matern 5/2.

    Args:
        dimension: Number of variables, d.
        rng: Where the basis points and labels are drawn from; the search for the optimum draws from it, too.
        kernel: Correlation, Matern 5/2 by default.
        basis: Number of basis points, n.
        lengthscale: Length scale.
        outputscale: Variance of the kernel.
        noise: Variance of the labels' noise, and of measurements.
    """
    _check_scales(lengthscale, outputscale, noise)
    if dimension < 1 or basis < 1:
        raise RecipeError(f"dimension and basis must be at least 1, got {dimension} and {basis}")
    kind = kernel or Matern52()
    Z = _sobol(basis, dimension, rng)
    # By eigenvectors, as a Cholesky factor of a smooth kernel's matrix would need a jitter.
    spectrum, vectors = eigh(_kernel_matrix(Z, Z, kind, lengthscale, outputscale))
    u = vectors @ (np.sqrt(np.maximum(spectrum, 0.0)) * rng.standard_normal(basis))
    y = u + np.sqrt(noise) * rng.standard_normal(basis)
    f = rkhs_function(Z, y, kernel=kind, lengthscale=lengthscale, outputscale=outputscale, noise=noise)
    argmax, optimum = _maximum(f, rng)
    return Problem(
        f"rkhs{dimension}",
        f,
        ((0.0, 1.0),) * dimension,
        optimum,
        direction="maximize",
        noise_std=float(np.sqrt(noise)),
        optimizers=(tuple(argmax.tolist()),),
        norm=f.norm,
    )


def _maximum(f: RKHSFunction, rng: np.random.Generator) -> tuple[Array, float]:
    """Return the best point found, d, and its value."""
    d = f.Z.shape[1]
    X = np.concatenate([f.Z, _sobol(_SEARCH_POINTS, d, rng)])
    starts = _apart(X[np.argsort(-f(X), kind="stable")[:_BEST]], 0.5 * f.lengthscale)

    def descent(x: Array) -> tuple[float, Array]:
        value, gradient = f.with_gradient(x[None])
        return -float(value[0]), -gradient[0]

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500}
    ends = [
        minimize(descent, x, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * d, options=options).x for x in starts
    ]
    values = f(np.array(ends))
    best = int(np.argmax(values))
    return ends[best], float(values[best])


def _apart(X: Array, distance: float) -> Array:
    """Return the first points of a list that are no nearer to each other than a distance."""
    near = squared_distances(X, X) < distance**2
    kept: list[int] = []
    for i in range(len(X)):
        if len(kept) < _STARTS and not near[i, kept].any():
            kept.append(i)
    return X[kept]


def _sobol(count: int, dimension: int, rng: np.random.Generator) -> Array:
    """Return the first points of a scrambled Sobol sequence, count x dimension."""
    # Imported here: scipy.stats takes longer to load than the rest of the package.
    from scipy.stats import qmc

    # A full power of two is drawn, and cut, as SciPy warns of any other number.
    bits = int(np.ceil(np.log2(count)))
    return np.asarray(qmc.Sobol(dimension, scramble=True, rng=rng).random_base2(bits)[:count], dtype=np.float64)


def _kernel_matrix(A: Array, B: Array, kernel: Kernel, lengthscale: float, outputscale: float) -> Array:
    return outputscale * kernel.correlation(squared_distances(A / lengthscale, B / lengthscale))


def _check_scales(lengthscale: float, outputscale: float, noise: float) -> None:
    if not (np.isfinite([lengthscale, outputscale]).all() and lengthscale > 0 and outputscale > 0):
        raise RecipeError(f"lengthscale and outputscale must be positive, got {lengthscale} and {outputscale}")
    if not (np.isfinite(noise) and noise >= 0):
        raise RecipeError(f"noise is a variance, finite and not negative, got {noise}")
