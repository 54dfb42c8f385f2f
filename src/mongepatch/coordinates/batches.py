"""Many positions of the model in other coordinates, and back."""

from functools import partial
from typing import TypeAlias

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._typing import LogDensity, Positions
from mongepatch.coordinates.mapped import MappedDensity
from mongepatch.coordinates.whitened import WhitenedDensity
from mongepatch.program import jit

OtherCoordinates: TypeAlias = WhitenedDensity | MappedDensity
"""A log density in other coordinates than the model's own, which is its field `density`."""


def in_coordinates(positions: np.ndarray, density: LogDensity) -> np.ndarray:
    """Positions of the model [number, dimension] in the coordinates of a density, where these are others."""
    if not isinstance(density, OtherCoordinates):
        return positions
    return np.asarray(_from_model(density, on_device(positions)))


@partial(jit, quick=True)
def _from_model(density: OtherCoordinates, positions: Positions) -> Positions:
    return jax.vmap(density.from_model)(positions)


def in_model(positions: np.ndarray, density: LogDensity) -> np.ndarray:
    """Positions in the coordinates of a density [number, dimension] in the model's own."""
    if not isinstance(density, OtherCoordinates):
        return positions
    return np.asarray(_to_model(density, on_device(positions)))


@partial(jit, quick=True)
def _to_model(density: OtherCoordinates, positions: Positions) -> Positions:
    return jax.vmap(density.to_model)(positions)
