"""What data says about inner coordinates, before there are draws: its information at the mode, and around it."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
import scipy

from mongepatch._arrays import on_device
from mongepatch._typing import Vector
from mongepatch.coordinates.batches import in_coordinates, in_model
from mongepatch.coordinates.information import NUM_DRAWS, estimate_information, misfit
from mongepatch.coordinates.whiten import Whitening
from mongepatch.coordinates.whitened import WhitenedDensity
from mongepatch.program import jit

_SPREADS = (0.1, 1.0)
"""Standard deviations of inner coordinates around the mode, one for each round: those of the non-centred form, in the
first, are those of the prior, which may be far from what the data allows; those of the second are about right."""
_MOST_ITERATIONS = 100
"""Iterations of L-BFGS in a round. The mode need not be exact."""


def whitened_at_mode(whitening: Whitening, start: Vector) -> WhitenedDensity:
    """Coordinates for what data says around the mode; those of the non-centred form where they look better.

    For normal data the information is the same everywhere, and exact.

    Args:
        whitening: the coordinates before anything is known of the data.
        start: where the search for the mode begins, in these coordinates.
    """
    initial, plan = whitening.initial, whitening.initial.plan
    noise = np.zeros((1 + NUM_DRAWS, plan.dimension))  # the first row is the mode itself
    noise[1:, plan.inner] = np.random.default_rng(0).normal(size=(NUM_DRAWS, len(plan.inner)))
    density, model_mode = initial, in_model(np.asarray(start)[None], initial)
    for spread in _SPREADS:
        mode = _mode(density, in_coordinates(model_mode, density)[0])
        around = in_model((mode + spread * noise).astype(mode.dtype), density)
        model_mode, positions = around[:1], around[1:]
        found = estimate_information(whitening.data, plan, positions)
        if found is None:
            return initial
        density = min(initial, replace(initial, information=found), key=lambda one: _misfit_at(one, positions))
    return density


def _mode(density: WhitenedDensity, start: np.ndarray) -> np.ndarray:
    """A point near the mode, by L-BFGS."""

    def loss(position: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _value_and_gradient(density, on_device(position, start.dtype))
        value, gradient = -float(value), -np.asarray(gradient, np.float64)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return np.inf, np.zeros_like(gradient)
        return value, gradient

    found = scipy.optimize.minimize(
        loss, start.astype(np.float64), jac=True, method="L-BFGS-B", options={"maxiter": _MOST_ITERATIONS}
    )
    return np.asarray(found.x if np.isfinite(found.fun) else start, start.dtype)


def _misfit_at(density: WhitenedDensity, positions: np.ndarray) -> float:
    internal = in_coordinates(positions, density)
    gradients = np.stack([np.asarray(_value_and_gradient(density, on_device(row))[1]) for row in internal])
    return misfit(internal, gradients, density.plan.inner)


@partial(jit, quick=True)
def _value_and_gradient(density: WhitenedDensity, position: Vector) -> Any:
    return jax.value_and_grad(density)(position)
