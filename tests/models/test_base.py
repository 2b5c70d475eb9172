"""Which models declare what."""

from __future__ import annotations

import numpy as np

from calibo.calibration import Calibrated, Temperature
from calibo.data import Dataset
from calibo.models import GaussianProcess, HasHyperparameters, HasLeaveOneOut

DATA = Dataset(X=np.array([[0.1], [0.5], [0.8]]), Y=np.array([[0.0], [1.0], [0.5]]))


def test_a_gaussian_process_declares_both() -> None:
    model = GaussianProcess().fit(DATA, rng=np.random.default_rng(0))
    assert isinstance(model, HasHyperparameters) and isinstance(model, HasLeaveOneOut)
    assert len(model.hyperparameters) == 3 and all(isinstance(v, float) for v in model.hyperparameters)


def test_a_calibrated_model_passes_hyperparameters_on_but_has_no_leave_one_out() -> None:
    model = Calibrated(GaussianProcess(), by=Temperature()).fit(DATA, rng=np.random.default_rng(0))
    assert isinstance(model, HasHyperparameters) and len(model.hyperparameters) == 3
    assert not isinstance(model, HasLeaveOneOut)
