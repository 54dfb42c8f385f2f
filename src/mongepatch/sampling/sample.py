"""One call from a log density to draws."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mongepatch._extras import require
from mongepatch._typing import LogDensity, PyTree
from mongepatch.errors import SamplingWarning
from mongepatch.integrators import Scheme
from mongepatch.kernels import Kernel
from mongepatch.metrics import Metric, fitted
from mongepatch.sampling.arguments import as_key, as_target
from mongepatch.sampling.checks import check_differentiable, check_names
from mongepatch.sampling.chunks import Settings
from mongepatch.sampling.kernel_names import KernelName, kernel_from
from mongepatch.sampling.output import to_datatree
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.run import run
from mongepatch.sampling.starts import check_per_chain, starting_states
from mongepatch.sampling.verdict import verdict
from mongepatch.settings import number_at_least_zero, positive_number, whole_number
from mongepatch.targets import Target
from mongepatch.targets.program import trace
from mongepatch.trajectories import Trajectory

if TYPE_CHECKING:
    from xarray import DataTree


def sample(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    metric: Metric,
    trajectory: Trajectory | None = None,
    step_size: float,
    kernel: KernelName | Kernel = "lmc",
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int | jax.Array = 0,
    scheme: Scheme | None = None,
    init_spread: float = 1.0,
    init_per_chain: bool = False,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    progress: bool = True,
) -> "DataTree":
    """Draw from a density with Lagrangian Monte Carlo, or another kernel.

    Chains run side by side, compiled once for what a density computes: other data of the same shapes, another metric of
    the same kind, step size, trajectory, seed or number of draws does not compile again. The seed decides every draw.

    Args:
        target: a log density of any pytree of parameters, written with jax.numpy, up to a constant; or a `Target`.
        init: one starting point, around which chains are dispersed. Its structure, shapes and keys are those of the
            parameters. A `Target` takes a flat vector too, or knows where to start by itself.
        metric: `Euclidean(...)` for HMC, `Monge(alpha, ...)`, `Fisher(...)`, `SoftAbs(kappa)`, `Dense(metric_fn)`, or a
            metric of your own.
        trajectory: `NUTS(max_depth)` or `Static(num_steps, jitter)`; none for "mmala".
        step_size: ε > 0.
        kernel: "lmc"; "rmhmc", with implicit steps; "explicit-rmhmc"; "mmala"; or one of `mongepatch.kernels` with
            settings, such as `kernels.RMHMC(integrators.ImplicitMidpoint())`.
        draws: draws of each chain to keep.
        warmup: draws of each chain to make first and throw away.
        chains: number of chains.
        seed: a whole number, or a `jax.random.key`.
        scheme: "merged" or "paper", as for `lmc`; for the kernel "lmc" alone.
        init_spread: chains start within this distance of `init` in every coordinate; 0 starts all of them at it.
        init_per_chain: whether the arrays of `init` have a leading axis with one starting point a chain.
        dims: names of the dimensions of each parameter.
        coords: labels along those dimensions.
        progress: whether to show a progress bar.

    Returns:
        A tree with the groups `posterior` and `sample_stats`, in ArviZ's schema. `sample_stats` has `lp`,
        `acceptance_rate`, `step_size`, `n_steps`, `n_grad`, `diverging`, `energy`, `energy_error`, `alpha`,
        `log_volume`, and `accepted` and `failure`; with `NUTS` also `tree_depth` and `reached_max_treedepth`, with
        "rmhmc" also `non_convergent` and `non_reversible`. See `Info` for what each one means.

    Raises:
        LogDensityError: the density cannot be sampled.
        ParameterError: the starting point is missing or is no pytree of real numbers.
        MetricError: the metric does not fit the parameters.
        SettingError: a number is out of range.
    """
    require("arviz_base", "sample", "mongepatch.sample")
    draws, chains = whole_number("draws", draws), whole_number("chains", chains)
    warmup = whole_number("warmup", warmup, least=0)
    spread = float(number_at_least_zero("init_spread", init_spread))
    step = positive_number("step_size", step_size)
    kernel = kernel_from(kernel, scheme)
    kernel.check(trajectory)
    start_key, run_key = jax.random.split(as_key(seed))

    if init_per_chain:
        check_per_chain(init, chains)
    example = jax.tree.map(lambda leaf: leaf[0], init) if init_per_chain else init
    target = as_target(target, example, dims, coords)
    check_names(target)
    dtype = jnp.result_type(float) if example is None else target.layout.flat(example).dtype
    position = jax.ShapeDtypeStruct((target.dimension,), dtype)
    density = trace(target.logdensity, position)
    metric = fitted(metric, position)
    check_differentiable(density, metric, position)
    states = starting_states(start_key, target, density, metric, init, chains, spread=spread, per_chain=init_per_chain)

    with progress_report(warmup + draws, chains, show=progress) as report:
        result = run(
            run_key,
            states,
            density,
            Settings(metric, step, trajectory),
            layout=target.layout,
            kernel=kernel,
            warmup=warmup,
            draws=draws,
            report=report,
        )
    attrs = {
        "sampling_time": result.seconds,
        "tuning_steps": warmup,
        "kernel": kernel.name,
        "metric": type(metric).__name__,
        "trajectory": "none" if trajectory is None else type(trajectory).__name__,
    }
    tree = to_datatree(result.draws, result.stats, target, attrs)
    for sentence in verdict(tree):
        warnings.warn(sentence, SamplingWarning, stacklevel=2)
    return tree
