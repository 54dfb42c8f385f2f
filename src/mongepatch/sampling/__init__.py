"""Sampling: many chains, one call."""

from mongepatch.sampling.sample import sample

__all__ = ["sample"]
