"""Measurements: what calibo costs and what it is worth; see README.md."""
