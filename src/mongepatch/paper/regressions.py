"""Samplers of the paper's logistic regressions by name, and the effective sizes of their draws."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch import baselines, datasets
from mongepatch._extras import require
from mongepatch._typing import Vector
from mongepatch.metrics import Euclidean, Fisher, Monge
from mongepatch.paper.item import Numbers
from mongepatch.paper.presets import Preset, preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.diagnostics import smallest_ess_of_run
from mongepatch.targets import Target
from mongepatch.trajectories import Static

if TYPE_CHECKING:
    from xarray import DataTree

DATA = {"heart": "Heart", "german": "German, numeric", "south-german": "South German", "australian": "Australian"}
"""The paper's German has D = 21 coefficients and so is South German; the other is the one that its reference uses."""
SAMPLERS = ("LMC-Monge", "HMC, same ε and L", "LMC-Fisher", "RMHMC-Fisher", "HMC-Euclidean", "NUTS", "automatic")
TUNED = ("NUTS", "automatic")
"""Those that tune themselves."""
_PRESETS = {
    "LMC-Monge": "lmc-monge",
    "HMC, same ε and L": "lmc-monge",
    "LMC-Fisher": "lmc-fisher",
    "RMHMC-Fisher": "rmhmc-fisher",
    "HMC-Euclidean": "hmc",
}


def preset_of(data: str, sampler: str) -> Preset:
    """The paper's settings of a sampler; those of German for both German sets."""
    return preset(f"{'german' if data == 'south-german' else data}-{_PRESETS[sampler]}")


def drawn(data: str, sampler: str, draws: int, warmup: int, chains: int, seed: int) -> "DataTree":
    """Draws of a sampler at the paper's settings, or at its own settings where it tunes itself."""
    dataset = datasets.load(data)
    target = dataset.target()
    sizes: dict[str, Any] = {"draws": draws, "warmup": warmup, "chains": chains, "seed": seed}
    if sampler == "NUTS":
        return baselines.nuts(target, **sizes)
    if sampler == "automatic":
        return sample_quietly(target, progress=False, **sizes)
    settings = preset_of(data, sampler)
    if sampler == "LMC-Monge":
        metric: Any = Monge(settings.alpha)
    else:
        metric = Fisher.logistic(dataset.design) if sampler.endswith("Fisher") else Euclidean()
    kernel = "rmhmc" if sampler.startswith("RMHMC") else "lmc"
    return at_settings(target, metric, kernel, settings, sizes)


def at_settings(target: Target, metric: Any, kernel: str, settings: Preset, sizes: dict[str, Any]) -> "DataTree":
    """Draws without tuning: warm-up draws are only discarded."""
    return sample_quietly(
        target,
        {"beta": mode(target)},
        init_spread=0.05,  # further out, implicit steps of the paper's length have no solution
        metric=metric,
        kernel=kernel,
        scheme="paper" if kernel == "lmc" else None,
        trajectory=Static(settings.num_steps),
        step_size=settings.step_size,
        progress=False,
        **sizes,
    )


def mode(target: Target) -> Vector:
    """The mode of a log-concave density, by Newton's method."""
    gradient, hessian = jax.grad(target.logdensity), jax.hessian(target.logdensity)

    def step(_: int, x: Vector) -> Vector:
        return x - jnp.linalg.solve(hessian(x), gradient(x))

    return jax.lax.fori_loop(0, 20, step, jnp.zeros(target.dimension))


def efficiency(tree: "DataTree") -> Numbers:
    """Effective sizes of the coefficients by several definitions, with their cost.

    The paper's estimate is capped at the number of draws of its one chain, so `capped` is computed for each chain,
    capped and averaged; the others are of all chains together.
    """
    ess = require("arviz_stats", "paper", "An effective sample size").ess
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
    draws = posterior.sizes["draw"]
    alone = [ess(posterior.isel(chain=[i]), method="mean")["beta"].values for i in range(posterior.sizes["chain"])]
    moving = np.ptp(posterior["beta"].values, axis=1) > 0  # ArviZ gives a constant chain the size of independent draws
    capped = np.where(moving, np.minimum(np.stack(alone), draws), 0.0).mean(axis=0)
    bulk, tail = ess(posterior)["beta"].values, ess(posterior, method="tail")["beta"].values
    return {
        "capped": np.asarray([capped.min(), capped.mean(), np.median(capped)]),
        "bulk": np.asarray([bulk.min(), bulk.mean(), np.median(bulk)]),
        "tail": np.asarray([tail.min(), tail.mean(), np.median(tail)]),
        "least": smallest_ess_of_run(tree),
        "draws": int(draws),
        "chains": int(posterior.sizes["chain"]),
        "acceptance_rate": float(stats["acceptance_rate"].mean()),
        "divergences": float(stats["diverging"].mean()),
        "n_grad": float(stats["n_grad"].sum()),
        "seconds": float(posterior.attrs["sampling_time"]),
        "chosen": str(posterior.attrs.get("chosen", "")),
    }


def measured(data: str, sampler: str, draws: int, warmup: int, chains: int, seed: int) -> Numbers:
    """Effective sizes of a sampler on one of the datasets."""
    return {"data": data, "sampler": sampler, **efficiency(drawn(data, sampler, draws, warmup, chains, seed))}


def swept(
    data: str, alphas: list[float], step_size: float, num_steps: int, draws: int, warmup: int, seed: int
) -> Numbers:
    """All α on one dataset, four chains each."""
    target = datasets.load(data).target()
    sizes = {"draws": draws, "warmup": warmup, "chains": 4, "seed": seed}
    settings = Preset(step_size, num_steps)
    metrics = [Monge(alpha) if alpha else Euclidean() for alpha in alphas]
    found = [efficiency(at_settings(target, metric, "lmc", settings, sizes)) for metric in metrics]
    return {
        "data": data,
        "alpha": np.asarray(alphas),
        **{
            name: np.asarray([run[name] for run in found]) for name in ("least", "n_grad", "seconds", "acceptance_rate")
        },
        "capped": np.stack([run["capped"] for run in found]),
        "draws": 4 * draws,
    }
