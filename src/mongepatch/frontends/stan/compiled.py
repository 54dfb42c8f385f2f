"""A model in a shared library of ours, by its C functions."""

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mongepatch.errors import ModelError
from mongepatch.frontends.stan.backend import numbers
from mongepatch.frontends.stan.library import library_of
from mongepatch.frontends.stan.source import Program, json_of, refusal

_LONGEST = 4096
"""Characters of a message."""


class Compiled:
    """A Stan model with its data, compiled with httpstan."""

    def __init__(self, program: Program, data: Mapping[str, Any], seed: int, *, exact: bool = True) -> None:
        path = library_of(program)
        self._functions, self.library = _loaded(path)
        self.number = next(numbers)
        message = ctypes.create_string_buffer(_LONGEST)
        if self._functions.mongepatch_create(
            self.number, json_of(data).encode(), ctypes.c_uint(seed), int(exact), message, ctypes.c_long(_LONGEST)
        ):
            raise ModelError(refusal(message.value.decode(errors="replace"), data))
        self.dimension = int(self._functions.mongepatch_dimension(self.number))
        self.columns = self._names()
        how = "exactly" if self._functions.mongepatch_is_exact(self.number) else "by differences of gradients"
        self.maker = f"compiled with httpstan, products with Hessians {how}"

    def __del__(self) -> None:
        if hasattr(self, "number"):  # it has come as far as that
            self._functions.mongepatch_destroy(self.number)

    def gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Backend`."""
        values, gradients = np.empty(len(x)), np.empty_like(x)
        self._functions.mongepatch_gradients(self.number, ctypes.c_long(len(x)), *map(_at, (x, values, gradients)))
        return values, gradients

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See `Backend`."""
        products = np.empty_like(x)
        self._functions.mongepatch_products(self.number, ctypes.c_long(len(x)), *map(_at, (x, v, products)))
        return products

    def constrain(self, x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """See `Backend`."""
        count, width = len(x), len(self.columns)
        made = np.empty((count, width))
        self._functions.mongepatch_constrain(
            self.number, ctypes.c_long(count), _at(x), _at(seeds), ctypes.c_long(width), _at(made)
        )
        return made

    def _names(self) -> tuple[str, ...]:
        length = self._functions.mongepatch_names(self.number, None, ctypes.c_long(0))
        text = ctypes.create_string_buffer(length + 1)
        self._functions.mongepatch_names(self.number, text, ctypes.c_long(length + 1))
        return tuple(text.value.decode().split())


@cache
def _loaded(path: Path) -> tuple[ctypes.CDLL, str]:
    """A library, and the name by which XLA knows its functions."""
    functions, name = ctypes.CDLL(str(path)), f"mongepatch_stan_{path.stem}"
    functions.mongepatch_dimension.restype = functions.mongepatch_names.restype = ctypes.c_long
    for function in ("gradients", "products"):
        for dtype in ("float32", "float64"):
            handler = jax.ffi.pycapsule(getattr(functions, f"mongepatch_xla_{function}_{dtype}"))
            jax.ffi.register_ffi_target(f"{name}_{function}_{dtype}", handler, platform="cpu")
    return functions, name


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
