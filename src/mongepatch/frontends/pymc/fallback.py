"""Residuals of random variables whose distribution NumPyro does not have."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax

from mongepatch.frontends.pymc.distributions import NoEquivalentError, SymbolicDistribution
from mongepatch.frontends.pymc.model import PyMCModel
from mongepatch.frontends.residuals import Site


class UnknownDistribution:
    """A distribution with nothing but a log density at one value, which is all that the fallback residual needs."""

    batch_shape: tuple[int, ...] = ()

    def __init__(self, event_dim: int, log_densities: jax.Array | None = None) -> None:
        self.event_dim = event_dim
        self._log_densities = log_densities
        self.formula = "its unconstrained value" if log_densities is None else "its log density"

    def log_prob(self, value: Any) -> jax.Array | None:
        """The log density at the one value."""
        return self._log_densities


def unknown_distribution(
    model: PyMCModel, variable: Any, observed: bool, factors: Sequence[Any]
) -> Callable[[], SymbolicDistribution]:
    """For a free variable its unconstrained value, for data its log density, divided by its factors."""

    def distribution() -> SymbolicDistribution:
        event_dim = getattr(variable.owner.op, "ndim_supp", 0)
        if not observed:
            return SymbolicDistribution(
                (), lambda arrays, value, raw: [Site(UnknownDistribution(event_dim), value, raw)]
            )
        try:
            graph = prod([model.log_densities(variable), *(1 / factor for factor in factors)])
        except Exception as error:
            raise NoEquivalentError from error
        return SymbolicDistribution(
            (graph,), lambda arrays, value, raw: [Site(UnknownDistribution(event_dim, arrays[0]), value)]
        )

    return distribution


def without_residual() -> SymbolicDistribution:
    """The last resort: no residual."""
    return SymbolicDistribution((), lambda arrays, value, raw: [])
