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
_LOOP_OPTIONS: dict[str, bool | int | str] = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL"
}
"""How XLA compiles loops for GPUs: as CUDA graphs, whose conditions the device looks at. By default the host does, and
begins every operation of every turn: for small models that takes longer than the operations."""
QUICK_COMPILE = "MONGEPATCH_QUICK_COMPILE"
"""The environment variable that switches it off, where it is 0."""


class JitWithOptions:
    """`jax.jit` with options of the compiler, where the device and the version of XLA have them.

    Options are for whole programs: inside of another one the function is traced as by `jax.jit`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Callable[[], dict[str, bool | int | str] | None],
        *,
        static_argnames: Sequence[str] = (),
    ) -> None:
        self._function, self._options, self._static_argnames = function, options, static_argnames
        self.__wrapped__, self.__name__, self.__doc__ = function, function.__name__, function.__doc__

    @cached_property
    def _whole(self) -> Any:
        return jax.jit(self._function, static_argnames=self._static_argnames, compiler_options=self._options())

    @cached_property
    def _part(self) -> Any:
        return jax.jit(self._function, static_argnames=self._static_argnames)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function, compiled."""
        kinds = set(map(type, jax.tree.leaves((arguments, named))))
        traced = any(issubclass(kind, jax.core.Tracer) for kind in kinds)
        return (self._part if traced else self._whole)(*arguments, **named)

    def lower(self, *arguments: Any, **named: Any) -> Any:
        """The function at arguments of these shapes, ready to be compiled."""
        return self._whole.lower(*arguments, **named)

    def _cache_size(self) -> int:
        """How many programs have been compiled."""
        return int(self._whole._cache_size())


@cache
def quick_options() -> dict[str, bool | int | str] | None:
    """Options for fast compilation; None where the user does not want them, on other devices and of other XLAs."""
    if os.environ.get(QUICK_COMPILE) == "0" or jax.default_backend() != "cpu":
        return None
    return _known(_OPTIONS)


@cache
def loop_options() -> dict[str, bool | int | str] | None:
    """Options for loops of small operations; None on other devices than GPUs and of other XLAs."""
    return _known(_LOOP_OPTIONS) if jax.default_backend() == "gpu" else None


def _known(options: dict[str, bool | int | str]) -> dict[str, bool | int | str] | None:
    """The options, where XLA knows them."""
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except Exception:  # an option that is unknown has no exception of its own
        return None
    return dict(options)
