"""Molecules as numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from calibo.errors import MissingExtra
from calibo.tables.chemistry import DESCRIPTORS, FINGERPRINT, check_installed, described, looks_like_smiles


@pytest.mark.parametrize("name", ["smiles", "SMILES", "Base_SMILES", "smiles_2", "canonicalSmiles", "SMILES (dry)"])
def test_names_of_molecules(name: str) -> None:
    assert looks_like_smiles(name)


@pytest.mark.parametrize("name", ["smile", "yield", "smilesque", "miles"])
def test_names_of_other_things(name: str) -> None:
    assert not looks_like_smiles(name)


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


def test_without_rdkit_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"column 'smiles'.*pip install 'calibo\[chem\]'"):
        check_installed(["smiles"])
