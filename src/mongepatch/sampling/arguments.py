"""What users pass to `sample`, as the rest of the library knows it."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, PRNGKey, PyTree
from mongepatch.errors import LogDensityError, ParameterError, SettingError
from mongepatch.targets import Target


def as_key(seed: Any) -> PRNGKey:
    """A key from a whole number, or a key as it is."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key) and seed.ndim == 0:
        return seed
    if isinstance(seed, jax.Array) and seed.dtype == jnp.uint32 and seed.ndim == 1:
        return jax.random.wrap_key_data(seed)  # of jax.random.PRNGKey
    try:
        return jax.random.key(operator.index(seed))
    except (TypeError, OverflowError) as error:
        raise SettingError(
            f"seed must be a whole number of at most 64 bits or one jax.random.key; it is {seed!r}."
        ) from error


def as_target(
    target: Target | LogDensity,
    example: PyTree,
    residuals: Callable[[Any], Any] | None,
    dims: Mapping[str, Sequence[str]] | None,
    coords: Mapping[str, Sequence[Any]] | None,
) -> Target:
    """A target from a density and a point of its parameters, or a target as it is; with more names, if given."""
    if not callable(target):
        raise LogDensityError(f"target must be a log density or a Target; it is a {type(target).__name__}.")
    if not isinstance(target, Target):
        if example is None:
            raise ParameterError(
                "Give init, one point of the log density's parameters: it says their names and shapes."
            )
        target = Target.from_density(target, example)
    if residuals is not None:
        target = target.with_residuals(residuals)
    for name, given in (("dims", dims), ("coords", coords)):
        if not isinstance(given, Mapping | None):
            raise ParameterError(f"{name} must be a dict; it is {given!r}.")
    return replace(target, dims={**target.dims, **(dims or {})}, coords={**target.coords, **(coords or {})})
