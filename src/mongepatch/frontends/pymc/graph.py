"""PyTensor graphs as JAX functions."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from pytensor.compile import SharedVariable
from pytensor.compile.mode import get_mode
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor import constant

from mongepatch.errors import ModelError
from mongepatch.frontends.pymc.operations import supplement


def jaxified(
    inputs: Sequence[Any], outputs: Sequence[Any], check_bounds: bool = True
) -> Callable[..., tuple[jax.Array, ...]]:
    """A JAX function from the values of `inputs` to those of `outputs`, with shared variables as they are now.

    PyMC has one too, `pymc.sampling.jax.get_jaxified_graph`, but importing it splits the processor into a hundred
    devices, and it leaves out the checks of parameters. Here a density is −inf where PyMC's own compiled one is.
    """
    checks = "local_check_parameter_to_ninf_switch" if check_bounds else "local_remove_check_parameter"
    fgraph = FunctionGraph(list(inputs), _with_shared_values(list(outputs)), clone=True)
    with _settings_kept():
        from pytensor.link.jax.dispatch import jax_funcify

        supplement()
        get_mode("JAX").including(checks).optimizer.rewrite(fgraph)
        function = jax_funcify(fgraph)

    def call(*values: Any) -> tuple[jax.Array, ...]:
        with _quiet():
            return tuple(function(*values))

    return call


def _with_shared_values(outputs: list[Any]) -> list[Any]:
    """Graphs with the values of shared variables, such as `pm.Data`, in their place."""
    shared = [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]
    for variable in shared:
        if not hasattr(variable.type, "dtype"):  # the state of a random number generator
            raise ModelError(
                "The model draws random numbers of its own, so that its density changes from call to call."
            )
    values = {variable: constant(variable.get_value(borrow=True)) for variable in shared}
    replaced: list[Any] = clone_replace(outputs, replace=values)
    return replaced


@contextmanager
def _settings_kept() -> Iterator[None]:
    """JAX's precision stays as it is: the first import of PyTensor's JAX backend sets it for the whole process."""
    before = jax.config.values["jax_enable_x64"]
    try:
        with _quiet():
            yield
    finally:
        jax.config.update("jax_enable_x64", before)


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTensor tells of checks that it leaves out; and in single precision JAX of every number that is rounded."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Skipping .* Op", category=UserWarning)
        warnings.filterwarnings("ignore", message="Explicitly requested dtype", category=UserWarning)
        yield
