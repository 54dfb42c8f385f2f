"""States of many chains."""

import jax

from mongepatch.kernels import State
from mongepatch.kernels.base import init
from mongepatch.metrics import Metric
from mongepatch.program import Program, jit


@jit
def states_at(positions: jax.Array, density: Program, metric: Metric) -> State:
    """The states of chains at flat positions [chain, dimension]; needed anew whenever the metric has changed."""
    states: State = jax.vmap(lambda position: init(position, density, metric))(positions)
    return states
