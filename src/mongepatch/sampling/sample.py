"""One call from a log density to draws."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import jax

from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity, PyTree
from mongepatch.errors import LogDensityError, SamplingWarning, SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import Kernel
from mongepatch.metrics import Metric, Patch
from mongepatch.sampling.advice import Situation
from mongepatch.sampling.checks import check_keep
from mongepatch.sampling.cluster.in_parts import places_of, run_in_parts
from mongepatch.sampling.cluster.model import Model, built
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.long_runs import check_callback, draws_to_make, for_diagnosis, is_stored, keeper_of
from mongepatch.sampling.prepare import prepare
from mongepatch.sampling.run import ReadyRun, RunOptions, begin_run, gather, run_chains
from mongepatch.sampling.settings import settings_to_facts
from mongepatch.sampling.tuning import FoundTuning
from mongepatch.sampling.until import Until
from mongepatch.sampling.watch import Callback
from mongepatch.targets import Target
from mongepatch.targets.generative import check_generative
from mongepatch.trajectories import Trajectory
from mongepatch.validation import fraction, positive_number, whole_number
from mongepatch.warmup import (
    KernelName,
    MetricName,
    TrajectoryName,
    default_warmup,
    parse_kernel,
    takes_residuals,
)

if TYPE_CHECKING:
    from xarray import DataTree

_SETTINGS = (
    *("residuals", "data_residuals", "whiten", "metric", "trajectory", "step_size", "target_acceptance", "kernel"),
    *("draws", "warmup", "chains", "chain_offset", "scheme", "init_spread", "init_per_chain", "dims", "coords"),
    *("keep", "save_warmup", "log_likelihood", "thin", "until"),
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
    chain_offset: int = 0,
    devices: int | Sequence[jax.Device] | None = None,
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
    executor: Any = None,
    chains_per_task: int | None = None,
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
        target: a log density of any pytree of parameters, written with jax.numpy, up to a constant; or a `Target`. Or
            a function without arguments that builds either, and perhaps returns a starting point with it.
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
            Results are in the model's own variables. Where "auto" finds nothing to whiten, coordinates of a NumPyro,
            PyMC or Stan model are made normal one by one, if their marginals are not.
        metric: "auto" chooses among "euclidean", "monge" and, where there are residuals, "patch", all of whose
            tuning parameters are found in warm-up. Or a metric with numbers of your own, any of which may be "auto":
            `Euclidean(...)` for HMC, `Monge(alpha, ...)`, `Patch(residuals, alpha, ...)`, `Fisher(...)`,
            `SoftAbs(kappa)`, `Dense(metric_fn)`, or one that you wrote.
        trajectory: "auto" chooses between "nuts" and "static", trajectories of a length that is found in warm-up; or
            `NUTS(max_depth)`, `Static(num_steps, jitter)`; none for the kernel "mmala".
        step_size: ε > 0, in the scale of the metric; by default it is found in warm-up.
        target_acceptance: the acceptance rate to find it for; by default 0.8, and 0.9 for a patch, for static
            trajectories that are chosen, and where trajectories diverge. Steps that turn around a center, whose length
            is not found by it, are then not used.
        kernel: "lmc"; "rmhmc", with implicit steps; "explicit-rmhmc"; "mmala"; or one of `mongepatch.kernels` with
            settings, such as `kernels.RMHMC(integrators.ImplicitMidpoint())`.
        draws: draws of each chain to keep. Convergence of up to 64 chains is checked from 100 draws on.
        warmup: draws of each chain to make first, in which all that is not given is found; by default 1000, 600 where
            these are enough, and 100 for 256 chains or more, which find it together.
        chains: number of chains.
        chain_offset: the number of the first chain. Its number and the seed decide a chain's randomness, so that
            several jobs can make the chains of one run, with the same `tuning`: see `merge`.
        devices: what chains are divided among, evenly: a number of this process's devices, or a list of them. By
            default all accelerators, as far as they divide the number of chains, and one CPU.
        seed: an integer, or a `jax.random.key`. None draws one. The attribute `seed` of the result has it.
        scheme: "merged" or "paper", as for `lmc`; for the kernel "lmc" alone.
        init_spread: chains start within this distance of `init` in every coordinate; 0 starts all of them at it.
        init_per_chain: whether the arrays of `init` have a leading axis with one starting point per chain.
        init_unconstrained: whether values by name in `init` are unconstrained ones, such as log τ for `tau`.
        tuning: a result of an earlier run, or the path or URL of its store. Its tuning parameters are used as they are:
            there is no warm-up, whatever `warmup` is. Without `init`, chains start where they ended then; those of a
            run in a store, where they were when its warm-up ended.
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
        executor: a `concurrent.futures.Executor`, such as `client.get_executor()` of Dask, or a function without
            arguments that makes one. Chains are warmed up here and drawn in groups, as tasks of the executor; draws are
            those of a run without it. Tasks that are lost with a worker are done again. The target must be one that
            can be pickled, or a function without arguments that builds it, or "module:function".
        chains_per_task: chains of a group; by default as many groups as there are workers.
        until: `Until(ess=400, ...)` to stop as soon as diagnostics are good enough; `draws` is then the most of each
            chain, unless `Until` says otherwise.
        callback: a function that is called after every chunk of draws with a `RunStatus`: how many there are, the log
            densities and the worst R̂.
        progress: whether to show a progress bar; plain text where there is no terminal.
        verbose: whether to print the lines that say what was chosen, and of a short run that it is not checked; by
            default as `progress`. The logger "mongepatch" gets them in any case.

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
        TransportError: the model cannot be sent to the workers of an executor.
        WorkerError: the executor has lost its workers.
        HostLostError: a process of a run on several hosts does not answer.
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
    places, given = places_of(executor, chains_per_task, devices, store), (target, init)
    target, init = built(target, init)
    kernel = parse_kernel(kernel, scheme)
    chains = whole_number("chains", chains)
    found = None if tuning is None else FoundTuning.of(tuning)
    if found is not None:
        warmup, step_size = 0, found.step_size if step_size is None else step_size
    options = RunOptions(
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
        may_end_early=warmup is None,
    )
    places.check(options, chains)
    if places.hosts is not None:
        options = options._replace(progress=progress and places.hosts.is_first, compiles_ahead=False)
    prepared = prepare(
        target,
        init,
        chains=chains,
        chain_offset=chain_offset,
        devices=1 if places.hosts is not None else devices,
        seed=seed,
        spread=init_spread,
        per_chain=init_per_chain,
        unconstrained=init_unconstrained,
        residuals=residuals,
        data_residuals=data_residuals,
        dims=dims,
        coords=coords,
        whiten=_whitens(whiten, metric) if found is None else found.whitens(whiten),
        maps=_whitens(whiten, metric) if found is None else found.has_maps,
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
    begin = partial(begin_run, kernel, metric, trajectory, options, given_residuals=residuals is not None)
    try:
        run = begin(prepared)
    except LogDensityError:
        if prepared.whitening is None or whiten is True or found is not None:
            raise
        run = begin(prepared.without_whitening())  # some residuals are not finite where the density is
    set_by_user = {
        "metric": metric != "auto" if isinstance(metric, str) else True,
        "trajectory": trajectory != "auto" if isinstance(trajectory, str) else True,
        "step_size": step_size is not None,
        "whiten": whiten is False,
    }
    situation = _situation(run, frozenset(name for name, given in set_by_user.items() if given))
    facts = settings_to_facts(settings, target) | {"situation": situation.facts}
    if places:
        model = Model(*given, {name: settings[name] for name in facts["objects"]})
        tree, ending = run_in_parts(run, options, facts, model, places, store), ""
    else:
        keeper = keeper_of(store, run, options, facts, partial(gather, run, options))
        tree, ending = run_chains(run, options, keeper)
    paragraph = " ".join(filter(None, (ending, diagnose(for_diagnosis(tree), situation.of(tree)))))
    if paragraph and (places.hosts is None or places.hosts.is_first):
        warnings.warn(paragraph, SamplingWarning, stacklevel=3)
    return tree


def _situation(run: ReadyRun, given: frozenset[str]) -> Situation:
    """What there is to know of a run before its draws."""
    target = run.prepared.target
    return Situation(
        origin=target.origin,
        has_residuals=target.residuals is not None,
        whitened=run.prepared.whitening is not None,
        given=given,
        kernel=run.kernel.name,
        parameters=target.parameters,
    )


def _whitens(whiten: Any, metric: Any) -> bool:
    """Whether chains should move in whitened coordinates, where there are some."""
    if whiten not in ("auto", True, False):
        raise SettingError(f'whiten must be "auto", True or False; it is {whiten!r}.')
    return isinstance(metric, str) and metric == "auto" if whiten == "auto" else bool(whiten)
