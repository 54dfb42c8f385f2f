"""All random variables of a PyMC model at any position, as the shared table of residuals sees them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.frontends.pymc.model import Model
from mongepatch.frontends.pymc.random import Random, random_variables
from mongepatch.frontends.residuals import Line, Site, formula_of
from mongepatch.program import jit

TRIALS, POINTS = 20, 2
"""Of so many random points, this many at which the density is finite tell whether a law fits a variable."""

Arrays: TypeAlias = Callable[[Vector], list[tuple[jax.Array, ...]]]


class Variables:
    """All random variables of a model: their sites at any position, and lines that describe them."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._points = _points(model)
        self._random, self._arrays = _fitted(model, list(random_variables(model)), self._points)

    def at(self, position: Vector) -> Iterator[tuple[str, Site]]:
        """Every random variable at a position, by name; those that are made of others more than once."""
        raw = self._model.layout.named(position)
        for variable, arrays in zip(self._random, self._arrays(position), strict=True):
            for site in variable.sites(arrays, raw.get(variable.name)):
                yield variable.name, site

    def lines(self, counts: Mapping[str, int]) -> Iterator[Line]:
        """What there is to tell of every random variable."""
        raw = self._model.layout.named(self._points[0])
        for variable, arrays in zip(self._random, self._arrays(self._points[0]), strict=True):
            formulas = dict.fromkeys(
                getattr(site.fn, "formula", None) or formula_of(site.fn, not variable.observed)
                for site in variable.sites(arrays, raw.get(variable.name))
            )
            kind, count = "observed" if variable.observed else "latent", counts.get(variable.name, 0)
            yield Line(variable.name, variable.kind, kind, jnp.shape(arrays[0]), count, "; ".join(formulas))
        for potential in self._model.pymc.potentials:
            yield Line(potential.name, "Potential", "factor", (), 0, "")


def _points(model: Model) -> list[Vector]:
    points = [model.start(key) for key in jax.random.split(jax.random.key(0), TRIALS)]
    densities = jit(jax.vmap(model.log_density))(jnp.stack(points))
    return [points[index] for index in jnp.argsort(~jnp.isfinite(densities))[:POINTS]]


def _fitted(model: Model, variables: list[Random], points: Sequence[Vector]) -> tuple[list[Random], Arrays]:
    """Each variable with the first law that fits, and the values of all that residuals are made of."""
    while True:
        function = _arrays(model, variables)
        seen = [(jit(function)(x), model.layout.named(x)) for x in points]
        fits = [
            all(variable.fits(arrays[index], raw.get(variable.name)) for arrays, raw in seen)
            for index, variable in enumerate(variables)
        ]
        if all(fits):
            break
        variables = [own if fit else own.with_next_law() for own, fit in zip(variables, fits, strict=True)]
    same = [
        all(variable.same_coordinates(arrays[index], raw.get(variable.name)) for arrays, raw in seen)
        for index, variable in enumerate(variables)
    ]
    return [own._replace(has_coordinates=it_is) for own, it_is in zip(variables, same, strict=True)], function


def _arrays(model: Model, variables: Sequence[Random]) -> Arrays:
    function = model.function([graph for variable in variables for graph in variable.graphs])
    ends = [0, *accumulate(len(variable.graphs) for variable in variables)]

    def arrays(position: Vector) -> list[tuple[jax.Array, ...]]:
        values = tuple(map(jnp.asarray, function(position)))
        return [values[start:end] for start, end in pairwise(ends)]

    return arrays
