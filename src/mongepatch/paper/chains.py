"""LMC-Monge, HMC and NUTS on a target of two coordinates; the marginal of one of them is known."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch.baselines import nuts
from mongepatch.metrics import Euclidean, Monge
from mongepatch.paper.distances import ks_distance
from mongepatch.paper.item import Numbers, Task
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.diagnostics import smallest_ess_of_run
from mongepatch.targets import Target, funnel, squiggle
from mongepatch.targets.truth import Marginal
from mongepatch.trajectories import Static

METHODS = ("LMC-Monge", "HMC", "NUTS")
TARGETS: dict[str, Callable[[Any], Target]] = {"funnel": funnel, "squiggle": squiggle}
QUANTILES = (0.001, 0.01, 0.5, 0.99)
TUNING = 1000
"""Warm-up draws of NUTS."""
TRACE, POINTS = 2000, 1000
"""Draws to keep for a trace, and of each chain for a picture."""
REACH = 4.5
"""Half the width of histograms, in standard deviations of the truth."""


def tasks_of(target: str, argument: float, scalar: str, draws: int, warmup: int = 0) -> list[Task]:
    """The three methods: LMC and HMC with ε, L and start of the paper, NUTS tuned from the same start."""
    paper = preset(f"{target}-{argument}")
    common = {"target": target, "argument": argument, "scalar": scalar, "draws": draws, "chains": 4, "seed": 0}
    common["start"] = list(paper.start) if isinstance(paper.start, tuple) else [paper.start] * 2
    fixed = {"warmup": warmup, "step_size": paper.step_size, "num_steps": paper.num_steps}
    tuned = {"warmup": TUNING, "target_acceptance": 0.8, "max_depth": 10}
    own = ({**fixed, "alpha": paper.alpha}, {**fixed, "alpha": 0.0}, tuned)
    return [
        Task(f"{target}-{argument}, {method}", run, {**common, "method": method, **settings})
        for method, settings in zip(METHODS, own, strict=True)
    ]


def run(
    target: str, argument: float, scalar: str, method: str, draws: int, chains: int, seed: int, **settings: Any
) -> Numbers:
    """Sample, and keep the numbers of the figure and the table."""
    density, start = TARGETS[target](argument), jnp.asarray(settings.pop("start"), float)
    settings.update(draws=draws, chains=chains, seed=seed)
    if method == "NUTS":
        tree = nuts(density, start, **settings)
    else:
        alpha, steps = settings.pop("alpha"), settings.pop("num_steps")
        metric = Monge(alpha) if alpha else Euclidean()
        tree = sample_quietly(
            density, start, metric=metric, trajectory=Static(steps), scheme="paper", init_spread=0.0, progress=False,
            **settings,
        )  # fmt: skip
    truth, posterior = truth_of(density, scalar), tree["posterior"]
    values, stats = np.asarray(posterior[scalar]), tree["sample_stats"].to_dataset()
    columns = [np.asarray(posterior[name]).reshape(chains, draws) for name in density.layout.names]
    edges = np.linspace(truth.mean - REACH * truth.sd, truth.mean + REACH * truth.sd, 61)
    # ArviZ gives a constant chain the size of independent draws.
    moving = bool((np.ptp(values, axis=1) > 0).all())
    size = smallest_ess_of_run(tree) if moving else 0.0
    rhat = require("arviz_stats", "paper", "R̂").rhat
    return {
        "points": np.stack(columns, axis=-1)[:, :: max(1, draws // POINTS)].reshape(-1, 2).astype(np.float32),
        "trace": values[0, -TRACE:].astype(np.float32),
        "edges": edges,
        "density": np.histogram(values, edges)[0] / values.size / np.diff(edges),
        "draws": values.size,
        "ks": ks_distance(values, truth),
        "chain_ks": float(np.mean([ks_distance(chain, truth) for chain in values])),
        "mean": float(values.mean()),
        "sd": float(values.std()),
        "least": float(values.min()),
        "quantiles": np.quantile(values, QUANTILES).tolist(),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "diverging": float(stats["diverging"].mean()),
        "grads": float(stats["n_grad"].mean()),
        "ess": size,
        "ess_per_1000_grads": 1000.0 * size / float(stats["n_grad"].sum()),
        "rhat": float(rhat(posterior.to_dataset()).to_array().max()) if moving else None,
    }


def truth_of(target: Target, scalar: str) -> Marginal:
    """The known marginal of a coordinate."""
    assert target.truth is not None
    return target.truth.marginals[scalar]


def by_method(results: Mapping[str, Numbers], target: str, argument: float) -> dict[str, Numbers]:
    """The results on a target, by name of the method; without those that are missing."""
    labels = {method: f"{target}-{argument}, {method}" for method in METHODS}
    return {method: results[label] for method, label in labels.items() if label in results}
