"""Solving z = f(z): by iteration where f contracts, by Newton's method with Krylov subspaces where it does not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import gmres

from mongepatch._typing import Count, Flag, Scalar, ScalarLike, Vector

Norm: TypeAlias = Callable[[Vector], Any]
"""The size of an error."""


class Solution(NamedTuple):
    """Where a solver stopped."""

    value: Vector
    converged: Flag
    """Whether |f(z) − z| is within the tolerance."""
    n_maps: Count
    """Evaluations of f, and products with its derivative."""


class _Search(NamedTuple):
    value: Vector
    error: Scalar
    last_error: Scalar
    iterations: Count


@dataclass(frozen=True)
class FixedPoint:
    """A solver of z = f(z) that says whether it has succeeded.

    Plain iteration, as long as it shrinks the error fast; else Newton's method from the first guess, its linear systems
    solved by GMRES, which needs products with the derivative of f and never the derivative itself.
    """

    max_iterations: int = 100
    """Of plain iteration."""
    free_iterations: int = 5
    """Iterations that may go wrong before plain iteration is given up."""
    slowest: float = 0.7
    """Factor by which an iteration must shrink the error after that."""
    max_newton: int = 12
    """Newton steps; 0 for plain iteration alone."""
    krylov: int = 20
    """Largest dimension of the Krylov subspace of a Newton step; smaller systems are solved directly."""

    def solve(
        self, function: Callable[[Vector], Vector], guess: Vector, tolerance: ScalarLike, norm: Norm = jnp.linalg.norm
    ) -> Solution:
        """The fixed point near a guess, with |f(z) − z| ≤ tolerance."""
        infinite = jnp.asarray(jnp.inf, guess.dtype)
        first = _Search(guess, infinite, infinite, jnp.int32(0))

        def lost(search: _Search) -> Flag:
            return ~(search.error <= tolerance)  # NaN is lost too

        def plain_goes_on(search: _Search) -> Flag:
            shrinks = search.error <= self.slowest * search.last_error
            hopeful = (search.iterations < self.free_iterations) | shrinks
            return lost(search) & hopeful & (search.iterations < self.max_iterations) & ~jnp.isnan(search.error)

        def plain(search: _Search) -> _Search:
            value = function(search.value)
            return _Search(value, norm(value - search.value), search.error, search.iterations + 1)

        iterated = jax.lax.while_loop(plain_goes_on, plain, first)
        if not self.max_newton:
            return Solution(iterated.value, ~lost(iterated), iterated.iterations)
        dimension = min(self.krylov, guess.size)

        def newton_goes_on(search: _Search) -> Flag:
            return lost(search) & (search.iterations < self.max_newton) & ~jnp.isnan(search.error)

        def newton(search: _Search) -> _Search:
            value, derivative = jax.linearize(function, search.value)
            gap = value - search.value
            step = self._solve_linear(lambda u: u - derivative(u), gap)
            moved = search.value + step
            return _Search(moved, norm(function(moved) - moved), search.error, search.iterations + 1)

        restarted = first._replace(
            value=jnp.where(lost(iterated), guess, iterated.value),
            error=jnp.where(lost(iterated), infinite, iterated.error),
        )
        solved = jax.lax.while_loop(newton_goes_on, newton, restarted)
        # A Newton step evaluates f twice, and applies its derivative once a dimension and once for a residual.
        return Solution(solved.value, ~lost(solved), iterated.iterations + solved.iterations * (3 + dimension))

    def _solve_linear(self, times: Callable[[Vector], Vector], right: Vector) -> Vector:
        """The solution of a linear system given by products with its matrix."""
        if right.size <= self.krylov:
            matrix = jax.vmap(times)(jnp.eye(right.size, dtype=right.dtype)).T
            return jnp.linalg.solve(matrix, right)
        solution: Vector
        solution, _ = gmres(times, right, tol=0.0, restart=self.krylov, maxiter=1, solve_method="batched")
        return solution
