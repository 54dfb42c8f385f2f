"""A NumPyro model as a target."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpyro

from mongepatch._random import uniform_vector
from mongepatch._typing import PRNGKey, Vector
from mongepatch.frontends.numpyro.checks import naming_what_is_untraceable
from mongepatch.frontends.numpyro.data import constant_data, data_name, dims_of, is_data, observed_data
from mongepatch.frontends.numpyro.generative import NumPyroDraws
from mongepatch.frontends.numpyro.model import NumPyroModel
from mongepatch.frontends.residuals import describe, residual_map
from mongepatch.targets import Target

INIT_RADIUS = 2.0
"""Chains start within this distance of 0 in every unconstrained coordinate, as in NumPyro and Stan."""


def build(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Target:
    """The target of a model with its arguments."""
    with naming_what_is_untraceable(function, args, kwargs):
        model = NumPyroModel(function, args, kwargs)
        maps = residual_map(model.random_variables, model.layout, model.unbounded)

    def start(key: PRNGKey) -> Vector:
        return uniform_vector(key, model.layout.size, jnp.result_type(float), reach=INIT_RADIUS)

    dims = dims_of(site for site in model.sites.values() if model.is_in_results(site) or is_data(site))
    dims = {name: own for name, own in dims.items() if data_name(name, model.sites) == name}
    return Target(
        model.log_density,
        model.layout,
        start,
        dims=dims,
        residuals=maps.residuals,
        model=maps.model,
        constrain=model.values,
        unconstrain=model.position_with,
        generative=NumPyroDraws(model, function, args, kwargs, dims),
        interface=("numpyro", numpyro.__version__),
        origin="NumPyro",
        explain=model.explain,
        observed_data=observed_data(model.sites),
        constant_data=constant_data(function, args, kwargs, model.sites),
        description=describe(model.descriptions(maps.counts)),
    )
