"""Three models, each written in NumPyro, PyMC and Stan, with unconstrained coordinates in the same order."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import mongepatch as mp

SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
RNG = np.random.default_rng(0)
GROUP = np.repeat(np.arange(5), 12)
TIME = RNG.normal(size=60)
MEASURED = RNG.normal(RNG.normal(1.0, 0.7, size=5)[GROUP] - 0.4 * TIME, 0.5)
X = RNG.normal(size=(80, 3))
LABEL = (RNG.uniform(size=80) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.0]))).astype(int)


def point_of(model: Any, target: mp.Target, x: Any) -> dict[str, np.ndarray]:
    """A flat position as PyMC knows it: by the names of its value variables."""
    raw = target.layout.named(x)
    return {model.rvs_to_values[variable].name: np.asarray(raw[variable.name]) for variable in model.free_RVs}


class Trilingual(NamedTuple):
    """One model in three languages. Stan knows neither residuals nor the names of dims: users give them."""

    numpyro: Callable[[], None]
    pymc: Callable[[], Any]
    stan: str
    data: dict[str, Any]
    dims: dict[str, list[str]]
    residuals: Callable[[Any], Any] | None = None

    def targets(self) -> dict[str, mp.Target]:
        """The target of each language."""
        return {
            "numpyro": mp.from_numpyro(self.numpyro),
            "pymc": mp.from_pymc(self.pymc()),
            "stan": mp.from_stan(self.stan, self.data),
        }


def numpyro_schools():
    import numpyro
    from numpyro.distributions import HalfCauchy, Normal

    mu = numpyro.sample("mu", Normal(0, 5))
    tau = numpyro.sample("tau", HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", Normal(mu, tau))
        numpyro.deterministic("effect", theta - mu)
        numpyro.sample("y", Normal(theta, SIGMA), obs=Y)


def pymc_schools():
    import pymc as pm

    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        sigma = pm.Data("sigma", SIGMA, dims="school")
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("effect", theta - mu, dims="school")
        pm.Normal("y", theta, sigma, observed=Y, dims="school")
    return model


STAN_SCHOOLS = """
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { real mu; real<lower=0> tau; vector[J] theta; }
transformed parameters { vector[J] effect = theta - mu; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, sigma); }
"""


def schools_residuals(p):
    """By hand, of Stan's unconstrained coordinates: mu, log tau, theta."""
    mu, log_tau, theta = p["unconstrained"][0], p["unconstrained"][1], p["unconstrained"][2:]
    return mu / 5, (log_tau - jnp.log(5)) / jnp.sqrt(2), (theta - mu) * jnp.exp(-log_tau), (Y - theta) / SIGMA


def numpyro_intercepts():
    import numpyro
    from numpyro.distributions import Exponential, HalfNormal, Normal, StudentT

    mu = numpyro.sample("mu", Normal(0, 2))
    tau = numpyro.sample("tau", HalfNormal(1))
    sigma = numpyro.sample("sigma", Exponential(2.0))
    slope = numpyro.sample("slope", StudentT(4, 0, 2.5))
    with numpyro.plate("group", 5):
        theta = numpyro.sample("theta", Normal(mu, tau))
    with numpyro.plate("observation", 60):
        numpyro.sample("y", Normal(theta[GROUP] + slope * TIME, sigma), obs=MEASURED)


def pymc_intercepts():
    import pymc as pm

    with pm.Model(coords={"group": range(5), "observation": range(60)}) as model:
        mu = pm.Normal("mu", 0, 2)
        tau = pm.HalfNormal("tau", 1)
        sigma = pm.Exponential("sigma", 2.0)
        slope = pm.StudentT("slope", 4, mu=0, sigma=2.5)
        theta = pm.Normal("theta", mu, tau, dims="group")
        pm.Normal("y", theta[GROUP] + slope * TIME, sigma, observed=MEASURED, dims="observation")
    return model


STAN_INTERCEPTS = """
data { int N; int G; array[N] int<lower=1, upper=G> group; vector[N] time; vector[N] y; }
parameters { real mu; real<lower=0> tau; real<lower=0> sigma; real slope; vector[G] theta; }
model {
  mu ~ normal(0, 2); tau ~ normal(0, 1); sigma ~ exponential(2); slope ~ student_t(4, 0, 2.5);
  theta ~ normal(mu, tau); y ~ normal(theta[group] + slope * time, sigma);
}
"""


def numpyro_logistic():
    import numpyro
    from numpyro.distributions import Bernoulli, Gamma, Normal, Uniform

    scale = numpyro.sample("scale", Gamma(2, 3))
    beta = numpyro.sample("beta", Normal(0, scale).expand([3]))
    bias = numpyro.sample("bias", Uniform(-2, 3))
    numpyro.sample("y", Bernoulli(logits=X @ beta + bias), obs=LABEL)


def pymc_logistic():
    import pymc as pm

    with pm.Model() as model:
        scale = pm.Gamma("scale", 2, 3)
        beta = pm.Normal("beta", 0, scale, shape=3)
        bias = pm.Uniform("bias", -2, 3)
        pm.Bernoulli("y", logit_p=X @ beta + bias, observed=LABEL)
    return model


STAN_LOGISTIC = """
data { int N; int D; matrix[N, D] X; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0> scale; vector[D] beta; real<lower=-2, upper=3> bias; }
model { scale ~ gamma(2, 3); beta ~ normal(0, scale); y ~ bernoulli_logit(X * beta + bias); }
"""

MODELS = {
    "schools": Trilingual(
        numpyro_schools,
        pymc_schools,
        STAN_SCHOOLS,
        {"J": 8, "y": Y, "sigma": SIGMA},
        {"theta": ["school"], "effect": ["school"]},
        schools_residuals,
    ),
    "intercepts": Trilingual(
        numpyro_intercepts,
        pymc_intercepts,
        STAN_INTERCEPTS,
        {"N": 60, "G": 5, "group": GROUP + 1, "time": TIME, "y": MEASURED},
        {"theta": ["group"]},
    ),
    "logistic": Trilingual(numpyro_logistic, pymc_logistic, STAN_LOGISTIC, {"N": 80, "D": 3, "X": X, "y": LABEL}, {}),
}
