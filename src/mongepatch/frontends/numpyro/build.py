"""A NumPyro model as a target."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mongepatch._random import uniform_vector
from mongepatch._typing import PRNGKey, Vector
from mongepatch.frontends.numpyro.data import constant_data, dims_of, is_data, observed_data
from mongepatch.frontends.numpyro.model import NumPyroModel, is_in_results
from mongepatch.frontends.residuals import describe, residual_map
from mongepatch.targets import Target

INIT_RADIUS = 2.0
"""Chains start within this distance of 0 in every unconstrained coordinate, as in NumPyro and Stan."""


def build(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Target:
    """The target of a model with its arguments."""
    model = NumPyroModel(function, args, kwargs)
    maps = residual_map(model.random_variables, model.layout, model.unbounded)

    def start(key: PRNGKey) -> Vector:
        return uniform_vector(key, model.layout.size, jnp.result_type(float), reach=INIT_RADIUS)

    return Target(
        model.log_density,
        model.layout,
        start,
        dims=dims_of(site for site in model.sites.values() if is_in_results(site) or is_data(site)),
        residuals=maps.residuals,
        model=maps.model,
        constrain=model.values,
        observed_data=observed_data(model.sites),
        constant_data=constant_data(function, args, kwargs, model.sites),
        description=describe(model.descriptions(maps.counts)),
    )
