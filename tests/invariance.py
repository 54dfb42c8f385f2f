"""The invariance suite: targets of known truth, chains that start from exact draws, and how far they come from it.

The targets are members of one family, whose parameters are traced: a combination of kernel, metric and trajectory is
compiled once for all of them.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

import mongepatch as mp
from mongepatch.chains import Tuning, points_at
from mongepatch.chains.own_pace import run_at_own_pace
from mongepatch.kernels import Setup, draw
from mongepatch.metrics import fitted
from mongepatch.targets import Target, Truth
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Normal, Tabulated
from mongepatch.warmup.step_size import FixedStepSize

EXACT_DRAWS = 1_000_000
PROBABILITIES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
MAX_STANDARD_ERRORS = 4.0


class Member(NamedTuple):
    """−½ xᵀAx − c x₂⁴ − ½ b (1 − x₁ − x₂²)²."""

    A: jax.Array
    c: float
    b: float


MEMBERS = {
    "gaussian": Member(jnp.linalg.inv(jnp.array([[1.0, 0.9], [0.9, 1.5]])), 0.0, 0.0),
    "quartic": Member(jnp.diag(jnp.array([1.0, 0.0])), 1 / 16, 0.0),
    "banana": Member(2.0 * jnp.eye(2), 0.0, 20.0),
}


def family(member):
    """The log density of a member."""

    def logdensity(x):
        return -0.5 * x @ member.A @ x - member.c * x[1] ** 4 - 0.5 * member.b * (1.0 - x[0] - x[1] ** 2) ** 2

    return logdensity


def means(member):
    """A map whose Gauss–Newton matrix is the information of what is not quadratic in the density."""

    def of_position(x):
        return jnp.stack([jnp.sqrt(member.b) * (x[0] + x[1] ** 2), jnp.sqrt(6.0 * member.c) * x[1] ** 2])

    return of_position


def information(member):
    """The same as a matrix."""

    def of_position(x):
        J = jax.jacfwd(means(member))(x)
        return J.T @ J

    return of_position


def prior_precision(member):
    """What is added, so that the metric is positive definite everywhere."""
    return member.A + 0.3 * jnp.eye(2)


def patch(member, alpha):
    """A patch of more residuals than parameters, with a diagonal base."""

    def residuals(x):
        return jnp.concatenate([means(member)(x), jnp.stack([jnp.sin(x[0]), x[0] * x[1]])])

    return mp.Patch(residuals, alpha, jnp.array([0.8, 1.2]))


def narrow_patch(member, alpha):
    """A patch of fewer residuals than parameters, with a dense base."""
    covariance = jnp.linalg.inv(prior_precision(member))
    return mp.Patch(lambda x: means(member)(x).sum()[None], alpha, covariance)


def correlated_gaussian():
    covariance = np.linalg.inv(np.asarray(MEMBERS["gaussian"].A))
    root = np.linalg.cholesky(covariance)
    return Target(
        family(MEMBERS["gaussian"]),
        Layout(("x1", "x2"), ((), ())),
        truth=Truth(lambda key, n: jax.random.normal(key, (n, 2)) @ root.T, {"x1": Normal(0.0, 1.0)}),
    )


def normal_times_quartic():
    """N(0, 1) × exp(−x⁴/16)."""
    grid = np.linspace(-6.0, 6.0, 24_001)
    quartic = Tabulated.from_log_density(grid, -(grid**4) / 16)

    def draw(key, n):
        first, second = jax.random.split(key)
        x2 = jnp.asarray(quartic.quantile(jax.random.uniform(second, (n,))))
        return jnp.stack([jax.random.normal(first, (n,)), x2], axis=1)

    truth = Truth(draw, {"x1": Normal(0.0, 1.0), "x2": quartic})
    return Target(family(MEMBERS["quartic"]), Layout(("x1", "x2"), ((), ())), truth=truth)


TARGETS = {"gaussian": correlated_gaussian(), "quartic": normal_times_quartic(), "banana": mp.targets.banana()}


@functools.cache
def truth(name):
    """Means and five quantiles of the coordinates, and the statistics of `observe` with their standard errors."""
    draws = np.asarray(TARGETS[name].truth.draw(jax.random.key(99), EXACT_DRAWS))
    mean, quantiles = draws.mean(axis=0), np.quantile(draws, PROBABILITIES, axis=0)
    observed = observe(draws, mean, quantiles)
    return mean, quantiles, observed.mean(axis=1), observed.std(axis=1) / np.sqrt(EXACT_DRAWS)


def observe(draws, mean, quantiles):
    """Per draw, what averages to the mean, variance, fourth central moment and the probability below each quantile."""
    moments = np.stack([draws, (draws - mean) ** 2, (draws - mean) ** 4])
    below = draws <= quantiles.reshape(-1, *(1,) * (draws.ndim - 1), draws.shape[-1])
    return np.concatenate([moments, below])


def standard_errors_off(name, draws):
    """How many standard errors each statistic of draws (chain, draw, coordinate) is from the truth."""
    mean, quantiles, expected, expected_errors = truth(name)
    of_chains = observe(draws, mean, quantiles).mean(axis=2)
    errors = np.hypot(of_chains.std(axis=1, ddof=1) / np.sqrt(len(draws)), expected_errors)
    return np.abs(of_chains.mean(axis=1) - expected) / errors


def compiled(kernel, metric_of, trajectory, draws):
    """Chains of a kernel: (member, setting, step size, keys, starts) to draws and acceptance rates."""

    def chain(member, setting, step_size, key, start):
        density, metric = family(member), fitted(metric_of(member, setting), start)
        setup = Setup(density, metric, jnp.asarray(step_size, start.dtype), trajectory)

        def one(point, key):
            point, info = draw(kernel, key, point, setup)
            return point, (point.position, info.acceptance_rate)

        return jax.lax.scan(one, metric.at(density, start)[0], jax.random.split(key, draws))[1]

    return jax.jit(jax.vmap(chain, (None, None, None, 0, 0)))


def compiled_at_own_pace(kernel, metric_of, trajectory, draws):
    """The same of chains that do not wait for each other; the first of the keys is that of all."""

    def chains(member, setting, step_size, keys, starts):
        density = Partial(lambda member, x: family(member)(x), member)
        metric = fitted(metric_of(member, setting), starts[0])
        policy = FixedStepSize(jnp.asarray(step_size, starts.dtype))
        points, tuning = points_at(starts, density, metric), Tuning(metric, trajectory)
        *_, chunk, _ = run_at_own_pace(
            keys[0], points, policy, 0, draws, draws, density, tuning, kernel=kernel, capacity=draws
        )
        return chunk.position.swapaxes(0, 1), chunk.info.acceptance_rate

    return jax.jit(chains)


def run(sampler, name, setting, step_size, chains, seed=0):
    """Draws of chains that start from the truth, and their mean acceptance rate."""
    key = jax.random.key(seed)
    starts = TARGETS[name].truth.draw(jax.random.fold_in(key, 1), chains)
    draws, acceptance = sampler(MEMBERS[name], setting, step_size, jax.random.split(key, chains), starts)
    return np.asarray(draws), float(acceptance.mean())
