"""When what is learnt: the draws of a warm-up are cut into windows, at whose ends M is estimated."""

from typing import NamedTuple

from mongepatch.chains import Record
from mongepatch.coordinates import MappedDensity
from mongepatch.warmup.coordinates import adapt_coordinates
from mongepatch.warmup.inverse_mass import with_estimated_mass
from mongepatch.warmup.maps import adapt_maps
from mongepatch.warmup.options import ToFind
from mongepatch.warmup.state import WarmupState

FIRST_WINDOW = 20
"""Draws of the first window: enough for a scale, few enough to be lost on a bad start."""
_FIRST_WINDOW_OF_MANY, _SETTLING_DRAWS = 5, 10
"""The same with many chains, and the draws of a window in which their step size is adapted. Each update is then from
hundreds of trajectories. For the rest of a window ε is fixed, so that chains need not wait for each other."""
_TRANSIENT_WINDOWS = 2
"""Windows in which chains may still be moving away from their initial points."""


class Window(NamedTuple):
    """Some draws in a row with one set of tuning parameters, but for the step size, which is always adapted."""

    draws: int
    learns: bool
    """Whether M, and coordinates where they are to be found, are estimated from them at their end."""


def windows(total: int, *, learns: bool, first: int = FIRST_WINDOW, settling: int = FIRST_WINDOW) -> list[Window]:
    """Cut `total` draws into windows.

    M is estimated at the end of windows that double in length: the first forget a bad start quickly, the last is long.
    Where M is known already, the first window should be long enough to improve on it. The remaining eighth, and at
    least `settling` draws, is for the step size that goes with the last M.
    """
    last = max(total // 8, min(total, settling))
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


def adapt_step_size_and_mass(state: WarmupState, to_find: ToFind, draws: int, first: int | None = None) -> None:
    """Adapt the step size, and M where it is to be found, over this many draws."""
    many = state.has_many_chains
    settling = _SETTLING_DRAWS if many else FIRST_WINDOW
    first = first or (_FIRST_WINDOW_OF_MANY if many else FIRST_WINDOW)
    structure, whitening = to_find.inverse_mass, to_find.whitening if state.is_whitened else None
    learns = structure is not None or whitening is not None
    for number, window in enumerate(windows(draws, learns=learns, first=first, settling=settling)):
        if number == _TRANSIENT_WINDOWS:
            state.end_transient()
        record = _run_window(state, window.draws)
        if window.learns and whitening is not None:
            record = adapt_coordinates(state, whitening, record)
        elif window.learns and isinstance(state.runner.density, MappedDensity) and not state.is_transient:
            record = adapt_maps(state, record)
        if window.learns and structure is not None:
            state.change(state.tuning._replace(metric=with_estimated_mass(state.tuning.metric, record, structure)))
    state.end_transient()


def _run_window(state: WarmupState, draws: int) -> Record:
    """Make the draws of a window. With many chains, those after the step size has settled are returned."""
    if not state.has_many_chains or draws <= _SETTLING_DRAWS:
        return state.run(draws)
    state.run(_SETTLING_DRAWS)
    state.finish_step_size()
    return state.run(draws - _SETTLING_DRAWS)
