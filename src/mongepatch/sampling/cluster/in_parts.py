"""A run whose chains are sampled in several processes: warmed up together, drawn apart, merged into one result."""

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mongepatch._groups import group_of, with_groups
from mongepatch.chains import Placement
from mongepatch.errors import SettingError
from mongepatch.sampling.cluster.hosts import Hosts, hosts_of_program
from mongepatch.sampling.cluster.merge import merged
from mongepatch.sampling.cluster.model import Model
from mongepatch.sampling.cluster.part import chains_of, check_fit, part_of
from mongepatch.sampling.cluster.pooled import PooledRunner
from mongepatch.sampling.cluster.tasks import opened, sample_in_tasks, sample_part, workers_of
from mongepatch.sampling.cluster.warm import PartStores, Warm, in_groups, warmed_up
from mongepatch.sampling.devices import mesh_of
from mongepatch.sampling.keeper import Continued
from mongepatch.sampling.run import ReadyRun, RunOptions
from mongepatch.sampling.settings import Store
from mongepatch.store import files_at, open_store
from mongepatch.store.files import discard
from mongepatch.validation import whole_number

if TYPE_CHECKING:
    from xarray import DataTree


class Places(NamedTuple):
    """Where chains are drawn: by tasks of an executor, or in the processes of several hosts."""

    executor: Any = None
    chains_per_task: int | None = None
    hosts: Hosts | None = None
    devices: Any = None
    """Of each process."""

    def __bool__(self) -> bool:
        return self.executor is not None or self.hosts is not None

    def check(self, options: RunOptions, chains: int) -> None:
        """Raise where a setting needs all chains in one process."""
        if not self:
            return
        for name in ("until", "callback", "save_warmup"):
            if getattr(options, name) not in (None, False):
                raise SettingError(
                    f"{name} is for runs in one process: leave it out, or leave out the other processes."
                )
        if self.executor is not None and not callable(self.executor):
            opened(self.executor)  # raises where it is none
        if self.executor is not None and self.hosts is not None:
            raise SettingError("executor= is for a program of one process, and this one has several: leave it out.")
        if self.hosts is not None and chains < self.hosts.count:
            raise SettingError(f"{chains} chains are fewer than the {self.hosts.count} processes: give more chains.")
        if self.chains_per_task is not None:
            whole_number("chains_per_task", self.chains_per_task)

    def watched(self) -> Any:
        """A context in which processes that are lost are missed."""
        return contextlib.nullcontext() if self.hosts is None else self.hosts.watched()

    def groups(self, chains: int) -> int:
        """In how many groups chains are divided."""
        if self.hosts is not None:
            return self.hosts.count
        if self.chains_per_task is not None:
            return -(-chains // self.chains_per_task)
        return workers_of(self.executor)


def places_of(executor: Any, chains_per_task: int | None, devices: Any, store: Any) -> Places:
    """Where chains of this call are drawn; here, where it is a part of a run itself."""
    if isinstance(store, Continued):
        return Places()
    if chains_per_task is not None and executor is None:
        raise SettingError("chains_per_task is for executor=.")
    return Places(executor, chains_per_task, hosts_of_program(), devices)


def run_in_parts(
    run: ReadyRun, options: RunOptions, settings: Mapping[str, Any], model: Model, places: Places, store: Any
) -> "DataTree":
    """Warm up all chains, draw them in groups, and put these together.

    Args:
        run: the run, with all chains.
        options: its options.
        settings: arguments that it was called with, as facts.
        model: the model, which other processes build again.
        places: where chains are drawn.
        store: where the draws of all chains go; None for memory.
    """
    with places.watched():
        return _run_in_parts(run, options, settings, model, places, store)


def _run_in_parts(
    run: ReadyRun, options: RunOptions, settings: Mapping[str, Any], model: Model, places: Places, store: Any
) -> "DataTree":
    stores = None if store is None else PartStores(store if isinstance(store, Store) else Store(store))
    hosts = places.hosts
    if stores is not None:
        stores.check_free()
    if hosts is not None:
        hosts.wait()  # until all have looked
    elif places.executor is not None:
        model.packed()  # or an hour of warm-up would be lost
    warm = warmed_up(run, options, settings, _pooled(run, places))
    parts = in_groups(chains_of(warm.begun), places.groups(run.prepared.chains))
    warm = warm._replace(
        how={"parts": [[part.start, part.stop] for part in parts], "store": stores.how.settings if stores else None}
    )
    if stores is not None and (hosts is None or hosts.is_first):
        stores.save(warm)
    if hosts is not None:
        hosts.wait()  # until it is there
    tree = draw_and_merge(warm, model, places, stores, progress=options.progress)
    if options.log_likelihood and stores is not None:
        target = run.prepared.target
        tree = with_groups(tree, {"log_likelihood": group_of(target.log_likelihood(tree), "log_likelihood")})
    return tree


def resume_parts(stores: PartStores, model: Model, places: Places, *, progress: bool) -> "DataTree":
    """End a run in parts that was interrupted; other processes may do it than those that began it."""
    warm = stores.load()
    stores = PartStores(Store(stores.how.location, **warm.how["store"]))
    with places.watched():
        if places.hosts is not None:
            places.hosts.wait()  # until all have read it
        return draw_and_merge(warm, model, places, stores, progress=progress)


def draw_and_merge(
    warm: Warm, model: Model, places: Places, stores: PartStores | None, *, progress: bool
) -> "DataTree":
    """Draw the chains of a run, and put them together. Without a store, each of several hosts has its own chains."""
    hosts = places.hosts
    if places.executor is not None:
        trees = sample_in_tasks(places.executor, warm, model, stores.how if stores else None)
    else:
        mine = warm.parts if hosts is None else warm.parts[hosts.index :: hosts.count]
        options = {"progress": progress and (hosts is None or hosts.is_first), "devices": places.devices}
        trees = []
        for chains in mine:
            part = warm.part(chains, None) if stores is None else stores.continued(warm, chains)
            trees.append(sample_part(model, part, verbose=False, **options))
    if stores is None:
        return trees[0] if hosts is not None else merged(check_fit([part_of(tree) for tree in trees]), None)
    if hosts is not None:
        hosts.wait()  # until all have drawn
    if hosts is None or hosts.is_first:
        discard(files_at(stores.how.location))  # of a merge that was cut: parts are deleted after it
        merged(check_fit([part_of(stores.location(chains)) for chains in warm.parts]), stores.how)
        stores.discard()
    if hosts is not None:
        hosts.wait()  # until it is merged
    return open_store(stores.how.location)


def _pooled(run: ReadyRun, places: Places) -> Any:
    """Makes the runner of a process among others; None where there is one process."""
    if places.hosts is None:
        return None
    hosts, prepared, chains = places.hosts, run.prepared, run.prepared.chains
    own = in_groups(range(chains), hosts.count)[hosts.index]
    mesh = mesh_of(places.devices, len(own), prepared.density)
    placement = Placement(prepared.placement.offset + own.start, mesh)
    parts = prepared.keys.run, prepared.density, run.kernel
    return lambda report: PooledRunner(parts, report, placement, hosts, slice(own.start, own.stop))
