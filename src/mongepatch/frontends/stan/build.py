"""A Stan model as a target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._random import uniform_vector
from mongepatch._typing import PRNGKey, Scalar, Vector
from mongepatch.errors import ModelError, SettingError
from mongepatch.frontends.stan import bridgestan_model, compiled_model, density
from mongepatch.frontends.stan.bridgestan_model import BridgeStanModel
from mongepatch.frontends.stan.compiled_model import CompiledModel
from mongepatch.frontends.stan.generative import StanDraws, predictions_of
from mongepatch.frontends.stan.httpstan_model import HTTPStanModel
from mongepatch.frontends.stan.source import arrays_of, data_from, parameters_of, program_from
from mongepatch.targets import Target
from mongepatch.targets.layout import Layout
from mongepatch.validation import whole_number

INIT_RADIUS = 2.0
"""Chains start within this distance of 0 in every unconstrained coordinate, as in Stan."""


def build(program: Any, data: Any, seed: int, hessian: str, predictions: Mapping[str, str] | None = None) -> Target:
    """The target of a program with its data."""
    data, seed = data_from(data), whole_number("seed", seed, least=0)
    if seed >= 2**32:
        raise SettingError(f"seed must be below 2^32, as in Stan; it is {seed}.")
    if hessian not in ("exact", "differences"):
        raise SettingError(f'hessian must be "exact" or "differences"; it is {hessian!r}.')
    # httpstan is preferred: XLA calls the library without Python, once for all chains.
    use_bridgestan = bridgestan_model.is_available() and find_spec("httpstan") is None
    model_type = BridgeStanModel if use_bridgestan else HTTPStanModel
    source = program_from(program)
    target = target_of(model_type(source, data, seed, exact=hessian == "exact"), data, seed, predictions or {})
    return replace(target, parameters=parameters_of(source.code, list(target.variables)))


def target_of(
    model: CompiledModel, data: dict[str, Any], seed: int, predictions: Mapping[str, str] | None = None
) -> Target:
    """The target of a compiled model."""
    if model.dimension == 0:
        raise ModelError("The Stan program has no parameters, so there is nothing to sample.")
    library, model_id = compiled_model.ffi_library(model), compiled_model.register(model)
    variables = variables_of(model.columns)

    def log_density(x: Vector, model: CompiledModel = model) -> Scalar:  # keeps the model alive for callbacks
        return density.log_density(library, model_id, x)

    def start(key: PRNGKey) -> Vector:
        return uniform_vector(key, model.dimension, jnp.result_type(float), reach=INIT_RADIUS)

    names, arrays = [variable.name for variable in variables], arrays_of(data)
    predicted = predictions_of(names, predictions or {})
    return Target(
        log_density,
        Layout(("unconstrained",), ((model.dimension,),)),
        start,
        constrain=StanVariables(model_id, variables, len(model.columns), seed),
        generative=StanDraws(names, predicted),
        origin="Stan",
        observed_data={name: array for name, array in arrays.items() if name in predicted},
        constant_data={name: array for name, array in arrays.items() if name not in predicted},
        description=_description(model, variables),
    )


@dataclass(frozen=True)
class StanVariables:
    """All variables of a draw, as `Target.constrain`."""

    model_id: compiled_model.ModelId
    variables: "Sequence[StanVariable]"
    width: int
    """Scalars of a draw."""
    seed: int

    def __call__(self, x: Vector) -> dict[str, jax.Array]:
        """By name, at a flat position."""
        scalars = compiled_model.constrained_draw(self.model_id, x, self.width, self.seed)
        return {name: scalars[indices] for name, indices in self.variables}

    def at_rows(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The same at many positions [number, dimension], without JAX.

        A compiled program that calls back into Python waits for it, while JAX hands it the positions by another thread.
        With one core there is no other, and the program may wait for ever.
        """
        scalars = compiled_model.constrained(self.model_id, self.seed, rows)
        return {name: scalars[:, indices] for name, indices in self.variables}


class StanVariable(NamedTuple):
    """A variable, and the places of its entries among the scalars of a draw."""

    name: str
    indices: np.ndarray
    """Indices of scalars, in the shape of the variable."""


def variables_of(columns: Sequence[str]) -> list[StanVariable]:
    """Variables from Stan's names of scalars, such as `theta.2.1`, in Stan's order.

    Stan writes matrices by columns, and arrays by rows.
    """
    entries: dict[str, dict[tuple[int, ...], int]] = {}
    for place, column in enumerate(columns):
        parts = column.split(".")
        index = tuple(int(part) - 1 for part in parts if part.isdigit())
        name = ".".join(part for part in parts if not part.isdigit())
        entries.setdefault(name, {})[index] = place
    return [StanVariable(name, _index_array(places)) for name, places in entries.items()]


def _index_array(places: dict[tuple[int, ...], int]) -> np.ndarray:
    shape = tuple(max(indices) + 1 for indices in zip(*places, strict=True))
    array = np.empty(shape, int)
    for index, place in places.items():
        array[index] = place
    return array


def _description(model: CompiledModel, variables: Sequence[StanVariable]) -> str:
    lines = [f"{name}, shape {indices.shape}" if indices.shape else name for name, indices in variables]
    return "\n".join([*lines, f"{model.dimension} unconstrained coordinates; {model.description}."])
