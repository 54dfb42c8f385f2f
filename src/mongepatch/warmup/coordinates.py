"""Whitened coordinates that follow the draws: the information of data, and the maps of outer coordinates."""

from dataclasses import replace
from typing import Any

import numpy as np

from mongepatch.chains import Record
from mongepatch.coordinates import Information, Whitening
from mongepatch.coordinates.information import estimate_information, evenly, misfit
from mongepatch.coordinates.outer import fit
from mongepatch.warmup.state import WarmupState

NUM_DRAWS = 256
"""Draws that are put into new coordinates, to choose among these and to estimate M there."""
MIN_DRAWS = 20
"""Draws below which nothing is learnt."""
_MOST_OUTER_DRAWS = 4000
"""Draws that the maps of outer coordinates are fitted to."""
_MOST_DRAWS = 2**14
"""Draws of a window that these are taken from, evenly."""


def adapt_coordinates(state: WarmupState, whitening: Whitening, record: Record) -> Record:
    """Change to the best coordinates for a window's draws; return some of them, and their gradients, in these.

    Data that says little of θ at these draws, or something else in other places, could make the coordinates worse than
    those of the non-centred form: of the two those are taken in which z looks more like standard normal noise.
    """
    density: Any = state.runner.density
    plan = density.plan
    rows = _in_time(record.position, _MOST_DRAWS)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < MIN_DRAWS:
        return record
    dtype = rows.dtype
    fitted = replace(density, outer_map=fit(evenly(rows, min(len(rows), _MOST_OUTER_DRAWS))[:, plan.outer], dtype))
    candidates = [replace(fitted, information=Information.none(plan, dtype))]
    found = estimate_information(whitening.data, plan, rows)
    if found is not None:
        candidates.append(replace(fitted, information=found))
    some = evenly(rows, min(len(rows), NUM_DRAWS))
    draws = [state.internal_draws(candidate, some) for candidate in candidates]
    best = int(np.argmin([misfit(*drawn, plan.inner) for drawn in draws]))
    state.change_coordinates(candidates[best])
    internal, gradients = draws[best]
    return record._replace(position=some[None], internal=internal[None], gradient=gradients[None])


def _in_time(positions: np.ndarray, most: int) -> np.ndarray:
    """Positions [chain, draw, dimension] as rows, all chains of a draw together; of many, at most so many."""
    chains, draws, _ = positions.shape
    number = evenly(np.arange(chains * draws), min(chains * draws, most))
    return np.asarray(positions[number % chains, number // chains])
