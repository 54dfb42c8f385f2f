"""Checks of PyMC models: errors that name the variable that cannot be sampled."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from mongepatch.errors import ModelError

_MINIBATCH_OPS = ("MinibatchOp", "MinibatchIndexRV")


def check_model(model: Any) -> None:
    """Raise unless this is a PyMC model with free variables, all of them continuous, and fixed data."""
    if not isinstance(model, pm.Model):
        raise ModelError(f"The model must be a pymc.Model; this is a {type(model).__name__}.")
    _forget_repeated_data(model)
    if not model.free_RVs:
        raise ModelError("The model has no free variables, so there is nothing to sample: all are observed.")
    for variable in model.free_RVs:
        if np.dtype(variable.dtype).kind != "f":
            raise ModelError(
                f"The free variable {variable.name!r} ({distribution_name(variable)}) is discrete, and only continuous "
                "parameters can be sampled. Marginalize it: use pm.Mixture or pymc_extras.marginalize."
            )
    for variable in model.observed_RVs:
        graphs = [variable, model.rvs_to_values[variable]]
        ops = [type(graph.owner.op).__name__ for graph in ancestors(graphs) if graph.owner is not None]
        if any(name in _MINIBATCH_OPS for name in ops):
            raise ModelError(
                f"The observed variable {variable.name!r} takes a random part of the data (pm.Minibatch), so the log "
                "density changes from call to call. Give it all of the data, and leave out total_size."
            )


def _forget_repeated_data(model: Any) -> None:
    """Undo what `sample_posterior_predictive` of PyMC 5 does to a model: it lists observed variables once more.

    The log density of such a model, PyMC's own too, cannot be computed.
    """
    observed = [variable for variable in dict.fromkeys(model.observed_RVs) if variable in model.rvs_to_values]
    if len(observed) < len(model.observed_RVs):
        list.__setitem__(model.observed_RVs, slice(None), observed)  # a list of PyMC's own, which refuses it otherwise


def distribution_name(variable: Any) -> str:
    """PyMC's name of a variable's distribution."""
    op = variable.owner.op
    name = getattr(op, "_print_name", None) or getattr(op, "name", None) or type(op).__name__
    return str(name[0] if isinstance(name, tuple) else name)


def density_error(model: Any, density_of: Callable[[list[Any]], Any], error: Exception) -> ModelError:
    """The error of a log density that cannot be computed; it names the first variable whose own density fails too.

    Args:
        model: a PyMC model.
        density_of: computes the log density of some of its variables, or raises.
        error: the exception for all variables.
    """
    for variable in (*model.basic_RVs, *model.potentials):
        try:
            density_of([variable])
        except Exception as own:
            return ModelError(
                f"The log density of the variable {variable.name!r} cannot be computed by JAX: "
                f"{type(own).__name__}: {own}"
            )
    return ModelError(f"The log density cannot be computed by JAX: {type(error).__name__}: {error}")


def check_deterministic(density: Any) -> None:
    """Raise where a log density depends on random numbers, as with a distribution that has no name in the model."""
    for graph in ancestors([density]):
        if graph.owner is not None and isinstance(graph.owner.op, RandomVariable):
            raise ModelError(
                f"The log density depends on random numbers ({distribution_name(graph)}), so it changes from call to "
                "call. Give a name to every distribution that others depend on, instead of .dist()."
            )
