"""Numeric descriptors of molecules given as SMILES (needs the extra ``chem``)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.errors import MissingExtra

#: Cheap descriptors that are finite for every molecule and do not depend on the conformer.
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
#: Random projections of the fingerprint: enough to separate isomers, few enough for a Gaussian process.
FINGERPRINT = 8
_BITS = 1024
_RADIUS = 2


def looks_like_smiles(name: str) -> bool:
    """Return whether a column is named like SMILES: "smiles", "Base_SMILES", "smiles 2", "canonicalSmiles"."""
    lower = name.lower()
    return lower.endswith("smiles") or "smiles" in re.split(r"[^a-z]+", lower)


def check_installed(columns: Sequence[str]) -> None:
    """Raise ``MissingExtra`` if some columns need rdkit and it is not installed."""
    check_rdkit(
        f"column {', '.join(map(repr, columns))} holds SMILES, which",
        "Or leave it out by naming the other columns as features, or treat it as categories with smiles=[] (--no-smiles)",
    )


def check_rdkit(what: str, otherwise: str) -> None:
    """Raise ``MissingExtra`` if rdkit, which ``what`` need, is not installed; ``otherwise`` says what else can be done."""
    try:
        import rdkit  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(f"{what} need rdkit: pip install 'calibo[chem]'. {otherwise}") from None


def described(smiles: Sequence[str]) -> Array:
    """Compute descriptors of molecules.

    The first 12 columns are ``DESCRIPTORS``: weight, Crippen's log P and refractivity, polar surface, and counts. The last
    8 are fixed random projections of a Morgan count fingerprint (radius 2, 1,024 bits, log(1 + count)), which are close
    for molecules with common groups and separate isomers that have equal descriptors.

    Args:
        smiles: `N` SMILES strings.

    Returns:
        `N x 20` descriptors, NaN where a string cannot be parsed.
    """
    rows = [_described(text) for text in smiles]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(DESCRIPTORS) + FINGERPRINT)


# The same molecules recur in every batch, and in tables of reactions in almost every row.
@lru_cache(maxsize=1 << 16)
def _described(text: str) -> tuple[float, ...]:
    unknown = (math.nan,) * (len(DESCRIPTORS) + FINGERPRINT)
    from rdkit import Chem, rdBase  # pyright: ignore[reportMissingImports]
    from rdkit.Chem import Crippen, Descriptors, Lipinski, rdmolops  # pyright: ignore[reportMissingImports]
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator  # pyright: ignore[reportMissingImports]

    # Unreadable SMILES are reported once by the encoder, not by one line of rdkit's log for each molecule.
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text)
    if molecule is None or not molecule.GetNumAtoms():
        return unknown
    # Looked up by name, because rdkit creates some of them when it is imported.
    modules: tuple[Any, ...] = (Descriptors, Crippen, Lipinski)
    values = [
        float(rdmolops.GetFormalCharge(molecule))
        if name == "charge"
        else float(next(getattr(m, name) for m in modules if hasattr(m, name))(molecule))
        for name in DESCRIPTORS
    ]
    generator = GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)
    counts = generator.GetCountFingerprintAsNumPy(molecule).astype(np.float64)
    values += (np.log1p(counts) @ _directions()).tolist()
    return tuple(values) if np.isfinite(values).all() else unknown


@lru_cache(maxsize=1)
def _directions() -> Array:
    """Return the fixed random projection, `bits x 8`."""
    signs = np.random.default_rng(20_230_425).integers(0, 2, size=(_BITS, FINGERPRINT))
    return np.asarray(2 * signs - 1, dtype=np.float64) / math.sqrt(FINGERPRINT)
