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


def adapt_coordinates(state: WarmupState, whitening: Whitening, record: Record) -> Record:
    """Change to the best coordinates for a window's draws; return some of them, and their gradients, in these.

    Data that says little of θ at these draws, or something else in other places, could make the coordinates worse than
    those of the non-centred form: of the two those are taken in which z looks more like standard normal noise.
    """
    density: Any = state.runner.density
    plan = density.plan
    rows = record.position.swapaxes(0, 1).reshape(-1, plan.dimension)  # all chains of a draw together
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
