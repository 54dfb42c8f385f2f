"""One call from a log density to draws."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax

from mongepatch._typing import LogDensity, PyTree, Scalar
from mongepatch.chains import Record, Runner, Tuning
from mongepatch.errors import LogDensityError, MetricError, SamplingWarning, SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import Kernel
from mongepatch.metrics import Metric, Patch
from mongepatch.metrics.patch.residuals import Residuals
from mongepatch.sampling.checks import check_keep, check_residuals, check_warmup, traced_residuals
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.keeper import Keeper, StoreKeeper
from mongepatch.sampling.long_runs import check_callback, draws_to_make, for_diagnosis, keeper_of
from mongepatch.sampling.output import to_datatree
from mongepatch.sampling.prepare import Prepared, prepare
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.settings import settings_to_facts
from mongepatch.sampling.until import Until
from mongepatch.sampling.variables import kept_columns
from mongepatch.sampling.watch import Callback, WatchedReport, make_draws, sentence
from mongepatch.targets import Target
from mongepatch.trajectories import Trajectory
from mongepatch.validation import fraction, positive_number, whole_number
from mongepatch.warmup import (
    DEFAULT_ACCEPTANCE,
    Choice,
    KernelName,
    MetricName,
    ToFind,
    TrajectoryName,
    WarmupState,
    parse_kernel,
    parse_tuning,
    takes_residuals,
    warm_up,
)

if TYPE_CHECKING:
    from xarray import DataTree

_SETTINGS = (
    *("residuals", "data_residuals", "whiten", "metric", "trajectory", "step_size", "target_acceptance", "kernel"),
    *("draws", "warmup", "chains", "scheme", "init_spread", "init_per_chain", "dims", "coords", "keep"),
    *("save_warmup", "thin", "until"),
)
"""Arguments that a run which goes on must have again; the seed and the starting point are kept as arrays."""


def sample(
    target: Target | LogDensity,
    init: PyTree = None,
    *,
    residuals: Callable[[Any], Any] | None = None,
    data_residuals: Callable[[Any], Any] | None = None,
    whiten: Literal["auto"] | bool = "auto",
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
    keep: Sequence[str] | None = None,
    save_warmup: bool = False,
    thin: int = 1,
    store: Any = None,
    until: Until | None = None,
    callback: Callback | None = None,
    progress: bool = True,
) -> "DataTree":
    """Draw from a density. All that is not given is found in warm-up.

    Chains run side by side, compiled once for what a density computes, for each kind of metric and trajectory: other
    data of the same shapes, other tuning parameters, another seed or number of draws do not compile again. The seed
    decides every draw.

    Args:
        target: a log density of any pytree of parameters, written with jax.numpy, up to a constant; or a `Target`.
        init: one starting point, around which chains are dispersed. Its structure, shapes and keys are those of the
            parameters. A `Target` takes a flat vector too, or knows where to start by itself.
        residuals: a function of the same parameters as the log density, to an array or a pytree of arrays: the whitened
            residuals of a model, such as (value − mean)/scale of every random variable, for whitened coordinates and
            the metric "patch". `from_numpyro` and `from_pymc` find them by themselves. Of other densities they
            are read off the density, where they can be: see `residuals_of`.
        data_residuals: the same of data, where `residuals` are those of latent variables alone. Residuals of latent
            variables must be linear in what is to be whitened; those of data need not be.
        whiten: whether chains move in whitened coordinates (see `mongepatch.whiten`), in which plain NUTS samples
            hierarchical models that are written centred. "auto" does so where the model has them and metric is "auto".
            Results are in the model's own variables.
        metric: "auto" chooses among "euclidean", "monge" and, where there are residuals, "patch", all of whose
            tuning parameters are found in warm-up. Or a metric with numbers of your own, any of which may be "auto":
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
        seed: an integer, or a `jax.random.key`.
        scheme: "merged" or "paper", as for `lmc`; for the kernel "lmc" alone.
        init_spread: chains start within this distance of `init` in every coordinate; 0 starts all of them at it.
        init_per_chain: whether the arrays of `init` have a leading axis with one starting point per chain.
        dims: names of the dimensions of each parameter.
        coords: labels along those dimensions.
        keep: names of the variables of the result to keep, such as ["tau"]; by default all. Others are not copied from
            the device, not stored and not diagnosed: with many chains or variables that saves time and memory.
        save_warmup: whether to keep the draws of warm-up, with the path of ε, α and acceptance, in the groups
            `warmup_posterior` and `warmup_sample_stats`; of the statistics, those that all of its trajectories have.
        thin: keep every so many draws of each chain, and none between them; the result has draws // thin.
        store: where to write draws as they are made, so that memory does not grow with them and a run that was killed
            can go on: a path such as "run.zarr", a URL, a store of zarr, or `Store(...)` with settings. The arrays of
            the result are then read from it when they are used. See `resume` and `extend`.
        until: `Until(ess=400, ...)` to stop as soon as diagnostics are good enough; `draws` is then the most of each
            chain, unless `Until` says otherwise.
        callback: a function that is called after every chunk of draws with a `RunStatus`: how many there are, the log
            densities and the worst R̂.
        progress: whether to show a progress bar, and a line that says what was chosen.

    Returns:
        A tree with the groups `posterior` and `sample_stats`, in ArviZ's schema. `sample_stats` has `lp`,
        `acceptance_rate`, `step_size`, `n_steps`, `n_grad`, `diverging`, `energy`, `energy_error`, `alpha`,
        `log_volume`, and `accepted` and `failure`; with `NUTS` also `tree_depth` and `reached_max_treedepth`, with
        "rmhmc" also `non_convergent` and `non_reversible`. See `Info` for what each one means. Attributes of the groups
        are `kernel`, `metric`, `trajectory`, `step_size`, `chosen` (what "auto" chose, and why), `unstable_fraction`
        (of draws at the end of warm-up, those at which steps in a constant metric are unstable), `tuning_steps`,
        `thin`, `warmup_n_grad` (gradient-equivalents of the draws of warm-up, all chains together), `warmup_time` and
        `sampling_time` in seconds, compilation excluded, and `interrupted`, which is 1 for a run that Ctrl-C ended. The
        group `state` is what `extend` goes on from.

    Raises:
        LogDensityError: the density cannot be sampled.
        ParameterError: the starting point is missing or is no pytree of real numbers.
        MetricError: the metric does not fit the parameters.
        SettingError: a number is out of range.
        StoreError: the store cannot be written, or holds a run already.
        SamplingInterrupted: Ctrl-C in warm-up. After it, Ctrl-C ends the run and returns the draws so far; a second one
            stops at once.

    Example:
        >>> def logdensity(p):  # theta ~ N(0, exp(v)), v ~ N(0, 1)
        ...     return -0.5 * (p["theta"] ** 2 / jnp.exp(p["v"]) + p["v"] + p["v"] ** 2)
        >>> tree = mp.sample(logdensity, {"theta": 0.0, "v": 0.0}, warmup=300, draws=500, progress=False)
        >>> tree["posterior"]["v"].shape
        (4, 500)
    """
    settings = {name: value for name, value in locals().items() if name in _SETTINGS}
    kernel = parse_kernel(kernel, scheme)
    options = _Options(
        draws=draws_to_make(draws, thin, until),
        warmup=whole_number("warmup", warmup, least=0),
        step_size=None if step_size is None else positive_number("step_size", step_size),
        acceptance=None if target_acceptance is None else fraction("target_acceptance", target_acceptance),
        save_warmup=save_warmup,
        progress=progress,
        thin=thin,
        until=until,
        callback=check_callback(callback),
    )
    prepared = prepare(
        target,
        init,
        chains=chains,
        seed=seed,
        spread=init_spread,
        per_chain=init_per_chain,
        residuals=residuals,
        data_residuals=data_residuals,
        dims=dims,
        coords=coords,
        whiten=_whitens(whiten, metric),
        read=takes_residuals(metric) or whiten is True,
        patch=isinstance(metric, str) and metric == "patch",
    )
    if whiten is True and prepared.whitening is None:
        raise SettingError(
            "whiten=True needs a model with residuals in which some variables are linear given the others, such as a "
            "hierarchy of normal distributions: give one by mp.from_numpyro or mp.from_pymc, or residuals=f."
        )
    if prepared.whitening is not None and (metric == "patch" or isinstance(metric, Patch)):
        raise SettingError("A patch follows the residuals in the model's own coordinates: leave out whiten=True.")
    if residuals is not None and not takes_residuals(metric):
        raise SettingError('residuals are for metric="auto" or "patch"; another metric makes no use of them.')
    options = options._replace(keep=check_keep(keep, prepared.target))
    begin = partial(_begin, kernel, metric, trajectory, options, given_residuals=residuals is not None)
    try:
        run = begin(prepared)
    except LogDensityError:
        if prepared.whitening is None or whiten is True:
            raise
        run = begin(prepared.without_whitening())  # some residuals are not finite where the density is
    keeper = keeper_of(store, run, options, settings_to_facts(settings, target), partial(_gather, run, options))
    tree, ending = _run(run, options, keeper)
    paragraph = " ".join(filter(None, (ending, diagnose(for_diagnosis(tree)))))
    if paragraph:
        warnings.warn(paragraph, SamplingWarning, stacklevel=2)
    return tree


class _Run(NamedTuple):
    """A run that is ready to begin."""

    prepared: Prepared
    kernel: Kernel
    points: Any
    """The metric's points where chains start."""
    tuning: Tuning
    to_find: ToFind


def _begin(
    kernel: Kernel, metric: Any, trajectory: Any, options: "_Options", prepared: Prepared, *, given_residuals: bool
) -> _Run:
    """Parse what is named, and find where chains start."""
    found = _residuals(prepared, metric, given=given_residuals)
    tuning, to_find = parse_tuning(
        metric, trajectory, kernel, prepared.target.dimension, found, whitening=prepared.whitening
    )
    check_warmup(options.warmup, options.step_size, to_find)
    tuning = tuning._replace(metric=prepared.fitted(tuning.metric))
    points = prepared.initial_points(tuning.metric)
    if isinstance(found, Residuals):
        check_residuals(found, points.position)
    return _Run(prepared, kernel, points, tuning, to_find)


def _residuals(prepared: Prepared, metric: Any, *, given: bool) -> Any:
    """What a patch could be made from; None for nothing.

    Planning a patch takes time, which is saved where another metric is asked for, or hardly any will be needed, as in
    whitened coordinates. A model whose residuals are not smooth enough, as of some solvers of differential equations,
    is sampled without.
    """
    found = prepared.target.residuals if takes_residuals(metric) else None
    if found is None or prepared.whitening is not None:
        return found
    try:
        return traced_residuals(found, prepared.position)
    except MetricError:
        if given or metric == "patch":
            raise
        return None


def _whitens(whiten: Any, metric: Any) -> bool:
    """Whether chains should move in whitened coordinates, where there are some."""
    if whiten not in ("auto", True, False):
        raise SettingError(f'whiten must be "auto", True or False; it is {whiten!r}.')
    return isinstance(metric, str) and metric == "auto" if whiten == "auto" else bool(whiten)


class _Options(NamedTuple):
    """Options of a run, checked."""

    draws: int
    warmup: int
    step_size: Scalar | None
    acceptance: float | None
    save_warmup: bool
    progress: bool
    keep: frozenset[str] | None = None
    """Names of the variables to keep; None for all."""
    thin: int = 1
    until: Until | None = None
    callback: Callback | None = None

    @property
    def watches(self) -> bool:
        """Whether somebody looks at diagnostics while the run goes on."""
        return self.until is not None or self.callback is not None


def _run(run: _Run, options: _Options, keeper: Keeper) -> tuple["DataTree", str]:
    """Warm up, draw, and gather the result; also say how it ended, where it did not end as it was asked to."""
    total, stored = options.warmup + options.draws, isinstance(keeper, StoreKeeper)
    with (
        Interrupts() as interrupts,
        keeper,
        progress_report(total, run.prepared.chains, show=options.progress) as bar,
    ):
        report = WatchedReport(bar, options.callback, interrupts, total=total, stored=stored)
        runner = keeper.runner(report, interrupts)
        state, choice, warmup_time = keeper.restored(runner) or _warm_up(run, options, runner)
        report.message(choice.line)
        attributes = partial(_attributes, state, choice, options, warmup_time)
        keeper.begin(state, choice, warmup_time, attributes(0.0))
        report.begin_draws(options.warmup + keeper.made)
        columns = kept_columns(run.prepared.target, options.keep)
        ending = make_draws(runner, state, keeper, report, interrupts, columns)
        tree = keeper.finish(state, attributes(keeper.seconds) | {"interrupted": int(ending.interrupted)})
    if stored and ending.interrupted:
        interrupts.deliver()
    return tree, sentence(ending, keeper, options.until)


def _warm_up(run: _Run, options: _Options, runner: Runner) -> tuple[WarmupState, Choice, float]:
    """What warm-up found, and how long it took."""
    state = WarmupState.begin(
        runner,
        run.points,
        run.tuning,
        run.prepared.keys.tune,
        step_size=options.step_size,
        acceptance=DEFAULT_ACCEPTANCE if options.acceptance is None else options.acceptance,
        fixed_acceptance=options.acceptance is not None,
        keep=options.save_warmup,
    )
    choice = warm_up(state, run.to_find, options.warmup)
    return state, choice, runner.seconds


def _gather(
    run: _Run, options: _Options, record: Record, warmup: Sequence[Record], attrs: Mapping[str, Any]
) -> "DataTree":
    """A tree from draws, and those of warm-up where they are kept; for a store, from the first draw alone."""
    return to_datatree(record, warmup, run.prepared.target, attrs, options.keep)


def _attributes(
    state: WarmupState, choice: Choice, options: _Options, warmup_time: float, sampling_time: float
) -> dict[str, Any]:
    """Attributes of the groups of a result."""
    metric, trajectory = state.tuning.metric, state.tuning.trajectory
    return {
        "sampling_time": sampling_time,
        "warmup_time": warmup_time,
        "warmup_n_grad": state.n_grad,
        "tuning_steps": options.warmup,
        "thin": options.thin,
        "kernel": state.runner.kernel.name,
        "metric": type(metric).__name__,
        "trajectory": "none" if trajectory is None else type(trajectory).__name__,
        "step_size": state.step_size,
        "chosen": choice.line,
        "unstable_fraction": choice.unstable_fraction,
    }
