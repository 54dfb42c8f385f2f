"""Chains that start from exact draws must stay exact: moments and quantiles within Monte Carlo standard errors.

Thousands of independent chains start at draws of the truth itself, so there is no burn-in to argue about, and the
standard error of a pooled estimate is the spread of the chains' own estimates. The last test turns the method on
itself: a kernel with one α² left out must fail.
"""

import functools
import inspect
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import ALPHAS

import mongepatch as mp
from mongepatch.metrics import monge
from mongepatch.targets import Target, Truth
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Normal, Tabulated

CHAINS, DRAWS, EXACT_DRAWS = 8000, 60, 4_000_000
PROBABILITIES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
MAX_STANDARD_ERRORS = 4.0
STEP_SIZE, NUM_STEPS = {"quartic": 0.9, "banana": 0.2}, 4


def normal_times_quartic():
    """N(0, 1) × exp(−x⁴/16)."""
    grid = np.linspace(-6.0, 6.0, 24_001)
    quartic = Tabulated.from_log_density(grid, -(grid**4) / 16)

    def draw(key, n):
        first, second = jax.random.split(key)
        x2 = jnp.asarray(quartic.quantile(jax.random.uniform(second, (n,))))
        return jnp.stack([jax.random.normal(first, (n,)), x2], axis=1)

    return Target(
        lambda x: -0.5 * x[0] ** 2 - x[1] ** 4 / 16,
        Layout(("x1", "x2"), ((), ())),
        truth=Truth(draw, {"x1": Normal(0.0, 1.0), "x2": quartic}),
    )


TARGETS = {"quartic": normal_times_quartic(), "banana": mp.targets.banana()}


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


@functools.cache
def sampler(name, scheme, mutation=None):
    """Compiled chains for a target and scheme; the mutation only tells apart what must not share a compilation."""

    def chain(alpha, key, start):
        trajectory = mp.Static(NUM_STEPS, jitter=0.5)
        algorithm = mp.lmc(TARGETS[name], mp.Monge(alpha), STEP_SIZE[name], trajectory, scheme=scheme)

        def one(state, key):
            state, info = algorithm.step(key, state)
            return state, (state.position, info.acceptance_rate)

        return jax.lax.scan(one, algorithm.init(start), jax.random.split(key, DRAWS))[1]

    return jax.jit(jax.vmap(chain, (None, 0, 0)))


def run(name, scheme, alpha, mutation=None):
    key = jax.random.key(int(10 * alpha))
    starts = TARGETS[name].truth.draw(jax.random.fold_in(key, 1), CHAINS)
    draws, acceptance = sampler(name, scheme, mutation)(alpha, jax.random.split(key, CHAINS), starts)
    return np.asarray(draws), float(acceptance.mean())


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scheme", ["merged", "paper"])
@pytest.mark.parametrize("name", TARGETS)
def test_exact_draws_stay_exact(name, scheme, alpha):
    draws, acceptance = run(name, scheme, alpha)
    assert 0.3 < acceptance < 0.95  # neither so easy nor so hard that errors would not show
    assert standard_errors_off(name, draws).max() < MAX_STANDARD_ERRORS


# Each leaves one α² out of the source of a method of `Monge`.
MUTATIONS = {
    "kick, turn": ("kick", "a * dot(velocity, bend.along)", "dot(velocity, bend.along)"),
    "kick, correction": ("kick", "a * share * dot(", "share * dot("),
    "kick, force": ("kick", "- length * share * pull", "- length / point.stretch * pull"),
    "kick, denominator": ("kick", "point.stretch * (1.0 + before)", "point.stretch * (1.0 + before / a)"),
    "log-volume, before": ("kick", "jnp.abs(1.0 + before)", "jnp.abs(1.0 + before / a)"),
    "log-volume, after": ("kick", "jnp.abs(1.0 - after)", "jnp.abs(1.0 - after / a)"),
    "velocity draw": ("velocity_from_noise", "-(self.alpha**2)", "-1.0"),
    "kinetic energy": ("momentum", "self.alpha**2 * dot(", "dot("),
    "volume element": ("log_det", "jnp.log(point.stretch)", "jnp.log1p((point.stretch - 1.0) / self.alpha**2)"),
}


@pytest.mark.parametrize("scheme", ["merged", "paper"])
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_leaving_out_one_alpha_squared_is_noticed(mutation, scheme, monkeypatch):
    name, right, wrong = MUTATIONS[mutation]
    source = textwrap.dedent(inspect.getsource(getattr(mp.Monge, name)))
    assert source.count(right) == 1
    namespace = {}
    exec(source.replace(right, wrong), vars(monge), namespace)
    monkeypatch.setattr(mp.Monge, name, namespace[name])
    draws, acceptance = run("quartic", scheme, 0.5, mutation)
    assert acceptance > 0.3
    assert standard_errors_off("quartic", draws).max() > 2 * MAX_STANDARD_ERRORS
