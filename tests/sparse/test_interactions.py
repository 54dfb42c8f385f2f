"""Pairs of parameters that interact, against second derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax.scipy.linalg import solve_triangular

import mongepatch as mp
from mongepatch.program import trace
from mongepatch.sparse.detection import interaction_pattern


def interactions(function, dimension):
    program, _ = trace(function, jax.ShapeDtypeStruct((dimension,), float))
    return interaction_pattern(program, dimension).dense()


def cholesky_factor(x):
    return (
        jnp.array([[1.0, 0.0], [0.0, 0.0]]) * jnp.exp(x[0])
        + jnp.array([[0.0, 0.0], [1.0, 0.0]]) * x[1]
        + jnp.diag(jnp.array([0.0, 1.0]))
    )


@jax.custom_jvp
def straight_through(x):
    return jnp.round(x)


straight_through.defjvp(lambda primals, tangents: (jnp.round(primals[0]), jnp.sin(primals[0]) * tangents[0]))
GROUP = np.array([0, 1, 1, 0])
FUNCTIONS = {
    "affine": lambda x: jnp.ones((2, 6)) @ x + 3.0,
    "groups": lambda x: (x[2:] - x[0]) / jnp.exp(x[1]),
    "walk": lambda x: (x[1:] - x[:-1])[:-1] * jnp.exp(-x[5]),
    "gather": lambda x: x[GROUP] * jnp.exp(x[4]) - x[5],
    "solve": lambda x: solve_triangular(cholesky_factor(x), x[2:4] - x[4:], lower=True),
    "factor": lambda x: jnp.linalg.cholesky(jnp.eye(2) + jnp.outer(x[:2], x[:2])) @ x[2:4],
    "product of matrices": lambda x: (x[:4].reshape(2, 2) @ x[4:, None]).ravel(),
    "square": lambda x: jnp.stack([x[0] ** 2, x[1] * x[2], x[3] ** 1]),
    "sum in a function": lambda x: jnp.exp(x[:2].sum()) + x[2:],
    "quotient": lambda x: x[0] / x[1:],
    "scan": lambda x: jax.lax.scan(lambda last, now: (now, (now - last) / jnp.exp(x[5])), x[0], x[1:5])[1],
    "branch": lambda x: jax.lax.cond(x[0] > 0, lambda y: 2.0 * y[1:3], lambda y: y[1:3], x),
    "choice": lambda x: jnp.where(x[0] > 0, x[1:3], 2.0 * x[1:3]),
    "absolute": lambda x: jnp.abs(x[:2]),
    "custom derivative": lambda x: straight_through(x[:2]),
    "unknown operation": lambda x: jnp.sort(x),
    "loop": lambda x: jax.lax.fori_loop(0, 2, lambda _, y: y * x[0], x)[:2],
    "scatter": lambda x: jnp.zeros(4).at[GROUP].add(x[:4] * x[5]),
    "cumulative": lambda x: jnp.cumsum(x) * 2.0,
}
WIDER = {"absolute", "branch", "choice", "custom derivative", "factor", "loop", "solve", "unknown operation"}
"""Functions for which pairs are listed without a second derivative, or with one that is 0 almost everywhere."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_pair_is_missed(name):
    found, seen = interactions(FUNCTIONS[name], 6), np.zeros((6, 6), bool)
    second = jax.jit(jax.jacfwd(jax.jacfwd(FUNCTIONS[name])))
    for x in np.random.default_rng(0).normal(size=(4, 6)):
        seen |= (np.abs(second(x)) > 1e-12).any(axis=0)
    assert not (seen & ~found).any()
    assert np.array_equal(found, found.T)
    assert found.any() or name in ("affine", "cumulative")
    if name not in WIDER:
        assert np.array_equal(found, seen)


def test_solutions_of_systems_are_affine_in_the_right_side():
    assert not interactions(FUNCTIONS["solve"], 6)[2:, 2:].any()


def test_results_that_are_not_used_do_not_count():
    def function(x):
        jax.jit(jnp.exp)(x)
        return 2.0 * x

    assert not interactions(function, 3).any()


def pairs_of(model):
    """Of each two variables of a model, whether any of their elements interact."""
    target = mp.from_numpyro(model)
    found = interactions(target.residuals, target.dimension)
    numbers = target.layout.named(np.arange(target.dimension))
    return lambda one, two: found[np.ix_(*(numbers[name].ravel() for name in (one, two)))].any()


def groups():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("group", 7):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    numpyro.sample("y", dist.Normal(theta[np.arange(21) % 7], 1.0), obs=np.zeros(21))


def slopes():
    mean = numpyro.sample("mean", dist.Normal(0, 1).expand([2]))
    scale = numpyro.sample("scale", dist.HalfNormal(1).expand([2]))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    with numpyro.plate("group", 5):
        numpyro.sample("effect", dist.MultivariateNormal(mean, scale_tril=scale[:, None] * factor))


def walk():
    scale = numpyro.sample("scale", dist.HalfNormal(1))
    numpyro.sample("x", dist.GaussianRandomWalk(scale, 12))


def horseshoe():
    tau = numpyro.sample("tau", dist.HalfCauchy(1))
    local = numpyro.sample("local", dist.HalfCauchy(1).expand([6]))
    numpyro.sample("beta", dist.Normal(0, tau * local))


@pytest.mark.parametrize(
    ("model", "inner", "outer"),
    [
        pytest.param(groups, ["mu", "theta"], ["tau"], marks=pytest.mark.slow),
        (slopes, ["mean", "effect"], ["scale", "factor"]),
        pytest.param(walk, ["x"], ["scale"], marks=pytest.mark.slow),
        (horseshoe, ["beta"], ["tau", "local"]),
    ],
)
def test_models_are_affine_in_what_has_a_location(model, inner, outer):
    interact = pairs_of(model)
    assert not any(interact(one, two) for one in inner for two in inner)
    assert all(interact(inner[-1], name) for name in outer)
