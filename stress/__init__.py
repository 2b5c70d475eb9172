"""Stress tests: bounded scripts that try to break calibo, stop by themselves and store what they found.

Each script prints what it found and stores it in ``stress/results/``; ``python -m stress.page`` and ``stress.table``
put the results into ``docs/reliability.md``. A short version of each runs in the tests.
"""
