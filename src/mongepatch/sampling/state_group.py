"""The group `state` of a result in memory: what `extend` goes on from."""

import json
from typing import TYPE_CHECKING

import numpy as np

from mongepatch._extras import require
from mongepatch.errors import OtherRunError, ParameterError
from mongepatch.store import Container

if TYPE_CHECKING:
    from xarray import DataTree

STATE = "state"
_FACTS = "mongepatch_run"


def with_state(tree: "DataTree", begun: Container, tuned: Container, state: Container) -> "DataTree":
    """A result with the state of its chains: arrays by the names of their parts, and facts as JSON."""
    xarray = require("xarray", "sample", "A result")
    parts = {"begun": begun, "tuned": tuned, "state": state}
    arrays = {}
    for part, (values, _) in parts.items():
        for name, array in values.items():
            path = f"{part}.{name}"
            arrays[path] = ([f"{path}_dim_{axis}" for axis in range(array.ndim)], array)
    facts = json.dumps({part: container.facts for part, container in parts.items()})
    tree[STATE] = xarray.DataTree(xarray.Dataset(arrays, attrs={_FACTS: facts}))
    return tree


def state_of(tree: "DataTree") -> tuple[Container, Container, Container]:
    """The inverse of `with_state`."""
    if STATE not in tree.children or _FACTS not in tree[STATE].attrs:
        raise ParameterError(
            "This result has no group `state` to go on from: it was not made by mongepatch.sample in memory, or the "
            "group was removed. Draws in a store are extended by the location of the store."
        )
    try:
        facts = json.loads(tree[STATE].attrs[_FACTS])
        arrays: dict[str, dict[str, np.ndarray]] = {part: {} for part in ("begun", "tuned", "state")}
        for path, values in tree[STATE].to_dataset().items():
            part, _, name = str(path).partition(".")
            arrays[part][name] = values.to_numpy()
        begun, tuned, state = (Container(arrays[part], facts[part]) for part in ("begun", "tuned", "state"))
    except (ValueError, KeyError, TypeError) as error:
        raise OtherRunError(f"The group `state` of this result cannot be read: {error}.") from error
    return begun, tuned, state
