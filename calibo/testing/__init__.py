"""Shipped conformance suites: inherit one, say what is under test, and run pytest."""
