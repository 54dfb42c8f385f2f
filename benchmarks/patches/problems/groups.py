"""Groups with intercepts of their own: y ~ N(θ_g, σ²), θ_g ~ N(μ, τ²), and too few data to distinguish τ from 0."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem
from benchmarks.patches.problems.marginal import log_scale_posterior

MANY, FEW = 400, 1
"""Observations of a group of the uneven data."""


def _hyperparameters() -> tuple[jnp.ndarray, jnp.ndarray]:
    return numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))


def centred(group: np.ndarray, y: np.ndarray) -> None:
    """Both scales unknown."""
    mu, tau = _hyperparameters()
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], sigma), obs=y)


def non_centred(group: np.ndarray, y: np.ndarray) -> None:
    """The same in units of τ."""
    mu, tau = _hyperparameters()
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], sigma), obs=y)


def uneven_centred(group: np.ndarray, y: np.ndarray) -> None:
    """σ = 1, which suits groups with many observations."""
    mu, tau = _hyperparameters()
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], 1), obs=y)


def uneven_non_centred(group: np.ndarray, y: np.ndarray) -> None:
    """The same in units of τ, which suits groups with few."""
    mu, tau = _hyperparameters()
    with numpyro.plate("group", group.max() + 1):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], 1), obs=y)


def uneven_by_hand(group: np.ndarray, y: np.ndarray) -> None:
    """Each group in the form that suits it, chosen by hand."""
    mu, tau = _hyperparameters()
    large = np.bincount(group) == MANY
    with numpyro.plate("small", (~large).sum()):
        z = numpyro.sample("z", dist.Normal(0, 1))
    with numpyro.plate("large", large.sum()):
        own = numpyro.sample("own", dist.Normal(mu, tau))
    theta = jnp.zeros(len(large)).at[~large].set(mu + tau * z).at[large].set(own)
    theta = numpyro.deterministic("theta", theta)
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], 1), obs=y)


def problems() -> list[NumpyroProblem]:
    """12 and 100 even groups, and 20 uneven ones."""
    forms = {"non-centred": non_centred}
    return [
        NumpyroProblem(
            f"groups-{groups}",
            centred,
            _data(np.full(groups, 10), tau, seed),
            scales=("tau", "sigma"),
            others=("mu", "theta"),
            forms=forms,
        )
        for groups, tau, seed in ((12, 0.2, 7), (100, 0.1, 0))
    ] + [_uneven()]


def _uneven() -> NumpyroProblem:
    sizes = np.repeat([FEW, MANY], [14, 6])
    group, y = _data(sizes, 0.1, 5)
    means = np.bincount(group, weights=y) / sizes
    return NumpyroProblem(
        "groups-uneven",
        uneven_centred,
        (group, y),
        scales=("tau",),
        others=("mu", "theta"),
        # Trajectories diverge in the second form too, where τ is too small to distinguish large groups.
        forms={"non-centred": uneven_non_centred, "each group its own": uneven_by_hand},
        exact={"log tau": log_scale_posterior(means, sizes**-0.5, 1.0, lambda tau: -0.5 * tau**2)},
    )


def _data(sizes: np.ndarray, tau: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    theta = rng.normal(0.5, tau, size=len(sizes))
    return group, rng.normal(theta[group], 1.0)
