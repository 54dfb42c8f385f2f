"""Chains of one run in several places: merged runs, tasks of an executor, and processes of several hosts."""
