"""All random variables of a PyMC model as functions of a position, for the table of residuals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.frontends.pymc.model import PyMCModel
from mongepatch.frontends.pymc.random_variable import PyMCVariable, random_variables
from mongepatch.frontends.residuals import Site, VariableDescription, formula_of
from mongepatch.program import jit

RANDOM_POINTS, TEST_POINTS = 20, 2
"""Distributions are tested at two of twenty random points, if possible where the density is finite."""

GraphValues: TypeAlias = Callable[[Vector], list[tuple[jax.Array, ...]]]
"""From a position to the values of `PyMCVariable.graphs`, for each variable."""


class PyMCVariables:
    """All random variables of a model: their sites at any position, and their descriptions."""

    def __init__(self, model: PyMCModel) -> None:
        self._model = model
        self._points = _test_points(model)
        self._variables, self._values = _with_distributions(model, list(random_variables(model)), self._points)

    def at(self, position: Vector) -> Iterator[tuple[str, Site]]:
        """Every random variable at a position, by name; one with several distributions occurs once for each."""
        raw = self._model.layout.named(position)
        for variable, arrays in zip(self._variables, self._values(position), strict=True):
            for site in variable.sites(arrays, raw.get(variable.name)):
                yield variable.name, site

    def descriptions(self, residual_counts: Mapping[str, int]) -> Iterator[VariableDescription]:
        """A description of every random variable."""
        raw = self._model.layout.named(self._points[0])
        for variable, arrays in zip(self._variables, self._values(self._points[0]), strict=True):
            formulas = dict.fromkeys(
                getattr(site.fn, "formula", None) or formula_of(site.fn, not variable.observed)
                for site in variable.sites(arrays, raw.get(variable.name))
            )
            yield VariableDescription(
                variable.name,
                variable.distribution_name,
                "observed" if variable.observed else "latent",
                jnp.shape(arrays[0]),
                residual_counts.get(variable.name, 0),
                "; ".join(formulas),
            )
        for potential in self._model.pymc.potentials:
            yield VariableDescription(potential.name, "Potential", "factor", (), 0, "")


def _test_points(model: PyMCModel) -> list[Vector]:
    points = [model.start(key) for key in jax.random.split(jax.random.key(0), RANDOM_POINTS)]
    densities = jit(jax.vmap(model.log_density))(jnp.stack(points))
    return [points[index] for index in jnp.argsort(~jnp.isfinite(densities))[:TEST_POINTS]]


def _with_distributions(
    model: PyMCModel, variables: list[PyMCVariable], points: Sequence[Vector]
) -> tuple[list[PyMCVariable], GraphValues]:
    """Each variable with its first distribution whose residuals are finite, and the values of all graphs."""
    while True:
        function = _graph_values(model, variables)
        values = [(jit(function)(x), model.layout.named(x)) for x in points]
        finite = [
            all(variable.has_finite_residuals(arrays[index], raw.get(variable.name)) for arrays, raw in values)
            for index, variable in enumerate(variables)
        ]
        if all(finite):
            break
        variables = [
            variable if is_finite else variable.with_next_distribution()
            for variable, is_finite in zip(variables, finite, strict=True)
        ]
    agree = [
        all(variable.coordinates_agree(arrays[index], raw.get(variable.name)) for arrays, raw in values)
        for index, variable in enumerate(variables)
    ]
    return [
        variable._replace(has_numpyro_coordinates=they_agree)
        for variable, they_agree in zip(variables, agree, strict=True)
    ], function


def _graph_values(model: PyMCModel, variables: Sequence[PyMCVariable]) -> GraphValues:
    function = model.function([graph for variable in variables for graph in variable.graphs])
    ends = [0, *accumulate(len(variable.graphs) for variable in variables)]

    def values(position: Vector) -> list[tuple[jax.Array, ...]]:
        arrays = tuple(map(jnp.asarray, function(position)))
        return [arrays[start:end] for start, end in pairwise(ends)]

    return values
