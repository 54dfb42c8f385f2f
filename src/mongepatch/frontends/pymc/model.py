"""A PyMC model as functions of flat positions: its log density, and the values of its variables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._random import uniform_vector
from mongepatch._typing import PRNGKey, Scalar, Vector
from mongepatch.errors import ModelError
from mongepatch.frontends.pymc.checks import check_deterministic, check_model, density_error
from mongepatch.frontends.pymc.graph import jaxified
from mongepatch.targets.layout import Layout

INIT_JITTER = 1.0
"""Chains start within this distance of PyMC's initial point in every unconstrained coordinate, as in PyMC."""


class PyMCModel:
    """The log density and the values of a model's variables at any flat position.

    The coordinates are PyMC's value variables, in the order of its free variables and by their names.
    """

    def __init__(self, model: Any) -> None:
        check_model(model)
        self.pymc = model
        self._inputs = [model.rvs_to_values[variable] for variable in model.free_RVs]
        point = _initial_point(model)
        values = [np.asarray(point[variable.name]) for variable in self._inputs]
        names = tuple(variable.name for variable in model.free_RVs)
        self.layout = Layout(names, tuple(value.shape for value in values))
        self._start = np.concatenate([value.ravel() for value in values])
        self._density = self._density_of(None)
        in_results = [*model.free_RVs, *model.deterministics]
        self._result_names = tuple(variable.name for variable in in_results)
        self._values = self.function(in_results)

    @property
    def unbounded(self) -> list[str]:
        """Free variables that have no transform: their coordinates are their own values."""
        return [variable.name for variable in self.pymc.free_RVs if self.pymc.rvs_to_transforms[variable] is None]

    def log_density(self, position: Vector) -> Scalar:
        """ℓ with the Jacobians of all transforms."""
        (value,) = self._density(position)
        return jnp.asarray(value, position.dtype)

    def values(self, position: Vector) -> dict[str, jax.Array]:
        """The variables of results: free and deterministic variables at a position."""
        return dict(zip(self._result_names, map(jnp.asarray, self._values(position)), strict=True))

    def position_with(self, values: Mapping[str, Any], position: Vector) -> Vector:
        """A position with free variables of these names at these values, and the others as at the given position."""
        parts = dict(self.layout.named(position))
        for variable in self.pymc.free_RVs:  # in this order, since transforms depend on variables before
            if variable.name in values:
                raw = self._unconstrained(variable)(values[variable.name], parts.values())
                parts[variable.name] = jnp.asarray(raw, position.dtype)
        return jnp.concatenate([jnp.ravel(part) for part in parts.values()])

    def start(self, key: PRNGKey) -> Vector:
        """PyMC's initial point with jitter."""
        jitter = uniform_vector(key, self.layout.size, jnp.result_type(float), reach=INIT_JITTER)
        return jnp.asarray(self._start, jitter.dtype) + jitter

    def function(self, graphs: Sequence[Any]) -> Callable[[Vector], tuple[jax.Array, ...]]:
        """A function from positions to the values of graphs of the model's random variables."""
        return self._at_positions(self.pymc.replace_rvs_by_values(list(graphs)) if graphs else [])

    def log_densities(self, variable: Any) -> Any:
        """The graph of the log densities of a variable's entries, without the Jacobian of its transform."""
        (graph,) = self.pymc.logp(vars=[variable], jacobian=False, sum=False)
        return graph

    def _unconstrained(self, variable: Any) -> Callable[[Any, Iterable[Any]], Any]:
        """A function from a value of a free variable and the values of all value variables to its own."""
        transform = self.pymc.rvs_to_transforms[variable]
        if transform is None:
            return lambda value, _: value
        given = variable.type()
        graphs = self.pymc.replace_rvs_by_values([transform.forward(given, *variable.owner.inputs)])
        function = jaxified([*self._inputs, given], graphs, self.pymc.check_bounds)
        return lambda value, others: function(*others, value)[0]

    def _density_of(self, variables: list[Any] | None) -> Callable[[Vector], tuple[jax.Array, ...]]:
        position = jax.ShapeDtypeStruct((self.layout.size,), jnp.result_type(float))
        try:
            graph = self.pymc.logp(vars=variables)
            check_deterministic(graph)
            density = self._at_positions([graph])
            jax.eval_shape(density, position)
        except ModelError:
            raise
        except Exception as error:
            raise (error if variables else density_error(self.pymc, self._density_of, error)) from error
        return density

    def _at_positions(self, graphs: list[Any]) -> Callable[[Vector], tuple[jax.Array, ...]]:
        function = jaxified(self._inputs, graphs, self.pymc.check_bounds)
        return lambda position: function(*self.layout.named(position).values())


def _initial_point(model: Any) -> dict[str, Any]:
    try:
        point: dict[str, Any] = model.initial_point(random_seed=0)
    except Exception as error:
        raise ModelError(
            f"PyMC cannot compute an initial point of the model: {type(error).__name__}: {error}"
        ) from error
    return point
