"""Results in the type that the installed PyMC returns: InferenceData up to PyMC 5, DataTree from PyMC 6 on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import xarray
from pymc.backends import arviz as backend

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

_TYPE: Any = getattr(backend, "InferenceData", xarray.DataTree)


def as_pymc_returns(tree: "DataTree") -> Any:
    """A tree in the type of PyMC's own results."""
    return of_groups({name: group.to_dataset() for name, group in tree.children.items()})


def of_groups(groups: Mapping[str, "Dataset"]) -> Any:
    """Groups as one object of the type of PyMC's own results."""
    if issubclass(_TYPE, xarray.DataTree):
        return xarray.DataTree.from_dict(dict(groups))
    import arviz

    return _TYPE(**{name: group.assign_attrs(arviz_version=arviz.__version__) for name, group in groups.items()})
