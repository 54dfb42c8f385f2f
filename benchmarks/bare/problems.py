"""Models of the benchmark of patches as bare JAX functions of a dict; scales are on the log scale."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import cauchy, norm

from benchmarks.patches.problems import NumpyroProblem, hard_problems

Parameters: TypeAlias = dict[str, Any]


def paper_funnel(p: Parameters) -> jax.Array:
    """The paper's funnel: a ~ N(0, 15), x ~ N(0, softplus(a))."""
    variance = jax.nn.softplus(p["a"])
    return -0.5 * (p["x"] @ p["x"] / variance + p["x"].size * jnp.log(variance) + p["a"] ** 2 / 15)


def neal_funnel(p: Parameters) -> jax.Array:
    """Neal's funnel: v ~ N(0, 3²), x ~ N(0, eᵛ)."""
    return norm.logpdf(p["v"], 0, 3) + norm.logpdf(p["x"], 0, jnp.exp(p["v"] / 2)).sum()


def schools(p: Parameters, errors: np.ndarray, y: np.ndarray) -> jax.Array:
    """Eight schools, centred."""
    tau = jnp.exp(p["log_tau"])
    prior = norm.logpdf(p["mu"], 0, 5) + cauchy.logpdf(tau, 0, 5) + p["log_tau"]
    return prior + norm.logpdf(p["theta"], p["mu"], tau).sum() + norm.logpdf(y, p["theta"], errors).sum()


def groups(p: Parameters, group: np.ndarray, y: np.ndarray) -> jax.Array:
    """Groups with intercepts of their own, centred."""
    tau, sigma = jnp.exp(p["log_tau"]), jnp.exp(p["log_sigma"])
    prior = norm.logpdf(p["mu"]) + norm.logpdf(tau) + p["log_tau"] + norm.logpdf(sigma) + p["log_sigma"]
    effects = norm.logpdf(p["theta"], p["mu"], tau).sum()
    return prior + effects + norm.logpdf(y, p["theta"][group], sigma).sum()


def horseshoe(p: Parameters, X: np.ndarray, y: np.ndarray) -> jax.Array:
    """A logistic regression with a horseshoe prior whose slab has scale 2, centred."""
    tau, lam = jnp.exp(p["log_tau"]), jnp.exp(p["log_lam"])
    prior = cauchy.logpdf(tau, 0, 0.1) + p["log_tau"] + jnp.sum(cauchy.logpdf(lam) + p["log_lam"])
    scales = 2 * tau * lam / jnp.sqrt(4 + (tau * lam) ** 2)
    coefficients = norm.logpdf(p["intercept"], 0, 2) + norm.logpdf(p["beta"], 0, scales).sum()
    logits = p["intercept"] + X @ p["beta"]
    return prior + coefficients + jax.nn.log_sigmoid(jnp.where(y == 1, logits, -logits)).sum()


@dataclass(frozen=True)
class BareProblem:
    """A bare log density, and the same model in NumPyro."""

    numpyro: NumpyroProblem
    logdensity: Callable[[Parameters], jax.Array]
    init: Parameters

    def sites(self, draws: Mapping[str, Any]) -> dict[str, Any]:
        """The sites of the NumPyro model from draws of the parameters: `tau` from `log_tau`."""
        logs = {f"log_{name}": name for name in self.numpyro.scales}
        return {logs.get(name, name): np.exp(x) if name in logs else x for name, x in draws.items()}


def bare_problems() -> list[BareProblem]:
    """Funnels, eight schools, a hundred groups and a horseshoe regression; chains start around 0."""
    numpyro = {problem.name: problem for problem in hard_problems()}
    number = jnp.zeros(())

    def with_data(name: str, logdensity: Callable[..., jax.Array], **init: jax.Array) -> BareProblem:
        return BareProblem(numpyro[name], lambda p: logdensity(p, *numpyro[name].data), init)

    return [
        BareProblem(numpyro["softplus-10"], paper_funnel, {"a": number, "x": jnp.zeros(10)}),
        BareProblem(numpyro["softplus-50"], paper_funnel, {"a": number, "x": jnp.zeros(50)}),
        BareProblem(numpyro["neal-9"], neal_funnel, {"v": number, "x": jnp.zeros(9)}),
        with_data("schools", schools, mu=number, log_tau=number, theta=jnp.zeros(8)),
        with_data("groups-100", groups, mu=number, log_tau=number, log_sigma=number, theta=jnp.zeros(100)),
        with_data(
            "horseshoe-20",
            horseshoe,
            log_tau=number,
            log_lam=jnp.zeros(20),
            intercept=number,
            beta=jnp.zeros(20),
        ),
    ]
