"""Runs that several figures show; each is made once in a process."""

import warnings
from functools import cache
from typing import Any

import jax
from numpyro.infer import MCMC, NUTS

import mongepatch as mp
from mongepatch.demo.models import groups, uneven_groups

FUNNEL = mp.targets.funnel(1)
"""The paper's funnel with one x: a ~ N(0, 15), x ~ N(0, softplus(a))."""


def quietly(*arguments: Any, **settings: Any) -> Any:
    """`mp.sample` without its display; what the figures show is what it would warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.SamplingWarning)
        return mp.sample(*arguments, progress=False, **settings)


@cache
def hmc(dimension: int = 1) -> Any:
    """The funnel by HMC, at the step size and length that the paper gives LMC."""
    return quietly(mp.targets.funnel(dimension), metric=mp.Euclidean(), **_static(dimension))


@cache
def monge() -> Any:
    """The funnel with one x by LMC in the Monge metric, at the paper's settings."""
    return quietly(FUNNEL, metric=mp.Monge(1.0), **_static(1))


@cache
def nuts() -> Any:
    """The funnel with one x by NUTS in a constant metric."""
    return quietly(FUNNEL, metric="euclidean", whiten=False, trajectory="nuts", draws=5000)


@cache
def whitened() -> Any:
    """The funnel with one x by NUTS in whitened coordinates."""
    return quietly(FUNNEL, trajectory="nuts", draws=5000)


def _static(dimension: int) -> dict[str, Any]:
    step_size, num_steps = {1: (0.2, 9), 10: (0.04, 100)}[dimension]
    return {"trajectory": mp.Static(num_steps), "step_size": step_size, "warmup": 0, "draws": 15_000}


def groups_target() -> mp.Target:
    """The README's model and data."""
    return mp.from_numpyro(groups, *uneven_groups().data)


@cache
def groups_by_nuts() -> Any:
    """The README's model by NUTS in a constant metric, in the coordinates in which it is written."""
    return quietly(groups_target(), whiten=False, metric="euclidean", trajectory="nuts", draws=2500)


@cache
def groups_whitened() -> Any:
    """The README's model with everything automatic."""
    return quietly(groups_target(), draws=2500)


@cache
def groups_by_numpyro() -> dict[str, Any]:
    """The README's model by NumPyro's NUTS with its defaults: tau and theta [chain, draw, …], and divergences."""
    mcmc = MCMC(
        NUTS(groups), num_warmup=1000, num_samples=2500, num_chains=4, chain_method="vectorized", progress_bar=False
    )
    mcmc.run(jax.random.key(1), *uneven_groups().data)
    return mcmc.get_samples(group_by_chain=True) | mcmc.get_extra_fields(group_by_chain=True)
