"""A NumPyro model with its arguments: its sites, and what they are at a point of unconstrained coordinates."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy
from numpyro.primitives import Messenger

from mongepatch._typing import Scalar, Vector
from mongepatch.errors import ModelError
from mongepatch.frontends.numpyro.checks import call, check_latent, check_log_prob, check_sites
from mongepatch.targets.layout import Layout


class _DefaultKey(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Gives models that ask for randomness the same one each time: a density must be a function."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] == "prng_key" and msg["value"] is None:
            msg["value"] = jax.random.key(0)


class Model:
    """A model whose density, values and sites can be asked for at any flat position."""

    def __init__(self, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._args, self._kwargs = args, kwargs
        self.sites = call(model, args, kwargs)
        """Sites at one point, in the model's order."""
        check_sites(self.sites)
        fixed = {name: site["value"] for name, site in self.sites.items() if site["type"] in ("param", "mutable")}
        self._model = _DefaultKey(handlers.substitute(model, data=fixed))
        raw = {name: check_latent(site) for name, site in self.sites.items() if is_latent(site)}
        if not raw:
            raise ModelError(
                "The model has no latent sites, so that there is nothing to sample: every numpyro.sample has obs."
            )
        self.layout = Layout(tuple(raw), tuple(jnp.shape(value) for value in raw.values()))
        for site in self.sites.values():
            check_log_prob(site)

    def log_density(self, position: Vector) -> Scalar:
        """ℓ with the Jacobians of all transforms: minus NumPyro's potential energy."""
        return -potential_energy(self._model, self._args, self._kwargs, self.layout.named(position))

    def at(self, position: Vector) -> dict[str, dict[str, Any]]:
        """All sites at a position."""
        raw = self.layout.named(position)
        model = handlers.substitute(self._model, substitute_fn=lambda site: _constrained(raw, site))
        return dict(handlers.trace(model).get_trace(*self._args, **self._kwargs))

    def values(self, position: Vector) -> dict[str, jax.Array]:
        """What results show: latent and deterministic sites at a position, in the model's order."""
        return {name: jnp.asarray(site["value"]) for name, site in self.at(position).items() if is_shown(site)}


def is_latent(site: Mapping[str, Any]) -> bool:
    """Whether a site is one of the parameters. A Delta is not: its value is known from the others'."""
    return site["type"] == "sample" and not site["is_observed"] and not _is_delta(site["fn"])


def is_shown(site: Mapping[str, Any]) -> bool:
    """Whether a site is in results."""
    return site["type"] == "deterministic" or (site["type"] == "sample" and not site["is_observed"])


def _is_delta(fn: Any) -> bool:
    while hasattr(fn, "base_dist"):
        fn = fn.base_dist
    return type(fn).__name__ == "Delta"


def _constrained(raw: Mapping[str, jax.Array], site: Mapping[str, Any]) -> Any:
    """The value of a site whose raw value is given."""
    if site["type"] != "sample" or site["name"] not in raw:
        return None
    value, transform = raw[site["name"]], biject_to(site["fn"].support)
    step = site["infer"].get("_scan_current_index")
    if step is not None:  # inside a scan each step has an entry of what is given for all
        axes = len(site["fn"].shape()) - transform.codomain.event_dim + transform.domain.event_dim
        value = value[step] if value.ndim > axes else value
    return transform(value)
