"""One call from a log density to draws."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mongepatch._extras import require
from mongepatch._typing import LogDensity, PyTree
from mongepatch.chains import Runner
from mongepatch.errors import SamplingWarning, SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import Kernel
from mongepatch.metrics import Metric, fitted
from mongepatch.program import trace_density
from mongepatch.sampling.arguments import as_key, as_target
from mongepatch.sampling.checks import (
    check_differentiable,
    check_names,
    check_residuals,
    check_warmup,
    traced_residuals,
)
from mongepatch.sampling.kernel_names import KernelName, kernel_from
from mongepatch.sampling.output import to_datatree
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.starts import check_per_chain, starting_states
from mongepatch.sampling.verdict import verdict
from mongepatch.targets import Target
from mongepatch.trajectories import Trajectory
from mongepatch.validation import number_at_least_zero, positive_number, share, whole_number
from mongepatch.warmup import ACCEPTANCE, MetricName, Rehearsal, TrajectoryName, begin, warm_up

if TYPE_CHECKING:
    from xarray import DataTree


def sample(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    residuals: Callable[[Any], Any] | None = None,
    metric: Metric | MetricName = "auto",
    trajectory: Trajectory | TrajectoryName | None = "auto",
    step_size: float | None = None,
    target_acceptance: float | None = None,
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
    save_warmup: bool = False,
    progress: bool = True,
) -> "DataTree":
    """Draw from a density. All that is not given is found in warm-up.

    Chains run side by side, compiled once for what a density computes, for each kind of metric and trajectory: other
    data of the same shapes, other constants, another seed or number of draws do not compile again. The seed decides
    every draw.

    Args:
        target: a log density of any pytree of parameters, written with jax.numpy, up to a constant; or a `Target`.
        init: one starting point, around which chains are dispersed. Its structure, shapes and keys are those of the
            parameters. A `Target` takes a flat vector too, or knows where to start by itself.
        residuals: a function of the same parameters as the log density, to an array or a pytree of arrays: the whitened
            residuals of a model, such as (value − mean)/scale of every random variable, data included, for the metrics
            "auto" and "patch". `from_numpyro` and `from_pymc` find them by themselves.
        metric: "auto" chooses among "euclidean", "monge" and, where there are residuals, "patch", all of whose
            constants are found in warm-up. Or a metric with constants of your own, any of which may be "auto":
            `Euclidean(...)` for HMC, `Monge(alpha, ...)`, `Patch(residuals, alpha, ...)`, `Fisher(...)`,
            `SoftAbs(kappa)`, `Dense(metric_fn)`, or one that you wrote.
        trajectory: "auto" chooses between "nuts" and "static", trajectories of a length that is found in warm-up; or
            `NUTS(max_depth)`, `Static(num_steps, jitter)`; none for the kernel "mmala".
        step_size: ε > 0, in the scale of the metric; by default it is found in warm-up.
        target_acceptance: the acceptance rate to find it for; by default 0.8, and 0.9 for a patch and where
            trajectories diverge.
        kernel: "lmc"; "rmhmc", with implicit steps; "explicit-rmhmc"; "mmala"; or one of `mongepatch.kernels` with
            settings, such as `kernels.RMHMC(integrators.ImplicitMidpoint())`.
        draws: draws of each chain to keep.
        warmup: draws of each chain to make first, in which all that is not given is found.
        chains: number of chains.
        seed: a whole number, or a `jax.random.key`.
        scheme: "merged" or "paper", as for `lmc`; for the kernel "lmc" alone.
        init_spread: chains start within this distance of `init` in every coordinate; 0 starts all of them at it.
        init_per_chain: whether the arrays of `init` have a leading axis with one starting point a chain.
        dims: names of the dimensions of each parameter.
        coords: labels along those dimensions.
        save_warmup: whether to keep the draws of warm-up, with the path of ε, α and acceptance, in the groups
            `warmup_posterior` and `warmup_sample_stats`; of the statistics, those that all of its trajectories have.
        progress: whether to show a progress bar, and a line that says what was chosen.

    Returns:
        A tree with the groups `posterior` and `sample_stats`, in ArviZ's schema. `sample_stats` has `lp`,
        `acceptance_rate`, `step_size`, `n_steps`, `n_grad`, `diverging`, `energy`, `energy_error`, `alpha`,
        `log_volume`, and `accepted` and `failure`; with `NUTS` also `tree_depth` and `reached_max_treedepth`, with
        "rmhmc" also `non_convergent` and `non_reversible`. See `Info` for what each one means. Attributes of the groups
        are `kernel`, `metric`, `trajectory`, `step_size`, `chosen` (what "auto" chose, and why), `steep` (the share of
        draws at the end of warm-up at which the density is too steep for a constant metric), `tuning_steps`,
        `warmup_n_grad` (gradient-equivalents of the draws of warm-up, all chains together), and `warmup_time` and
        `sampling_time` in seconds, compilation excluded.

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
    step = None if step_size is None else positive_number("step_size", step_size)
    acceptance = ACCEPTANCE if target_acceptance is None else share("target_acceptance", target_acceptance)
    kernel = kernel_from(kernel, scheme)
    start_key, run_key, tune_key = jax.random.split(as_key(seed), 3)

    if init_per_chain:
        check_per_chain(init, chains)
    example = jax.tree.map(lambda leaf: leaf[0], init) if init_per_chain else init
    target = as_target(target, example, residuals, dims, coords)
    check_names(target)
    dtype = jnp.result_type(float) if example is None else target.layout.flat(example).dtype
    position = jax.ShapeDtypeStruct((target.dimension,), dtype)
    density = trace_density(target.logdensity, position)
    # Planning a patch takes time, which is for nothing where another metric is asked for.
    may_patch = isinstance(metric, str) and metric in ("auto", "patch")
    if residuals is not None and not may_patch:
        raise SettingError('residuals are for metric="auto" or "patch"; another metric makes no use of them.')
    traced = traced_residuals(target.residuals, position) if may_patch and target.residuals is not None else None
    settings, unknowns = begin(metric, trajectory, kernel, target.dimension, traced)
    check_warmup(warmup, step, unknowns)
    settings = settings._replace(metric=fitted(settings.metric, position))
    check_differentiable(density, settings.metric, position)
    states = starting_states(
        start_key, target, density, settings.metric, init, chains, spread=spread, per_chain=init_per_chain
    )

    if traced is not None:
        check_residuals(traced, states.point.position)

    with progress_report(warmup + draws, chains, show=progress) as report:
        runner = Runner(run_key, density, kernel, report)
        rehearsal = Rehearsal(
            runner,
            states,
            settings,
            tune_key,
            step_size=step,
            acceptance=acceptance,
            may_be_careful=target_acceptance is None,
            keep=save_warmup,
        )
        choice = warm_up(rehearsal, unknowns, warmup)
        report.say(choice.line)
        warmup_time = runner.seconds
        _, pace, record = runner(rehearsal.states, rehearsal.settings, rehearsal.pace, draws)
    attrs = {
        "sampling_time": runner.seconds - warmup_time,
        "warmup_time": warmup_time,
        "warmup_n_grad": rehearsal.n_grad,
        "tuning_steps": warmup,
        "kernel": kernel.name,
        "metric": type(rehearsal.settings.metric).__name__,
        "trajectory": "none" if settings.trajectory is None else type(rehearsal.settings.trajectory).__name__,
        "step_size": float(pace.step_size),
        "chosen": choice.line,
        "steep": choice.steep,
    }
    tree = to_datatree(record, rehearsal.records if save_warmup else [], target, attrs)
    paragraph = verdict(tree)
    if paragraph:
        warnings.warn(paragraph, SamplingWarning, stacklevel=2)
    return tree
