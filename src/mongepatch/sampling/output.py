"""The result of a run, as ArviZ and its friends read it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require
from mongepatch._version import __version__
from mongepatch.kernels import Failure
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree


def to_datatree(
    draws: Mapping[str, np.ndarray], stats: Mapping[str, np.ndarray], target: Target, attrs: Mapping[str, Any]
) -> "DataTree":
    """A tree with the groups `posterior` and `sample_stats`, from arrays with leading axes (chain, draw)."""
    arviz_base = require("arviz_base", "sample", "A result")
    common = {"inference_library": "mongepatch", "inference_library_version": __version__, **attrs}
    tree: DataTree = arviz_base.from_dict(
        {"posterior": dict(draws), "sample_stats": dict(stats)},
        dims={name: list(dims) for name, dims in target.dims.items()},
        coords={name: list(labels) for name, labels in target.coords.items()},
        attrs={"posterior": common, "sample_stats": common},
        check_conventions=False,  # it doubts trees with more chains than draws, which are right here
    )
    if "failure" in stats:
        tree["sample_stats"]["failure"].attrs.update(
            flag_values=[code.value for code in Failure], flag_meanings=" ".join(code.name.lower() for code in Failure)
        )
    return tree
