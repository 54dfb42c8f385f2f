"""Samplers of the paper's funnel, by name, and how well each finds the marginal of `a`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch import baselines
from mongepatch.bench.distances import kl_divergence, ks_distance
from mongepatch.bench.funnel import PAPER, TRUTH, run_method
from mongepatch.bench.methods import HMC
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.walnuts import walnuts
from mongepatch.paper.compiled_funnel import CompiledFunnel
from mongepatch.paper.item import Numbers
from mongepatch.targets import funnel, preset

if TYPE_CHECKING:
    from xarray import DataTree

EDGES = np.linspace(-16.0, 16.0, 65)
"""Of the histograms that are drawn."""
DEEP = (0.001, 0.01, 0.5, 0.99)
"""Quantiles that are looked at."""
WARMUP = 1000
"""Draws in which samplers that tune themselves do so."""


class Walked(NamedTuple):
    """Draws of `a`, and what they cost."""

    a: np.ndarray
    """[chain, draw]."""
    n_grad: float
    """Gradient-equivalents a draw, without warm-up where it is known apart."""
    acceptance_rate: float | None
    divergences: float | None
    """Share of the trajectories."""
    seconds: float
    chosen: str = ""


def walked(tree: "DataTree") -> Walked:
    """From a result of ours or of a baseline."""
    stats, attrs = tree["sample_stats"].to_dataset(), tree["posterior"].attrs
    return Walked(
        np.asarray(tree["posterior"]["a"]),
        float(stats["n_grad"].mean()),
        float(stats["acceptance_rate"].mean()),
        float(stats["diverging"].mean()),
        attrs["sampling_time"],
        attrs.get("chosen", ""),
    )


def residuals(parameters: dict[str, jax.Array]) -> list[jax.Array]:
    """Of the funnel as a model: each variable over its standard deviation."""
    a = parameters["a"]
    return [parameters["x"] / jnp.sqrt(jax.nn.softplus(a)), a / 15.0**0.5]


def _lmc(dimension: int, draws: int, seed: int) -> Walked:
    return walked(run_method(PAPER, dimension, draws=draws, seed=seed).tree)


def _hmc(dimension: int, draws: int, seed: int) -> Walked:
    return walked(run_method(HMC, dimension, draws=draws, seed=seed).tree)


def _nuts(dimension: int, draws: int, seed: int) -> Walked:
    return walked(baselines.nuts(funnel(dimension), _start(dimension), draws=draws, warmup=WARMUP, seed=seed))


def _walnuts(dimension: int, draws: int, seed: int) -> Walked:
    walk = walnuts(funnel(dimension), draws=draws, warmup=WARMUP, chains=4, seed=seed, compiled=CompiledFunnel())
    chains, made, _ = walk.positions.shape
    return Walked(walk.positions[..., -1], walk.n_grad / (chains * (made + WARMUP)), None, None, walk.seconds)


def _automatic(dimension: int, draws: int, seed: int, **settings: Any) -> Walked:
    start = _start(dimension)
    return walked(
        sample_quietly(funnel(dimension), start, draws=draws, warmup=WARMUP, seed=seed, progress=False, **settings)
    )


def _with_residuals(dimension: int, draws: int, seed: int) -> Walked:
    return _automatic(dimension, draws, seed, residuals=residuals)


def _start(dimension: int) -> jax.Array:
    return jnp.full(dimension + 1, jnp.asarray(preset(f"funnel-{dimension}").start))


SAMPLERS: dict[str, Callable[[int, int, int], Walked]] = {
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
    "HMC": "the same ε and L in the flat metric, α = 0: what the metric itself contributes is the difference",
    "NUTS": "BlackJAX's, step size and mass found in warm-up",
    "WALNUTS": "walnutpie's, which halves its step where it must",
    "automatic": "mp.sample(target), which knows the density alone",
    "automatic, residuals": "mp.sample(target, residuals=…), which knows the model and so may use its patch",
}


def judged(sampler: str, dimension: int, draws: int, seed: int) -> Numbers:
    """Four chains, each judged by itself as the paper judges its one, and all together."""
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
