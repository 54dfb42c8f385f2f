"""Inner coordinates of a model: those in which all latent residuals are affine together, given the others.

They are found from the second derivatives of the latent residuals that can differ from 0, greedily: the coordinate with
the fewest interactions comes first. Only those are kept whose conditional distribution changes with the others,
and what is coupled to them: a regression with known scales has none. Where data knows them by linear predictors that
change with the others, as in a model that is written non-centred, what data says is said about the predictors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from mongepatch._typing import AnyVector, Scalar, Vector
from mongepatch.program import Program, trace
from mongepatch.program.cut import Cut, cut, written_out
from mongepatch.sparse.detection import interaction_pattern, jacobian_pattern
from mongepatch.sparse.pattern import Pattern
from mongepatch.targets.layout import Layout
from mongepatch.targets.predictors import linear_predictors
from mongepatch.targets.residuals import ModelResiduals

_FEW_PAIRS, _PAIRS_OF_EACH = 64**3, 64
"""Pairs of coordinates that predictors may couple, in all and for each coordinate. A random walk as a sum of steps
couples each step with each: the algebra of that would take far longer than the walk."""


class DataPrograms(NamedTuple):
    """The observed variables of a model as programs. A pytree."""

    residuals: Program
    """Residuals of all of them, in a row, as a function of the position; of the predictors followed by the position
    where there are predictors."""
    log_likelihoods: Program
    """One of each, as a function of the same."""
    precisions: Program
    """1/σ² of each, or 1, as a function of the position."""
    predictors: Program | None
    """The linear predictors η as a function of the position; None where data's information is about θ itself."""


@dataclass(frozen=True)
class InnerCoordinates:
    """Which coordinates of a model are inner, and the programs and patterns that tell."""

    latent: Program
    data: DataPrograms
    latent_pattern: Pattern
    """Where the Jacobian of the latent residuals, [residuals, dimension], may differ from 0."""
    data_pattern: Pattern
    """The same of the residuals of data, [residuals, dimension]; or by the predictors, [residuals, predictors]."""
    predictor_pattern: Pattern | None
    """The same of the predictors, [predictors, dimension]."""
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


def inner_coordinates(model: ModelResiduals, position: jax.ShapeDtypeStruct) -> InnerCoordinates | None:
    """The inner coordinates of a model for positions of this shape and precision; None where there are none."""
    dimension = position.size
    latent, _ = trace(model.latent, position)
    precisions, _ = trace(lambda x: _in_a_row([site.precision[None] for site in model.data(x)], x), position)
    first = jacobian_pattern(latent, dimension)
    of_scales = jacobian_pattern(precisions, dimension)
    unbounded = np.ones(dimension, bool) if model.unbounded is None else model.unbounded
    # The prior of a log σ may be normal, but data is not linear in it.
    candidates = unbounded & ~np.isin(np.arange(dimension), of_scales.columns)
    independent = _independent(interaction_pattern(latent, dimension), candidates)
    may_have_predictors = independent.any() and model.has_own_likelihood
    found = _predictors(model, position, independent, of_scales.columns) if may_have_predictors else None
    if found is None:
        if not _changing(independent, first).any():
            return None  # whatever data knows: regressions need no further look
        sites: Callable[[Any], Sites] = partial(_sites, model)
        residuals, log_likelihoods, sizes = _data_programs(sites, position)
        # The pattern of data takes long where a loop solves differential equations, and often nothing is inner there.
        of_data = jacobian_pattern(residuals, dimension) if independent.any() else _empty(residuals, dimension)
        inner = _connected(independent, first, of_data)
    else:
        count = found.pattern.shape[0]
        longer = jax.ShapeDtypeStruct((count + dimension,), position.dtype)
        residuals, log_likelihoods, sizes = _data_programs(lambda both: _pairs(found.parts.rest(both)), longer)
        of_data = jacobian_pattern(residuals, longer.size).of_columns(np.arange(count))
        inner = _connected(found.affine_in, first.above(found.pattern), of_data.times(found.pattern))
    if not len(inner):
        return None
    scaled = ~np.isin(np.arange(len(sizes)), of_scales.of_columns(inner).rows)
    return InnerCoordinates(
        latent,
        DataPrograms(residuals, log_likelihoods, precisions, None if found is None else found.parts.head),
        first,
        of_data,
        None if found is None else found.pattern,
        sizes,
        tuple(scaled.tolist()),
        inner,
    )


Sites: TypeAlias = Sequence[tuple[AnyVector, Scalar]]
"""Residuals and log likelihood of each observed variable."""


def _sites(model: ModelResiduals, position: Vector) -> Sites:
    return [(site.residuals, site.log_likelihood) for site in model.data(position)]


def _pairs(flat: list[Any]) -> Sites:
    return list(zip(flat[::2], flat[1::2], strict=True))


class _Predictors(NamedTuple):
    """Linear predictors by which data knows some coordinates."""

    parts: Cut
    """The program of the data, cut at them."""
    pattern: Pattern
    """Where their Jacobian, [predictors, dimension], may differ from 0."""
    affine_in: np.ndarray
    """Whether they are affine in each coordinate, given those in which they are not, [dimension]."""


def _predictors(
    model: ModelResiduals, position: jax.ShapeDtypeStruct, independent: np.ndarray, scales: np.ndarray
) -> _Predictors | None:
    """Those that change with other coordinates; None where they do not, there are none, or they couple too many."""
    program = written_out(lambda x: _sites(model, x), position)
    variables, affine_in = linear_predictors(program, independent, scales)
    if not variables:
        return None
    parts = cut(program, variables, position)
    interactions = interaction_pattern(parts.head, position.size)
    if not (affine_in[interactions.rows] & ~affine_in[interactions.columns]).any():
        return None
    pattern = jacobian_pattern(parts.head, position.size)
    pairs = int((np.diff(pattern.of_columns(np.flatnonzero(affine_in)).row_starts) ** 2).sum())
    if pairs > max(_FEW_PAIRS, _PAIRS_OF_EACH * int(affine_in.sum())):
        return None
    return _Predictors(parts, pattern, affine_in)


def _empty(residuals: Program, dimension: int) -> Pattern:
    nowhere = np.zeros(0, int)
    return Pattern((residuals.shape[0], dimension), nowhere, nowhere)


def _data_programs(
    sites: Callable[[Any], Sites], position: jax.ShapeDtypeStruct
) -> tuple[Program, Program, tuple[int, ...]]:
    """Residuals and log likelihoods of all observed variables, and how many residuals each has."""
    residuals, _ = trace(lambda x: _in_a_row([rows for rows, _ in sites(x)], x), position)
    sizes = tuple(rows.size for rows, _ in jax.eval_shape(sites, position))
    if not forward_differentiable(residuals, position):
        residuals, _ = trace(lambda x: jnp.zeros(0, x.dtype), position)
        sizes = (0,) * len(sizes)
    log_likelihoods, _ = trace(lambda x: _in_a_row([value[None] for _, value in sites(x)], x), position)
    return residuals, log_likelihoods, sizes


def _in_a_row(parts: list[Any], position: Vector) -> AnyVector:
    return jnp.concatenate([jnp.zeros(0, position.dtype), *parts])


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
    places, changing = np.flatnonzero(inner), _changing(inner, latent)
    coupled = latent.of_columns(places).gram().union(data.of_columns(places).gram())
    graph = scipy.sparse.csr_array((np.ones(len(coupled), bool), (coupled.rows, coupled.columns)), shape=coupled.shape)
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return places[np.isin(component, component[changing[places]])]


def _changing(inner: np.ndarray, latent: Pattern) -> np.ndarray:
    """Whether each coordinate has a residual in common with an outer one."""
    with_outer = np.zeros(latent.shape[0], bool)
    with_outer[latent.rows[~inner[latent.columns]]] = True
    changing = np.zeros(len(inner), bool)
    changing[latent.columns[with_outer[latent.rows]]] = True
    return changing


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
