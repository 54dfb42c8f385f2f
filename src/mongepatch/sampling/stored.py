"""What there is to know of a run in a store: its draws, how far it is, and what is wrong with it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from mongepatch.sampling.advice import Situation
from mongepatch.sampling.diagnostics import diagnose, unchecked
from mongepatch.sampling.live import LiveDiagnostics
from mongepatch.sampling.long_runs import for_diagnosis
from mongepatch.sampling.until import Until
from mongepatch.sampling.watch import sentence, what_to_do
from mongepatch.store import RunStore
from mongepatch.store.reader import open_run

if TYPE_CHECKING:
    from xarray import DataTree


class StoredRun(NamedTuple):
    """A run in a store, which may go on."""

    tree: "DataTree"
    interrupted: bool
    """Whether it has fewer draws than it was to have."""
    divergences: int
    """Trajectories that diverged."""
    messages: list[str]
    """What a reader must know before using the draws: what `sample` says, too."""


def read_run(location: Any) -> StoredRun:
    """The run at a location, whose checksums are compared."""
    store, tree = open_run(location)
    ended = _ended(store, tree)
    situation = Situation.of_facts(store.run.facts["settings"].get("situation", {}))
    found = diagnose(for_diagnosis(tree), situation.of(tree))
    divergences = int(tree["sample_stats"]["diverging"].sum())
    short = unchecked(tree)
    told = (_ending(store, ended), found, f"{short[0].upper()}{short[1:]}." if short else "")
    messages = [words for words in told if words]
    return StoredRun(tree, ended in ("interrupted", "unfinished", "merging"), divergences, messages)


def _ended(store: RunStore, tree: "DataTree") -> str:
    """How a run ended; "unfinished" where it was cut off, or goes on. Older stores say less."""
    facts = {} if store.state is None else store.state.facts
    if "ended" in facts or "merging" in facts:
        return str(facts.get("ended", "merging"))
    if facts["made"] >= facts["total"]:
        return "done"
    may_end_early = "until" not in facts and store.run.facts["settings"]["plain"].get("until") is not None
    return "done" if may_end_early and tree["posterior"].attrs.get("interrupted") == 0 else "unfinished"


def _ending(store: RunStore, ended: str) -> str:
    """What a reader must know of how a run ended; empty where it ended as it was asked to."""
    assert store.state is not None  # there are draws
    facts, where = store.state.facts, store.files.words
    if ended == "merging":
        return (
            f"The merge has copied {store.draws:,} of {facts['merging']:,} draws of each chain: it was cut off, or "
            "goes on. If it was cut off, merge the runs again, into another store."
        )
    if ended == "unfinished":
        return (
            f"The run has {facts['made']:,} of {facts['total']:,} draws of each chain: it was cut off, or goes on in "
            f"another process. If it was cut off, {what_to_do('interrupted', where)}."
        )
    until = facts.get("until")
    live = {name[5:]: values for name, values in store.state.arrays.items() if name.startswith("live.")}
    how = what_to_do(ended, where)
    known = None if until is None else Until(**until)
    return sentence(ended, facts["made"], facts["total"], how, known, LiveDiagnostics.restored(live))
