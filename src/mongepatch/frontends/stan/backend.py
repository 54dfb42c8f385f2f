"""What a compiled Stan model can be asked, whoever compiled it."""

import itertools
from typing import Protocol

import numpy as np

numbers = itertools.count()
"""A number for each model of this process."""


class Backend(Protocol):
    """A model with its data. Positions are rows of unconstrained coordinates, in double precision."""

    number: int
    """What programs know it by."""
    library: str
    """The name of the functions that XLA can call without Python; empty where there are none."""
    maker: str
    """Who compiled it, and how products with Hessians are made, for a person to read."""
    dimension: int
    """Number of unconstrained coordinates."""
    columns: tuple[str, ...]
    """Stan's names of all scalars of a draw: parameters, transformed parameters, generated quantities."""

    def gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log densities [row] and their gradients [row, dimension]; −∞ and NaN where Stan rejects a position."""

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hessians at x times the rows of v."""

    def constrain(self, x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """The scalars of a draw [row, column], random ones from a seed for each row."""
