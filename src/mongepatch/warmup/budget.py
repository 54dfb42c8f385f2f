"""What warm-up may spend on a patch that it merely tries.

The limits are counts of operations in the traced program, and not seconds: the same seed must give the same draws on
every machine. Of the models of `python -m benchmarks patches` and `examples` that were counted, those that take a patch
have 2,000 to 2,600 operations to compile, and at most 1.4 million to execute at a point.
"""

from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity
from mongepatch.metrics import Metric, fitted
from mongepatch.program import ProgramCost, cost_of

MAX_COMPILED = 5_000
"""Operations of the patch at one point, those of loops counted twice. Several programs are made of them: the trial of
one with 6,500, a hidden Markov model, took four minutes on two cores with other load, most of it compilation."""
MAX_EXECUTED = 2e10
"""Operations on numbers that one chain may execute in a trial."""


def patch_cost(metric: Metric, density: LogDensity, dimension: int, dtype: Any) -> ProgramCost:
    """What the geometry of a metric costs at one point."""
    position = jax.ShapeDtypeStruct((dimension,), dtype)
    suited = fitted(metric, position)

    def geometry(x: Any) -> Any:
        point, slope = suited.at(density, x)
        return suited.bend(point, slope, jnp.ones_like(x))

    return cost_of(geometry, position)


def too_dear(cost: ProgramCost, steps: float) -> str:
    """Why a trial of this many steps is left out; empty where it is not."""
    if cost.compiled > MAX_COMPILED:
        return f"its program has {cost.compiled:,} operations, above {MAX_COMPILED:,}, and would compile for minutes"
    if cost.executed * steps > MAX_EXECUTED:
        return f"it would execute {cost.executed * steps / 1e9:,.0f} billion operations, above {MAX_EXECUTED / 1e9:.0f}"
    return ""
