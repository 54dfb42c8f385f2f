"""Every kernel on the paper's regressions and funnels: cost and effective sizes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.measures.names import check_problems
from mongepatch import baselines, datasets
from mongepatch.errors import DataError
from mongepatch.kernels import LMC, MMALA, RMHMC, ExplicitRMHMC, Kernel
from mongepatch.metrics import Euclidean, Fisher, Metric, Monge
from mongepatch.paper.console import print_table
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.diagnostics import smallest_ess_of_run
from mongepatch.targets import Target, funnel
from mongepatch.trajectories import NUTS, Static, Trajectory

if TYPE_CHECKING:
    from xarray import DataTree

REGRESSIONS, FUNNELS = ("heart", "german", "australian"), (1, 5)
PROBLEMS = (*REGRESSIONS, *(f"funnel-{dimension}" for dimension in FUNNELS))
ACCEPTANCE = 0.8
"""Target acceptance of step sizes that warm-up tunes, where the paper has none."""
WARMUP = 200
"""Warm-up draws, at least."""


class KernelProblem(NamedTuple):
    """A target with the metrics that suit it."""

    name: str
    target: Target
    monge: Monge
    fisher: Metric
    preset: str
    """Prefix of the names of its presets."""
    stiffness: float
    """Typical size of the Fisher metric."""


class Contender(NamedTuple):
    """A sampler of a problem."""

    name: str
    kernel: Kernel
    metric: Metric
    trajectory: Trajectory | None
    step_size: float | None
    """None where warm-up tunes it."""
    fraction: float = 1.0
    """Fraction of the requested draws; smaller where a draw takes thousands of products."""


def problems(names: Sequence[str] = PROBLEMS) -> Iterator[KernelProblem]:
    """The three logistic regressions, as far as their data are available, and two funnels."""
    for name in REGRESSIONS:
        if name not in names:
            continue
        try:
            data = datasets.load(name)
        except DataError as error:
            print(f"{name} is left out: {error}")
            continue
        precision = 0.25 * len(data.outcomes)
        yield KernelProblem(name, data.target(), Monge(0.01), Fisher.logistic(data.design), name, precision)
    for dimension in FUNNELS:
        name, target = f"funnel-{dimension}", funnel(dimension)
        if name in names:
            yield KernelProblem(name, target, Monge(1.0), Fisher(target.information), name, 1.0)


def contenders(problem: KernelProblem) -> Iterator[Contender]:
    """Every kernel in the metrics that it is used with, at the paper's settings where it has any."""
    regression = not problem.preset.startswith("funnel")
    monge = preset(f"{problem.preset}-lmc-monge" if regression else problem.preset)
    static = Static(monge.num_steps)
    euclidean = Euclidean()
    fisher = rmhmc = None
    if regression:
        hmc, fisher, rmhmc = (preset(f"{problem.preset}-{name}") for name in ("hmc", "lmc-fisher", "rmhmc-fisher"))
        yield Contender("HMC, paper's settings", LMC(), euclidean, Static(hmc.num_steps), hmc.step_size)
    yield Contender("HMC, settings of LMC-Monge", LMC(), euclidean, static, monge.step_size)
    yield Contender("LMC-Monge", LMC(), problem.monge, static, monge.step_size)
    short = Static(6)
    for name, kernel, known, fraction in (("LMC-Fisher", LMC(), fisher, 1.0), ("RMHMC-Fisher", RMHMC(), rmhmc, 0.25)):
        trajectory = short if known is None else Static(known.num_steps)
        yield Contender(name, kernel, problem.fisher, trajectory, None if known is None else known.step_size, fraction)
    yield Contender("RMHMC-Monge", RMHMC(), problem.monge, static, monge.step_size, fraction=0.25)
    explicit = ExplicitRMHMC(stiffness=problem.stiffness)
    yield Contender("explicit RMHMC-Fisher", explicit, problem.fisher, short, None)
    for name, metric in (("Monge", problem.monge), ("Fisher", problem.fisher)):
        yield Contender(f"MMALA-{name}", MMALA(), metric, None, None)
    for name, metric in (("Euclidean", euclidean), ("Monge", problem.monge), ("Fisher", problem.fisher)):
        yield Contender(f"NUTS-{name}", LMC(), metric, NUTS(), None)


def measure(
    problem: KernelProblem, contender: Contender, init: np.ndarray | None, draws: int, seed: int
) -> tuple[float, "DataTree"]:
    """The step size, and the result."""
    draws = round(contender.fraction * draws)
    tree = sample_quietly(
        problem.target,
        init,
        init_spread=0.1,
        metric=contender.metric,
        kernel=contender.kernel,
        trajectory=contender.trajectory,
        step_size=contender.step_size,
        target_acceptance=ACCEPTANCE,
        draws=draws,
        warmup=max(draws // 3, WARMUP),
        seed=seed,
        progress=False,
    )
    return tree["posterior"].attrs["step_size"], tree


def row(name: str, step_size: float, tree: "DataTree") -> tuple[Any, ...]:
    """One line of the table."""
    stats, seconds = tree["sample_stats"].to_dataset(), tree["posterior"].attrs["sampling_time"]
    n_grad, size = float(stats["n_grad"].sum()), smallest_ess_of_run(tree)
    return (
        name,
        f"{stats.sizes['chain']} × {stats.sizes['draw']:,}",
        f"{step_size:.3g}",
        f"{float(stats['acceptance_rate'].mean()):.2f}",
        f"{float(stats['diverging'].mean()):.1%}",
        f"{float(stats['n_grad'].mean()):,.0f}",
        f"{size:,.0f}",
        f"{size / seconds:,.0f}",
        f"{1000 * size / n_grad:.3g}",
    )


def run(draws: int = 1000, seed: int = 0, only: Sequence[str] = ()) -> None:
    """Print a table for each problem."""
    check_problems(only, PROBLEMS)
    for problem in problems(only or PROBLEMS):
        baseline = baselines.nuts(problem.target, draws=draws, warmup=1000, seed=seed)
        regression = "beta" in baseline["posterior"]
        init = np.asarray(baseline["posterior"]["beta"].mean(("chain", "draw"))) if regression else None
        rows = [
            row(contender.name, *measure(problem, contender, init, draws, seed)) for contender in contenders(problem)
        ]
        steps = float(np.mean(baseline["sample_stats"]["step_size"]))
        rows.append(row("BlackJAX NUTS, its warm-up", steps, baseline))
        print_table(
            f"{problem.name}: {problem.target.dimension} parameters",
            (
                "",
                "draws",
                "ε",
                "accepted",
                "failed",
                "grads per draw",
                "least ESS",
                "ESS per second",
                "ESS per 1000 grads",
            ),
            rows,
            [
                "least ESS: of bulk, tail and squares, over all parameters. grads: gradient-equivalents. "
                f"ε is the paper's, or accepts about {ACCEPTANCE:.0%}; BlackJAX's also has an adapted mass matrix.",
                "Regressions start near the mean: in the tails, implicit steps of the paper's size have no solution.",
            ],
        )
