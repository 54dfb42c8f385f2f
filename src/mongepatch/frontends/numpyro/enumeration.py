"""Discrete latent sites, which are summed out of the density where NumPyro and funsor can enumerate them."""

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.infer.util import potential_energy

from mongepatch._typing import Scalar, Vector
from mongepatch.errors import ModelError
from mongepatch.frontends.residuals import distribution_name
from mongepatch.frontends.residuals.residual_map import outputs_that_depend_on_input


def is_discrete_latent(site: Mapping[str, Any]) -> bool:
    """Whether a site is a discrete random variable without data."""
    return bool(site["type"] == "sample" and not site["is_observed"] and site["fn"].support.is_discrete)


def check_enumerable(sites: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a model has discrete latent sites; raise where one of them cannot be summed out."""
    discrete = [site for site in sites.values() if is_discrete_latent(site)]
    for site in discrete:
        what = (
            f"The latent site {site['name']!r} ({distribution_name(site['fn'])}) is discrete, and only continuous "
            "parameters can be sampled."
        )
        if not site["fn"].has_enumerate_support:
            raise ModelError(f"{what} It has infinitely many values, so it cannot be summed out: use a continuous one.")
        if not has_funsor():
            raise ModelError(
                f"{what} Marginalize it: use dist.MixtureSameFamily, or numpyro.factor of a logsumexp; or let NumPyro "
                'sum over its values: pip install "mongepatch[enumerate]".'
            )
    return bool(discrete)


def check_in_plates(sites: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise where a model has discrete latent sites, and values that no plate declares."""
    if not any(is_discrete_latent(site) for site in sites.values()):
        return
    outside = [name for name, site in sites.items() if _has_axes_outside_plates(site)]
    if outside:
        raise ModelError(
            f"{_cannot_be_summed_out(sites)}: {outside} have axes that belong to no plate. NumPyro would put the "
            "values of discrete sites there, and pair them with data. Write with numpyro.plate('rows', len(y)) around "
            "them, or .to_event(1) behind a distribution of values that belong together."
        )


def has_funsor() -> bool:
    """Whether the library that NumPyro enumerates with is installed."""
    return importlib.util.find_spec("funsor") is not None


def summed_out(
    model: Callable[..., Any], sites: Mapping[str, Mapping[str, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[dict[str, Any]], Any]:
    """Minus the log density of unconstrained values of a model's continuous sites, the discrete ones summed out."""
    from numpyro.contrib.funsor import config_enumerate, enum

    frames = [frame for site in sites.values() if site["type"] == "sample" for frame in site["cond_indep_stack"]]
    plates = max((-frame.dim for frame in frames if frame.dim is not None), default=0)
    enumerated = enum(config_enumerate(model), -plates - 1)
    return lambda values: potential_energy(enumerated, args, kwargs, values, enum=True)


def check_summed_out(
    density: Callable[[Vector], Scalar], position: Vector, sites: Mapping[str, Mapping[str, Any]]
) -> None:
    """Raise unless NumPyro can sum the discrete sites out of the density; its reason is told."""
    try:
        jax.eval_shape(density, position)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ModelError(f"{_cannot_be_summed_out(sites)}: {reason}") from error


def _cannot_be_summed_out(sites: Mapping[str, Mapping[str, Any]]) -> str:
    discrete = [name for name, site in sites.items() if is_discrete_latent(site)]
    return f"The discrete sites {discrete} cannot be summed out"


def _has_axes_outside_plates(site: Mapping[str, Any]) -> bool:
    """Whether a site has several values that no plate declares; the steps of a scan need none."""
    if site["type"] != "sample" or site["value"] is None:
        return False
    fn, shape = site["fn"], jnp.shape(site["value"])
    batch = jnp.broadcast_shapes(fn.batch_shape, shape[: len(shape) - fn.event_dim])
    declared = {frame.dim for frame in site["cond_indep_stack"]}
    if site.get("_control_flow_done", False):
        declared.add(-len(batch))
    return any(size > 1 and axis - len(batch) not in declared for axis, size in enumerate(batch))


def depend_on_discrete(sites_at: Callable[[Any], Mapping[str, Mapping[str, Any]]]) -> frozenset[str]:
    """Names of the sites whose value or distribution depends on a discrete one.

    Args:
        sites_at: the sites of a model for a random key that nothing but the values of discrete sites comes from.
    """
    names: list[str] = []

    def parts(key: Any) -> list[Any]:
        found = []
        names.clear()
        for name, site in sites_at(key).items():
            if site["type"] == "sample":
                names.append(name)
                found.append(site["fn"].log_prob(site["value"]))
            elif site["type"] == "deterministic":
                names.extend([name] * len(jax.tree.leaves(site["value"])))
                found.extend(jax.tree.leaves(site["value"]))
        return found

    jaxpr = jax.make_jaxpr(parts)(jax.random.key(0)).jaxpr
    depends = outputs_that_depend_on_input(jaxpr)
    return frozenset(name for name, dependent in zip(names, depends, strict=True) if dependent)
