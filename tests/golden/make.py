"""Recompute the reference values of this folder without calibo, by brute force.

    python tests/golden/make.py            compare what is stored with what is computed here
    python tests/golden/make.py --write    store what differs by more than rounding

Each function of ``MAKERS`` takes the stored file for its inputs and returns it with the values that can be computed
independently: posteriors by refitting, expectations by quadrature, special functions with 50 digits by mpmath, formulas as
they are printed in the papers. The values it leaves alone were produced once by running the published code that ``source``
names in each file:

* ``botorch_test_functions``: BoTorch 0.6.6 (the tests of the extras compare with the installed BoTorch as well).
* ``conformal_quantiles``, ``interpolated_distribution``: entries named ``*_repo*``, by the code of Chen's thesis (2025).
* ``nb201_paths``: path encodings by naszilla and NASLib.
* ``uav_radio`` and ``f_repo*`` of ``heteroscedastic_functions``: by the code of LOCBO (Kim et al. 2025).
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, ndtr, ndtri
from scipy.stats import norm

FOLDER = Path(__file__).parent
ROUNDING = 1e-11
Values = dict[str, Any]
Function = Callable[[np.ndarray], np.ndarray]


# --- a Gaussian process by dense linear algebra -------------------------------------------------------------------------


def covariance(toy: Values, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    r = np.sqrt(5.0) * np.abs(A - B.T) / toy["lengthscale"]
    return toy["outputscale"] * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def gp(toy: Values, X: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of f at points, given data."""
    A = covariance(toy, X, X) + toy["noise_variance"] * np.eye(len(y))
    k = covariance(toy, X, at)
    mean = toy["mean"] + k.T @ np.linalg.solve(A, y - toy["mean"])
    return mean, toy["outputscale"] - np.einsum("ij,ij->j", k, np.linalg.solve(A, k))


def data_of(toy: Values) -> tuple[np.ndarray, np.ndarray]:
    return np.array(toy["X"], dtype=float), np.array(toy["y"], dtype=float)


def gp_reference(file: Values) -> Values:
    toy, (X, y) = file["toy"], data_of(file["toy"])
    noise, others = toy["noise_variance"], [np.delete(np.arange(len(y)), i) for i in range(len(y))]
    mean, var = gp(toy, X, y, np.array(file["x"]))
    loo = [gp(toy, X[rest], y[rest], X[[i]]) for i, rest in enumerate(others)]
    loo_mean, loo_var = (np.array([one[j][0] for one in loo]) for j in (0, 1))
    before = [
        gp(toy, X[:i], y[:i], X[[i]]) if i else (np.zeros(1), np.full(1, toy["outputscale"])) for i in range(len(y))
    ]
    std = np.sqrt([one[1][0] + noise for one in before])
    residuals = (y - [one[0][0] for one in before]) / std
    A = covariance(toy, X, X) + noise * np.eye(len(y))
    likelihood = -0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(A)[1] + len(y) * np.log(2.0 * np.pi))
    return file | {
        "mean_f": mean,
        "var_f": var,
        "var_y": var + noise,
        "log_marginal_likelihood": likelihood,
        "loo_mean": loo_mean,
        "loo_var_y": loo_var + noise,
        "loo_pit": ndtr((y - loo_mean) / np.sqrt(loo_var + noise)),
        "prequential_standardised_residuals": residuals,
        "prequential_std_y": std,
        "prequential_pit": ndtr(residuals),
    }


# --- full conformal sets (Stanton et al. 2023) by refitting --------------------------------------------------------------


def conformity_scores(toy: Values, x: float, outcome: float) -> np.ndarray:
    """Return log densities of fresh measurements at all n + 1 points under the refitted process."""
    X, y = data_of(toy)
    X, y = np.vstack([X, [[x]]]), np.append(y, outcome)
    mean, var = gp(toy, X, y, X)
    return norm.logpdf(y, mean, np.sqrt(var + toy["noise_variance"]))


def accepted(toy: Values, x: float, outcome: float, weights: np.ndarray, alpha: float) -> bool:
    scores = conformity_scores(toy, x, outcome)
    return bool((scores <= scores[-1]) @ weights > alpha)


def cbo_masks(file: Values) -> Values:
    toy, alpha, T = file["toy"], file["alpha"], 0.01
    scores = np.array([conformity_scores(toy, file["x"], outcome) for outcome in file["grid"]])
    uniform, ratio = np.array(file["weights_uniform"]), np.array(file["weights_ratio"])
    below = (scores <= scores[:, -1:]).astype(float)
    soft = expit((scores[:, -1:] - scores) / T)
    rescaled = soft * below.sum(axis=1, keepdims=True) / soft.sum(axis=1, keepdims=True)
    return file | {
        "hard_uniform": (below @ uniform > alpha).astype(float),
        "hard_ratio": (below @ ratio > alpha).astype(float),
        "soft_uniform_temp_0p01_no_rescale": expit((soft @ uniform - alpha) / T),
        "soft_uniform_temp_0p01_repo_rescaled": expit((rescaled @ uniform - alpha) / T),
        "scores_rows_are_train_then_new": [
            conformity_scores(toy, file["x"], outcome) for outcome in file["scores_yhat"]
        ],
    }


def cbo_set_endpoints(file: Values) -> Values:
    """Find every finite end again by bisection, starting a little to either side of the stored one."""
    file = copy.deepcopy(file)
    toy = file["toy"]
    for case in file["cases"]:
        mean, var = gp(toy, *data_of(toy), np.array([[case["x"]]]))
        case["mu"], case["var_y"] = mean[0], var[0] + toy["noise_variance"]
        case["set"] = [[_end(toy, case, end) for end in ends] for ends in case["set"]]
    return file


def _end(toy: Values, case: Values, end: float | str) -> float | str:
    if isinstance(end, str):
        return end
    low, high = end - 1e-5, end + 1e-5
    weights = np.array(case["w"])
    starts, ends = (accepted(toy, case["x"], y, weights, case["alpha"]) for y in (low, high))
    if starts == ends:
        return float("nan")
    for _ in range(25):
        middle = 0.5 * (low + high)
        inside = accepted(toy, case["x"], middle, weights, case["alpha"]) == starts
        low, high = (middle, high) if inside else (low, middle)
    return 0.5 * (low + high)


# --- quadrature ---------------------------------------------------------------------------------------------------------


def nodes(low: float, high: float, panels: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of Gauss and Legendre's rule with 20 points in each of many panels."""
    x, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(low, high, panels + 1)
    half = 0.5 * np.diff(edges)
    points = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * x
    return points.ravel(), (half[:, None] * weights).ravel()


# --- the flat-set distribution (CBO, LOCBO) by quadrature over the measurement -------------------------------------------


def flat_set(mu: float, var: float, noise: float, ends: list[list[float]], alpha: float, c: float) -> Values:
    """Return expectations of f whose measurement is uniform on the set with probability 1 - alpha."""
    total = np.sqrt(var + noise)
    share, spread = var / (var + noise), np.sqrt(var * noise / (var + noise))
    length = sum(high - low for low, high in ends)
    outside = 1.0 - sum(float(np.diff(norm.cdf((low, high), mu, total))[0]) for low, high in ends)
    edges = [mu - 14 * total, *(end for pair in ends for end in pair), mu + 14 * total]
    gaps = list(zip(edges[::2], edges[1::2], strict=True))

    on_set = [nodes(low, high) for low, high in ends]
    off_set = [nodes(low, high) for low, high in gaps]

    def parts(function: Function) -> tuple[float, float]:
        flat = sum(float(weights @ function(y)) for y, weights in on_set) / length
        return flat, sum(float(weights @ (function(y) * norm.pdf(y, mu, total))) for y, weights in off_set) / outside

    def mixed(function: Function) -> float:
        flat, tail = parts(function)
        return (1.0 - alpha) * flat + alpha * tail

    def at(y: np.ndarray) -> np.ndarray:
        return mu + share * (y - mu)

    def gain(y: np.ndarray) -> np.ndarray:
        z = (at(y) - c) / spread
        return spread * (z * ndtr(z) + norm.pdf(z))

    def quantile(level: float) -> float:
        return brentq(
            lambda f: mixed(lambda y: ndtr((f - at(y)) / spread)) - level, mu - 9 * total, mu + 9 * total, xtol=1e-12
        )

    return {
        "parts": parts(gain),
        "EI": mixed(gain),
        "PI": mixed(lambda y: ndtr((at(y) - c) / spread)),
        "mean": mixed(at),
        "pdf": lambda f: mixed(lambda y: norm.pdf(f, at(y), spread)),
        "quantile": quantile,
        "length": length,
        "outside": outside,
    }


def cbo_posterior_expectations(file: Values) -> Values:
    file = copy.deepcopy(file)
    toy = file["toy"]
    for case in file["cases"]:
        mean, var = (float(one[0]) for one in gp(toy, *data_of(toy), np.array([[case["x"]]])))
        found = flat_set(mean, var, toy["noise_variance"], case["set"], case["alpha"], case["best_f"])
        z = (mean - case["best_f"]) / np.sqrt(var)
        case.update(mu=mean, var_f=var, Z1=found["length"], Z2=found["outside"], EI=found["EI"], PI=found["PI"])
        case.update(mean=found["mean"], EI_uniform_part=found["parts"][0], EI_tail_part=found["parts"][1])
        case.update({f"q{int(100 * p)}": found["quantile"](p) for p in (0.1, 0.5, 0.9)})
        case.update(EI_plain_gp=np.sqrt(var) * (z * ndtr(z) + norm.pdf(z)), pdf_at_best=found["pdf"](case["best_f"]))
    return file


def locbo_density(file: Values) -> Values:
    file = copy.deepcopy(file)
    for case in file["cases"]:
        mu, var, noise = case["mu"], case["var_f"], case["noise"]
        half = np.sqrt(var + noise) * ndtri(1.0 - 0.5 * case["lam"])
        found = flat_set(mu, var, noise, [[mu - half, mu + half]], case["alpha"], case["c"])
        case.update(L=mu - half, U=mu + half, a=var / (var + noise), b=mu * noise / (var + noise))
        case.update(s=np.sqrt(var * noise / (var + noise)), EI=found["EI"], PI=found["PI"], mean=found["mean"])
        case.update(EI_uniform=found["parts"][0], EI_tail=found["parts"][1])
        case.update(q90=found["quantile"](0.9), q975=found["quantile"](0.975))
        case["pdf"] = {f: found["pdf"](float(f)) for f in case["pdf"]}
    return file


# --- online recalibration -----------------------------------------------------------------------------------------------


def ocbo_acquisitions(file: Values) -> Values:
    """Integrate over scores: between knots the recalibrated density is the Gaussian one times the slope dp / dr."""
    file = copy.deepcopy(file)
    for case in file["cases"]:
        p, r = (np.array(case[key], dtype=float) for key in ("p", "r"))
        c = (case["c"] - case["mean"]) / case["std"]
        z, dp, dr = np.clip(ndtri(r), -38.0, 38.0), np.diff(p), np.diff(r)
        above = below = total = 0.0
        for low, high, mass, width in zip(z[:-1], z[1:], dp, dr, strict=True):
            if not width:
                score, weights = np.array([low]), np.array([mass])  # an atom
            else:
                cut = min(max(c, low), high)
                score, weights = (np.concatenate(pair) for pair in zip(nodes(low, cut), nodes(cut, high), strict=True))
                weights = weights * norm.pdf(score) * (mass / width)
            above += float(weights @ np.maximum(score - c, 0.0))
            below += float(weights @ np.maximum(c - score, 0.0))
            total += float(weights @ score)
        case["EI_max"], case["EI_min"] = case["std"] * above, case["std"] * below
        case["mean_recal"] = case["mean"] + case["std"] * total
        levels = np.array([float(q) for q in case["Q"]])
        values = case["mean"] + case["std"] * ndtri(np.interp(levels, p, r))
        case["Q"] = dict(zip(case["Q"], values, strict=True))
    return file


def ocbo_recalibrator(file: Values) -> Values:
    file = copy.deepcopy(file)
    p = np.array(file["levels"])
    for run in file["runs"]:
        hidden, played = [p.copy()], []
        for pit in file["pits"]:
            played.append(isotonic_regression(hidden[-1]).x if run["mode"] == "pav" else hidden[-1])
            hidden.append(hidden[-1] - run["eta"] * ((pit <= played[-1]) - p))
        final = isotonic_regression(hidden[-1]).x if run["mode"] == "pav" else hidden[-1]
        run.update(hidden=hidden, played=played, final_played=final)
    return file


def locbo_thresholds(file: Values) -> Values:
    """Step lambda(x) = c + sum_i a_i k(x_i, x) by stochastic gradients, the functional part shrunk at every step."""
    file = copy.deepcopy(file)
    x, query = np.array(file["x"]), np.array(file["query"])
    scores = 2.0 * ndtr(-np.abs(np.array(file["y"])))
    for run, offset in [*((run, 0) for run in file["paper_runs"]), *((run, 1) for run in file["repo_runs"].values())]:

        def kernel(A: np.ndarray, B: np.ndarray, run: Values = run) -> np.ndarray:
            return run["kappa"] * np.exp(-np.square(A[:, None] - B).sum(axis=2) / run["length_scale"] ** 2)

        c, a, history = run["c1"], np.zeros(len(x)), []
        for t, score in enumerate(scores):
            eta = run["eta0"] / (t + 1 + offset) ** run["decay"]
            threshold = float(c + (kernel(x[[t]], x) @ a)[0])
            error = float(score < threshold)
            history.append({"t": t + 1, "lambda_at_xt": threshold, "score": float(score), "err": error, "eta": eta})
            a = (1.0 - eta * run["lam"]) * a
            a[t] -= eta * (error - run["alpha"])
            c -= eta * (error - run["alpha"])
        run.update(history=history, errs=[step["err"] for step in history], c_final=c, coef_final=a)
        run["lambda_at_query"] = c + kernel(query, x) @ a
    return file


def rmsce(file: Values) -> Values:
    pits, levels = np.array(file["pits"]), np.array(file["levels"])
    observed = np.array([(pits <= p).mean() for p in levels])
    grid = np.linspace(0.0, 1.0, 101)
    square = np.square(observed - levels)
    fine = np.mean([((pits <= p).mean() - p) ** 2 for p in grid])
    return file | {
        "observed": observed,
        "sum_of_squares_thesis_and_kuleshov": square.sum(),
        "mean_square": square.mean(),
        "root_mean_square": np.sqrt(square.mean()),
        "root_mean_square_grid_0_to_1_101": np.sqrt(fine),
    }


# --- conformal calibration by counting ----------------------------------------------------------------------------------


def conformal_quantiles(file: Values) -> Values:
    file = copy.deepcopy(file)
    scores = np.sort(file["scores"])
    for case in file["split"]:
        case["exact_rank"] = _smallest(scores, np.ceil((1.0 - case["tau"]) * (len(scores) + 1) - 1e-9))
    cqr = file["cqr"]
    y, low, high = (np.array(cqr[key]) for key in ("y", "lower_pred", "upper_pred"))
    rank = np.ceil((cqr["alpha_upper"] - cqr["alpha_lower"]) * (len(y) + 1) - 1e-9)
    one_sided = np.ceil(cqr["alpha_upper"] * (len(y) + 1) - 1e-9)
    cqr["E_symmetric"] = np.maximum(low - y, y - high)
    cqr["offset_symmetric_exact_rank"] = _smallest(np.sort(cqr["E_symmetric"]), rank)
    cqr["offset_lower_exact_rank"] = _smallest(np.sort(low - y), one_sided)
    cqr["offset_upper_exact_rank"] = _smallest(np.sort(y - high), one_sided)
    cross = file["crossval"]
    x, y, tau = np.array(cross["x"]), np.array(cross["y"]), cross["tau"]
    lines = [np.polyfit(np.delete(x, fold), np.delete(y, fold), 1) for fold in cross["folds"]]
    cross["fold_predictions_at_query"] = [np.polyval(line, cross["x_query"]) for line in lines]
    away = np.concatenate(
        [np.abs(y[f] - np.polyval(line, x[f])) for f, line in zip(cross["folds"], lines, strict=True)]
    )
    cross["abs_residuals"] = away
    center = np.repeat(cross["fold_predictions_at_query"], [len(fold) for fold in cross["folds"]])
    cross["cv_plus"]["lower"] = _smallest(np.sort(center - away), np.floor(tau * (len(y) + 1) + 1e-9))
    cross["cv_plus"]["upper"] = _smallest(np.sort(center + away), np.ceil((1.0 - tau) * (len(y) + 1) - 1e-9))
    return file


def _smallest(ordered: np.ndarray, rank: float) -> float | str:
    return "inf" if rank > len(ordered) else float(ordered[int(rank) - 1])


def interpolated_distribution(file: Values) -> Values:
    p, q = np.array(file["levels"]), np.array(file["quantiles"])

    def gain(c: float) -> float:
        points = np.unique([*q, c])
        inside = points[points >= c]
        level = np.interp(inside, q, p)
        return float((np.diff(level) * (0.5 * (inside[1:] + inside[:-1]) - c)).sum())

    return file | {
        "cdf": {y: np.interp(float(y), q, p) for y in file["cdf"]},
        "ppf": {level: np.interp(float(level), p, q) for level in file["ppf"]},
        "EI_exact": {c: gain(float(c)) for c in file["EI_exact"]},
    }


# --- special functions, labels and objectives ---------------------------------------------------------------------------


def numerics(file: Values) -> Values:
    file = copy.deepcopy(file)
    mpmath.mp.dps = 50
    for row in file["values"]:
        z = mpmath.mpf(row["z"])
        g = z * mpmath.ncdf(z) + mpmath.npdf(z)
        G = ((z * z + 1) * mpmath.ncdf(z) + z * mpmath.npdf(z)) / 2
        row.update(g1=float(g), G2=float(G), log_g1=float(mpmath.log(g)), log_G2=float(mpmath.log(G)))
    for row in file["bivariate_normal_cdf"]:
        h, k, rho = (mpmath.mpf(row[key]) for key in ("h", "k", "rho"))
        with mpmath.workdps(20):
            given = lambda u: mpmath.npdf(u) * mpmath.ncdf((k - rho * u) / mpmath.sqrt(1 - rho**2))  # noqa: B023
            row["value"] = float(mpmath.quad(given, [-40, -8, -2, h] if h > -2 else [-40, -12, h]))
    return file


def lfbo_weights(file: Values) -> Values:
    """Label minimized outcomes: those below tau are positive, weighted by how far below; all are negative once."""
    file = copy.deepcopy(file)
    X, y = np.array(file["X"]), np.array(file["y"])
    for gamma, case in file["cases"].items():
        tau = float(np.quantile(y, float(gamma)))
        positive = y < tau
        s1, s0 = int(positive.sum()), len(y)
        gained = (tau - y[positive]) / (tau - y[positive]).mean() * (s1 + s0) / (2 * s1)
        case.update(tau=tau, X=np.vstack([X[positive], X]), z=[1] * s1 + [0] * s0)
        case.update(w=[*gained, *[(s1 + s0) / (2 * s0)] * s0], bore_labels=positive.astype(int))
    return file


def environmental_model(file: Values) -> Values:
    file = copy.deepcopy(file)
    s, t = np.array(file["s"])[:, None], np.array(file["t"])

    def concentrations(theta: list[float]) -> np.ndarray:
        M, D, L, tau = theta
        later = np.maximum(t - tau, 1e-300)
        first = M / np.sqrt(4 * np.pi * D * t) * np.exp(-(s**2) / (4 * D * t))
        second = M / np.sqrt(4 * np.pi * D * later) * np.exp(-((s - L) ** 2) / (4 * D * later))
        return first + np.where(t > tau, second, 0.0)

    truth = concentrations(file["truth"])
    for case in file["cases"]:
        found = concentrations(case["theta"])
        error = np.square(found - truth).sum()
        case.update(concentrations_rows_s_cols_t=found, sse=error, objective=-error)
        case["objective_bocf_scaled_4pi"] = -4 * np.pi * error
    return file


def heteroscedastic_functions(file: Values) -> Values:
    file = copy.deepcopy(file)
    for case in file["sinc"]["cases"]:
        x = case["x"]
        case["f"] = (10 * np.sin(x) + 1) * np.sin(3 * x) / x
    for case in file["locbo_1d"]["cases"]:
        x = case["x"]
        case.update(f=x * np.sin(2 * x) + np.cos(np.pi * x), noise_var=(abs(x) + 1) / 10)
    for case in file["locbo_ackley"]["cases"]:
        x = np.array(case["x"])
        ackley = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20 + np.e
        case.update(f=-ackley, noise_var=(np.linalg.norm(x) + 10) / 20)
    return file


def rkhs_norm(file: Values) -> Values:
    file = copy.deepcopy(file)
    X, y = np.array(file["X"]), np.array(file["y"])
    for case in file["cases"]:

        def kernel(A: np.ndarray, B: np.ndarray, case: Values = case) -> np.ndarray:
            if case["kernel"] == "matern52":
                return covariance(case, A, B)
            return case["outputscale"] * np.exp(-0.5 * np.square((A - B.T) / case["lengthscale"]))

        K = kernel(X, X)
        c = np.linalg.solve(K + case["noise"] * np.eye(len(y)), y)
        case.update(c=c, norm=np.sqrt(c @ K @ c), f=kernel(np.array(case["x"])[:, None], X) @ c)
    return file


MAKERS: dict[str, Callable[[Values], Values]] = {
    maker.__name__: maker
    for maker in (
        cbo_masks,
        cbo_posterior_expectations,
        cbo_set_endpoints,
        conformal_quantiles,
        environmental_model,
        gp_reference,
        heteroscedastic_functions,
        interpolated_distribution,
        lfbo_weights,
        locbo_density,
        locbo_thresholds,
        numerics,
        ocbo_acquisitions,
        ocbo_recalibrator,
        rkhs_norm,
        rmsce,
    )
}


def stored(name: str) -> Values:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def plain(node: Any) -> Any:
    """Arrays and numbers of NumPy as JSON knows them."""
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    if isinstance(node, np.ndarray | np.generic):
        return plain(node.tolist())
    return node


def distance(a: Any, b: Any) -> float:
    """Return the largest difference between two trees of numbers, relative where they exceed 1; infinity if not alike."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((distance(a[key], b[key]) for key in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((distance(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if isinstance(a, int | float) and isinstance(b, int | float):
        gap = abs(a - b) / max(1.0, abs(a))
        return gap if gap == gap else float("inf")
    return 0.0 if a == b else float("inf")


def main() -> None:
    """Compare, or with ``--write`` store what differs."""
    for name, maker in MAKERS.items():
        old = stored(name)
        new = plain(maker(old))
        gap = distance(old, new)
        print(f"{name}: differs by {gap:.1e}")
        if "--write" in sys.argv[1:] and gap > ROUNDING:
            (FOLDER / f"{name}.json").write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
