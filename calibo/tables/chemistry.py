"""Molecules written as SMILES -> numbers that describe them (extra ``chem``)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.errors import MissingExtra

#: Descriptors that are the same whatever tautomer or conformer is drawn, cheap, and finite for every molecule.
DESCRIPTORS = (
    "MolWt",
    "MolLogP",
    "MolMR",
    "TPSA",
    "FractionCSP3",
    "NumHAcceptors",
    "NumHDonors",
    "NumHeteroatoms",
    "NumRotatableBonds",
    "NumAromaticRings",
    "NumAliphaticRings",
    "charge",
)
#: Coordinates of the fingerprint: enough to tell isomers apart, few enough for a Gaussian process.
FINGERPRINT = 8
_BITS = 1024
_RADIUS = 2


def looks_like_smiles(name: str) -> bool:
    """Whether a column says by its name that it holds SMILES: "smiles", "Base_SMILES", "smiles 2", "canonicalSmiles"."""
    lower = name.lower()
    return lower.endswith("smiles") or "smiles" in re.split(r"[^a-z]+", lower)


def check_installed(columns: Sequence[str]) -> None:
    """Raises ``MissingExtra`` if rdkit, which some columns need, is not there."""
    try:
        import rdkit  # noqa: F401
    except ImportError:
        raise MissingExtra(
            f"column {', '.join(map(repr, columns))} holds SMILES, which need rdkit: pip install 'calibo[chem]'. Or leave it "
            "out by naming the other columns as features, or take it as plain words with smiles=[] (--no-smiles)"
        ) from None


def described(smiles: Sequence[str]) -> Array:
    """Descriptors of molecules, N x (12 + 8), NaN where the SMILES cannot be read.

    The first columns are ``DESCRIPTORS``: weight, Crippen's log P and refractivity, polar surface, and counts. The last
    are a Morgan fingerprint of counts (radius 2, 1,024 bits, log(1 + count)) seen from 8 fixed random directions: close
    for molecules with common groups, and different for isomers that no descriptor tells apart.
    """
    rows = [_described(text) for text in smiles]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(DESCRIPTORS) + FINGERPRINT)


# The same molecules come again in every batch, and in reactions in almost every row.
@lru_cache(maxsize=1 << 16)
def _described(text: str) -> tuple[float, ...]:
    unknown = (math.nan,) * (len(DESCRIPTORS) + FINGERPRINT)
    molecule = _molecule(text)
    if molecule is None:
        return unknown
    from rdkit.Chem import Crippen, Descriptors, Lipinski, rdFingerprintGenerator, rdmolops

    # Read by name, as rdkit makes some of them when it is imported.
    modules: tuple[Any, ...] = (Descriptors, Crippen, Lipinski)
    values = [
        float(rdmolops.GetFormalCharge(molecule))
        if name == "charge"
        else float(next(getattr(m, name) for m in modules if hasattr(m, name))(molecule))
        for name in DESCRIPTORS
    ]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)
    counts = generator.GetCountFingerprintAsNumPy(molecule).astype(np.float64)
    values += (np.log1p(counts) @ _directions()).tolist()
    return tuple(values) if np.isfinite(values).all() else unknown


def _molecule(text: str) -> Any:
    from rdkit import Chem, rdBase

    # What cannot be read is announced once, not by a line of rdkit's for each molecule.
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text)
    return molecule if molecule is not None and molecule.GetNumAtoms() else None


@lru_cache(maxsize=1)
def _directions() -> Array:
    """Fixed random signs, bits x 8."""
    signs = np.random.default_rng(20_230_425).integers(0, 2, size=(_BITS, FINGERPRINT))
    return np.asarray(2 * signs - 1, dtype=np.float64) / math.sqrt(FINGERPRINT)
