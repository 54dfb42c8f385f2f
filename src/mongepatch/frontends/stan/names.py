"""Stan's names of scalars, such as `theta.2.1`, as variables with shapes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Variable(NamedTuple):
    """A variable, and where its entries are among the scalars of a draw."""

    name: str
    places: np.ndarray
    """Indices of scalars, in the shape of the variable."""


def variables_of(columns: Sequence[str]) -> list[Variable]:
    """The variables that scalars belong to, in Stan's order. Stan writes matrices by columns, and arrays by rows."""
    found: dict[str, dict[tuple[int, ...], int]] = {}
    for place, column in enumerate(columns):
        parts = column.split(".")
        index = tuple(int(part) - 1 for part in parts if part.isdigit())
        name = ".".join(part for part in parts if not part.isdigit())
        found.setdefault(name, {})[index] = place
    return [Variable(name, _shaped(entries)) for name, entries in found.items()]


def _shaped(entries: dict[tuple[int, ...], int]) -> np.ndarray:
    shape = tuple(max(sizes) + 1 for sizes in zip(*entries, strict=True))
    places = np.empty(shape, int)
    for index, place in entries.items():
        places[index] = place
    return places
