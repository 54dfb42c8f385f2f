"""Hierarchies whose groups have one row each: what is left for their mean is no difference of large numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.coordinates.algebra import SparseAlgebra
from mongepatch.sparse.colouring import colour
from mongepatch.sparse.elimination import Elimination
from mongepatch.sparse.own_rows import find_own_rows
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import SparsePlan

RNG = np.random.default_rng(5)
GROUPS = 8
SD_OF_MEAN = 5.0


def hierarchy(tau):
    """Rows (θᵢ − μ)/τ and μ/5, with μ as the last coordinate; and information of the groups alone."""
    matrix = np.zeros((GROUPS + 1, GROUPS + 1))
    matrix[:GROUPS, :GROUPS], matrix[:GROUPS, -1] = np.eye(GROUPS) / tau, -1 / tau
    matrix[-1, -1] = 1 / SD_OF_MEAN
    return matrix, np.append(RNG.uniform(0.003, 0.012, size=GROUPS), 0.0)


def algebra_of(matrix, of_data):
    pattern = Pattern.from_dense(matrix != 0)
    colouring = colour(pattern)
    compressed = np.zeros(colouring.products * matrix.shape[0 if colouring.forward else 1])
    compressed[colouring.index] = matrix[pattern.rows, pattern.columns]
    return SparseAlgebra(pattern, colouring, Pattern.from_dense(of_data)), compressed


@pytest.mark.parametrize("tau", [1e-3, 1e-2, 1.0, 30.0])
def test_single_precision_agrees_with_double_precision(tau):
    matrix, information = hierarchy(tau)
    algebra, compressed = algebra_of(matrix, np.eye(GROUPS + 1, dtype=bool))
    diagonal = np.where(algebra.rows == algebra.columns, information[algebra.rows], 0.0)
    right, noise = information * RNG.normal(5.0, 10.0, size=GROUPS + 1), RNG.normal(size=GROUPS + 1)
    found = {}
    for dtype in (np.float32, np.float64):
        factor = algebra.factor(jnp.asarray(compressed, dtype), jnp.asarray(diagonal, dtype))
        drawn = algebra.draw(factor, jnp.asarray(right, dtype), jnp.asarray(noise, dtype))
        found[dtype] = np.asarray(drawn), np.asarray(algebra.log_det(factor))
    roundings = 200 * np.finfo(np.float32).eps
    for single, double in zip(found[np.float32], found[np.float64], strict=True):
        np.testing.assert_allclose(single, double, rtol=roundings)
    exact = np.linalg.slogdet(matrix.T @ matrix + np.diag(information))[1]
    np.testing.assert_allclose(found[np.float64][1], exact, rtol=1e-6)


def test_the_derivative_by_a_tiny_scale_is_no_difference_of_large_numbers_either():
    tau = 1e-4
    matrix, information = hierarchy(tau)
    algebra, compressed = algebra_of(matrix, np.eye(GROUPS + 1, dtype=bool))
    of_prior = algebra_of(hierarchy(1e30)[0], np.eye(GROUPS + 1, dtype=bool))[1] > 1e-3
    diagonal = np.where(algebra.rows == algebra.columns, information[algebra.rows], 0.0)
    right, noise = information * RNG.normal(5.0, 10.0, size=GROUPS + 1), RNG.normal(size=GROUPS + 1)

    def of_log_tau(log_scale):
        jacobian = jnp.where(of_prior, compressed, compressed * jnp.exp(-log_scale))
        theta, log_det = algebra.draw_with_log_det(jacobian, *map(jnp.asarray, (diagonal, right, noise)))
        return theta[-1] + log_det

    double = float(jax.grad(of_log_tau)(0.0))
    with jax.enable_x64(False):
        single = float(jax.grad(of_log_tau)(0.0))
    # Terms of size θ/τ are added: what they round by is the least that single precision can do.
    assert abs(single - double) < 10.0 / tau * np.finfo(np.float32).eps


def test_a_mean_without_a_prior_stays_finite():
    matrix, _ = hierarchy(0.1)
    algebra, compressed = algebra_of(matrix[:GROUPS], np.eye(GROUPS + 1, dtype=bool))
    factor = algebra.factor(jnp.asarray(compressed), jnp.zeros(len(algebra.rows)))
    assert np.isfinite(algebra.draw(factor, jnp.zeros(GROUPS + 1), jnp.ones(GROUPS + 1))).all()


def test_groups_with_two_rows_or_coupled_by_data_are_eliminated_as_usual():
    matrix, _ = hierarchy(1.0)
    twice = np.concatenate([matrix, matrix[:1]])
    coupled = np.eye(GROUPS + 1, dtype=bool)
    coupled[0, -1] = coupled[-1, 0] = True
    for rows, of_data, expected in (
        (matrix, np.eye(GROUPS + 1), True),
        (twice, np.eye(GROUPS + 1), False),
        (matrix, coupled, False),
    ):
        pattern, others = Pattern.from_dense(rows != 0), Pattern.from_dense(of_data)
        colouring = colour(pattern)
        plan = SparsePlan(pattern, colouring, Elimination(pattern.gram().union(others)))
        assert (find_own_rows(pattern, colouring, plan, others) is not None) == expected


def test_the_mean_of_groups_keeps_its_precision_however_small_their_scale_is():
    """P of the mean is 1/5² plus the information of all groups, and not what 1/τ² rounds by."""
    for tau in (1e-6, 1e-9):
        matrix, information = hierarchy(tau)
        algebra, compressed = algebra_of(matrix, np.eye(GROUPS + 1, dtype=bool))
        diagonal = np.where(algebra.rows == algebra.columns, information[algebra.rows], 0.0)
        factor = algebra.factor(jnp.asarray(compressed), jnp.asarray(diagonal))
        moved = algebra.draw(factor, jnp.zeros(GROUPS + 1), jnp.zeros(GROUPS + 1).at[-1].set(1.0))
        np.testing.assert_allclose(moved[-1], (1 / SD_OF_MEAN**2 + information.sum()) ** -0.5, rtol=1e-9)
