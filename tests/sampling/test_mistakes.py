"""Mistakes that users make, and what they are told: each at once, and in terms of what they wrote."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp


def normal(x):
    return -0.5 * x @ x


def model(y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu, 1), obs=y)


ZEROS = jnp.zeros(2)
MU = {"mu": 0.0}

MISTAKES = {
    "a model without from_numpyro": (lambda: mp.sample(model), r"mp\.from_numpyro\(model, \*data\)"),
    "a model, and data as init": (lambda: mp.sample(model, np.ones(3)), r"mp\.from_numpyro\(model, \*data\)"),
    "a model with wrong arguments": (lambda: mp.from_numpyro(model, sigma=1.0), "unexpected keyword argument 'sigma'"),
    "no init": (lambda: mp.sample(normal), "Give init"),
    "init as a list": (lambda: mp.sample(normal, [0.0, 0.0]), r"jnp\.array"),
    "init as integers": (lambda: mp.sample(normal, np.array([0, 0])), r"0\.0, not 0"),
    "init for each chain": (lambda: mp.sample(normal, jnp.zeros((4, 2))), "init_per_chain=True"),
    "init for each chain, and a density of rows": (
        lambda: mp.sample(lambda x: -0.5 * (x**2).sum(-1), jnp.zeros((4, 2))),
        r"shape \(4,\).*\.sum\(\)\. Or init has one.*init_per_chain=True",
    ),
    "a vector of log densities": (lambda: mp.sample(lambda x: -(x**2), ZEROS), r"\.sum\(\)"),
    "NumPy in the density": (lambda: mp.sample(lambda x: -np.sum(np.asarray(x)), ZEROS), r"jax\.numpy"),
    "if in the density": (lambda: mp.sample(lambda x: -x[0] if x[0] > 0 else x[0], ZEROS), r"jnp\.where"),
    "a density of two arguments": (lambda: mp.sample(lambda mu, tau: -(mu**2), MU), "called with one argument"),
    "a parameter that is not there": (lambda: mp.sample(lambda p: -(p["m"] ** 2), MU), r"those of init: \['mu'\]"),
    "a loss in the place of a log density": (lambda: mp.sample(lambda x: 0.5 * x @ x, ZEROS), "Check its sign"),
    "an unused parameter": (lambda: mp.sample(lambda p: -(p["mu"] ** 2), {**MU, "b": 1.0}), "does not depend on 'b'"),
    "a constant density": (lambda: mp.sample(lambda x: 0.0 * x.sum(), ZEROS), "does not depend on 'x'"),
    "a start outside of the support": (lambda: mp.sample(lambda p: jnp.log(p["mu"]), {"mu": -9.0}), "whole real line"),
    "a misspelt metric": (lambda: mp.sample(normal, ZEROS, metric="euclidian"), "Did you mean 'euclidean'"),
    "NUTS as a metric": (lambda: mp.sample(normal, ZEROS, metric="nuts"), 'trajectory="nuts"'),
    "HMC as a kernel": (lambda: mp.sample(normal, ZEROS, kernel="hmc"), 'metric="euclidean"'),
    "a metric's class": (lambda: mp.sample(normal, ZEROS, metric=mp.Monge), "is a class"),
    "a trajectory in capitals": (lambda: mp.sample(normal, ZEROS, trajectory="NUTS"), "Did you mean 'nuts'"),
    "a number of steps": (lambda: mp.sample(normal, ZEROS, trajectory=20), r"mp\.Static\(20\)"),
    "draws as a float": (lambda: mp.sample(normal, ZEROS, draws=1e3), "it is 1000.0: write 1000"),
    "acceptance in percent": (lambda: mp.sample(normal, ZEROS, target_acceptance=80), "between 0 and 1"),
    "no warm-up": (lambda: mp.sample(normal, ZEROS, warmup=0), "leaves no draws to find step_size, metric"),
    "a seed that is none": (lambda: mp.sample(normal, ZEROS, seed="abc"), "seed must be an integer"),
    "keep of something else": (lambda: mp.sample(lambda p: -p["mu"] ** 2, MU, keep=["m"]), r"variables are \['mu'\]"),
    "dims of a misspelt name": (lambda: mp.sample(normal, ZEROS, dims={"y": ["i"]}), "dims names the parameter 'y'"),
    "whitening without residuals": (lambda: mp.sample(normal, ZEROS, whiten=True), "whiten=True needs a model"),
    "no residuals": (lambda: mp.sample(lambda x: -jnp.cosh(x).sum(), ZEROS, metric="patch"), "residuals=f"),
    "a result in the place of a target": (lambda: mp.sample({"mu": 1.0}, ZEROS), "it is a dict"),
    "a batch of keys": (lambda: mp.sample(normal, ZEROS, seed=jax.random.split(jax.random.key(0))), "one jax"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_with_what_to_change(mistake):
    call, message = MISTAKES[mistake]
    with pytest.raises(mp.MongepatchError, match=message):
        call()


def test_a_density_that_is_proper_by_little_is_not_refused():
    """A Cauchy distribution, and one whose scale is a billion."""
    settings = {"metric": mp.Euclidean(), "trajectory": mp.Static(2), "step_size": 0.1, "warmup": 0, "draws": 2}
    for density in (lambda x: -jnp.log1p(x**2).sum(), lambda x: -0.5 * ((x - 1e9) ** 2).sum() / 1e18):
        mp.sample(density, ZEROS, **settings, progress=False)
