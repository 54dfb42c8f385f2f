"""Samplers of the paper's funnel by name, and the error of each in the marginal of `a`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch import baselines
from mongepatch.paper.distances import kl_divergence, ks_distance
from mongepatch.paper.funnel_runs import PAPER, TRUTH, run_method
from mongepatch.paper.item import Numbers
from mongepatch.paper.methods import HMC
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.paper.walnuts import CompiledFunnel, walnuts
from mongepatch.targets import funnel

if TYPE_CHECKING:
    from xarray import DataTree

EDGES = np.linspace(-16.0, 16.0, 65)
"""Of the histograms that are drawn."""
DEEP = (0.001, 0.01, 0.5, 0.99)
"""Quantiles in the table."""
WARMUP = 1000
"""Warm-up draws of samplers that tune themselves."""


class FunnelDraws(NamedTuple):
    """Draws of `a` with their cost."""

    a: np.ndarray
    """[chain, draw]."""
    n_grad: float
    """Gradient-equivalents per draw, without warm-up where the sampler reports it separately."""
    acceptance_rate: float | None
    divergences: float | None
    """Fraction of the trajectories."""
    seconds: float
    chosen: str = ""


def draws_from(tree: "DataTree") -> FunnelDraws:
    """From a result of `mongepatch.sample` or of a baseline."""
    stats, attrs = tree["sample_stats"].to_dataset(), tree["posterior"].attrs
    return FunnelDraws(
        np.asarray(tree["posterior"]["a"]),
        float(stats["n_grad"].mean()),
        float(stats["acceptance_rate"].mean()),
        float(stats["diverging"].mean()),
        attrs["sampling_time"],
        attrs.get("chosen", ""),
    )


def residuals(parameters: dict[str, jax.Array]) -> list[jax.Array]:
    """Residuals of the funnel as a model: each variable divided by its standard deviation."""
    a = parameters["a"]
    return [parameters["x"] / jnp.sqrt(jax.nn.softplus(a)), a / 15.0**0.5]


def _lmc(dimension: int, draws: int, seed: int) -> FunnelDraws:
    return draws_from(run_method(PAPER, dimension, draws=draws, seed=seed).tree)


def _hmc(dimension: int, draws: int, seed: int) -> FunnelDraws:
    return draws_from(run_method(HMC, dimension, draws=draws, seed=seed).tree)


def _nuts(dimension: int, draws: int, seed: int) -> FunnelDraws:
    return draws_from(baselines.nuts(funnel(dimension), _start(dimension), draws=draws, warmup=WARMUP, seed=seed))


def _walnuts(dimension: int, draws: int, seed: int) -> FunnelDraws:
    run = walnuts(CompiledFunnel(), dimension + 1, draws=draws, warmup=WARMUP, chains=4, seed=seed)
    chains, made, _ = run.positions.shape
    return FunnelDraws(run.positions[..., -1], run.n_grad / (chains * (made + WARMUP)), None, None, run.seconds)


def _automatic(dimension: int, draws: int, seed: int, **settings: Any) -> FunnelDraws:
    start = _start(dimension)
    return draws_from(
        sample_quietly(funnel(dimension), start, draws=draws, warmup=WARMUP, seed=seed, progress=False, **settings)
    )


def _with_residuals(dimension: int, draws: int, seed: int) -> FunnelDraws:
    return _automatic(dimension, draws, seed, residuals=residuals)


def _start(dimension: int) -> jax.Array:
    return jnp.full(dimension + 1, jnp.asarray(preset(f"funnel-{dimension}").start))


SAMPLERS: dict[str, Callable[[int, int, int], FunnelDraws]] = {
    "LMC-Monge": _lmc,
    "HMC": _hmc,
    "NUTS": _nuts,
    "WALNUTS": _walnuts,
    "automatic": _automatic,
    "automatic, residuals": _with_residuals,
}
"""From dimension, draws of each of four chains, and seed."""
MEANINGS = {
    "LMC-Monge": "α = 1 with the paper's ε and L, and its scheme",
    "HMC": "the same ε and L in the Euclidean metric, α = 0: the difference is the effect of the metric",
    "NUTS": "BlackJAX's, step size and mass matrix from warm-up",
    "WALNUTS": "walnutpie's, which halves its step where the energy error is large",
    "automatic": "mp.sample(target), with the density alone",
    "automatic, residuals": "mp.sample(target, residuals=…), which may use the patch of the residuals",
}


def judged(sampler: str, dimension: int, draws: int, seed: int) -> Numbers:
    """Four chains, compared with the truth one by one, as the paper does with its one chain, and all together."""
    run = SAMPLERS[sampler](dimension, draws, seed)
    return {
        "sampler": sampler,
        "dimension": dimension,
        "kl": np.asarray([kl_divergence(chain, TRUTH) for chain in run.a]),
        "kl_together": kl_divergence(run.a, TRUTH),
        "ks": ks_distance(run.a, TRUTH),
        "least": float(run.a.min()),
        "quantiles": np.quantile(run.a, DEEP),
        "histogram": np.histogram(run.a, EDGES, density=True)[0],
        "acceptance_rate": run.acceptance_rate,
        "divergences": run.divergences,
        "n_grad": run.n_grad,
        "seconds": run.seconds,
        "chosen": run.chosen,
    }
