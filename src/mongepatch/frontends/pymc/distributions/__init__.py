"""PyMC's distributions as distributions of NumPyro, so that one table of residuals serves both."""

from mongepatch.frontends.pymc.distributions import composed, scalars, vectors
from mongepatch.frontends.pymc.distributions.convert import (
    CONVERTERS,
    NoEquivalentError,
    SymbolicDistribution,
    convert,
)

__all__ = ["CONVERTERS", "NoEquivalentError", "SymbolicDistribution", "composed", "convert", "scalars", "vectors"]
