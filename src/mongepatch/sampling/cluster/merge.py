"""Runs whose chains were sampled apart, as one run."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mongepatch._extras import require
from mongepatch.errors import SamplingWarning, SettingError
from mongepatch.sampling.cluster.part import Part, check_fit, of_all_chains, part_of
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.keeper import GROUPS
from mongepatch.sampling.long_runs import for_diagnosis
from mongepatch.sampling.settings import Store
from mongepatch.sampling.state_group import STATE, with_state
from mongepatch.store import Container, RunStore, files_at
from mongepatch.store.reader import open_tree

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


def merge(runs: Sequence[Any], into: Any = None) -> "DataTree":
    """Put runs together whose chains were sampled apart, each with a `chain_offset` of its own and the same `tuning`.

    Randomness is by the number of a chain, so that the result is that of one run with all chains, draw for draw: it has
    its draws, statistics and state, and can be extended.

    Args:
        runs: locations of stores, or results in memory.
        into: where to write the draws of all chains, as `store` of `mongepatch.sample`; by default the result is in
            memory. Draws are copied in blocks, so that memory does not grow with them.

    Returns:
        The result of one run. Where something is wrong with its draws, a warning says so, as after `sample`.

    Raises:
        OtherRunError: the runs are not parts of one: they have other models, data, seeds, settings, tuning or numbers
            of draws, or chains overlap or are missing. The message says what to do.
        StoreError: a store has no draws, or `into` holds a run already.

    Example:
        >>> target = mp.targets.banana()
        >>> warm = mp.sample(target, warmup=100, draws=1, progress=False)
        >>> jobs = [mp.sample(target, tuning=warm, chains=2, chain_offset=first, draws=50, progress=False)
        ...         for first in (0, 2)]
        >>> mp.merge(jobs)["posterior"].sizes["chain"]
        4
    """
    if isinstance(runs, str) or not isinstance(runs, Sequence) or not runs:
        raise SettingError(f"runs must be a list of stores or of results; it is {runs!r}.")
    tree = merged(check_fit([part_of(run) for run in runs]), into)
    paragraph = diagnose(for_diagnosis(tree))
    if paragraph:
        warnings.warn(paragraph, SamplingWarning, stacklevel=2)
    return tree


def merged(parts: Sequence[Part], into: Any) -> "DataTree":
    """The result of one run from its parts, which fit and are in the order of their chains."""
    begun, tuned, state = of_all_chains(parts)
    if into is None:
        return with_state(_tree(parts, None), begun, tuned, state)
    how = into if isinstance(into, Store) else Store(into)
    facts = {**begun.facts, "store": how.settings}
    store = RunStore.create(files_at(how.location), begun.arrays, facts)
    try:
        _copy(parts, store, tuned, state, how)
        return open_tree(store.files, store.metadata())
    finally:
        store.close()


def _copy(parts: Sequence[Part], store: RunStore, tuned: Container, state: Container, how: Store) -> None:
    """Copy draws, a chunk at a time. The state comes with the last one: without it, the run cannot go on."""
    first = _tree(parts, slice(0, 1))
    store.begin_draws(tuned, first, GROUPS, how.chunk_draws)
    rows, draws = store.chunk_draws or 1, parts[0].draws
    for start in range(0, draws, rows):
        block = _tree(parts, slice(start, start + rows), only=GROUPS)
        values = {
            f"{group}/{name}": array.transpose("chain", "draw", ...).to_numpy()
            for group in GROUPS
            for name, array in block[group].data_vars.items()
        }
        store.append(values, {}, {"merging": draws})
    store.finish({group: {str(name): value for name, value in first[group].attrs.items()} for group in GROUPS}, *state)


def _tree(parts: Sequence[Part], draws: slice | None, only: Sequence[str] | None = None) -> "DataTree":
    """The groups of all chains, of which those that grow with draws have some of them."""
    xarray = require("xarray", "sample", "A result")
    names = [name for name in parts[0].tree.children if name != STATE] if only is None else only
    groups = {}
    for name in names:
        datasets = [part.tree[name].to_dataset() for part in parts]
        if draws is not None and name in GROUPS:
            datasets = [dataset.isel(draw=draws) for dataset in datasets]
        groups[name] = _concatenated(xarray, datasets)
    tree: DataTree = xarray.DataTree.from_dict(groups)
    return tree


def _concatenated(xarray: Any, datasets: Sequence["Dataset"]) -> "Dataset":
    """Datasets along their chains; the first where they have none."""
    whole: Dataset = datasets[0]
    if "chain" not in whole.dims:
        return whole
    settings = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "join": "override"}
    whole = xarray.concat(datasets, "chain", **settings, combine_attrs="override")
    if "sampling_time" in whole.attrs:
        whole.attrs["sampling_time"] = max(dataset.attrs["sampling_time"] for dataset in datasets)
    return whole
