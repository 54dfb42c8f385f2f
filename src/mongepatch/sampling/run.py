"""A run from its starting points to its result: warm-up, draws, and the groups of the tree."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mongepatch._groups import group_of, with_groups
from mongepatch._typing import Scalar
from mongepatch.chains import Record, Runner, Tuning, compile_ahead
from mongepatch.chains.chunks import OWN_PACE_CHAINS
from mongepatch.coordinates.batches import in_model
from mongepatch.errors import MetricError
from mongepatch.kernels import Kernel
from mongepatch.metrics.patch.residuals import Residuals
from mongepatch.program.stopwatch import stopwatch
from mongepatch.sampling.checks import check_residuals, check_smooth, check_warmup, traced_residuals
from mongepatch.sampling.diagnostics import unchecked
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.keeper import Keeper
from mongepatch.sampling.output import to_datatree, with_chain_numbers
from mongepatch.sampling.prepare import Prepared
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.tuning import FoundTuning, tuning_group
from mongepatch.sampling.until import Until
from mongepatch.sampling.variables import kept_columns
from mongepatch.sampling.watch import Callback, WatchedReport, make_draws, sentence, what_to_do
from mongepatch.targets import Target
from mongepatch.trajectories import in_use
from mongepatch.warmup import (
    DEFAULT_ACCEPTANCE,
    Choice,
    ToFind,
    WarmupState,
    initial_policy,
    parse_tuning,
    takes_residuals,
    tuning_to_begin,
    tuning_to_try,
    warm_up,
)

if TYPE_CHECKING:
    from xarray import DataTree


class RunOptions(NamedTuple):
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
    may_end_early: bool = False
    """Whether warm-up may make fewer draws, where they are enough: the user has not said how many."""
    compiles_ahead: bool = True
    """Whether the sampler of all chains is needed, and compiled while starting points are looked for."""

    @property
    def first_acceptance(self) -> float:
        """The acceptance rate to adapt to at first, which stays where the user has given it."""
        return DEFAULT_ACCEPTANCE if self.acceptance is None else self.acceptance

    @property
    def watches(self) -> bool:
        """Whether somebody looks at diagnostics while the run goes on."""
        return self.until is not None or self.callback is not None


class ReadyRun(NamedTuple):
    """A run that is ready to begin."""

    prepared: Prepared
    kernel: Kernel
    points: Any
    """The metric's points where chains start."""
    tuning: Tuning
    to_find: ToFind
    compiling: "list[Future[Any] | None]"
    """The first samplers; None for one that is compiled when it is needed."""

    def finds_something(self, options: RunOptions) -> bool:
        """Whether warm-up finds something, or an earlier run did, so that a result has a group for it."""
        unknown = options.step_size is None or self.to_find.names or self.to_find.whitening
        return options.found is not None or bool(options.warmup and unknown)


def begin_run(
    kernel: Kernel, metric: Any, trajectory: Any, options: RunOptions, prepared: Prepared, *, given_residuals: bool
) -> ReadyRun:
    """Parse what is named, and find where chains start."""
    earlier = options.found
    asks = earlier is None or earlier.takes_residuals
    found = _residuals(prepared, metric, given=given_residuals) if asks else None
    if earlier is not None:
        metric, trajectory = earlier.metric(metric, found), earlier.trajectory(trajectory)
    tuning, to_find = parse_tuning(
        metric,
        trajectory,
        kernel,
        prepared.target.dimension,
        found,
        whitening=prepared.whitening,
        in_lockstep=prepared.chains < OWN_PACE_CHAINS,  # on however many devices, or draws would depend on these
    )
    check_warmup(options.warmup, options.step_size, to_find)
    tuning = tuning._replace(metric=prepared.fitted(tuning.metric))
    policy = initial_policy(options.step_size, options.first_acceptance, prepared.chains, prepared.position.dtype)
    first = tuning_to_begin(tuning, prepared.density, prepared.chains)
    planned = [first, tuning_to_try(tuning, to_find, options.warmup, prepared.chains)] if options.compiles_ahead else []
    where = (policy, kernel, prepared.placement)
    compiling = [
        compile_ahead(prepared.keys.run, prepared.positions, prepared.density, each, *where)
        for each in planned
        if each is not None
    ]
    points = prepared.initial_points(tuning.metric)
    if isinstance(found, Residuals):
        check_residuals(found, points.position)
    return ReadyRun(prepared, kernel, points, tuning, to_find, compiling)


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


def run_chains(run: ReadyRun, options: RunOptions, keeper: Keeper) -> tuple["DataTree", str]:
    """Warm up, draw, and gather the result; also say how it ended, where it did not end as it was asked to."""
    target, chains = run.prepared.target, run.prepared.chains
    with (
        Interrupts() as interrupts,
        keeper,
        progress_report(options.warmup, options.draws, chains, show=options.progress, verbose=options.verbose) as bar,
    ):
        report = WatchedReport(
            bar,
            options.callback,
            interrupts,
            warmup=options.warmup,
            draws=options.draws,
            stored=options.stored,
        )
        runner = keeper.runner(report, interrupts)
        state, choice, warmup_time = keeper.restored(runner) or find_tuning(run, options, runner)
        report.message(choice.line)
        attributes = partial(_attributes, run.prepared, state, choice, options, warmup_time)
        keeper.begin(state, choice, warmup_time, attributes(0.0))
        report.begin_draws(state.draws, keeper.made)
        needs_all = options.log_likelihood and target.constrain is not None
        columns = None if needs_all else kept_columns(target, options.keep)
        ending = make_draws(runner, state, keeper, report, interrupts, columns)
        tree = keeper.finish(state, attributes(keeper.seconds) | {"interrupted": int(ending.interrupted)}, ending.words)
        report.message(unchecked(tree, keeper.made // options.thin))
    if options.stored:
        interrupts.deliver()
    added = {}
    if run.finds_something(options) and not options.stored:
        last = keeper.last if columns is None else None
        last = in_model(np.asarray(state.points.position), runner.density) if last is None else last
        added["tuning"] = tuning_group(state, last, target.layout, choice.line)
    if options.log_likelihood and options.stored:
        added["log_likelihood"] = group_of(target.log_likelihood(tree), "log_likelihood")
    made, wanted, where = keeper.made, options.draws, keeper.where
    how = what_to_do(ending.words, where, wanted - made)
    words = sentence(ending.words, made, wanted, how, options.until, keeper.live)
    return with_groups(tree, added) if added else tree, words


def find_tuning(run: ReadyRun, options: RunOptions, runner: Runner) -> tuple[WarmupState, Choice, float]:
    """Warm up: what was found, and how long it took."""
    runner.compiling = list(run.compiling)
    with stopwatch(this_thread=True) as watch:
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
        choice = warm_up(state, run.to_find, options.warmup, may_end_early=options.may_end_early)
    if options.found is not None:
        choice = choice._replace(metric=options.found.chosen, trajectory="")
    return state, choice, watch.running - runner.waited


def gather(
    run: ReadyRun, options: RunOptions, record: Record, warmup: Sequence[Record], attrs: Mapping[str, Any]
) -> "DataTree":
    """A tree from draws, and those of warm-up where they are kept; for a store, from the first draw alone."""
    target = run.prepared.target
    tree = with_chain_numbers(to_datatree(record, warmup, target, attrs, options.keep), run.prepared.placement.offset)
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
    options: RunOptions,
    warmup_time: float,
    sampling_time: float,
) -> dict[str, Any]:
    """Attributes of the groups of a result."""
    metric, trajectory = state.tuning.metric, in_use(state.tuning.trajectory)
    return {
        "sampling_time": sampling_time,
        "warmup_time": warmup_time,
        "warmup_n_grad": state.n_grad,
        "tuning_steps": state.draws,
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
