"""Densities for samplers that are not written in JAX: they call back into Python for each gradient."""

import time
from typing import Any

import jax
import numpy as np

from mongepatch.targets import Target


class Callback:
    """A log density and its gradient of NumPy vectors, which counts how often it is asked."""

    def __init__(self, target: Target) -> None:
        self._function = jax.jit(jax.value_and_grad(target.logdensity))
        self.count = 0
        self.logp = self
        started = time.perf_counter()
        self(np.zeros(target.dimension))
        self.compile_seconds = time.perf_counter() - started
        self.count = 0

    def __call__(self, position: np.ndarray, **_: Any) -> tuple[float, np.ndarray]:
        """The log density and its gradient."""
        self.count += 1
        value, gradient = self._function(position)
        return float(value), np.asarray(gradient, float)
