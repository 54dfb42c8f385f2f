"""Groups that share a prior: baseball, admissions, a funnel, thirty groups, and slopes with an LKJ prior."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem


def baseball(at_bats: np.ndarray, hits: np.ndarray) -> None:
    """Batting averages whose logits are normal, centred as in the example."""
    loc, scale = numpyro.sample("loc", dist.Normal(-1, 1)), numpyro.sample("scale", dist.HalfCauchy(1))
    with numpyro.plate("player", len(hits)):
        alpha = numpyro.sample("alpha", dist.Normal(loc, scale))
        numpyro.sample("hits", dist.Binomial(at_bats, logits=alpha), obs=hits)


def baseball_beta(at_bats: np.ndarray, hits: np.ndarray) -> None:
    """Batting averages with a beta prior of unknown mean and concentration."""
    m, kappa = numpyro.sample("m", dist.Uniform(0, 1)), numpyro.sample("kappa", dist.Pareto(1, 1.5))
    with numpyro.plate("player", len(hits)):
        phi = numpyro.sample("phi", dist.Beta(m * kappa, (1 - m) * kappa))
        numpyro.sample("hits", dist.Binomial(at_bats, probs=phi), obs=hits)


def funnel(dimension: int) -> None:
    """Neal's funnel, centred."""
    y = numpyro.sample("y", dist.Normal(0, 3))
    numpyro.sample("x", dist.Normal(jnp.zeros(dimension - 1), jnp.exp(y / 2)).to_event(1))


def admissions(department: np.ndarray, male: np.ndarray, applied: np.ndarray, admitted: np.ndarray) -> None:
    """Intercepts and slopes by department, correlated and non-centred as in the example."""
    mean = numpyro.sample("mean", dist.Normal(0, jnp.array([4.0, 1.0])).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(jnp.ones(2)).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    numpyro.deterministic("rho", factor[1, 0])
    z = numpyro.sample("z", dist.Normal(jnp.zeros((department.max() + 1, 2)), 1).to_event(2))
    effects = numpyro.deterministic("effects", mean + z @ (sigma[:, None] * factor).T)
    logits = effects[department, 0] + effects[department, 1] * male
    numpyro.sample("admitted", dist.Binomial(applied, logits=logits).to_event(1), obs=admitted)


def thirty_groups(group: np.ndarray, y: np.ndarray) -> None:
    """Intercepts of groups, centred, all scales unknown."""
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfNormal(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], sigma), obs=y)


def lkj_slopes(group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Intercepts and slopes of groups, correlated and centred."""
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([2]).to_event(1))
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    numpyro.deterministic("rho", factor[1, 0])
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        effects = numpyro.sample("effects", dist.MultivariateNormal(beta, scale_tril=tau[:, None] * factor))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(effects[group, 0] + effects[group, 1] * x, sigma), obs=y)


def problems() -> list[NumpyroProblem]:
    """18 players, 6 departments, a funnel of 10 dimensions, 30 groups of 6, and 15 groups of 10."""
    players, admitted = _players(), _admissions()
    return [
        NumpyroProblem("baseball", baseball, players, scales=("scale",), others=("loc", "alpha")),
        NumpyroProblem("baseball-beta", baseball_beta, players, scales=("kappa",), others=("m", "phi")),
        NumpyroProblem("ucbadmit", admissions, admitted, scales=("sigma",), others=("mean", "rho", "effects")),
        NumpyroProblem("funnel", funnel, (10,), logs=("y",), others=("x",)),
        NumpyroProblem("thirty-groups", thirty_groups, _groups(), scales=("tau", "sigma"), others=("mu", "theta")),
        NumpyroProblem("lkj-slopes", lkj_slopes, _slopes(), scales=("tau", "sigma"), others=("beta", "rho", "effects")),
    ]


def _players() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10)
    at_bats = np.full(18, 45)
    return at_bats, rng.binomial(at_bats, 1.0 / (1.0 + np.exp(-rng.normal(-1.0, 0.25, size=18))))


def _admissions() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    department, male = np.repeat(np.arange(6), 2), np.tile([1, 0], 6)
    applied = rng.integers(25, 800, size=12)
    effects = rng.multivariate_normal([-0.6, -0.1], [[1.0, -0.1], [-0.1, 0.15]], size=6)
    logits = effects[department, 0] + effects[department, 1] * male
    return department, male, applied, rng.binomial(applied, 1.0 / (1.0 + np.exp(-logits)))


def _groups() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    group, theta = np.repeat(np.arange(30), 6), rng.normal(1.0, 0.3, size=30)
    return group, rng.normal(theta[group], 0.8)


def _slopes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(13)
    group, x = np.repeat(np.arange(15), 10), rng.normal(size=150)
    effects = rng.multivariate_normal([0.5, -1.0], [[0.25, 0.06], [0.06, 0.09]], size=15)
    return group, x, rng.normal(effects[group, 0] + effects[group, 1] * x, 0.7)
