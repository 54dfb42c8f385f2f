"""Which entries of its position a program looks at, where it takes slices of the position and nothing else."""

import numpy as np

from mongepatch.program.program import Program


def entries_read(program: Program) -> np.ndarray:
    """The numbers of these entries, ascending: all of them where the position is used in any other way."""
    position = program.jaxpr.invars[-1]
    (dimension,) = position.aval.shape
    read = np.zeros(dimension, bool)
    for equation in program.jaxpr.eqns:
        if position in [variable for variable in equation.invars if not hasattr(variable, "val")]:
            if equation.primitive.name != "slice":
                return np.arange(dimension)
            (start,), (limit,) = equation.params["start_indices"], equation.params["limit_indices"]
            read[slice(start, limit, *(equation.params["strides"] or ()))] = True
    returned = any(variable is position for variable in program.jaxpr.outvars)
    return np.arange(dimension) if returned else np.flatnonzero(read)
