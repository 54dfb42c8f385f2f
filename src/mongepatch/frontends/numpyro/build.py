"""A NumPyro model as a target."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import PRNGKey, Vector
from mongepatch.frontends.numpyro.data import constant_data, is_data, observed_data
from mongepatch.frontends.numpyro.model import Model, is_shown
from mongepatch.frontends.numpyro.names import dims_of
from mongepatch.frontends.numpyro.sites import lines, sites_at
from mongepatch.frontends.residuals import describe, residual_map
from mongepatch.targets import Target

RADIUS = 2.0
"""Chains start within this distance of 0 in every unconstrained coordinate, as NumPyro's and Stan's do."""


def build(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Target:
    """The target of a model with its arguments."""
    model = Model(function, args, kwargs)
    residuals, counts = residual_map(lambda x: sites_at(model, x), model.layout.size)

    def start(key: PRNGKey) -> Vector:
        return jax.random.uniform(key, (model.layout.size,), jnp.result_type(float), -RADIUS, RADIUS)

    return Target(
        model.log_density,
        model.layout,
        start,
        dims=dims_of(site for site in model.sites.values() if is_shown(site) or is_data(site)),
        residuals=residuals,
        constrain=model.values,
        observed_data=observed_data(model.sites),
        constant_data=constant_data(function, args, kwargs, model.sites),
        description=describe(lines(model, counts)),
    )
