"""A random variable of a PyMC model, and the NumPyro distribution that gives its residuals."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from numpyro.distributions import biject_to
from pymc.variational.minibatch_rv import MinibatchRandomVariable, get_scaling

from mongepatch.frontends.pymc.checks import distribution_name
from mongepatch.frontends.pymc.distributions import NoEquivalentError, SymbolicDistribution, convert
from mongepatch.frontends.pymc.fallback import unknown_distribution, without_residual
from mongepatch.frontends.pymc.model import PyMCModel
from mongepatch.frontends.residuals import Site, residuals_of_site

Candidates: TypeAlias = tuple[Callable[[], SymbolicDistribution], ...]
"""Functions that make a distribution or raise `NoEquivalentError`, the best first."""


class PyMCVariable(NamedTuple):
    """A random variable with one of the distributions that may give its residuals."""

    name: str
    distribution_name: str
    observed: bool
    value_graphs: tuple[Any, ...]
    """Graphs of its value and, where `total_size` is given, of the factor on its log density."""
    distribution: SymbolicDistribution
    alternatives: Candidates
    """Distributions to try if this one does not work."""
    has_numpyro_coordinates: bool = False
    """Whether PyMC's unconstrained value is the same as NumPyro's, so that residuals may use it."""

    @property
    def graphs(self) -> tuple[Any, ...]:
        """All inputs of its residuals except its unconstrained value."""
        return (*self.value_graphs, *self.distribution.parameters)

    def sites(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> list[Site]:
        """Its sites for the table of residuals, from the values of `graphs` and its unconstrained value."""
        weight = arrays[1] if len(self.value_graphs) > 1 else None
        completed = []
        for site in self._converted_sites(arrays, raw):
            usable = self.has_numpyro_coordinates or site.raw is not raw
            completed.append(_complete(site, self.observed, weight, site.raw if usable else None))
        return completed

    def has_finite_residuals(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> bool:
        """Whether the residuals can be computed and are finite. A model without residuals can be sampled too."""
        try:
            residuals = [part for site in self.sites(arrays, raw) for part in residuals_of_site(site)]
        except Exception:
            return False
        return all(bool(jnp.isfinite(part).all()) for part in residuals)

    def coordinates_agree(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> bool:
        """Whether PyMC's unconstrained value is the same as NumPyro's at one point."""
        sites = self._converted_sites(arrays, raw)
        if raw is None or len(sites) != 1 or sites[0].raw is not raw:
            return False
        if not hasattr(sites[0].fn, "support"):
            return True  # not a NumPyro distribution: PyMC's unconstrained value is used as it is
        of_numpyro = biject_to(sites[0].fn.support).inv(arrays[0])
        return of_numpyro.shape == raw.shape and bool(jnp.allclose(of_numpyro, raw, rtol=1e-3, atol=1e-3))

    def with_next_distribution(self) -> "PyMCVariable":
        """The same variable with the next distribution to try."""
        distribution, alternatives = _first_available(self.alternatives)
        return self._replace(distribution=distribution, alternatives=alternatives)

    def _converted_sites(self, arrays: Sequence[jax.Array], raw: jax.Array | None) -> list[Site]:
        # PyTensor stores constants in the smallest type that holds them, which is too imprecise to compute with.
        parameters = [array.astype(jnp.result_type(float)) for array in arrays[len(self.value_graphs) :]]
        return self.distribution.sites(parameters, arrays[0], raw)


def random_variables(model: PyMCModel) -> Iterator[PyMCVariable]:
    """All random variables of a model, in its order."""
    for variable in model.pymc.basic_RVs:
        inner, value_graphs = variable, [variable]
        if isinstance(variable.owner.op, MinibatchRandomVariable):
            inner, *total = variable.owner.inputs
            value_graphs.append(get_scaling(total, variable.shape))
        observed = variable in model.pymc.observed_RVs
        fallback = unknown_distribution(model, variable, observed, value_graphs[1:])
        distribution, alternatives = _first_available((partial(convert, inner), fallback, without_residual))
        name = distribution_name(inner)
        yield PyMCVariable(variable.name, name, observed, tuple(value_graphs), distribution, alternatives)


def _first_available(candidates: Candidates) -> tuple[SymbolicDistribution, Candidates]:
    """The first distribution that can be made, and the candidates after it."""
    try:
        return candidates[0](), candidates[1:]
    except NoEquivalentError:
        return _first_available(candidates[1:])


def _complete(site: Site, observed: bool, weight: jax.Array | None, raw: Any) -> Site:
    shape = jnp.shape(site.value)
    batch = jnp.broadcast_shapes(site.fn.batch_shape, shape[: len(shape) - site.fn.event_dim])
    return site._replace(observed=observed, batch=batch, raw=raw, weight=weight)
