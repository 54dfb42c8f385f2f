"""Refusals of models that cannot be sampled, with the name of the site at fault."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import init_to_uniform
from numpyro.primitives import Messenger

from mongepatch.errors import ModelError


class _Watch(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Remembers the last site that a model reached."""

    last: str | None = None

    def process_message(self, msg: dict[str, Any]) -> None:
        self.last = msg.get("name") or self.last


def call(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The sites of a model at one point, or what went wrong and where."""
    _check_arguments(model, args, kwargs)
    watch = _Watch(model)  # innermost, so that it sees a site before any handler does
    seeded = handlers.substitute(handlers.seed(watch, jax.random.key(0)), substitute_fn=init_to_uniform)
    try:
        return dict(handlers.trace(seeded).get_trace(*args, **kwargs))
    except Exception as error:
        where = "before its first site" if watch.last is None else f"at or after the site {watch.last!r}"
        raise ModelError(f"The model failed {where}: {type(error).__name__}: {error}") from error


def _check_arguments(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not callable(model):
        raise ModelError(f"A model is a function with numpyro.sample in it; this is a {type(model).__name__}.")
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError as error:
        raise ModelError(f"The model cannot be called with these arguments: {error}.") from error
    except ValueError:
        return  # it has no signature to look at


def check_sites(sites: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise where a model draws some of its data, or a discrete variable."""
    for name, site in sites.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise ModelError(
                f"The plate {name!r} takes a random {site['args'][1]} of {site['args'][0]}: its density changes from "
                "call to call. Leave subsample_size out."
            )
        if site["type"] == "sample" and not site["is_observed"] and site["fn"].support.is_discrete:
            raise ModelError(
                f"The latent site {name!r} ({type(site['fn']).__name__}) is discrete, and the sampler moves through "
                "real numbers. Sum it out of the model: dist.MixtureSameFamily, or numpyro.factor of a logsumexp."
            )


def check_latent(site: Mapping[str, Any]) -> Any:
    """The unconstrained value of a site, or a refusal where it has none."""
    try:
        return biject_to(site["fn"].support).inv(site["value"])
    except Exception as error:
        raise ModelError(
            f"The site {site['name']!r} ({type(site['fn']).__name__}) has a support that cannot be mapped to the real "
            f"line: {type(error).__name__}: {error} See numpyro.handlers.reparam."
        ) from error


def check_log_prob(site: Mapping[str, Any]) -> None:
    """Raise where a site has no density, or data at which it is NaN."""
    if site["type"] != "sample":
        return
    kind = f"The site {site['name']!r} ({type(site['fn']).__name__})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that are masked; what matters comes again with the density
            density = np.asarray(jnp.sum(site["fn"].log_prob(site["value"])))
    except Exception as error:
        raise ModelError(f"{kind} has no log density: {type(error).__name__}: {error}") from error
    if site["is_observed"] and not np.isfinite(density) and np.isnan(np.asarray(site["value"], float)).any():
        raise ModelError(
            f"{kind} has observed values that are NaN. Leave them out, or mask them: numpyro.handlers.mask."
        )
