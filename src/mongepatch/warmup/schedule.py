"""When what is learnt: the draws of a warm-up are cut into windows, at whose ends M is estimated."""

from dataclasses import replace
from typing import Any, NamedTuple

from mongepatch.warmup.coordinates import adapt_coordinates
from mongepatch.warmup.inverse_mass import estimate_inverse_mass
from mongepatch.warmup.options import ToFind
from mongepatch.warmup.state import WarmupState

FIRST_WINDOW = 20
"""Draws of the first window: enough for a scale, few enough to be lost on a bad start."""
_TRANSIENT_WINDOWS = 2
"""Windows in which chains may still be moving away from their initial points."""


class Window(NamedTuple):
    """Some draws in a row with one set of tuning parameters, but for the step size, which is always adapted."""

    draws: int
    learns: bool
    """Whether M, and whitened coordinates where chains move in them, are estimated from them at their end."""


def windows(total: int, *, learns: bool, first: int = FIRST_WINDOW) -> list[Window]:
    """Cut `total` draws into windows.

    M is estimated at the end of windows that double in length: the first forget a bad start quickly, the last is long.
    Where M is known already, the first window should be long enough to improve on it. The remaining eighth, at the end,
    is for the step size that goes with the last M.
    """
    last = max(total // 8, min(total, FIRST_WINDOW))
    rest = total - last
    if not learns or rest < first:
        lengths = [first, 2 * first, total - 3 * first] if total > 4 * first else [total]
        return [Window(draws, False) for draws in lengths if draws]
    lengths, length = [], first
    while rest >= 3 * length:
        lengths.append(length)
        rest -= length
        length *= 2
    lengths.append(rest)
    return [*(Window(draws, True) for draws in lengths), Window(last, False)]


def adapt_step_size_and_mass(state: WarmupState, to_find: ToFind, draws: int, first: int = FIRST_WINDOW) -> None:
    """Adapt the step size, and M where it is to be found, over this many draws."""
    structure, whitening = to_find.inverse_mass, to_find.whitening if state.is_whitened else None
    learns = structure is not None or whitening is not None
    for number, window in enumerate(windows(draws, learns=learns, first=first)):
        if number == _TRANSIENT_WINDOWS:
            state.end_transient()
        record = state.run(window.draws)
        if window.learns and whitening is not None:
            record = adapt_coordinates(state, whitening, record)
        if window.learns and structure is not None:
            metric: Any = state.tuning.metric  # one with a base, or nothing would be to be found about it
            base = estimate_inverse_mass(record, metric.inverse_mass, structure)
            state.change(state.tuning._replace(metric=replace(metric, inverse_mass=base)))
    state.end_transient()
