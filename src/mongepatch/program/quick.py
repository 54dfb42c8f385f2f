"""Compiled functions that are ready sooner, for programs whose compilation takes longer than all of their runs."""

import os
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import jax

_OPTIONS: dict[str, bool | int | str] = {"xla_cpu_use_fusion_emitters": False}
"""How XLA compiles for CPUs: its newer code generator makes every fused loop a module of its own, in MLIR first. The
older one takes two thirds of the time, and its loops run up to a tenth longer. It also rounds differently in groups of
chains of another size."""
QUICK_COMPILE = "MONGEPATCH_QUICK_COMPILE"
"""The environment variable that switches it off, where it is 0."""


class QuickJit:
    """`jax.jit` with options for fast compilation, where the device and the version of XLA have them.

    Options are for whole programs: inside of another one the function is traced as by `jax.jit`.
    """

    def __init__(self, function: Callable[..., Any], *, static_argnames: Sequence[str] = ()) -> None:
        self._function, self._static_argnames = function, static_argnames
        self.__wrapped__, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    @cached_property
    def _whole(self) -> Any:
        return jax.jit(self._function, static_argnames=self._static_argnames, compiler_options=quick_options())

    @cached_property
    def _part(self) -> Any:
        return jax.jit(self._function, static_argnames=self._static_argnames)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function, compiled."""
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((arguments, named)))
        return (self._part if traced else self._whole)(*arguments, **named)

    def lower(self, *arguments: Any, **named: Any) -> Any:
        """The function at arguments of these shapes, ready to be compiled."""
        return self._whole.lower(*arguments, **named)

    def _cache_size(self) -> int:
        """How many programs have been compiled."""
        return int(self._whole._cache_size())


@cache
def quick_options() -> dict[str, bool | int | str] | None:
    """The options, or None where the user does not want them, on other devices, and where XLA does not know them."""
    if os.environ.get(QUICK_COMPILE) == "0" or jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda: 0, compiler_options=dict(_OPTIONS)).lower().compile()
    except Exception:  # an option that is unknown has no exception of its own
        return None
    return dict(_OPTIONS)
