"""The result of a run, as ArviZ and its friends read it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require
from mongepatch._version import __version__
from mongepatch.chains import Record
from mongepatch.kernels import Failure
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree


def to_datatree(record: Record, warmup: Sequence[Record], target: Target, attrs: Mapping[str, Any]) -> "DataTree":
    """A tree with the groups `posterior` and `sample_stats`; and the same of the warm-up, where it is given."""
    groups = {"posterior": target.layout.named(record.position), "sample_stats": record.stats}
    if warmup:
        positions = np.concatenate([window.position for window in warmup], axis=1)
        shared = set.intersection(*(set(window.stats) for window in warmup))
        stats = {name: np.concatenate([window.stats[name] for window in warmup], axis=1) for name in sorted(shared)}
        groups |= {"warmup_posterior": target.layout.named(positions), "warmup_sample_stats": stats}
    return tree_of(groups, target, attrs)


def tree_of(groups: Mapping[str, Mapping[str, Any]], target: Target, attrs: Mapping[str, Any]) -> "DataTree":
    """A tree of groups of arrays with leading axes (chain, draw)."""
    arviz_base = require("arviz_base", "sample", "A result")
    common = {"inference_library": "mongepatch", "inference_library_version": __version__, **attrs}
    tree: DataTree = arviz_base.from_dict(
        {name: dict(group) for name, group in groups.items()},
        dims={name: list(dims) for name, dims in target.dims.items()},
        coords={name: list(labels) for name, labels in target.coords.items()},
        attrs=dict.fromkeys(groups, common),
        save_warmup=True,  # where there is any
        check_conventions=False,  # it doubts trees with more chains than draws, which are right here
    )
    for name, group in groups.items():
        if "failure" in group:
            tree[name]["failure"].attrs.update(
                flag_values=[code.value for code in Failure],
                flag_meanings=" ".join(code.name.lower() for code in Failure),
            )
    return tree
