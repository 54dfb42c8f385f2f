"""Words on a random variable whose log density is not finite, for models of all libraries."""

import numpy as np


def about_values(name: str, values: np.ndarray, densities: np.ndarray, *, observed: bool, one_each: bool) -> str:
    """How many values have such a density, and which is the first.

    Args:
        name: of the variable.
        values: its values.
        densities: their log densities.
        observed: whether they are data.
        one_each: whether every value has a density of its own.
    """
    bad = ~np.isfinite(densities)
    kind = "observed value" if observed else "value"
    count = f"{bad.sum()} of its {bad.size} {kind}s {'has' if bad.sum() == 1 else 'have'}"
    count = count if bad.size > 1 else f"its {kind} has"
    return f"{count} the log density {densities[bad][0]}{_first(name, values, bad) if one_each else ''}"


def _first(name: str, values: np.ndarray, bad: np.ndarray) -> str:
    if values.shape != bad.shape:
        return ""
    if not bad.ndim:
        return f", {name} = {values:.6g}"
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    return f", the first {name}[{', '.join(map(str, place))}] = {values[place]:.6g}"
