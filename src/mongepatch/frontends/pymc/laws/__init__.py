"""PyMC's distributions in NumPyro's words, so that one table of residuals serves both."""

from mongepatch.frontends.pymc.laws import composed, table, vectors
from mongepatch.frontends.pymc.laws.find import find
from mongepatch.frontends.pymc.laws.law import Law, NotListedError, Reader

__all__ = ["READERS", "Law", "NotListedError", "Reader", "find"]

READERS: dict[type, Reader] = {**table.READERS, **vectors.READERS, **composed.READERS}
"""How the law of a random variable is read, by the class of its operation."""
