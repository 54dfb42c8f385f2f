"""The paper's funnel in machine code for WALNUTS: a callback into Python for each gradient would take hours."""

import ctypes
from math import exp, log, log1p
from typing import Any

import numpy as np

from mongepatch._extras import require


class CompiledFunnel:
    """Log density and gradient of `targets.funnel`, which count how often they are asked."""

    def __init__(self) -> None:
        numba = require("numba", "peers", "WALNUTS")
        walnutpie = require("walnutpie", "peers", "WALNUTS")
        numbers = numba.types.CPointer(numba.types.float64)
        counts = numba.types.CPointer(numba.types.int64)
        signature = numba.types.int32(numba.types.uintp, numbers, numbers, numbers, counts)
        self._function = numba.cfunc(signature)(_funnel)
        self._counter = np.zeros(1, np.int64)
        pointer = self._counter.ctypes.data_as(ctypes.c_void_p)
        self.logp: Any = (walnutpie.logp_cfunc_type(self._function.address), pointer)
        """As walnutpie takes it."""
        self.compile_seconds = 0.0

    @property
    def count(self) -> int:
        """How often, or a little less: chains in several threads may count at once."""
        return int(self._counter[0])


def _funnel(size: int, position: Any, gradient: Any, value: Any, counter: Any) -> int:
    """In plain loops, which numba compiles."""
    a = position[size - 1]
    variance = max(a, 0.0) + log1p(exp(-abs(a)))
    slope = 1.0 / (1.0 + exp(-a)) / variance  # of the log variance
    squares = 0.0
    for i in range(size - 1):
        squares += position[i] * position[i]
        gradient[i] = -position[i] / variance
    value[0] = -0.5 * (squares / variance + (size - 1) * log(variance) + a * a / 15.0)
    gradient[size - 1] = 0.5 * slope * (squares / variance - (size - 1)) - a / 15.0
    counter[0] += 1
    return 0
