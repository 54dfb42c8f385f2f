"""LMC-Monge, HMC and NUTS on a target of two coordinates, of one of which the marginal is known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch.baselines import nuts
from mongepatch.bench.effective import smallest_ess
from mongepatch.bench.funnel import ks_distance
from mongepatch.bench.quiet import sample_quietly
from mongepatch.metrics import Euclidean, Monge
from mongepatch.paper.item import Numbers, Task
from mongepatch.paper.style import COLOURS, INK, canvas, cloud, contours
from mongepatch.targets import Target, funnel, preset, squiggle
from mongepatch.targets.truth import Marginal
from mongepatch.trajectories import Static

METHODS = ("LMC-Monge", "HMC", "NUTS")
TARGETS: dict[str, Callable[[Any], Target]] = {"funnel": funnel, "squiggle": squiggle}
QUANTILES = (0.001, 0.01, 0.5, 0.99)
TUNING = 1000
"""Draws in which NUTS is tuned."""
TRACE, POINTS = 2000, 1000
"""Draws to keep for a trace, and of each chain for a picture."""
REACH = 4.5
"""How far histograms go, in standard deviations of the truth."""


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
    """Sample, and keep what a figure and a table need."""
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
    # The size of a chain that stands still would be that of independent draws.
    moving = bool((np.ptp(values, axis=1) > 0).all())
    size = smallest_ess(tree) if moving else 0.0
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


def draw(
    found: Mapping[str, Numbers], target: Target, scalar: str, x: np.ndarray, y: np.ndarray, depths: Sequence[float]
) -> Any:
    """A column for each method: draws over contours on the grid of x and y, a trace, and the marginal on the truth."""
    figure, axes = canvas(3, len(found), 2.6, height_ratios=(1.5, 0.8, 1.0), sharex="row", sharey="row")
    truth = truth_of(target, scalar)
    for column, (method, numbers) in zip(axes.T, found.items(), strict=True):
        picture, trace, marginal = column
        colour = COLOURS[method]
        contours(picture, target, x, y, depths)
        cloud(picture, numbers["points"][:, 0], numbers["points"][:, 1], colour)
        if numbers["ess"] == 0:
            picture.text(0.5, 0.04, "a chain never moved", transform=picture.transAxes, ha="center")
        picture.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title=method)
        trace.plot(numbers["trace"], linewidth=0.5, color=colour, rasterized=True)
        trace.set(xlabel=f"last {numbers['trace'].size:,} draws of a chain")
        edges = numbers["edges"]
        marginal.stairs(numbers["density"], edges, fill=True, color=colour, alpha=0.35, label="draws")
        expected = np.diff(truth.cdf(edges)) / np.diff(edges)
        marginal.plot(0.5 * (edges[1:] + edges[:-1]), expected, color=INK, label="truth")
        marginal.set_ylim(0, 1.7 * expected.max())  # a chain that stands still would flatten all the others
        marginal.set(xlabel=scalar, xlim=(edges[0], edges[-1]), title=f"KS {numbers['ks']:.3f}")
    names = list(target.layout.names)
    axes[0, 0].set(ylabel=names[1])
    axes[1, 0].set(ylabel=scalar)
    axes[2, 0].set(ylabel=f"density of {scalar}")
    axes[2, 0].legend(loc="upper left", fontsize=9, handlelength=1.2)
    for picture in axes[0]:
        picture.set_xlabel(names[0])
    return figure
