"""Kernels for users who write their own loop, in the shape of BlackJAX's samplers: pytrees outside, flat inside.

Of the kernels, this is the one place where parameters are flattened, and where a metric is fitted to their dimension
and precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._pytree import is_concrete
from mongepatch._typing import LogDensity, PRNGKey, PyTree, Scalar, Scalars, Vector
from mongepatch.errors import LogDensityError, MetricError
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Info, Kernel, Setup, check_motion, draw
from mongepatch.metrics import Metric, check_answers, check_metric, fitted
from mongepatch.program import check_density
from mongepatch.targets import Target
from mongepatch.targets.layout import Layout
from mongepatch.trajectories import Trajectory
from mongepatch.validation import positive_number


@partial(jax.tree_util.register_dataclass, data_fields=["point"], meta_fields=["layout"])
@dataclass(frozen=True)
class State:
    """What the next draw needs."""

    point: Any
    """The metric's geometry at the flat position; belongs to the metric that made it."""
    layout: Layout
    """How the user's parameters lie in the flat position."""

    @property
    def position(self) -> PyTree:
        """The draw, as the user writes parameters."""
        return self.layout.tree(self.point.position)

    @property
    def logdensity(self) -> Scalars:
        """ℓ at the draw; of states that are stacked, with their leading axes."""
        value: Scalars = self.point.logdensity
        return value


class Algorithm(NamedTuple):
    """A kernel with its settings filled in, as `blackjax.util.run_inference_algorithm` takes it."""

    init: Callable[..., State]
    """`init(position)` or `init(position, key)`: the state at a pytree of parameters."""
    step: Callable[..., tuple[State, Info]]
    """`step(key, state)`: the next state, and what there is to know about it."""


def algorithm(
    kernel: Kernel,
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Trajectory | None,
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """A kernel with its settings filled in."""
    step_size = positive_number("step_size", step_size)
    positive_number("divergence_threshold", divergence_threshold)
    kernel.check(trajectory)
    check_metric(metric)
    check_motion(kernel, metric)

    def flat_density(layout: Layout) -> Callable[[Vector], Scalar]:
        return lambda x: logdensity(layout.tree(x))

    def init(position: PyTree, rng_key: PRNGKey | None = None) -> State:
        if isinstance(logdensity, Target):
            position = logdensity.layout.flat(position)
        layout = Layout.of(position)
        flat, density = layout.flat(position), flat_density(layout)
        check_density(density, flat)
        suited = fitted(metric, flat)
        check_answers(suited, flat)
        point, _ = suited.at(density, flat)
        _check_start(point)
        return State(point, layout)

    def step(rng_key: PRNGKey, state: State) -> tuple[State, Info]:
        x = state.point.position
        setup = Setup(
            flat_density(state.layout),
            fitted(metric, x),
            jnp.asarray(step_size, x.dtype),
            trajectory,
            divergence_threshold,
        )
        point, info = draw(kernel, rng_key, state.point, setup)
        return State(point, state.layout), info

    return Algorithm(init, step)


def _check_start(point: Any) -> None:
    """Raise if a chain cannot leave its starting point; a traced one is not checked."""
    if not is_concrete(point.logdensity):
        return
    if not jnp.isfinite(point.logdensity):
        raise LogDensityError(f"The log density is {point.logdensity} at the starting point: a chain cannot leave it.")
    if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(point)):
        raise MetricError(
            "At the starting point the metric is not positive definite, or the density has no finite derivative."
        )
