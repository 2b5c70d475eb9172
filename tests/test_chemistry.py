"""Molecules as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.chemistry import DESCRIPTORS, FINGERPRINT, described, looks_like_smiles


def test_names_of_molecules() -> None:
    assert all(map(looks_like_smiles, ("SMILES", "Base_SMILES", "smiles_2", "canonicalSmiles", "SMILES (dry)")))
    assert not any(map(looks_like_smiles, ("smile", "yield", "smilesque", "miles")))


@pytest.mark.extras
def test_descriptors() -> None:
    X = described(["CCO", "OCC", "CCCO", "CC(C)O", "c1ccccc1", "[Na+].[Cl-]"])
    assert X.shape == (6, len(DESCRIPTORS) + FINGERPRINT) and np.isfinite(X).all()
    weight, rings, charge = (DESCRIPTORS.index(n) for n in ("MolWt", "NumAromaticRings", "charge"))
    assert X[0, weight] == pytest.approx(46.07, abs=0.01)
    assert X[4, rings] == 1 and X[0, rings] == 0 and X[5, charge] == 0
    np.testing.assert_allclose(X[0], X[1], atol=1e-12)  # two ways to write ethanol
    assert np.abs(X[2] - X[3]).max() > 0.1  # isomers differ


@pytest.mark.extras
def test_what_cannot_be_read() -> None:
    assert np.isnan(described(["not a molecule", "", "C1CC"])).all()
    assert described([]).shape == (0, len(DESCRIPTORS) + FINGERPRINT)
