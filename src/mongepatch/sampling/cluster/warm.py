"""A run that is warmed up in one place and sampled in several: what each of them has to know."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mongepatch._commands import to_resume
from mongepatch.errors import StoreError
from mongepatch.sampling.cluster.part import of_some_chains
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.keeper import Continued, Keeper
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.run import ReadyRun, RunOptions, find_tuning, gather
from mongepatch.sampling.settings import Store
from mongepatch.sampling.snapshot import arrays_of
from mongepatch.sampling.watch import WatchedReport
from mongepatch.store import Container, Files, RunStore, files_at
from mongepatch.store.container import pack, unpack
from mongepatch.store.files import discard
from mongepatch.store.run_store import RUN, check_free

_WARM = "warm"


class Warm(NamedTuple):
    """All chains of a run after warm-up."""

    begun: Container
    tuned: Container
    state: Container
    probes: dict[str, np.ndarray]
    """What the metric says at the starting points of all chains."""
    how: dict[str, Any]
    """How draws are stored, and the chains of each part."""

    def part(self, chains: range, into: Store | None) -> Continued:
        """Some chains, for the process that samples them."""
        begun, state = of_some_chains(self.begun, self.state, self.probes, chains)
        return Continued(begun, self.tuned, state, into=into)

    @property
    def parts(self) -> list[range]:
        """The chains of each part."""
        return [range(*ends) for ends in self.how["parts"]]


def warmed_up(run: ReadyRun, options: RunOptions, settings: Mapping[str, Any], runner_of: Any = None) -> Warm:
    """Warm up all chains.

    Args:
        run: the run.
        options: its options.
        settings: arguments that it was called with, as facts.
        runner_of: makes a runner for a report, where chains are in several processes.
    """
    keeper = Keeper(run, options, settings, lambda *parts: gather(run, options, *parts), None)
    chains = run.prepared.chains
    with (
        Interrupts() as interrupts,
        progress_report(options.warmup, options.draws, chains, show=options.progress, verbose=options.verbose) as bar,
    ):
        report = WatchedReport(bar, None, interrupts, warmup=options.warmup, draws=0, stored=False)
        runner = keeper.runner(report, interrupts) if runner_of is None else runner_of(report)
        state, choice, warmup_time = find_tuning(run, options, runner)
        report.message(choice.line)
        keeper.begin(state, choice, warmup_time, {})
    begun, tuned, now, *_ = keeper.snapshot(state)
    assert tuned is not None  # begin has made it
    return Warm(begun, tuned, now, arrays_of("probe", run.points), {})


class PartStores:
    """The stores of the parts of a run, beside the one that they are merged into."""

    def __init__(self, how: Store) -> None:
        if not isinstance(how.location, str) and not hasattr(how.location, "__fspath__"):
            raise StoreError(
                "A store that several processes write to must be a path or a URL that all of them can reach; it is "
                f"{how.location!r}."
            )
        self.how = how
        self._folder = f"{str(how.location).rstrip('/')}.parts"
        self.files: Files = files_at(self._folder)

    @property
    def has_parts(self) -> bool:
        """Whether a run was warmed up, and has not been merged yet."""
        return self.files.read(_WARM) is not None

    def check_free(self) -> None:
        """Raise where there is a run already."""
        check_free(files_at(self.how.location))
        if self.has_parts:
            where = self.how.location
            raise StoreError(
                f"{self._folder} holds the parts of a run already. {to_resume(where)} ends it; or give another name."
            )

    def save(self, warm: Warm) -> None:
        """Store what warm-up found, from which every part can begin."""
        arrays = {f"{part}/{name}": values for part in _NAMES for name, values in getattr(warm, part).arrays.items()}
        arrays |= {f"probes/{name}": values for name, values in warm.probes.items()}
        facts = {part: getattr(warm, part).facts for part in _NAMES}
        self.files.write(_WARM, pack(arrays, facts | {"how": warm.how}))

    def load(self) -> Warm:
        """The inverse."""
        content = self.files.read(_WARM)
        if content is None:
            raise StoreError(f"{self._folder} holds no run.")
        arrays, facts = unpack(content, f"{self._folder}/{_WARM}")
        groups: dict[str, dict[str, np.ndarray]] = {part: {} for part in (*_NAMES, "probes")}
        for path, values in arrays.items():
            part, _, name = path.partition("/")
            groups[part][name] = values
        begun, tuned, state = (Container(groups[part], facts[part]) for part in _NAMES)
        return Warm(begun, tuned, state, groups["probes"], facts["how"])

    def location(self, chains: range) -> str:
        """Where the draws of some chains are."""
        return f"{self._folder}/{chains.start:08d}.zarr"

    def continued(self, warm: Warm, chains: range) -> Continued:
        """Some chains: from the beginning, or from where a process that was lost has left them."""
        location = self.location(chains)
        fresh = warm.part(chains, Store(location, **warm.how["store"]))
        files = files_at(location)
        if files.read(RUN) is None:
            return fresh
        store = RunStore.reopen(files, write=True)
        if store.tuned is None or store.state is None:  # begun, and without draws yet
            return fresh._replace(begun=store.run, store=store, into=None)
        return Continued(store.run, store.tuned, store.state, store)

    def discard(self) -> None:
        """Delete the parts; first what says that there are some."""
        self.files.delete(_WARM)
        discard(self.files)


_NAMES = ("begun", "tuned", "state")


def in_groups(chains: range, groups: int) -> list[range]:
    """Chains in so many groups, as equal as can be."""
    count = min(groups, len(chains))
    ends = [chains.start + round(len(chains) * place / count) for place in range(count + 1)]
    return [range(*pair) for pair in pairwise(ends)]
