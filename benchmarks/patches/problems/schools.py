"""Eight schools (Rubin 1981): y ~ N(θ, σ²) with σ known, θ ~ N(μ, τ²), μ ~ N(0, 5²), τ ~ Cauchy⁺(5)."""

import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem
from benchmarks.patches.problems.marginal import log_scale_posterior

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def centred(errors: np.ndarray, y: np.ndarray) -> None:
    """Effects centred."""
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, errors), obs=y)


def non_centred(errors: np.ndarray, y: np.ndarray) -> None:
    """Effects in units of τ."""
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, errors), obs=y)


def problems() -> list[NumpyroProblem]:
    """Eight schools, with the exact posterior of log τ."""
    exact = log_scale_posterior(EFFECTS, ERRORS, 5.0, lambda tau: -np.log1p((tau / 5.0) ** 2))
    return [
        NumpyroProblem(
            "schools",
            centred,
            (ERRORS, EFFECTS),
            scales=("tau",),
            others=("mu", "theta"),
            forms={"non-centred": non_centred},
            exact={"log tau": exact},
        )
    ]
