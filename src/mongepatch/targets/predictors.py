"""Linear predictors: the smallest arrays through which data knows inner coordinates, read off the data's own program.

A model that is written non-centred says θ = μ + τz, and data knows z by θ alone. What data says about θ does not change
with τ; what it says about z does. So information belongs to η = θ, an array in the program of the likelihood that is
affine in the inner coordinates given the others. Of all sets of such arrays that cut the likelihood off from the inner
coordinates, the one with the fewest elements is taken (a minimum cut); of those, the nearest to the likelihood.
"""

from typing import Any

import numpy as np
import scipy

from mongepatch.program import Program
from mongepatch.sparse.detection import Operation, operations

_NO_LIMIT = 2**29
"""A capacity that no cut reaches. Flows are integers of 32 bits."""
_PRODUCTS = {"mul", "div", "dot_general"}


def linear_predictors(program: Program, inner: np.ndarray, scales: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Variables of a program that lie between some coordinates and its results, and the coordinates they are affine in.

    Args:
        program: of the data, without inner calls.
        inner: whether each coordinate may be inner, [dimension].
        scales: places of coordinates that the predictors must not depend on, since information follows them otherwise.

    Returns:
        Variables of its equations, none where no set of them is affine in the coordinates; and `inner` without the
        coordinates that multiply others after a nonlinear operation, like the log of a scale.
    """
    done = operations(program, len(inner))
    while True:
        places = np.flatnonzero(inner)
        curved = _curved(done, places)
        multipliers = _multipliers(done, places, curved)
        if not len(multipliers):
            return _smallest_cut(program, done, places, curved, scales), inner
        inner = inner & ~np.isin(np.arange(len(inner)), multipliers)


def _curved(done: list[Operation], places: np.ndarray) -> set[Any]:
    """Variables that are not affine in the coordinates at these places."""
    curved: set[Any] = set()
    for operation in done:
        of_curved = any(variable in curved for variable in _variables(operation))
        if of_curved or operation.interactions.couple(places):
            curved.update(operation.equation.outvars)
    return curved


def _multipliers(done: list[Operation], places: np.ndarray, curved: set[Any]) -> np.ndarray:
    """Coordinates of a nonlinear factor whose other factor is affine in others of them."""
    found = [np.zeros(0, int)]
    for operation in done:
        if operation.equation.primitive.name not in _PRODUCTS:
            continue
        variables = operation.equation.invars
        own = [np.intersect1d(given.places, places) for given in operation.inputs]
        for one, two in ((0, 1), (1, 0)):
            is_product = _is_in(variables[one], curved) and not _is_in(variables[two], curved) and len(own[two])
            if is_product and not np.isin(own[one], own[two]).any():
                found.append(own[one])
    return np.unique(np.concatenate(found))


def _smallest_cut(
    program: Program, done: list[Operation], places: np.ndarray, curved: set[Any], scales: np.ndarray
) -> list[Any]:
    """By the maximal flow from the coordinates to the results, where a variable lets as much through as its size."""
    position = program.jaxpr.invars[-1]
    number = {position: 0}
    limits = [_NO_LIMIT]
    edges: list[tuple[int, int]] = []
    for operation in done:
        for variable, result in zip(operation.equation.outvars, operation.results, strict=True):
            if not np.isin(result.places, places).any():
                continue
            number[variable] = len(limits)
            # The cut is one vector of the position's precision: no comparisons, whole numbers or complex ones.
            is_real = variable.aval.dtype == position.aval.dtype
            may_be_cut = is_real and variable not in curved and not np.isin(result.places, scales).any()
            limits.append(int(variable.aval.size) if may_be_cut else _NO_LIMIT)
            edges += [(number[given], number[variable]) for given in _variables(operation) if given in number]
    ends = [number[variable] for variable in program.jaxpr.outvars if _is_in(variable, set(number))]
    count = len(limits)
    # Each variable is an edge from its first node, 2i, to its second, 2i + 1.
    sink = 2 * count
    first = np.array([*(2 * np.arange(count)), *(2 * one + 1 for one, _ in edges), *(2 * end + 1 for end in ends)])
    last = np.array([*(2 * np.arange(count) + 1), *(2 * two for _, two in edges), *(sink for _ in ends)])
    capacity = np.array([*limits, *(_NO_LIMIT for _ in edges), *(_NO_LIMIT for _ in ends)], np.int32)
    _, once = np.unique(first * (sink + 1) + last, return_index=True)
    graph = scipy.sparse.csr_array((capacity[once], (first[once], last[once])), shape=(sink + 1, sink + 1))
    flow = scipy.sparse.csgraph.maximum_flow(graph, 0, sink)
    if flow.flow_value >= _NO_LIMIT:
        return []
    left = (graph - flow.flow).tocoo()
    back = scipy.sparse.csr_array((left.data > 0, (left.col, left.row)), shape=graph.shape)
    back.eliminate_zeros()
    behind = np.zeros(sink + 1, bool)
    behind[scipy.sparse.csgraph.breadth_first_order(back, sink, return_predecessors=False)] = True
    return [variable for variable, i in number.items() if behind[2 * i + 1] and not behind[2 * i]]


def _variables(operation: Operation) -> list[Any]:
    return [variable for variable in operation.equation.invars if not hasattr(variable, "val")]


def _is_in(variable: Any, variables: set[Any]) -> bool:
    return not hasattr(variable, "val") and variable in variables
