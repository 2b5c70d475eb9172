"""Further trainings on the data sets of scikit-learn, of a few milliseconds each: so cheap that many seeds can be run.

They are for choosing and checking the parts of a method in mixed spaces, and are not among the problems of the comparison
with peers. As in ``trainings.py`` a value is a cross-validated loss with fixed folds and a fixed random state.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.spaces import Parameter, Params
from benchmarks.peers.trainings import Array, Training, mean_loss

#: Activations of the network, and their derivatives as functions of the activation.
_ACTIVATIONS = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: (a > 0.0).astype(np.float64)),
    "tanh": (np.tanh, lambda a: 1.0 - a * a),
    "logistic": (lambda z: 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0))), lambda a: a * (1.0 - a)),
}


def kernel_ridge(params: Params) -> float:
    """Squared error over the variance of a kernel ridge regression, diabetes data."""
    from sklearn.kernel_ridge import KernelRidge

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        centre = float(y.mean())
        predicted = KernelRidge(**params).fit(X, y - centre).predict(X_new) + centre
        return float(min(np.mean((predicted - y_new) ** 2) / np.var(y_new), 10.0))

    return mean_loss("diabetes", 150, loss)


def neighbours(params: Params) -> float:
    """Share of wrong classes of a vote of nearest neighbours on some principal components, digits data."""
    chosen = dict(params)
    components, shrink = chosen.pop("components"), chosen.pop("shrink")
    k, p, weights = chosen["n_neighbors"], chosen["p"], chosen["weights"]

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        _, singular, axes = np.linalg.svd(X, full_matrices=False)
        scaled = axes[:components].T * (singular[0] / np.maximum(singular[:components], 1e-9)) ** shrink
        gaps = np.abs((X_new @ scaled)[:, None, :] - (X @ scaled)[None, :, :])
        distance = np.sum(gaps**p, axis=-1) ** (1.0 / p)
        nearest = np.argsort(distance, axis=1)[:, :k]
        far = np.take_along_axis(distance, nearest, axis=1)
        votes = np.ones_like(far) if weights == "uniform" else 1.0 / np.maximum(far, 1e-9)
        counts = np.zeros((len(y_new), 10))
        np.add.at(counts, (np.repeat(np.arange(len(y_new)), k), y[nearest].astype(int).ravel()), votes.ravel())
        return float(np.mean(counts.argmax(axis=1) != y_new))

    return mean_loss("digits", 180, loss)


def tree(params: Params) -> float:
    """Squared error over the variance of one regression tree, diabetes data."""
    from sklearn.tree import DecisionTreeRegressor

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = DecisionTreeRegressor(**params, random_state=0).fit(X, y)
        return float(np.mean((model.predict(X_new) - y_new) ** 2) / np.var(y_new))

    return mean_loss("diabetes", 220, loss)


def small_svm(params: Params) -> float:
    """Share of wrong classes of a support vector machine, and a tenth of its share of support vectors, wine data."""
    from sklearn.svm import SVC

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        model = SVC(**params, max_iter=500).fit(X, y)
        return float(np.mean(model.predict(X_new) != y_new) + 0.1 * len(model.support_) / len(X))

    return mean_loss("wine", 120, loss)


def network(params: Params) -> float:
    """Log loss of one hidden layer, trained by gradients of all rows with momentum, iris data."""
    forward, slope = _ACTIVATIONS[params["activation"]]
    rate, momentum, decay = params["rate"], params["momentum"], params["decay"]

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        rng = np.random.default_rng(0)
        shapes = ((X.shape[1] + 1, params["units"]), (params["units"] + 1, 3))
        weights = [params["spread"] * rng.standard_normal(shape) for shape in shapes]
        speeds = [np.zeros(shape) for shape in shapes]
        inputs, target = np.hstack([X, np.ones((len(X), 1))]), np.eye(3)[y.astype(int)]
        for _ in range(params["epochs"]):
            hidden = forward(inputs @ weights[0])
            ends = np.hstack([hidden, np.ones((len(X), 1))])
            error = (_softmax(ends @ weights[1]) - target) / len(X)
            back = (error @ weights[1][:-1].T) * slope(hidden)
            for i, gradient in enumerate((inputs.T @ back, ends.T @ error)):
                speeds[i] = momentum * speeds[i] - rate * (gradient + decay * weights[i])
                weights[i] = np.clip(weights[i] + speeds[i], -1e3, 1e3)
        hidden = forward(np.hstack([X_new, np.ones((len(X_new), 1))]) @ weights[0])
        chances = _softmax(np.hstack([hidden, np.ones((len(X_new), 1))]) @ weights[1])
        return float(-np.mean(np.log(np.clip(chances[np.arange(len(y_new)), y_new.astype(int)], 1e-7, 1.0))))

    return mean_loss("iris", 150, loss)


def _softmax(z: Array) -> Array:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def random_features(params: Params) -> float:
    """Log loss over that of even chances of ridge classifiers on random features, breast cancer data."""
    shape, count = params["shape"], params["count"]

    def loss(X: Array, y: Array, X_new: Array, y_new: Array) -> float:
        rng = np.random.default_rng(0)
        size = (X.shape[1], count)
        normal = rng.standard_normal(size)
        directions = (
            normal if shape == "normal" else rng.standard_cauchy(size) if shape == "cauchy" else np.sign(normal)
        )
        phase = rng.uniform(0.0, 2.0 * np.pi, count)
        scale = params["width"] / np.sqrt(X.shape[1])
        features = [
            np.hstack([np.cos(scale * Z @ directions + phase), params["linear"] * Z, np.ones((len(Z), 1))])
            for Z in (X, X_new)
        ]
        gram = features[0].T @ features[0] + params["ridge"] * np.eye(features[0].shape[1])
        score = features[1] @ np.linalg.solve(gram, features[0].T @ (2.0 * y - 1.0))
        signed = params["steepness"] * score * (2.0 * y_new - 1.0)
        return float(np.mean(np.logaddexp(0.0, -signed)) / np.log(2.0))

    return mean_loss("breast_cancer", 200, loss)


FURTHER: dict[str, Training] = {
    "kernel_ridge_diabetes": Training(
        {
            "alpha": Parameter("float", 1e-4, 1e2, log=True),
            "gamma": Parameter("float", 1e-4, 1e1, log=True),
            "coef0": Parameter("float", 0.0, 3.0),
            "degree": Parameter("int", 1, 5),
            "kernel": Parameter("categorical", choices=("linear", "rbf", "poly", "laplacian", "sigmoid")),
        },
        kernel_ridge,
        optimum=0.5626431614615579,
        scale=2.355,
    ),
    "neighbours_digits": Training(
        {
            "n_neighbors": Parameter("int", 1, 30, log=True),
            "p": Parameter("float", 0.5, 4.0),
            "components": Parameter("int", 2, 20),
            "shrink": Parameter("float", 0.0, 1.5),
            "weights": Parameter("categorical", choices=("uniform", "distance")),
        },
        neighbours,
        optimum=0.09444444444444444,
        scale=0.06936,
    ),
    "tree_diabetes": Training(
        {
            "max_depth": Parameter("int", 1, 12),
            "min_samples_leaf": Parameter("int", 1, 40, log=True),
            "max_features": Parameter("float", 0.1, 1.0),
            "ccp_alpha": Parameter("float", 1e-1, 1e3, log=True),
            "criterion": Parameter("categorical", choices=("squared_error", "friedman_mse", "poisson")),
            "splitter": Parameter("categorical", choices=("best", "random")),
        },
        tree,
        optimum=0.6224633294152816,
        scale=0.113,
    ),
    "small_svm_wine": Training(
        {
            "C": Parameter("float", 1e-2, 1e3, log=True),
            "gamma": Parameter("float", 1e-4, 1e1, log=True),
            "coef0": Parameter("float", 0.0, 2.0),
            "degree": Parameter("int", 2, 5),
            "kernel": Parameter("categorical", choices=("linear", "rbf", "poly", "sigmoid")),
            "shrinking": Parameter("categorical", choices=(True, False)),
        },
        small_svm,
        optimum=0.037083333333333336,
        scale=0.2279,
    ),
    "network_iris": Training(
        {
            "rate": Parameter("float", 1e-3, 1e1, log=True),
            "momentum": Parameter("float", 0.0, 0.99),
            "decay": Parameter("float", 1e-6, 1e0, log=True),
            "spread": Parameter("float", 1e-2, 3.0, log=True),
            "units": Parameter("int", 1, 24, log=True),
            "epochs": Parameter("int", 5, 60, log=True),
            "activation": Parameter("categorical", choices=("relu", "tanh", "logistic")),
        },
        network,
        optimum=0.06113732939634714,
        scale=0.4787,
    ),
    "random_features_breast_cancer": Training(
        {
            "ridge": Parameter("float", 1e-3, 1e3, log=True),
            "width": Parameter("float", 1e-2, 1e1, log=True),
            "linear": Parameter("float", 1e-3, 1e0, log=True),
            "steepness": Parameter("float", 1e-1, 1e1, log=True),
            "count": Parameter("ordinal", choices=(4, 8, 16, 32, 64)),
            "shape": Parameter("categorical", choices=("normal", "cauchy", "signs")),
        },
        random_features,
        optimum=0.17351201011190717,
        scale=0.2641,
    ),
}
