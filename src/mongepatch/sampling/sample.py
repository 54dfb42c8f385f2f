"""One call from a log density to draws."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax
import numpy as np

from mongepatch._groups import group_of, with_groups
from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity, PyTree, Scalar
from mongepatch.chains import Record, Runner, Tuning, compile_ahead
from mongepatch.coordinates.batches import in_model
from mongepatch.errors import LogDensityError, MetricError, SamplingWarning, SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import Kernel
from mongepatch.metrics import Metric, Patch
from mongepatch.metrics.patch.residuals import Residuals
from mongepatch.sampling.advice import Situation
from mongepatch.sampling.checks import check_keep, check_residuals, check_smooth, check_warmup, traced_residuals
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.keeper import Keeper
from mongepatch.sampling.long_runs import check_callback, draws_to_make, for_diagnosis, is_stored, keeper_of
from mongepatch.sampling.output import to_datatree
from mongepatch.sampling.prepare import Prepared, prepare
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.settings import settings_to_facts
from mongepatch.sampling.tuning import FoundTuning, tuning_group
from mongepatch.sampling.until import Until
from mongepatch.sampling.variables import kept_columns
from mongepatch.sampling.watch import Callback, WatchedReport, make_draws, sentence
from mongepatch.targets import Target
from mongepatch.targets.generative import check_generative
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
    default_warmup,
    initial_policy,
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
    *("save_warmup", "log_likelihood", "thin", "until"),
)
"""Arguments that a run which goes on must have again; the seed and the starting point are kept as arrays."""


@checked_keywords
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
    warmup: int | None = None,
    chains: int = 4,
    seed: int | jax.Array | None = 0,
    scheme: Scheme | None = None,
    init_spread: float = 1.0,
    init_per_chain: bool = False,
    init_unconstrained: bool = False,
    tuning: Any = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    keep: Sequence[str] | None = None,
    save_warmup: bool = False,
    log_likelihood: bool = False,
    thin: int = 1,
    store: Any = None,
    until: Until | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    verbose: bool | None = None,
) -> "DataTree":
    """Draw from a density. All that is not given is found in warm-up.

    Chains run side by side, compiled once for what a density computes, for each kind of metric and trajectory: other
    data of the same shapes, other tuning parameters, another seed or number of draws do not compile again. The seed
    decides every draw.

    Args:
        target: a log density of any pytree of parameters, written with jax.numpy, up to a constant; or a `Target`.
        init: one starting point, around which chains are dispersed. Its structure, shapes and keys are those of the
            parameters. A `Target` takes a flat vector too, or knows where to start by itself. One of a NumPyro or PyMC
            model takes values of its variables by name, of all or of some, as in `{"tau": 0.5}`. All take a draw of a
            result: `tree["posterior"].isel(chain=0, draw=-1)`.
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
        warmup: draws of each chain to make first, in which all that is not given is found; by default 1000, and 100 for
            256 chains or more, which find it together.
        chains: number of chains.
        seed: an integer, or a `jax.random.key`. None draws one. The attribute `seed` of the result has it.
        scheme: "merged" or "paper", as for `lmc`; for the kernel "lmc" alone.
        init_spread: chains start within this distance of `init` in every coordinate; 0 starts all of them at it.
        init_per_chain: whether the arrays of `init` have a leading axis with one starting point per chain.
        init_unconstrained: whether values by name in `init` are unconstrained ones, such as log τ for `tau`.
        tuning: a result of an earlier run, whose tuning parameters are used as they are: there is no warm-up, whatever
            `warmup` is. Without `init`, chains start where they ended then.
        dims: names of the dimensions of each parameter.
        coords: labels along those dimensions.
        keep: names of the variables of the result to keep, such as ["tau"]; by default all. Others are not copied from
            the device, not stored and not diagnosed: with many chains or variables that saves time and memory.
        save_warmup: whether to keep the draws of warm-up, with the path of ε, α and acceptance, in the groups
            `warmup_posterior` and `warmup_sample_stats`; of the statistics, those that all of its trajectories have.
        log_likelihood: whether to compute the group `log_likelihood` too, for models of NumPyro and PyMC. It can be
            added later, by `target.log_likelihood(tree)`.
        thin: keep every so many draws of each chain, and none between them; the result has draws // thin.
        store: where to write draws as they are made, so that memory does not grow with them and a run that was killed
            can go on: a path such as "run.zarr", a URL, a store of zarr, or `Store(...)` with settings. The arrays of
            the result are then read from it when they are used. See `resume` and `extend`.
        until: `Until(ess=400, ...)` to stop as soon as diagnostics are good enough; `draws` is then the most of each
            chain, unless `Until` says otherwise.
        callback: a function that is called after every chunk of draws with a `RunStatus`: how many there are, the log
            densities and the worst R̂.
        progress: whether to show a progress bar; plain text where there is no terminal.
        verbose: whether to print the line that says what was chosen; by default as `progress`. The logger "mongepatch"
            gets it in any case.

    Returns:
        A tree with the groups `posterior` and `sample_stats`, in ArviZ's schema, and where warm-up found something
        `tuning`, which another run can take. `sample_stats` has `lp`,
        `acceptance_rate`, `step_size`, `n_steps`, `n_grad`, `diverging`, `energy`, `energy_error`, `alpha`,
        `log_volume`, and `accepted` and `failure`; with `NUTS` also `tree_depth` and `reached_max_treedepth`, with
        "rmhmc" also `non_convergent` and `non_reversible`. See `Info` for what each one means. Attributes of the groups
        are `seed`, versions of libraries, `kernel`, `metric`, `trajectory`, `step_size`, `chosen` (what "auto" chose,
        and why), `unstable_fraction` (of draws at the end of warm-up, those at which steps in a constant metric are
        unstable), `tuning_steps`, `thin`, `warmup_n_grad` (gradient-equivalents of the draws of warm-up, all chains
        together), `warmup_time` and `sampling_time` in seconds, compilation excluded, and `interrupted`,
        which is 1 for a run that Ctrl-C ended. The group `state` is what `extend` goes on from.

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
    chains = whole_number("chains", chains)
    if tuning is not None and store is not None:
        raise SettingError(
            "tuning= is for runs in memory: a store keeps what its own warm-up found. Leave out one of them."
        )
    found = None if tuning is None else FoundTuning.of(tuning)
    if found is not None:
        warmup, step_size = 0, found.step_size if step_size is None else step_size
    options = _Options(
        draws=draws_to_make(draws, thin, until),
        warmup=whole_number("warmup", default_warmup(chains) if warmup is None else warmup, least=0),
        step_size=None if step_size is None else positive_number("step_size", step_size),
        acceptance=None if target_acceptance is None else fraction("target_acceptance", target_acceptance),
        save_warmup=save_warmup,
        progress=progress,
        log_likelihood=log_likelihood,
        found=found,
        verbose=verbose,
        thin=thin,
        until=until,
        callback=check_callback(callback),
        stored=is_stored(store),
    )
    prepared = prepare(
        target,
        init,
        chains=chains,
        seed=seed,
        spread=init_spread,
        per_chain=init_per_chain,
        unconstrained=init_unconstrained,
        residuals=residuals,
        data_residuals=data_residuals,
        dims=dims,
        coords=coords,
        whiten=_whitens(whiten, metric) if found is None else found.whitens(whiten),
        read=takes_residuals(metric) or whiten is True if found is None else found.takes_residuals,
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
    if log_likelihood and options.stored and keep is not None:
        raise SettingError("log_likelihood=True needs all variables: leave out keep, or compute it without a store.")
    if log_likelihood:
        check_generative(prepared.target, "log_likelihood=True")
    if found is not None:
        prepared = found.prepared(prepared, kernel.name)
    begin = partial(_begin, kernel, metric, trajectory, options, given_residuals=residuals is not None)
    try:
        run = begin(prepared)
    except LogDensityError:
        if prepared.whitening is None or whiten is True or found is not None:
            raise
        run = begin(prepared.without_whitening())  # some residuals are not finite where the density is
    keeper = keeper_of(store, run, options, settings_to_facts(settings, target), partial(_gather, run, options))
    tree, ending = _run(run, options, keeper)
    set_by_user = {
        "metric": metric != "auto" if isinstance(metric, str) else True,
        "trajectory": trajectory != "auto" if isinstance(trajectory, str) else True,
        "step_size": step_size is not None,
        "whiten": whiten is False,
    }
    part = for_diagnosis(tree)
    paragraph = " ".join(filter(None, (ending, diagnose(part, _situation(run, part, set_by_user)))))
    if paragraph:
        warnings.warn(paragraph, SamplingWarning, stacklevel=3)
    return tree


def _situation(run: "_Run", tree: "DataTree", set_by_user: Mapping[str, bool]) -> Situation:
    """What there is to know of a run besides its draws."""
    target, metric = run.prepared.target, tree["posterior"].attrs["metric"]
    return Situation(
        origin=target.origin,
        has_residuals=target.residuals is not None,
        whitened=run.prepared.whitening is not None and metric == "Euclidean",
        metric=metric,
        given=frozenset(name for name, given in set_by_user.items() if given),
    )


class _Run(NamedTuple):
    """A run that is ready to begin."""

    prepared: Prepared
    kernel: Kernel
    points: Any
    """The metric's points where chains start."""
    tuning: Tuning
    to_find: ToFind
    compiling: "Future[Any] | None"
    """The first sampler."""

    def finds_something(self, options: "_Options") -> bool:
        """Whether warm-up finds something, or an earlier run did, so that a result has a group for it."""
        unknown = options.step_size is None or self.to_find.names or self.to_find.whitening
        return options.found is not None or bool(options.warmup and unknown)


def _begin(
    kernel: Kernel, metric: Any, trajectory: Any, options: "_Options", prepared: Prepared, *, given_residuals: bool
) -> _Run:
    """Parse what is named, and find where chains start."""
    earlier = options.found
    asks = earlier is None or earlier.takes_residuals
    found = _residuals(prepared, metric, given=given_residuals) if asks else None
    if earlier is not None:
        metric, trajectory = earlier.metric(metric, found), earlier.trajectory(trajectory)
    tuning, to_find = parse_tuning(
        metric, trajectory, kernel, prepared.target.dimension, found, whitening=prepared.whitening
    )
    check_warmup(options.warmup, options.step_size, to_find)
    tuning = tuning._replace(metric=prepared.fitted(tuning.metric))
    policy = initial_policy(options.step_size, options.first_acceptance, prepared.chains, prepared.position.dtype)
    compiling = compile_ahead(prepared.keys.run, prepared.positions, prepared.density, tuning, policy, kernel)
    points = prepared.initial_points(tuning.metric)
    if isinstance(found, Residuals):
        check_residuals(found, points.position)
    return _Run(prepared, kernel, points, tuning, to_find, compiling)


def _residuals(prepared: Prepared, metric: Any, *, given: bool) -> Any:
    """What a patch could be made from; None for nothing.

    Planning a patch takes time, which is saved where another metric is asked for, and else left to warm-up, which may
    not try one. A model whose residuals are not smooth enough, as of some solvers of differential equations, is sampled
    without.
    """
    found = prepared.target.residuals if takes_residuals(metric) else None
    if found is None or prepared.whitening is not None:
        return found
    if given or metric == "patch":
        return traced_residuals(found, prepared.position)
    try:
        check_smooth(found, prepared.position)
    except MetricError:
        return None
    return found


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
    log_likelihood: bool = False
    found: FoundTuning | None = None
    """What an earlier run found, which makes warm-up unnecessary."""
    verbose: bool | None = None
    keep: frozenset[str] | None = None
    """Names of the variables to keep; None for all."""
    thin: int = 1
    until: Until | None = None
    callback: Callback | None = None
    stored: bool = False
    """Whether draws go to a store."""

    @property
    def first_acceptance(self) -> float:
        """The acceptance rate to adapt to at first, which stays where the user has given it."""
        return DEFAULT_ACCEPTANCE if self.acceptance is None else self.acceptance

    @property
    def watches(self) -> bool:
        """Whether somebody looks at diagnostics while the run goes on."""
        return self.until is not None or self.callback is not None


def _run(run: _Run, options: _Options, keeper: Keeper) -> tuple["DataTree", str]:
    """Warm up, draw, and gather the result; also say how it ended, where it did not end as it was asked to."""
    total, target, chains = options.warmup + options.draws, run.prepared.target, run.prepared.chains
    with (
        Interrupts() as interrupts,
        keeper,
        progress_report(options.warmup, options.draws, chains, show=options.progress, verbose=options.verbose) as bar,
    ):
        report = WatchedReport(bar, options.callback, interrupts, total=total, stored=options.stored)
        runner = keeper.runner(report, interrupts)
        state, choice, warmup_time = keeper.restored(runner) or _warm_up(run, options, runner)
        report.message(choice.line)
        attributes = partial(_attributes, run.prepared, state, choice, options, warmup_time)
        keeper.begin(state, choice, warmup_time, attributes(0.0))
        report.begin_draws(options.warmup + keeper.made)
        columns = kept_columns(target, options.keep)
        ending = make_draws(runner, state, keeper, report, interrupts, columns)
        tree = keeper.finish(state, attributes(keeper.seconds) | {"interrupted": int(ending.interrupted)})
    if options.stored and ending.interrupted:
        interrupts.deliver()
    added = {}
    if run.finds_something(options):
        last = keeper.last if columns is None else None
        last = in_model(np.asarray(state.points.position), runner.density) if last is None else last
        added["tuning"] = tuning_group(state, last, target.layout, choice.line)
    if options.log_likelihood and options.stored:
        added["log_likelihood"] = group_of(target.log_likelihood(tree), "log_likelihood")
    return with_groups(tree, added) if added else tree, sentence(ending, keeper, options.until)


def _warm_up(run: _Run, options: _Options, runner: Runner) -> tuple[WarmupState, Choice, float]:
    """What warm-up found, and how long it took."""
    runner.compiling = run.compiling
    state = WarmupState.begin(
        runner,
        run.points,
        run.tuning,
        run.prepared.keys.tune,
        step_size=options.step_size,
        acceptance=options.first_acceptance,
        fixed_acceptance=options.acceptance is not None,
        keep=options.save_warmup,
    )
    choice = warm_up(state, run.to_find, options.warmup)
    if options.found is not None:
        choice = choice._replace(metric=options.found.chosen, trajectory="")
    return state, choice, runner.seconds


def _gather(
    run: _Run, options: _Options, record: Record, warmup: Sequence[Record], attrs: Mapping[str, Any]
) -> "DataTree":
    """A tree from draws, and those of warm-up where they are kept; for a store, from the first draw alone."""
    target = run.prepared.target
    tree = to_datatree(record, warmup, target, attrs, options.keep)
    if not options.log_likelihood or options.stored:
        return tree
    whole = tree if options.keep is None else to_datatree(record, (), target, attrs)
    return with_groups(tree, {"log_likelihood": group_of(target.log_likelihood(whole), "log_likelihood")})


def _interface(target: Target) -> dict[str, str]:
    """Attributes that say what a model is written in."""
    names = ("modeling_interface", "modeling_interface_version")
    return {} if target.interface is None else dict(zip(names, target.interface, strict=True))


def _attributes(
    prepared: Prepared,
    state: WarmupState,
    choice: Choice,
    options: _Options,
    warmup_time: float,
    sampling_time: float,
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
        "seed": prepared.seed,
        **_interface(prepared.target),
    }
