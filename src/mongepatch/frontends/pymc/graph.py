"""PyTensor graphs as JAX functions."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
from pymc.distributions import multivariate
from pytensor.compile import SharedVariable
from pytensor.compile.mode import get_mode
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import graph_inputs
from pytensor.scalar.math import Erfcinv, Erfcx
from pytensor.tensor import constant

from mongepatch.errors import ModelError


def jaxified(
    inputs: Sequence[Any], outputs: Sequence[Any], check_bounds: bool = True
) -> Callable[..., tuple[jax.Array, ...]]:
    """A JAX function from the values of `inputs` to those of `outputs`, with shared variables as they are now.

    PyMC's `pymc.sampling.jax.get_jaxified_graph` does not serve: importing it splits the CPU into a hundred devices,
    and it leaves out the checks of parameters. Here a log density is −∞ where PyMC's own compiled one is.
    """
    checks = "local_check_parameter_to_ninf_switch" if check_bounds else "local_remove_check_parameter"
    fgraph = FunctionGraph(list(inputs), _with_shared_values(list(outputs)), clone=True)
    with _unchanged_precision():
        from pytensor.link.jax.dispatch import jax_funcify

        _register_missing_operations()
        get_mode("JAX").including(checks).optimizer.rewrite(fgraph)
        function = jax_funcify(fgraph)

    def call(*values: Any) -> tuple[jax.Array, ...]:
        with _without_warnings():
            return tuple(function(*values))

    return call


def _with_shared_values(outputs: list[Any]) -> list[Any]:
    """Graphs in which shared variables, such as `pm.Data`, are replaced by their values."""
    shared = [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]
    for variable in shared:
        if not hasattr(variable.type, "dtype"):  # the state of a random number generator
            raise ModelError(
                "The model draws random numbers, so its log density changes from call to call. Leave them out."
            )
    values = {variable: constant(variable.get_value(borrow=True)) for variable in shared}
    replaced: list[Any] = clone_replace(outputs, replace=values)
    return replaced


@contextmanager
def _unchanged_precision() -> Iterator[None]:
    """Restores JAX's precision: the first import of PyTensor's JAX backend sets it for the whole process."""
    before = jax.config.values["jax_enable_x64"]
    try:
        with _without_warnings():
            yield
    finally:
        jax.config.update("jax_enable_x64", before)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hides PyTensor's warnings of checks that it leaves out, and JAX's of rounding in single precision."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Skipping .* Op", category=UserWarning)
        warnings.filterwarnings("ignore", message="Explicitly requested dtype", category=UserWarning)
        yield


@cache
def _register_missing_operations() -> None:
    """Register operations of PyMC's densities that PyTensor's JAX backend lacks.

    TensorFlow Probability brings some of them; where it is installed, those are left to it.
    """
    from pytensor.link.jax.dispatch import jax_funcify

    if hasattr(multivariate, "PosDefMatrix"):  # not in PyMC 6, which checks a factor instead
        jax_funcify.register(multivariate.PosDefMatrix, lambda op, **_: _is_positive_definite)
    if find_spec("tensorflow_probability") is None:
        jax_funcify.register(Erfcinv, lambda op, **_: _erfcinv)
        if hasattr(jax.scipy.special, "erfcx"):  # not in older versions of JAX
            jax_funcify.register(Erfcx, lambda op, **_: jax.scipy.special.erfcx)


def _is_positive_definite(matrix: Any) -> jax.Array:
    return jnp.isfinite(jnp.linalg.cholesky(matrix)).all()


def _erfcinv(x: Any) -> jax.Array:
    return -jax.scipy.special.ndtri(0.5 * x) / 2**0.5
