"""The result of a run, as ArviZ and its friends read it."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require
from mongepatch._groups import dataset_of
from mongepatch.chains import Record
from mongepatch.kernels import Failure
from mongepatch.sampling.variables import kept_columns, variables
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


def to_datatree(
    record: Record,
    warmup: Sequence[Record],
    target: Target,
    attrs: Mapping[str, Any],
    keep: Collection[str] | None = None,
) -> "DataTree":
    """A tree with the groups `posterior` and `sample_stats`; the same of the warm-up, and data, where there are any.

    Args:
        record: the draws, of whose positions only the `kept_columns` are there.
        warmup: those of warm-up, with whole positions.
        target: names and shapes.
        attrs: attributes of the groups.
        keep: names of the variables to keep; by default all.
    """
    groups = {"posterior": variables(record.position, target, keep), "sample_stats": record.stats}
    if warmup:
        columns = kept_columns(target, keep)
        wanted = slice(None) if columns is None else columns
        positions = np.concatenate([window.position[..., wanted] for window in warmup], axis=1)
        shared = set.intersection(*(set(window.stats) for window in warmup))
        stats = {name: np.concatenate([window.stats[name] for window in warmup], axis=1) for name in sorted(shared)}
        groups |= {"warmup_posterior": variables(positions, target, keep), "warmup_sample_stats": stats}
    data = {"observed_data": target.observed_data, "constant_data": target.constant_data}
    return tree_of(groups | {name: group for name, group in data.items() if group}, target, attrs)


def tree_of(groups: Mapping[str, Mapping[str, Any]], target: Target, attrs: Mapping[str, Any]) -> "DataTree":
    """A tree of groups of arrays, all but those of data with leading axes (chain, draw)."""
    xarray = require("xarray", "sample", "A result")
    parts = {name: _dataset(name, group, target, attrs) for name, group in groups.items()}
    tree: DataTree = xarray.DataTree.from_dict(parts)
    for name, group in groups.items():
        if "failure" in group:
            tree[name]["failure"].attrs.update(
                flag_values=[code.value for code in Failure],
                flag_meanings=" ".join(code.name.lower() for code in Failure),
            )
    return tree


def with_chain_numbers(tree: "DataTree", offset: int) -> "DataTree":
    """The tree with the numbers of its chains, of which the first is not 0, as their labels."""
    for group in tree.children.values() if offset else ():
        if "chain" in group.coords:
            group.dataset = group.to_dataset().assign_coords(chain=group["chain"].to_numpy() + offset)
    return tree


def _dataset(name: str, group: Mapping[str, Any], target: Target, attrs: Mapping[str, Any]) -> "Dataset":
    """A group by itself: the user's names of dimensions are not for statistics, of which one may have the same name."""
    if name.endswith("sample_stats"):
        return dataset_of(name, group, {}, {}, attrs)
    return dataset_of(name, group, target.dims, target.coords, {} if name.endswith("_data") else attrs)
