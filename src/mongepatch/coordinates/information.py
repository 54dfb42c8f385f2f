"""What data says about inner coordinates: A = E[JᵀJ] and b = E[JᵀJθ + ∇ log p(data)], averages over draws.

J is the Jacobian of the data's residuals by the inner coordinates θ. For each observed variable both are divided by its
1/σ² at the draw, with which `WhitenedDensity` multiplies them again wherever it is. Of a variable without residuals A
is the diagonal of E[−∇² log p(data)], by one product of a Hessian and a random vector for each draw. Where data knows θ
by linear predictors, these are in the place of θ.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from mongepatch._arrays import on_device
from mongepatch._typing import AnyVector, Vector
from mongepatch.coordinates.plan import WhiteningPlan
from mongepatch.coordinates.whitened import Information
from mongepatch.program import jit
from mongepatch.targets.inner import DataPrograms, forward_differentiable

NUM_DRAWS = 64
"""Draws that averages are taken over."""
_MIN_DRAWS = 8
"""Draws that must have finite terms."""
_BATCH = 8
"""Draws whose terms are computed at once."""
_DENSE = 0.2
"""Fraction of a Jacobian that may differ from 0, from which on it is multiplied as a dense matrix."""


class _Terms(NamedTuple):
    """What one draw, or many, add to the averages; 1/σ² of every variable is divided out."""

    jacobian: np.ndarray
    """Its entries on its pattern, [draws, entries]."""
    slopes: np.ndarray
    """∇ log p of a variable by θ, [draws, inner coordinates]."""
    theta: np.ndarray
    """The inner coordinates, or the predictors."""
    curvature: np.ndarray | None
    """Estimates of the diagonal of −∇² log p, [draws, inner coordinates]; None where it has no second derivative."""


def estimate_information(data: DataPrograms, plan: WhiteningPlan, positions: np.ndarray) -> Information | None:
    """A and b of every observed variable from positions of the model; None without data or usable positions."""
    if not plan.scaled:
        return None
    thinned = evenly(positions, NUM_DRAWS)
    # A product of a Hessian H and v of random signs: the mean of v·Hv, element by element, is the diagonal of H.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(thinned), plan.num_informed)).astype(thinned.dtype)
    size = plan.dimension + (0 if data.predictors is None else plan.num_informed)
    curved = any(first == last for first, last in plan.data_rows) and forward_differentiable(
        jax.jacrev(data.log_likelihoods), jax.ShapeDtypeStruct((size,), thinned.dtype)
    )
    found = _data_terms(on_device(thinned), on_device(signs), data, plan=plan, curved=curved)
    informed, compressed, slopes, precisions, *products = parts = [np.asarray(part, np.float64) for part in found]
    usable = np.logical_and.reduce([np.isfinite(part).reshape(len(part), -1).all(axis=1) for part in parts])
    if usable.sum() < _MIN_DRAWS:
        return None
    theta = informed[usable]
    rows, columns = plan.data_pattern.rows, plan.data_pattern.columns
    scales = np.where(plan.scaled, precisions[usable], 1.0) ** -0.5
    colouring = plan.data_colouring
    values = compressed[usable][:, [] if colouring is None else colouring.index]
    averages = []
    for variable, (first, last) in enumerate(plan.data_rows):
        own = (rows >= first) & (rows < last)
        scale = scales[:, variable, None]
        curvature = -signs[usable] * products[0][usable][:, variable] * scale**2 if products else None
        terms = _Terms(values[:, own] * scale, slopes[usable][:, variable] * scale**2, theta, curvature)
        averages.append(_averages(terms, rows[own] - first, columns[own], last - first, plan))
    dtype = positions.dtype
    matrices, vectors = zip(*averages, strict=True)
    return Information(on_device(np.stack(matrices), dtype), on_device(np.stack(vectors), dtype))


def evenly(rows: np.ndarray, count: int) -> np.ndarray:
    """So many of the rows, as evenly as they come; some of them twice where there are fewer."""
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]


def misfit(internal: np.ndarray, gradients: np.ndarray, inner: np.ndarray) -> float:
    """How far inner coordinates are from standard normal: the median of mean |∇ + z|², which is 0 for those."""
    squares = (internal[:, inner] + gradients[:, inner]) ** 2
    found = float(np.median(squares.mean(axis=1)))
    return found if np.isfinite(found) else np.inf


@partial(jit, static_argnames=("plan", "curved"), quick=True)
def _data_terms(
    positions: jax.Array, signs: jax.Array, data: DataPrograms, *, plan: WhiteningPlan, curved: bool
) -> tuple[jax.Array, ...]:
    """What data informs about, the Jacobian of the residuals, gradients of the log likelihoods, and the precisions.

    The Jacobian is compressed. Then, if `curved`, the products of the Hessians of the log likelihoods with a vector of
    signs for each position.
    """

    def at(given: tuple[Vector, AnyVector]) -> tuple[jax.Array, ...]:
        position, along_signs = given
        theta, argument = _informed(data, plan, position)
        colouring = plan.data_colouring
        along = jnp.zeros(1, position.dtype)  # `lax.map` fails on arrays without elements
        if colouring is not None:
            along = colouring.compressed(lambda t: data.residuals(argument(t)), theta)
        gradients = jax.jacrev(lambda t: data.log_likelihoods(argument(t)))
        if not curved:
            return theta, along, gradients(theta), data.precisions(position)
        slopes, products = jax.jvp(gradients, (theta,), (along_signs,))
        return theta, along, slopes, data.precisions(position), products

    terms: tuple[jax.Array, ...] = jax.lax.map(at, (positions, signs), batch_size=_BATCH)
    return terms


def _informed(
    data: DataPrograms, plan: WhiteningPlan, position: Vector
) -> tuple[AnyVector, Callable[[AnyVector], AnyVector]]:
    """What data informs about at a position, and what its programs are called with for other values of that."""
    if data.predictors is not None:
        return data.predictors(position), lambda eta: jnp.concatenate([eta, position])
    psi, theta = plan.split(position)
    return theta, lambda t: plan.join(psi, t)


def _averages(
    terms: _Terms, rows: np.ndarray, columns: np.ndarray, num_rows: int, plan: WhiteningPlan
) -> tuple[np.ndarray, np.ndarray]:
    """Entries of A, and b, of one observed variable."""
    if not len(rows):
        return _averages_of_slopes(terms, plan)
    (draws, size), slopes = terms.theta.shape, terms.slopes.mean(axis=0)
    at = plan.information_rows, plan.information_columns
    if not plan.couples_data:  # b must suit the A that is used, or the mean of θ would be far off
        squares = terms.jacobian**2
        diagonal = np.bincount(columns, squares.mean(axis=0), size)
        along = np.bincount(columns, (squares * terms.theta[:, columns]).mean(axis=0), size)
        return np.where(at[0] == at[1], diagonal[at[0]], 0.0), along + slopes
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)  # rows are sorted
    along = np.add.reduceat(terms.jacobian * terms.theta[:, columns], first, axis=1)  # Jθ
    back = np.bincount(columns, (terms.jacobian * along[:, number]).mean(axis=0), size)
    matrix = _gram(terms.jacobian, rows, columns, (num_rows, size)) / draws
    return np.asarray(matrix[at]).ravel(), back + slopes


def _gram(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """The sum of JᵀJ over draws."""
    draws, (num_rows, size) = len(values), shape
    places = (rows + num_rows * np.arange(draws)[:, None]).ravel(), np.tile(columns, draws)
    stacked = scipy.sparse.csr_array((values.ravel(), places), (draws * num_rows, size))
    if len(rows) > _DENSE * num_rows * size:
        stacked = stacked.toarray()
    return stacked.T @ stacked


def _averages_of_slopes(terms: _Terms, plan: WhiteningPlan) -> tuple[np.ndarray, np.ndarray]:
    """The same without residuals: the mean of −∇² log p, coordinate by coordinate, stands for the information.

    Without second derivatives that is how ∇ log p falls with θ.
    """
    if terms.curvature is not None:
        found = terms.curvature.mean(axis=0)
    else:
        centred = terms.theta - terms.theta.mean(axis=0)
        spread = (centred**2).sum(axis=0)
        found = -(terms.slopes * centred).sum(axis=0) / np.where(spread > 0, spread, 1.0)
    diagonal = np.maximum(found, 0.0)
    rows, columns = plan.information_rows, plan.information_columns
    vector = (diagonal * terms.theta + terms.slopes).mean(axis=0)
    return np.where(rows == columns, diagonal[rows], 0.0), vector
