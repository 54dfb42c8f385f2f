"""Models that several figures show, with their data."""

import numpy as np
import numpyro
import numpyro.distributions as dist


def groups(group, y):
    """Groups that differ by tau, written in the form that comes first to mind."""
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], 1), obs=y)


def uneven():
    """The README's data: six groups with 400 observations, and fourteen with one."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), [400] * 6 + [1] * 14)
    return group, rng.normal(rng.normal(0, 0.1, size=20)[group], 1)


def exact_log_tau(grid):
    """The posterior density of log tau in this model, on a grid: all else is normal and integrated out."""
    group, y = uneven()
    counts = np.bincount(group)
    means = np.bincount(group, y) / counts
    tau = np.exp(grid)[:, None]
    precision = 1 / (tau**2 + 1 / counts)  # of a group's mean given mu
    total = 1 + precision.sum(axis=1)  # mu ~ N(0, 1)
    centre = (precision * means).sum(axis=1) / total
    log = 0.5 * (np.log(precision) - precision * means**2).sum(axis=1) + 0.5 * (total * centre**2 - np.log(total))
    log += grid - 0.5 * tau[:, 0] ** 2  # tau ~ HalfNormal(1), and the Jacobian of its logarithm
    density = np.exp(log - log.max())
    return density / np.trapezoid(density, grid)
