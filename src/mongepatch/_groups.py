"""Groups of a result: made from arrays, read from a tree and added to one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mongepatch._extras import require
from mongepatch._version import __version__
from mongepatch.errors import ParameterError

if TYPE_CHECKING:
    from xarray import Dataset

LIBRARY = {
    "inference_library": "mongepatch",
    "inference_library_version": __version__,
    "jax_version": jax.__version__,
    "numpy_version": np.__version__,
}
"""Attributes of every group."""


def dataset_of(
    name: str,
    arrays: Mapping[str, Any],
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[Any]],
    attrs: Mapping[str, Any],
) -> "Dataset":
    """A group of arrays, all but those of data with leading axes (chain, draw).

    Args:
        name: of the group.
        arrays: its variables.
        dims: names of the dimensions of variables. Those of a variable with another number of axes are left out, as of
            an argument of a model that has the name of a variable.
        coords: labels along dimensions. Those along one that has another length here are left out.
        attrs: attributes of the group.
    """
    arviz_base = require("arviz_base", "sample", "A result")
    leading = 0 if name.endswith("_data") else 2
    shapes = {variable: np.shape(array)[leading:] for variable, array in arrays.items()}
    used = {}
    for variable, shape in shapes.items():
        own = list(dims.get(variable, ()))
        if len(own) == len(shape) and not shapes.keys() & set(own):  # a dim with the name of a variable is its labels
            used[variable] = own
    lengths = {f"{variable}_dim_{axis}": size for variable, shape in shapes.items() for axis, size in enumerate(shape)}
    lengths |= {dim: size for variable, own in used.items() for dim, size in zip(own, shapes[variable], strict=True)}
    labels = {dim: list(labels) for dim, labels in coords.items() if lengths.get(dim) == len(labels)}
    prefix = "pred_" if name.startswith("predictions") else ""  # ArviZ takes other names for those of predictions
    tree = arviz_base.from_dict(
        {name: dict(arrays)},
        attrs={name: {**LIBRARY, **attrs}},
        save_warmup=True,  # where there is any
        check_conventions=False,  # it doubts trees with more chains than draws, which are right here
        **{f"{prefix}dims": used, f"{prefix}coords": labels},
    )
    dataset: Dataset = tree[name].to_dataset()
    return dataset


def group_of(tree: Any, name: str) -> "Dataset":
    """A group of a DataTree or of an InferenceData."""
    xarray = require("xarray", "sample", "A result")
    try:
        found = tree[name]
    except (KeyError, TypeError, AttributeError) as error:
        raise ParameterError(f"The tree must be a result with the group {name!r}; it is {type(tree)}.") from error
    return found.to_dataset() if isinstance(found, xarray.DataTree) else found


def with_groups(tree: Any, groups: Mapping[str, "Dataset"]) -> Any:
    """The same tree, of the same type, with more groups; others of the same names are replaced."""
    xarray = require("xarray", "sample", "A result")
    if isinstance(tree, xarray.DataTree):
        made = tree.copy()
        for name, dataset in groups.items():
            made[name] = xarray.DataTree(dataset)
        return made
    return type(tree)(attrs=tree.attrs, **{name: tree[name] for name in tree.groups()} | dict(groups))
