"""Inner coordinates of a model: those in which all latent residuals are affine together, given the others.

They are found from the second derivatives of the latent residuals that can differ from 0, greedily: the coordinate with
the fewest interactions comes first. Only those are kept whose conditional distribution changes with the others,
and what is coupled to them: a regression with known scales has none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from mongepatch._typing import AnyVector
from mongepatch.program import Program, trace
from mongepatch.sparse.detection import interaction_pattern, jacobian_pattern
from mongepatch.sparse.pattern import Pattern
from mongepatch.targets.layout import Layout
from mongepatch.targets.residuals import ModelResiduals


class DataPrograms(NamedTuple):
    """The observed variables of a model as programs. A pytree."""

    residuals: Program
    """Residuals of all of them, in a row."""
    log_likelihoods: Program
    """One of each."""
    precisions: Program
    """1/σ² of each, or 1."""


@dataclass(frozen=True)
class InnerCoordinates:
    """Which coordinates of a model are inner, and the programs and patterns that tell."""

    latent: Program
    data: DataPrograms
    latent_pattern: Pattern
    """Where the Jacobian of the latent residuals, [residuals, dimension], may differ from 0."""
    data_pattern: Pattern
    """The same of the residuals of data."""
    sizes: tuple[int, ...]
    """How many of these each observed variable has."""
    scaled: tuple[bool, ...]
    """Whether the information of each observed variable follows its scale: only where that is outer."""
    inner: np.ndarray
    """Places of the inner coordinates in flat positions."""

    def words(self, layout: Layout) -> str:
        """Which variables are inner given which, for a person to read."""
        numbers = layout.named(np.arange(layout.size))
        inner = [name for name, own in numbers.items() if np.isin(own, self.inner).any()]
        outer = [name for name in numbers if name not in inner]
        if not outer:  # parts of one array
            counts = [
                f"{np.isin(numbers[name], self.inner).sum()} of {np.size(numbers[name])} coordinates of {name}"
                for name in inner
            ]
            return f"{listed(counts)} given the others"
        return f"{listed(inner)} given {listed(outer)}"


def inner_coordinates(model: ModelResiduals, position: jax.ShapeDtypeStruct) -> InnerCoordinates:
    """The inner coordinates of a model for positions of this shape and precision; there may be none."""
    dimension = position.size
    latent, _ = trace(model.latent, position)
    data, sizes = _data_programs(model, position)
    first = jacobian_pattern(latent, dimension)
    of_scales = jacobian_pattern(data.precisions, dimension)
    unbounded = np.ones(dimension, bool) if model.unbounded is None else model.unbounded
    # The prior of a log σ may be normal, but data is not linear in it.
    candidates = unbounded & ~np.isin(np.arange(dimension), of_scales.columns)
    independent = _independent(interaction_pattern(latent, dimension), candidates)
    # The pattern of data takes long where a loop solves differential equations, and often nothing is inner there.
    of_data = jacobian_pattern(data.residuals, dimension) if independent.any() else _empty(data.residuals, dimension)
    inner = _connected(independent, first, of_data)
    scaled = ~np.isin(np.arange(len(sizes)), of_scales.of_columns(inner).rows)
    return InnerCoordinates(latent, data, first, of_data, sizes, tuple(scaled.tolist()), inner)


def _empty(residuals: Program, dimension: int) -> Pattern:
    nowhere = np.zeros(0, int)
    return Pattern((residuals.shape[0], dimension), nowhere, nowhere)


def _data_programs(model: ModelResiduals, position: jax.ShapeDtypeStruct) -> tuple[DataPrograms, tuple[int, ...]]:
    def program(part: Callable[[Any], AnyVector]) -> Program:
        def of_all(x: Any) -> AnyVector:
            return jnp.concatenate([jnp.zeros(0, x.dtype), *(part(site) for site in model.data(x))])

        return trace(of_all, position)[0]

    residuals = program(lambda site: site.residuals)
    sizes = tuple(site.residuals.size for site in jax.eval_shape(lambda x: model.data(x), position))
    if not forward_differentiable(residuals, position):
        residuals, sizes = program(lambda site: site.residuals[:0]), (0,) * len(sizes)
    log_likelihoods = program(lambda site: site.log_likelihood[None])
    precisions = program(lambda site: site.precision[None])
    return DataPrograms(residuals, log_likelihoods, precisions), sizes


def forward_differentiable(function: Callable[[Any], Any], position: jax.ShapeDtypeStruct) -> bool:
    """Whether JAX can differentiate forwards, which some solvers of differential equations do not allow."""
    try:  # for many directions at once: of one, a derivative that is made for reverse mode would pass unnoticed
        jax.eval_shape(
            jax.vmap(lambda v: jax.jvp(function, (v,), (v,))), jax.ShapeDtypeStruct((1, position.size), position.dtype)
        )
    except Exception:
        return False
    return True


def _independent(interactions: Pattern, candidates: np.ndarray) -> np.ndarray:
    """Whether each coordinate is inner: no two of them interact, nor one with itself."""
    starts, partners = interactions.row_starts, interactions.columns
    inner = np.zeros(len(candidates), bool)
    for i in np.argsort(np.diff(starts), kind="stable"):
        others = partners[starts[i] : starts[i + 1]]
        inner[i] = candidates[i] and not inner[others].any() and i not in others
    return inner


def _connected(inner: np.ndarray, latent: Pattern, data: Pattern) -> np.ndarray:
    """Places of those whose residuals know an outer coordinate, and of all that are coupled to them."""
    places = np.flatnonzero(inner)
    with_outer = np.zeros(latent.shape[0], bool)
    with_outer[latent.rows[~inner[latent.columns]]] = True
    changing = np.zeros(len(inner), bool)
    changing[latent.columns[with_outer[latent.rows]]] = True
    coupled = latent.of_columns(places).gram().union(data.of_columns(places).gram())
    graph = scipy.sparse.csr_array((np.ones(len(coupled), bool), (coupled.rows, coupled.columns)), shape=coupled.shape)
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return places[np.isin(component, component[changing[places]])]


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
