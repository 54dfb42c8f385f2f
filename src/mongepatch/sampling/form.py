"""In which form a hierarchy is written, centred or not, as its draws show it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from xarray import Dataset

MIN_CORRELATION = 0.5
"""Correlation of the spread of effects with a scale, on the log scale, from which one is said to follow the other."""
_MIN_EFFECTS = 3
"""Entries that have a spread to speak of."""


class Form(NamedTuple):
    """Effects whose spread follows a scale, or shrinks as it grows."""

    effects: str
    scale: str
    is_centred: bool
    """Whether it follows. Of effects in units of their scale, data that say much of the product make it shrink."""


def form_of(posterior: "Dataset", parameters: Sequence[str]) -> Form | None:
    """The parameters that show a form most clearly; None where none does.

    Args:
        posterior: draws of variables.
        parameters: those that are sampled; others are computed from them, and would show another form.
    """
    own = {
        name: np.asarray(posterior[name].transpose("chain", "draw", ...), float).reshape(
            posterior.sizes["chain"] * posterior.sizes["draw"], -1
        )
        for name in parameters
        if name in posterior
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = {name: np.log(draws[:, 0]) for name, draws in own.items() if draws.shape[1] == 1 and (draws > 0).all()}
        spreads = {name: np.log(draws.std(axis=1)) for name, draws in own.items() if draws.shape[1] >= _MIN_EFFECTS}
        found = {
            (effects, scale): float(np.corrcoef(spread, size)[0, 1])
            for effects, spread in spreads.items()
            for scale, size in scales.items()
        }
    clear = {names: value for names, value in found.items() if abs(value) > MIN_CORRELATION}
    if not clear:
        return None
    effects, scale = max(clear, key=lambda names: abs(clear[names]))
    return Form(effects, scale, clear[effects, scale] > 0)
