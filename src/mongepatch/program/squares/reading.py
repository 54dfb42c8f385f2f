"""Residuals that are read off a log density's own program."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Scalar, Vector
from mongepatch.program.program import Program
from mongepatch.program.squares.expression import Expression, Graph, evaluate
from mongepatch.program.squares.forms import Block
from mongepatch.program.squares.walk import walk
from mongepatch.program.squares.words import Label, places, words


@dataclass(frozen=True)
class ResidualBlock:
    """An array of residuals as functions of flat positions, which are traced and differentiated as the density is."""

    shape: tuple[int, ...]
    _block: Block
    _graph: Graph
    _position: Expression

    def residuals(self, position: Vector) -> AnyVector:
        """The residuals r, in a row."""
        return self._at(self._block.residual, position).ravel()

    def log_density(self, position: Vector) -> Scalar:
        """The part of the log density that they are read off."""
        return self._at(self._block.term, position).sum()

    @property
    def has_scale(self) -> bool:
        """Whether r = √w·u with one number w, the precision."""
        return self._block.weight is not None

    def precision(self, position: Vector) -> Scalar:
        """w, where there is one; else 1."""
        if self._block.weight is None:
            return jnp.ones((), position.dtype)
        return self._at(self._block.weight, position)

    def unscaled(self, position: Vector) -> AnyVector:
        """u, in a row; r where there is no w."""
        return self._at(self._block.unscaled or self._block.residual, position).ravel()

    def words(self, label: Label) -> str:
        """The residuals as a person would write them."""
        return words(self._graph, self._block.residual, label)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The parts of the position that the residuals depend on, as places of their first and last elements."""
        return places(self._block.residual)

    def _at(self, expression: Expression, position: Vector) -> jnp.ndarray:
        (value,) = evaluate([expression], {self._position: position})
        return jnp.asarray(value, position.dtype)


@dataclass(frozen=True)
class Reading:
    """What is read off a log density: blocks of residuals, and the rest of it."""

    blocks: tuple[ResidualBlock, ...]
    _rest: tuple[tuple[Expression, Expression], ...]
    _position: Expression

    def rest(self, position: Vector) -> Scalar:
        """The log density without the terms that residuals are read off, up to a constant."""
        flat = [expression for pair in self._rest for expression in pair]
        values = evaluate(flat, {self._position: position})
        parts = [jnp.sum(e * c) for e, c in zip(values[::2], values[1::2], strict=True)]
        return jnp.asarray(sum(parts, jnp.zeros((), position.dtype)), position.dtype)


def read_squares(program: Program) -> Reading:
    """The residuals that enter a log density as squares with negative coefficients, −½ w u².

    What is not understood, or whose sign is not known at every position, is left out.
    """
    graph = Graph()
    variable = program.jaxpr.invars[-1]  # newer versions of JAX have the data before it
    position = graph.input(variable.aval.shape, variable.aval.dtype)
    try:
        (result,) = graph.inline(program.jaxpr, [*map(graph.constant, program.data), position])
        one = graph.constant(np.asarray(1.0, result.dtype))
        # What leads to no residual is left whole, as the program has it: linear predictors are read off it later.
        found = walk(graph, result, one, walk(graph, result, one).leading)
    except RecursionError:  # thousands of operations in a row
        return Reading((), (), position)
    blocks = [block for block in found.blocks if block.residual.depends and block.residual.size]
    read = tuple(ResidualBlock(block.residual.shape, block, graph, position) for block in blocks)
    return Reading(read, tuple(found.rest), position)
