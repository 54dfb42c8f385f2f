"""A NumPyro model with its arguments, as functions of flat unconstrained positions."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.transforms import IdentityTransform
from numpyro.infer.util import potential_energy
from numpyro.primitives import Messenger

from mongepatch._typing import Scalar, Vector
from mongepatch.frontends.numpyro.checks import checked_sites, is_latent, unconstrained_shape, unconstrained_value
from mongepatch.frontends.numpyro.enumeration import (
    check_enumerable,
    check_summed_out,
    depend_on_discrete,
    is_discrete_latent,
    summed_out,
)
from mongepatch.frontends.numpyro.explain import explain
from mongepatch.frontends.numpyro.likelihoods import SummedLikelihoods
from mongepatch.frontends.numpyro.sites import ValidatingNumbers
from mongepatch.frontends.residuals import Site, VariableDescription, distribution_name, formula_of
from mongepatch.targets.layout import Layout


class _FixedKey(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Gives models that ask for a random key the same one each time, since a density must be a function."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] == "prng_key" and msg["value"] is None:
            msg["value"] = jax.random.key(0)


class NumPyroModel:
    """The density, the values and the random variables of a model at any flat position."""

    def __init__(self, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._args, self._kwargs = args, kwargs
        self.sites = checked_sites(model, args, kwargs)
        """Sites at one point, in the model's order."""
        self._enumerates = check_enumerable(self.sites)
        fixed = {name: site["value"] for name, site in self.sites.items() if site["type"] in ("param", "mutable")}
        self.function = handlers.substitute(model, data=fixed)
        """The model with the values of its `numpyro.param` and mutable sites fixed."""
        self._model = ValidatingNumbers(_FixedKey(self.function))
        shapes = {name: unconstrained_shape(site) for name, site in self.sites.items() if is_latent(site)}
        self.layout = Layout(tuple(shapes), tuple(shapes.values()))
        summed = SummedLikelihoods(self._model)
        self._potential: Callable[[dict[str, Any]], Any] = partial(potential_energy, summed, args, kwargs)
        self._hidden: frozenset[str] = frozenset()
        if self._enumerates:
            self._potential = summed_out(self._model, self.sites, args, kwargs)
            values = jnp.zeros(self.layout.size)
            self._hidden = depend_on_discrete(lambda key: self._sites_at(values, key))
            check_summed_out(self.log_density, values, self.sites)

    @property
    def unbounded(self) -> list[str]:
        """Latent sites whose coordinates are their own values."""
        return [name for name in self.layout.names if _is_unbounded(self.sites[name]["fn"].support)]

    def log_density(self, position: Vector) -> Scalar:
        """ℓ with the Jacobians of all transforms: minus NumPyro's potential energy."""
        return -self._potential(self.layout.named(position))

    def values(self, position: Vector) -> dict[str, jax.Array]:
        """The variables of results: latent and deterministic sites at a position, in the model's order."""
        sites = self._sites_at(position)
        return {name: jnp.asarray(site["value"]) for name, site in sites.items() if self.is_in_results(site)}

    def is_in_results(self, site: Mapping[str, Any]) -> bool:
        """Whether results have a site; those that depend on a discrete one, which is summed out, have no value."""
        if site["type"] == "sample":
            return not site["is_observed"] and not is_discrete_latent(site)
        return site["type"] == "deterministic" and site["name"] not in self._hidden

    def explain(self, position: Vector) -> str:
        """Why the density is not finite at a position; empty where that cannot be said."""
        return "" if self._enumerates else explain(self._sites_at(position))

    def position_with(self, values: Mapping[str, Any], position: Vector) -> Vector:
        """A position with latent sites of these names at these values, and the others as at the given position."""
        raw = self.layout.named(position)

        def substitute(site: Mapping[str, Any]) -> Any:
            return _at_step(values[site["name"]], site) if site["name"] in values else _constrained(raw, site)

        model = handlers.substitute(self._model, substitute_fn=substitute)
        sites = handlers.trace(model).get_trace(*self._args, **self._kwargs)
        given = {name: unconstrained_value(sites[name]) for name in values}
        parts = [jnp.ravel(given.get(name, raw[name])).astype(position.dtype) for name in self.layout.names]
        return jnp.concatenate(parts)

    def sites_with(self, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """All of NumPyro's sites with the latent ones at these values."""
        model = handlers.substitute(self._model, data=values)
        return dict(handlers.trace(model).get_trace(*self._args, **self._kwargs))

    def random_variables(self, position: Vector) -> Iterator[tuple[str, Site]]:
        """Every random variable at a position, by name, for the table of residuals."""
        raw = self.layout.named(position)
        for name, site in self._sites_at(position).items():
            if site["type"] == "sample" and name not in self._hidden:
                yield name, _residual_site(site, raw.get(name))

    def descriptions(self, residual_counts: Mapping[str, int]) -> Iterator[VariableDescription]:
        """A description of every random variable."""
        for name, site in self.sites.items():
            if site["type"] == "sample":
                fn, latent = site["fn"], is_latent(site)
                kind = "latent" if latent else "factor" if site["infer"].get("is_auxiliary") else "observed"
                kind = "summed out" if is_discrete_latent(site) else kind
                shape, count = jnp.shape(site["value"]), residual_counts.get(name, 0)
                yield VariableDescription(name, distribution_name(fn), kind, shape, count, formula_of(fn, latent))

    def _sites_at(self, position: Vector, key: Any = None) -> dict[str, dict[str, Any]]:
        """All of NumPyro's sites at a position; values of discrete ones are drawn with the key."""
        raw = self.layout.named(position)
        model = handlers.substitute(self._model, substitute_fn=lambda site: _constrained(raw, site))
        if self._enumerates:
            model = handlers.seed(model, jax.random.key(0) if key is None else key)
        return dict(handlers.trace(model).get_trace(*self._args, **self._kwargs))


def _is_unbounded(support: Any) -> bool:
    """Whether a support is all real numbers, vectors or matrices."""
    transform = biject_to(support)
    while hasattr(transform, "base_transform"):
        transform = transform.base_transform
    return isinstance(transform, IdentityTransform)


def _residual_site(site: Mapping[str, Any], raw: Any) -> Site:
    fn, value = site["fn"], site["value"]
    if value is None:  # of numpyro.factor, in some versions
        return Site(fn, value, observed=True)
    shape = jnp.shape(value)
    batch = jnp.broadcast_shapes(fn.batch_shape, shape[: len(shape) - fn.event_dim])
    return Site(fn, value, raw, not is_latent(site), batch, site["scale"])


def _constrained(raw: Mapping[str, jax.Array], site: Mapping[str, Any]) -> Any:
    """The value of a latent site, from unconstrained values by name; None for all other sites."""
    if site["type"] != "sample" or site["name"] not in raw:
        return None
    transform = biject_to(site["fn"].support)
    num_dims = len(site["fn"].shape()) - transform.codomain.event_dim + transform.domain.event_dim
    return transform(_at_step(raw[site["name"]], site, num_dims))


def _at_step(value: Any, site: Mapping[str, Any], num_dims: int | None = None) -> Any:
    """A value, or inside a scan, where it has a leading axis with one entry per step, its entry of this step."""
    step = site["infer"].get("_scan_current_index")
    num_dims = len(site["fn"].shape()) if num_dims is None else num_dims
    return value[step] if step is not None and value.ndim > num_dims else value
