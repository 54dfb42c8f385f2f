"""Some of the chains of a run: cut out of a run after its warm-up, and put together again."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mongepatch._commands import to_extend, to_resume
from mongepatch.errors import OtherRunError, StoreError
from mongepatch.sampling.identity import MOST_PROBES
from mongepatch.sampling.state_group import state_of
from mongepatch.store import Container, RunStore, files_at
from mongepatch.store.reader import open_tree

if TYPE_CHECKING:
    from xarray import DataTree

_OF_PARTS = ("chains", "chain_offset", "draws")
"""Settings by which parts of a run may differ; how many draws there are is counted."""


class Part(NamedTuple):
    """How a run was begun, what its warm-up found, where its chains are, and their draws."""

    words: str
    """What a reader calls it."""
    begun: Container
    tuned: Container
    state: Container
    tree: "DataTree"
    is_stored: bool = False

    @property
    def chains(self) -> range:
        """The numbers of its chains."""
        return chains_of(self.begun)

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return int(self.tree["posterior"].sizes["draw"])

    @property
    def how_to_go_on(self) -> str:
        """What gives it more draws."""
        if not self.is_stored:
            return "Add draws to the shorter one by mp.extend."
        return f"{to_resume(self.words)} ends it if it was interrupted, and {to_extend(self.words)} adds draws."


def part_of(run: Any) -> Part:
    """The part that a result in memory is, or the store at a location."""
    if hasattr(run, "children"):
        return Part("a result", *state_of(run), run)
    files = files_at(run)
    store = RunStore.reopen(files, write=False)
    store.close()
    if store.tuned is None or store.state is None or not store.has_draws:
        raise StoreError(f"{files.words} has no draws yet: {to_resume(files.words)} ends its run, which comes first.")
    return Part(files.words, store.run, store.tuned, store.state, open_tree(files, store.metadata()), is_stored=True)


def chains_of(begun: Container) -> range:
    """The numbers of the chains of a run."""
    plain = begun.facts["settings"]["plain"]
    first = int(plain.get("chain_offset", 0))
    return range(first, first + int(plain["chains"]))


def shared_settings(begun: Container) -> dict[str, Any]:
    """Settings that all parts of a run have."""
    return {name: value for name, value in begun.facts["settings"]["plain"].items() if name not in _OF_PARTS}


def of_some_chains(
    begun: Container, state: Container, probes: Mapping[str, np.ndarray], chains: range
) -> tuple[Container, Container]:
    """How some chains of a run were begun and where they are, as if they were a run of their own.

    Args:
        begun: of all chains.
        state: of all chains.
        probes: what the metric says at the starting points of all chains.
        chains: their numbers.
    """
    first = chains_of(begun).start
    own = slice(chains.start - first, chains.stop - first)
    arrays = {name: values for name, values in begun.arrays.items() if not name.startswith("probe.")}
    arrays |= {name: values[own][:MOST_PROBES] for name, values in probes.items()}
    if shared_settings(begun)["init_per_chain"]:
        arrays |= {name: values[own] for name, values in arrays.items() if name.startswith("init")}
    points = {name: values[own] if _has_chains(name, values) else values for name, values in state.arrays.items()}
    return Container(arrays, _with_chains(begun.facts, chains)), Container(points, state.facts)


def of_all_chains(parts: Sequence[Part]) -> tuple[Container, Container, Container]:
    """How a run with the chains of all parts was begun, what its warm-up found and where its chains are."""
    first = parts[0]
    begun = dict(first.begun.arrays)
    for name, values in begun.items():
        of_each = name.startswith("init") and shared_settings(first.begun)["init_per_chain"]
        if of_each or name.startswith("probe."):
            whole = np.concatenate([part.begun.arrays[name] for part in parts])
            begun[name] = whole if of_each else whole[:MOST_PROBES]
        else:
            begun[name] = values
    arrays = {
        name: np.concatenate([part.state.arrays[name] for part in parts]) if _has_chains(name, values) else values
        for name, values in first.state.arrays.items()
        if not name.startswith("live.")
    }
    seconds = max(float(part.state.facts["seconds"]) for part in parts)
    state = Container(arrays, {**first.state.facts, "seconds": seconds})
    whole_run = range(first.chains.start, parts[-1].chains.stop)
    return Container(begun, _with_chains(first.begun.facts, whole_run)), first.tuned, state


def check_fit(parts: Sequence[Part]) -> list[Part]:
    """The parts in the order of their chains; raise where they are not parts of one run, and say what to do."""
    ordered = sorted(parts, key=lambda part: part.chains.start)
    first = ordered[0]
    for part in ordered[1:]:
        both = f"{first.words} and {part.words}"
        _check_same_run(first, part, both)
        if part.draws != first.draws or part.state.facts["made"] != first.state.facts["made"]:
            shorter = min(first, part, key=lambda one: int(one.state.facts["made"]))
            raise OtherRunError(
                f"{first.words} has {first.draws:,} draws of each chain, and {part.words} has {part.draws:,}: all must "
                f"have the same number. {shorter.how_to_go_on}"
            )
    for before, part in pairwise(ordered):
        if part.chains.start < before.chains.stop:
            raise OtherRunError(
                f"{before.words} has the chains {_words(before.chains)}, and {part.words} has {_words(part.chains)}: "
                "no chain may be in both. Give each job a chain_offset of its own."
            )
        if part.chains.start > before.chains.stop:
            missing = range(before.chains.stop, part.chains.start)
            raise OtherRunError(
                f"The chains {_words(missing)} are missing, between those of {before.words} and {part.words}. Sample "
                f"them with chain_offset={missing.start}, chains={len(missing)}."
            )
    return ordered


def _check_same_run(one: Part, other: Part, both: str) -> None:
    facts, others = one.begun.facts, other.begun.facts
    names = ("code", "names", "shapes", "kernel", "data")
    changed = [name for name in names if facts[name] != others[name]]
    if changed:
        what = "of other data" if changed == ["data"] else "of other models"
        raise OtherRunError(f"{both} are {what}: only chains of one run can be merged.")
    if facts["key"] != others["key"] or not _same(one.begun.arrays, other.begun.arrays, "key"):
        raise OtherRunError(f"{both} have other seeds: give every job the same seed, and a chain_offset of its own.")
    mine, theirs = shared_settings(one.begun), shared_settings(other.begun)
    for name in mine | theirs:
        if mine.get(name) != theirs.get(name):
            raise OtherRunError(
                f"{one.words} has {name}={mine.get(name)!r}, and {other.words} has {theirs.get(name)!r}: all settings "
                "but chains and chain_offset must be the same."
            )
    if not mine["init_per_chain"] and not _same(one.begun.arrays, other.begun.arrays, "init"):
        raise OtherRunError(f"{both} were begun at other points: give every job the same init.")
    same_tuning = _same(one.begun.arrays, other.begun.arrays, "tuning.") and _same(one.tuned.arrays, other.tuned.arrays)
    if one.tuned.facts["kinds"] != other.tuned.facts["kinds"] or not same_tuning:
        raise OtherRunError(
            f"{both} were tuned apart, so that their chains move in different ways: warm up once, and give its result "
            "to every job by tuning=."
        )


def _same(mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray], prefix: str = "") -> bool:
    """Whether arrays whose names begin so are the same."""
    names = {name for name in mine.keys() | theirs.keys() if name.startswith(prefix)}
    return all(name in mine and name in theirs and np.array_equal(mine[name], theirs[name]) for name in names)


def _has_chains(name: str, values: np.ndarray) -> bool:
    """Whether an array of a state has a leading axis for chains: all points have, and some of a step size's arrays."""
    return name.startswith("points.") or (name.startswith("policy.") and values.ndim > 0)


def _with_chains(facts: Mapping[str, Any], chains: range) -> dict[str, Any]:
    settings = facts["settings"]
    plain = settings["plain"] | {"chains": len(chains), "chain_offset": chains.start}
    return {**facts, "settings": {**settings, "plain": plain}}


def _words(chains: range) -> str:
    return str(chains.start) if len(chains) == 1 else f"{chains.start} to {chains.stop - 1}"
