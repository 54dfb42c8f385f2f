"""Distributions that NumPyro does not have: the last resorts of residuals."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax

from mongepatch.frontends.pymc.laws import Law, NotListedError
from mongepatch.frontends.pymc.model import Model
from mongepatch.frontends.residuals import Site


class Unlisted:
    """A distribution of which only its log density at the value is known; the fallback asks for no more."""

    batch_shape: tuple[int, ...] = ()

    def __init__(self, event_dim: int, log_densities: jax.Array | None = None) -> None:
        self.event_dim = event_dim
        self._log_densities = log_densities
        self.formula = "its unconstrained value" if log_densities is None else "its log density"

    def log_prob(self, value: Any) -> jax.Array | None:
        """The log density at the one value."""
        return self._log_densities


def unlisted(model: Model, variable: Any, observed: bool, factors: Sequence[Any]) -> Callable[[], Law]:
    """A free variable's unconstrained value, or the log density of data, without the factors that it has."""

    def law() -> Law:
        event_dim = getattr(variable.owner.op, "ndim_supp", 0)
        if not observed:
            return Law((), lambda arrays, value, raw: [Site(Unlisted(event_dim), value, raw)])
        try:
            graph = prod([model.log_densities(variable), *(1 / factor for factor in factors)])
        except Exception as error:
            raise NotListedError from error
        return Law((graph,), lambda arrays, value, raw: [Site(Unlisted(event_dim, arrays[0]), value)])

    return law


def nothing() -> Law:
    """No residual at all."""
    return Law((), lambda arrays, value, raw: [])
