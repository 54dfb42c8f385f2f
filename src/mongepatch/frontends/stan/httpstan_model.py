"""A Stan model in a shared library that this package compiles with httpstan, called by its C functions."""

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mongepatch.errors import ModelError
from mongepatch.frontends.stan.compile import compile_program
from mongepatch.frontends.stan.compiled_model import model_ids
from mongepatch.frontends.stan.source import StanProgram, data_error_message, json_of

_MAX_MESSAGE = 4096
"""Length of the buffer for an error message, in characters."""


class HTTPStanModel:
    """A Stan model with its data, compiled with httpstan."""

    def __init__(self, program: StanProgram, data: Mapping[str, Any], seed: int, *, exact: bool = True) -> None:
        path = compile_program(program)
        self._functions, self.library = _loaded(path)
        self.model_id = next(model_ids)
        message = ctypes.create_string_buffer(_MAX_MESSAGE)
        if self._functions.mongepatch_create(
            self.model_id, json_of(data).encode(), ctypes.c_uint(seed), int(exact), message, ctypes.c_long(_MAX_MESSAGE)
        ):
            raise ModelError(data_error_message(message.value.decode(errors="replace"), data))
        self.dimension = int(self._functions.mongepatch_dimension(self.model_id))
        self.columns = self._names()
        products = (
            "exact Hessian-vector products"
            if self._functions.mongepatch_is_exact(self.model_id)
            else "Hessian-vector products by differences of gradients"
        )
        self.description = f"compiled with httpstan, {products}"

    def __del__(self) -> None:
        if hasattr(self, "model_id"):  # otherwise __init__ failed before
            self._functions.mongepatch_destroy(self.model_id)

    def gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `CompiledModel`."""
        values, gradients = np.empty(len(x)), np.empty_like(x)
        self._functions.mongepatch_gradients(
            self.model_id, ctypes.c_long(len(x)), *map(_pointer, (x, values, gradients))
        )
        return values, gradients

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See `CompiledModel`."""
        products = np.empty_like(x)
        self._functions.mongepatch_products(self.model_id, ctypes.c_long(len(x)), *map(_pointer, (x, v, products)))
        return products

    def constrain(self, x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """See `CompiledModel`."""
        count, width = len(x), len(self.columns)
        scalars = np.empty((count, width))
        self._functions.mongepatch_constrain(
            self.model_id, ctypes.c_long(count), _pointer(x), _pointer(seeds), ctypes.c_long(width), _pointer(scalars)
        )
        return scalars

    def _names(self) -> tuple[str, ...]:
        length = self._functions.mongepatch_names(self.model_id, None, ctypes.c_long(0))
        text = ctypes.create_string_buffer(length + 1)
        self._functions.mongepatch_names(self.model_id, text, ctypes.c_long(length + 1))
        return tuple(text.value.decode().split())


@cache
def _loaded(path: Path) -> tuple[ctypes.CDLL, str]:
    """A library, and the prefix of its functions' names in XLA."""
    functions, name = ctypes.CDLL(str(path)), f"mongepatch_stan_{path.stem}"
    functions.mongepatch_dimension.restype = functions.mongepatch_names.restype = ctypes.c_long
    for function in ("gradients", "products"):
        for dtype in ("float32", "float64"):
            handler = jax.ffi.pycapsule(getattr(functions, f"mongepatch_xla_{function}_{dtype}"))
            jax.ffi.register_ffi_target(f"{name}_{function}_{dtype}", handler, platform="cpu")
    return functions, name


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
