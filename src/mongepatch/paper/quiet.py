"""Sampling for a table or a figure, which reports problems itself."""

import warnings
from typing import TYPE_CHECKING, Any

from mongepatch.errors import SamplingWarning
from mongepatch.sampling import sample

if TYPE_CHECKING:
    from xarray import DataTree


def sample_quietly(*arguments: Any, **settings: Any) -> "DataTree":
    """`mongepatch.sample` without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        return sample(*arguments, **settings)
