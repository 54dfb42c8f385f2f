"""Sampling: many chains, one call."""

from mongepatch.sampling.resume import extend, resume
from mongepatch.sampling.sample import sample
from mongepatch.sampling.settings import Store
from mongepatch.sampling.until import Until
from mongepatch.sampling.watch import RunStatus

__all__ = ["RunStatus", "Store", "Until", "extend", "resume", "sample"]
