"""A Stan model as a target."""

from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import PRNGKey, Scalar, Vector
from mongepatch.errors import ModelError, SettingError
from mongepatch.frontends.stan import bridged, callbacks, density
from mongepatch.frontends.stan.backend import Backend
from mongepatch.frontends.stan.compiled import Compiled
from mongepatch.frontends.stan.names import variables_of
from mongepatch.frontends.stan.source import arrays_of, data_from, program_from
from mongepatch.targets import Target
from mongepatch.targets.layout import Layout
from mongepatch.validation import whole_number

RADIUS = 2.0
"""Chains start within this distance of 0 in every unconstrained coordinate, as Stan's do."""


def build(program: Any, data: Any, seed: int, hessian: str) -> Target:
    """The target of a program with its data."""
    given, seed = data_from(data), whole_number("seed", seed, least=0)
    if seed >= 2**32:
        raise SettingError(f"seed must be below 2^32, as Stan's is; it is {seed}.")
    if hessian not in ("exact", "differences"):
        raise SettingError(f'hessian must be "exact" or "differences"; it is {hessian!r}.')
    code = program_from(program)
    # Ours comes first: XLA calls it without Python, and it does all chains in one call.
    if bridged.is_available() and find_spec("httpstan") is None:
        return target_of(bridged.Bridged(code, given, seed, exact=hessian == "exact"), given, seed)
    return target_of(Compiled(code, given, seed, exact=hessian == "exact"), given, seed)


def target_of(model: Backend, data: dict[str, Any], seed: int) -> Target:
    """The target of a compiled model."""
    if model.dimension == 0:
        raise ModelError("The Stan program has no parameters, so that there is nothing to sample.")
    engine, number = callbacks.engine_of(model), callbacks.register(model)
    variables = variables_of(model.columns)

    def log_density(x: Vector, model: Backend = model) -> Scalar:  # callbacks find the model while this function lives
        return density.log_density(engine, number, x)

    def start(key: PRNGKey) -> Vector:
        return jax.random.uniform(key, (model.dimension,), jnp.result_type(float), -RADIUS, RADIUS)

    def constrain(x: Vector) -> dict[str, jax.Array]:
        scalars = callbacks.draw_of(number, x, len(model.columns), seed)
        return {name: scalars[places] for name, places in variables}

    return Target(
        log_density,
        Layout(("unconstrained",), ((model.dimension,),)),
        start,
        constrain=constrain,
        constant_data=arrays_of(data),
        description=_described(model, variables),
    )


def _described(model: Backend, variables: Any) -> str:
    lines = [f"{name}, shape {places.shape}" if places.shape else name for name, places in variables]
    return "\n".join([*lines, f"{model.dimension} unconstrained coordinates; {model.maker}."])
