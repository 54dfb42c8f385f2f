"""Two NumPyro models, with the exact distribution of the scale that decides how narrow each of them is."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from mongepatch.targets.truth import Marginal, Normal, Tabulated

SIZES = np.array([400] * 6 + [1] * 14)
"""Observations of each group: the large groups suit the centred form, the small ones the non-centred form."""
FUNNEL_SD = 15.0**0.5


class DemoModel(NamedTuple):
    """A model, and the quantities that the demo looks at."""

    title: str
    model: Callable[..., None]
    data: tuple[Any, ...]
    scale: str
    """The name of the quantity whose lower tail is the narrow region."""
    effect: str
    """The name of a quantity that is confined there."""
    quantities: Callable[[dict[str, np.ndarray]], tuple[np.ndarray, np.ndarray]]
    """(scale, effect), of shape (chains, draws), from draws by the names of the model's variables."""
    truth: Marginal
    """The exact distribution of the scale."""


def groups(group: np.ndarray, y: np.ndarray) -> None:
    """The README's model: groups around a common mean, written centred."""
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(theta[group], 1), obs=y)


def funnel() -> None:
    """The paper's funnel with one x; softplus(a) is a variance."""
    a = numpyro.sample("a", dist.Normal(0, FUNNEL_SD))
    numpyro.sample("x", dist.Normal(0, jnp.sqrt(jax.nn.softplus(a))))


def uneven_groups() -> DemoModel:
    """Twenty groups whose spread the data can hardly distinguish from zero: the data of the README."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(SIZES.size), SIZES)
    y = rng.normal(rng.normal(0, 0.1, size=SIZES.size)[group], 1)

    def quantities(draws: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return np.log(draws["tau"]), draws["theta"][..., -1] - draws["mu"]

    return DemoModel(
        "twenty uneven groups",
        groups,
        (group, y),
        "log tau",
        "theta − mu of a small group",
        quantities,
        spread_of_groups(np.bincount(group, y) / SIZES, 1.0 / SIZES),
    )


def papers_funnel() -> DemoModel:
    """The funnel of Figure 4 of the paper."""

    def quantities(draws: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return draws["a"], draws["x"]

    return DemoModel("the paper's funnel", funnel, (), "a", "x", quantities, Normal(0.0, FUNNEL_SD))


def spread_of_groups(means: np.ndarray, variances: np.ndarray) -> Tabulated:
    """The exact posterior of log tau, from the means of the groups and the variances of these.

    Means are N(mu, tau² + variance) given mu and tau. With mu ~ N(0, 1) integrated out, one dimension is left.
    """
    log_tau = np.linspace(-25.0, 3.0, 20_001)
    weights = 1.0 / (np.exp(2.0 * log_tau)[:, None] + variances)
    precision = weights.sum(axis=1) + 1.0
    center = (weights @ means) / precision
    fit = np.sum(np.log(weights) - weights * means**2, axis=1) + precision * center**2 - np.log(precision)
    prior = -0.5 * np.exp(2.0 * log_tau) + log_tau  # half normal, and the derivative of exp
    return Tabulated.from_log_density(log_tau, 0.5 * fit + prior)
