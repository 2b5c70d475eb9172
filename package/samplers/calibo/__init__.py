"""calibo's sampler as a package of OptunaHub: the sampler itself is in the package `calibo` (pip install calibo)."""

from calibo import CalibratedSampler

__all__ = ["CalibratedSampler"]
