"""Time of one step of LMC on a residual patch, compared with a leapfrog step of the same density."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.timing import seconds_of
from benchmarks.measures.trajectories import trajectory
from mongepatch._typing import Scalar, Vector
from mongepatch.metrics import Patch, fitted
from mongepatch.paper.console import print_table
from mongepatch.paper.methods import HMC, Method

STEP_SIZE, ALPHA, NUM_STEPS = 1e-3, 1.0, 2000


class NormalModel(NamedTuple):
    """A model in which every random variable is normal given others: its density follows from its residuals."""

    name: str
    dimension: int
    residuals: Callable[[Vector], Vector]
    log_scales: Callable[[Vector], Scalar]
    """The sum of the logs of all scales that depend on parameters."""

    def logdensity(self, x: Vector) -> Scalar:
        """−½|f|² − the log scales."""
        return -0.5 * (self.residuals(x) ** 2).sum() - self.log_scales(x)


def schools(name: str, groups: int) -> NormalModel:
    """Effects of groups around a mean, written centred, one observation each: mean, log scale, effects."""
    rng = np.random.default_rng(groups)
    observed, sd = rng.normal(5.0, 12.0, groups), rng.uniform(9.0, 18.0, groups)

    def residuals(x: Vector) -> Vector:
        hyper = jnp.stack([x[0] / 5.0, x[1]])
        return jnp.concatenate([hyper, (x[2:] - x[0]) * jnp.exp(-x[1]), (observed - x[2:]) / sd])

    return NormalModel(name, groups + 2, residuals, lambda x: groups * x[1])


def varying_slopes(groups: int = 12, each: int = 8, shared: int = 6) -> NormalModel:
    """A regression with an intercept and a slope for each group, all scales unknown."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(groups), each)
    own, design = rng.normal(size=len(group)), rng.normal(size=(len(group), shared))
    observed = rng.normal(size=len(group))

    def residuals(x: Vector) -> Vector:
        mean, log_scale, log_noise, beta = x[:2], x[2:4], x[4], x[5 : 5 + shared]
        effects = x[5 + shared :].reshape(groups, 2)
        fit = effects[group, 0] + effects[group, 1] * own + design @ beta
        hyper = x[: 5 + shared] / 2.0
        return jnp.concatenate(
            [hyper, ((effects - mean) * jnp.exp(-log_scale)).ravel(), (observed - fit) * jnp.exp(-log_noise)]
        )

    def log_scales(x: Vector) -> Scalar:
        return groups * (x[2] + x[3]) + len(group) * x[4]

    return NormalModel(f"{groups} groups, varying slopes", 5 + shared + 2 * groups, residuals, log_scales)


MODELS = (schools("eight schools", 8), varying_slopes(), schools("100 groups", 100))


def run(chains: int = 4, rounds: int = 11) -> dict[str, float]:
    """Print the table; return microseconds per step and chain on the patch."""
    rows, found = [], {}
    for model in MODELS:
        position = 0.1 * jax.random.normal(jax.random.key(1), (chains, model.dimension))
        patch = fitted(Patch(model.residuals, ALPHA, jnp.ones(model.dimension)), position[0])
        methods = {"leapfrog": HMC, "merged": Method("", patch, "merged"), "paper": Method("", patch, "paper")}
        calls = {
            name: trajectory(model.logdensity, method, position, STEP_SIZE, NUM_STEPS)[1]
            for name, method in methods.items()
        }
        seconds = {name: float(np.min(times)) for name, times in seconds_of(calls, rounds).items()}
        micros = {name: 1e6 * taken / (NUM_STEPS * chains) for name, taken in seconds.items()}
        plan = patch.residuals.plan(model.dimension)
        rows.append(
            (
                model.name,
                f"{model.dimension}, {plan.pattern.shape[0]}, {plan.colouring.products}",
                *(f"{micros[name]:.2f}" for name in methods),
                f"{micros['merged'] / micros['leapfrog']:.1f}",
            )
        )
        found[model.name] = micros["merged"]
    print_table(
        f"One step on a residual patch, {chains} chains, {jnp.zeros(()).dtype}, µs per chain",
        ("", "D, residuals, products", "leapfrog", "merged", "paper", "merged / leapfrog"),
        rows,
    )
    return found
