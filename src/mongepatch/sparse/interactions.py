"""Which pairs of parameters a program makes interact: where its second derivatives may differ from 0."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from mongepatch.sparse.dependence import Dependence, DependenceTable, union
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.pattern_rules import factors, of_matrices


class Interactions:
    """Pairs of parameters that interact, collected from operation to operation."""

    def __init__(self, dimension: int) -> None:
        self._found = scipy.sparse.csr_array((dimension, dimension), dtype=bool)

    def between(self, one: DependenceTable, two: DependenceTable) -> None:
        """What an element depends on interacts with what an element of another array depends on."""
        first, second = np.broadcast_arrays(one.index, two.index)
        count = two.sets.shape[0]
        pairs = np.unique(first.reshape(-1).astype(np.int64) * count + second.reshape(-1))
        self._found = self._found + one.sets[pairs // count].T @ two.sets[pairs % count]

    def within(self, table: DependenceTable) -> None:
        """All that an element depends on interacts."""
        self.between(table, table)

    def couple(self, places: np.ndarray) -> bool:
        """Whether two of these parameters interact, or one with itself."""
        found = self._found.tocoo()
        return bool(np.isin(found.row, places)[np.isin(found.col, places) & found.data].any())

    def pattern(self) -> Pattern:
        """The pairs, [parameters, parameters], as a symmetric pattern."""
        found = self._found.tocoo()
        inside = found.data
        rows, columns = found.row[inside], found.col[inside]
        return Pattern(found.shape, np.append(rows, columns), np.append(columns, rows))

    def record(self, equation: Any, inputs: list[Dependence], tables: list[DependenceTable] | None) -> None:
        """The interactions of one operation, from what its results depend on; None where all depends on all."""
        name = equation.primitive.name
        if tables is None:
            self.within(union([given.depends.total(()) for given in inputs if given.depends is not None]))
        elif name in _RULES:
            _RULES[name](self, equation, inputs, tables)
        elif name not in _LINEAR.split():
            for variable, table in zip(equation.outvars, tables, strict=True):
                if np.issubdtype(variable.aval.dtype, np.inexact):
                    self.within(table)


def _product(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    one, two = (given.depends for given in inputs)
    if one is not None and two is not None:
        found.between(one, two)


def _quotient(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    _product(found, equation, inputs, tables)
    if inputs[1].depends is not None:
        found.within(inputs[1].depends)


def _power(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    if equation.params["y"] != 1:
        found.within(tables[0])


def _choice(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    if inputs[0].depends is not None:
        found.between(inputs[0].depends, tables[0])


def _conversion(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    before, after = (variable.aval.dtype for variable in (equation.invars[0], equation.outvars[0]))
    if np.issubdtype(after, np.inexact) and not np.issubdtype(before, np.inexact):
        found.within(tables[0])


def _dot(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    one, two = (given.depends for given in inputs)
    if one is not None and two is not None:
        left, right = factors(equation, [one.index, two.index])
        found.between(one.moved(left).reduced((1,)), two.moved(right).reduced((2,)))


def _solution(found: Interactions, equation: Any, inputs: list[Dependence], tables: list[DependenceTable]) -> None:
    """A⁻¹b is linear in b."""
    if inputs[0].depends is not None:
        found.between(of_matrices(inputs[0].depends), tables[0])


_RULES: dict[str, Callable[[Interactions, Any, list[Dependence], list[DependenceTable]], None]] = {
    "mul": _product,
    "div": _quotient,
    "integer_pow": _power,
    "select_n": _choice,
    "convert_element_type": _conversion,
    "dot_general": _dot,
    "triangular_solve": _solution,
}
_LINEAR = """
    add add_any sub neg copy copy_p reduce_precision reshape squeeze expand_dims reduce_sum cumsum gather dynamic_slice
    slice rev pad tile scatter scatter-add scatter-sub dynamic_update_slice broadcast_in_dim transpose concatenate split
    stack unstack
"""
