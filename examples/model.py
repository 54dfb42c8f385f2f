"""The model of the examples: eight schools. Every process builds it by itself, by `build`."""

import jax.numpy as jnp

import mongepatch as mp

EFFECT = (28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0)
ERROR = (15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0)


def logdensity(p):
    """Effects of coaching at eight schools around a mean, with a spread that the data hardly tell from 0."""
    tau = jnp.exp(p["log_tau"])
    noise = ((jnp.array(EFFECT) - p["theta"]) / jnp.array(ERROR)) ** 2
    groups = ((p["theta"] - p["mu"]) / tau) ** 2
    prior = (p["mu"] / 5) ** 2 + (tau / 5) ** 2
    return -0.5 * (noise.sum() + groups.sum() + prior) - 8 * p["log_tau"] + p["log_tau"]


def build():
    """The target, for processes that build it by themselves."""
    return mp.Target.from_density(logdensity, init()), init()


def init():
    """One point of the parameters."""
    return {"mu": jnp.array(0.0), "log_tau": jnp.array(0.0), "theta": jnp.zeros(8)}
