"""Densities whose integral is infinite, as far as that can be seen where chains start.

Chains in them go away for ever. No test finds all of them: one that falls, but too slowly, is found by its draws.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mongepatch._arrays import on_device
from mongepatch.errors import LogDensityError
from mongepatch.targets import Target

_FAR = 1e15
"""A distance at which every proper density is lower than where chains start."""
_ALONG = 1e3
"""How far a coordinate is moved that the density does not seem to depend on."""


def check_proper(points: Any, values_at: Callable[[Any], Any], target: Target) -> None:
    """Raise where the density does not depend on some parameters, or does not fall towards infinity.

    Args:
        points: the points where chains start.
        values_at: the log densities at positions [chain, dimension], by a program that is compiled already.
        target: names the parameters.
    """
    positions, values, gradients = (np.asarray(part) for part in (points.position, points.logdensity, points.gradient))
    flat: np.ndarray = (gradients == 0).all(axis=0)
    step = _ALONG * flat.astype(positions.dtype)
    if flat.any() and all(np.array_equal(_values(values_at, positions + side * step), values) for side in (1, -1)):
        raise LogDensityError(
            f"The log density does not depend on {_names(flat, target)}: it is flat there, and a flat density has no "
            "integral. Leave these parameters out, or give them a prior."
        )
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    if not (lengths > 0).all():
        return
    far = _values(values_at, positions + _FAR * gradients / lengths)
    if (np.isfinite(far) & (far >= values)).all():
        raise LogDensityError(
            f"The log density does not fall towards infinity: it is {values[0]:.4g} where a chain starts, and "
            f"{far[0]:.4g} far away from there. Such a density has no integral, and cannot be sampled. Check its sign, "
            "which is that of a log density and not of a loss, and give every parameter a proper prior."
        )


def _values(values_at: Callable[[Any], Any], positions: np.ndarray) -> np.ndarray:
    """Log densities at some positions; NaN where the density fails so far out."""
    try:
        return np.asarray(values_at(on_device(positions)))
    except Exception:
        return np.full(len(positions), np.nan)


def _names(flat: np.ndarray, target: Target) -> str:
    """The parameters that these coordinates belong to."""
    places = target.layout.named(np.arange(target.layout.size))
    names = []
    for name, own in places.items():
        inside = flat[np.asarray(own)]
        if inside.all():
            names.append(repr(name))
        elif inside.any():
            names.append(f"{inside.sum()} of {inside.size} entries of {name!r}")
    return ", ".join(names)
