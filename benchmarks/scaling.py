"""Growth of time and memory of one step with the dimension."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.timing import seconds_of
from benchmarks.measures.trajectories import trajectory
from mongepatch._typing import LogDensity, Scalar, Vector
from mongepatch.paper.console import print_table
from mongepatch.paper.methods import merged
from mongepatch.targets import funnel

DIMENSIONS = (100, 1_000, 10_000, 100_000, 1_000_000)
SLOPE_FROM = 10_000
NUM_STEPS = 20


def gaussian_with_quartic(dimension: int) -> LogDensity:
    """−½ Σ xᵢ²/sᵢ² − Σ xᵢ⁴/16 with scales sᵢ from 0.5 to 2."""
    precision = jnp.linspace(0.5, 2.0, dimension) ** -2.0

    def logdensity(x: Vector) -> Scalar:
        return -0.5 * (precision * x) @ x - (x**4).sum() / 16

    return logdensity


def run(rounds: int = 15) -> dict[str, tuple[float, float]]:
    """Print a table for each target; return the slopes of log time and log memory from D = 10⁴ on."""
    slopes = {}
    families: dict[str, Callable[[int], LogDensity]] = {
        "funnel": lambda dimension: funnel(dimension - 1),
        "Gaussian with quartic": gaussian_with_quartic,
    }
    for name, family in families.items():
        calls, memory = {}, []
        for dimension in DIMENSIONS:
            position = 0.1 * jax.random.normal(jax.random.key(0), (dimension,))
            step_size = 0.1 / np.sqrt(dimension)
            compiled, call = trajectory(family(dimension), merged(alpha=1.0), position, step_size, NUM_STEPS)
            calls[str(dimension)] = call
            used: Any = compiled.memory_analysis()  # optional in the types of jax; every supported backend has it
            memory.append(used.temp_size_in_bytes + used.argument_size_in_bytes + used.output_size_in_bytes)
        times = [float(seconds.min()) / NUM_STEPS for seconds in seconds_of(calls, rounds).values()]
        large = [i for i, dimension in enumerate(DIMENSIONS) if dimension >= SLOPE_FROM]
        slopes[name] = (_slope(times, large), _slope(memory, large))
        print_table(
            f"One merged step in the Monge metric, {name}",
            ("D", "time µs", "ns per dimension", "peak memory MB", "bytes per dimension"),
            [
                (f"{d:,}", f"{1e6 * t:.1f}", f"{1e9 * t / d:.2f}", f"{m / 1e6:.3f}", f"{m / d:.0f}")
                for d, t, m in zip(DIMENSIONS, times, memory, strict=True)
            ],
            [f"slope from D = {SLOPE_FROM:,} on: time {slopes[name][0]:.2f}, memory {slopes[name][1]:.2f}"],
        )
    return slopes


def _slope(values: list[float], indices: list[int]) -> float:
    x, y = np.log([DIMENSIONS[i] for i in indices]), np.log([values[i] for i in indices])
    return float(np.polyfit(x, y, 1)[0])
