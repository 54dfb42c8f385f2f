"""The effect of checks on implicit steps: Neal's funnel in the Fisher metric, with and without them."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

from mongepatch._extras import require
from mongepatch.errors import SamplingWarning
from mongepatch.integrators import FixedPoint, GeneralizedLeapfrog, Implicit, ImplicitMidpoint
from mongepatch.kernels import RMHMC
from mongepatch.metrics import Fisher
from mongepatch.paper.console import print_table
from mongepatch.sampling import sample
from mongepatch.targets import neal_funnel
from mongepatch.trajectories import Static

STEP_SIZES = (0.1, 0.3, 0.6)
TIME = 3.0
"""Length of a trajectory."""
TRUTH = 9.0
"""E[v²]."""
FEW = FixedPoint(max_iterations=3, free_iterations=3, max_newton=0)
"""Fixed-point iteration that stops early, as in samplers with a fixed number of iterations."""
INTEGRATORS: dict[str, Implicit] = {
    "leapfrog": GeneralizedLeapfrog(),
    "midpoint": ImplicitMidpoint(),
    "leapfrog, 3 iterations, unchecked": GeneralizedLeapfrog(solver=FEW, checked=False),
    "midpoint, 3 iterations, unchecked": ImplicitMidpoint(solver=FEW, checked=False),
}


class Estimate(NamedTuple):
    """E[v²] from a run."""

    mean: float
    standard_error: float
    acceptance: float
    failed: float
    """Fraction of trajectories with a step that did not converge or reverse."""
    warned: bool
    """Whether the run warned that its draws must not be trusted."""

    @property
    def standard_errors_off(self) -> float:
        """Deviation from the truth, in standard errors."""
        return abs(self.mean - TRUTH) / self.standard_error


def ours(integrator: Implicit, step_size: float, draws: int, seed: int = 0) -> Estimate:
    """E[v²] from eight chains of RMHMC."""
    target = neal_funnel(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SamplingWarning)
        tree = sample(
            target,
            metric=Fisher(target.information),
            kernel=RMHMC(integrator),
            trajectory=Static(round(TIME / step_size)),
            step_size=step_size,
            draws=draws,
            warmup=100,
            chains=8,
            seed=seed,
            progress=False,
        )
    stats = tree["sample_stats"].to_dataset()
    failed = float((stats["non_convergent"] | stats["non_reversible"]).mean())
    warned = any("must not be trusted" in str(warning.message) for warning in caught)
    return _estimate(np.asarray(tree["posterior"]["v"]), float(stats["acceptance_rate"].mean()), failed, warned)


def blackjax_rmhmc(step_size: float, draws: int, seed: int = 0) -> Estimate:
    """E[v²] from eight chains of BlackJAX's RMHMC, which solves its steps to 1e-6 and checks nothing."""
    blackjax, target = require("blackjax", "sample", "This benchmark"), neal_funnel(1)
    algorithm = blackjax.rmhmc(target.logdensity, step_size, target.information, round(TIME / step_size))

    def chain(key: jax.Array, start: jax.Array) -> Any:
        def one(state: Any, key: jax.Array) -> Any:
            state, info = algorithm.step(key, state)
            return state, (state.position[1], info.acceptance_rate)

        return jax.lax.scan(one, algorithm.init(start), jax.random.split(key, draws))[1]

    key = jax.random.key(seed)
    starts = jax.random.uniform(key, (8, 2), minval=-2.0, maxval=2.0)
    v, acceptance = jax.jit(jax.vmap(chain))(jax.random.split(key, 8), starts)
    return _estimate(np.asarray(v), float(acceptance.mean()), 0.0, False)


def run(draws: int = 5000) -> None:
    """Print E[v²] of every integrator and step size."""
    rows = []
    for step_size in STEP_SIZES:
        found = {name: ours(integrator, step_size, draws) for name, integrator in INTEGRATORS.items()}
        found["BlackJAX"] = blackjax_rmhmc(step_size, draws)
        for name, estimate in found.items():
            rows.append(
                (
                    f"ε = {step_size:g}, {name}",
                    f"{estimate.mean:.2f}",
                    f"{estimate.standard_error:.2f}",
                    f"{estimate.standard_errors_off:.1f}",
                    f"{estimate.acceptance:.3f}",
                    f"{estimate.failed:.2%}",
                    "yes" if estimate.warned else "no",
                )
            )
    print_table(
        f"E v² = 9 of Neal's funnel with one x, RMHMC in the Fisher metric, 8 × {draws:,} draws, time {TIME:g}",
        ("", "E v²", "s.e.", "s.e. off", "accepted", "failed", "warned"),
        rows,
    )


def _estimate(v: np.ndarray, acceptance: float, failed: float, warned: bool) -> Estimate:
    squares = v**2
    tree = require("arviz_base", "sample", "This benchmark").from_dict({"posterior": {"square": squares}})
    size = float(require("arviz_stats", "sample", "This benchmark").ess(tree, method="mean")["square"])
    return Estimate(float(squares.mean()), float(squares.std() / size**0.5), acceptance, failed, warned)
