"""When what is learnt: the draws of a warm-up, cut into windows."""

from typing import NamedTuple

FIRST = 20
"""Draws of the first window: enough for a scale, few enough to be lost on a bad start."""


class Window(NamedTuple):
    """Some draws in a row with one set of constants, but for the step size, which is looked for in every window."""

    draws: int
    mass: bool
    """Whether M is learnt from them at their end."""


def windows(total: int, *, mass: bool, first: int = FIRST) -> list[Window]:
    """Cut `total` draws into windows.

    M is learnt at the end of windows that double in length: the first forget a bad start quickly, the last is long.
    Where M is known already, the first window should be long enough to know it better.
    The remaining eighth, at the end, is for the step size that goes with the last M.
    """
    last = max(total // 8, min(total, FIRST))
    rest = total - last
    if not mass or rest < first:
        lengths = [first, 2 * first, total - 3 * first] if total > 4 * first else [total]
        return [Window(draws, False) for draws in lengths if draws]
    lengths, length = [], first
    while rest >= 3 * length:
        lengths.append(length)
        rest -= length
        length *= 2
    lengths.append(rest)
    return [*(Window(draws, True) for draws in lengths), Window(last, False)]
