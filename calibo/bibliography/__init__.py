"""The BibTeX entries of the papers behind the parts, by key."""

from calibo.bibliography.conformal import CONFORMAL
from calibo.bibliography.optimization import OPTIMIZATION

BIBLIOGRAPHY: dict[str, tuple[str, dict[str, str]]] = {**OPTIMIZATION, **CONFORMAL}

__all__ = ["BIBLIOGRAPHY"]
