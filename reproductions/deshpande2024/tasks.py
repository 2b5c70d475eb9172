"""Figure 5: hyperparameters of models that are trained, online LDA and a convolutional network, and a table of such."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo import Float, Int, Ordinal
from calibo.spaces import PoolSpace, Space, as_space

#: Names the folder of ``grid_lda.parquet``: kappa, tau0 and batch size of online LDA, and the perplexity reached.
VARIABLE = "CALIBO_DATA"
GRID, TOPICS, DIGITS = "lda_grid", "lda", "cnn"
TASKS = (GRID, TOPICS, DIGITS)
#: Of the topic models of Python's help texts.
_TOPIC_COUNT, _TEST_SHARE, _FEWEST_WORDS = 10, 0.2, 20
#: Of the networks: passes over the training images, how many of these there are, and how many to test with.
_EPOCHS, _TRAINED, _TESTED = 2, 600, 600


@dataclass(frozen=True)
class Task:
    """A function of hyperparameters that trains a model, or looks up what training gave.

    Attributes:
        space: Of the hyperparameters.
        loss: Of a configuration; the lower the better.
    """

    space: Space
    loss: Callable[[Mapping[str, Any]], float]


@cache
def task(name: str) -> Task:
    """Return the task of that name."""
    if name == GRID:
        return _grid(data_folder() / "grid_lda.parquet")
    # Tables 5 and 6; the paper's networks have color images and more channels to choose from.
    if name == TOPICS:
        powers = {"batch_size": Ordinal([2**k for k in range(8)]), "tau0": Ordinal([2**k for k in range(6)])}
        space = as_space({**powers, "kappa": Float(0.5, 1.0, step=0.1)})
        return Task(space, lambda p: _perplexity(p["batch_size"], p["tau0"], round(p["kappa"], 1)))
    space = as_space(
        {
            "batch_size": Int(32, 512, step=32),
            "learning_rate": Float(1e-7, 0.1, log=True),
            "decay": Float(1e-7, 1e-3, log=True),
            "regularization": Float(1e-7, 1e-3, log=True),
            "hidden": Int(256, 512, step=16),
            "channels": Int(128, 256, step=16),
        }
    )
    return Task(space, lambda p: _error(**p))


def data_folder() -> Path:
    """Return the folder of the table.

    Raises:
        LookupError: If it is not known.
    """
    folder = os.environ.get(VARIABLE)
    if not folder or not (Path(folder) / "grid_lda.parquet").exists():
        raise LookupError(f"say where grid_lda.parquet is with the variable {VARIABLE}, or leave the table out")
    return Path(folder)


def available() -> tuple[str, ...]:
    """Return the tasks that can be run here: the table needs a file, the network torch."""
    from importlib.util import find_spec

    folder = os.environ.get(VARIABLE)
    found = {GRID: bool(folder) and (Path(folder or "") / "grid_lda.parquet").exists()}
    return tuple(name for name in TASKS if found.get(name, name != DIGITS or find_spec("torch") is not None))


def _grid(file: Path) -> Task:
    """Return the table of Snoek et al. (2012): batch size, tau0 and kappa on the scales that they were chosen on."""
    import pandas as pd

    table = pd.read_parquet(file)
    rows = {
        "kappa": table["kappa"].to_numpy(),
        "log2_tau0": np.log2(table["tau0"].to_numpy()),
        "log2_batch_size": np.log2(table["batch_size"].to_numpy()),
    }
    losses = dict(zip(zip(*rows.values(), strict=True), table["perplexity"].to_numpy(), strict=True))
    return Task(PoolSpace(pd.DataFrame(rows)), lambda p: float(losses[tuple(p[name] for name in rows)]))


@cache
def corpus() -> tuple[Any, Any]:
    """Return word counts of the paragraphs of Python's help texts, to train with and to test with."""
    from pydoc_data.topics import topics

    from sklearn.feature_extraction.text import CountVectorizer

    paragraphs = [part for text in topics.values() for part in text.split("\n\n")]
    words = CountVectorizer(stop_words="english", min_df=3, token_pattern=r"[a-z]{3,}")
    counted: Any = words.fit_transform(paragraphs)
    rows = np.flatnonzero(np.asarray(counted.sum(axis=1)).ravel() >= _FEWEST_WORDS)
    rows = np.random.default_rng(0).permutation(rows)
    tested = int(_TEST_SHARE * len(rows))
    return counted[rows[tested:]], counted[rows[:tested]]


@cache
def _perplexity(batch_size: int, tau0: float, kappa: float) -> float:
    """Return the perplexity of held-out paragraphs after one pass of online LDA (Hoffman et al. 2010)."""
    from sklearn.decomposition import LatentDirichletAllocation

    train, test = corpus()
    model = LatentDirichletAllocation(
        _TOPIC_COUNT,
        learning_method="online",
        learning_decay=kappa,
        learning_offset=tau0,
        batch_size=batch_size,
        max_iter=1,
        max_doc_update_iter=20,
        random_state=0,
    )
    return float(model.fit(train).perplexity(test))


@cache
def _images() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[order] / 16.0).astype(np.float32)
    return images[:, None], digits.target[order].astype(np.int64)


def _error(
    *, batch_size: int, learning_rate: float, decay: float, regularization: float, hidden: int, channels: int
) -> float:
    """Return the share of scikit-learn's digits that a small convolutional network gets wrong after two epochs."""
    import torch
    from torch import nn

    images, labels = (torch.from_numpy(values) for values in _images())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(4),
            nn.Flatten(),
            nn.Linear(4 * channels, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 10),
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, weight_decay=regularization)
        steps = 0
        for _ in range(_EPOCHS):
            for rows in torch.randperm(_TRAINED).split(batch_size):
                steps += 1
                for group in optimizer.param_groups:
                    group["lr"] = learning_rate / (1.0 + decay * steps)
                optimizer.zero_grad()
                nn.functional.cross_entropy(network(images[rows]), labels[rows]).backward()
                optimizer.step()
        with torch.no_grad():
            tested = slice(_TRAINED, _TRAINED + _TESTED)
            wrong = network(images[tested]).argmax(dim=1) != labels[tested]
    return float(wrong.double().mean())
