"""Refusals of PyMC models that cannot be sampled, with the name of the variable at fault."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from mongepatch.errors import ModelError

_MINIBATCHES = ("MinibatchOp", "MinibatchIndexRV")


def check_model(model: Any) -> None:
    """Raise unless this is a model with something continuous to sample."""
    if not isinstance(model, pm.Model):
        raise ModelError(f"A model is a pymc.Model; this is a {type(model).__name__}.")
    if not model.free_RVs:
        raise ModelError("The model has no free variables, so that there is nothing to sample: all are observed.")
    for variable in model.free_RVs:
        if np.dtype(variable.dtype).kind != "f":
            raise ModelError(
                f"The free variable {variable.name!r} ({kind_of(variable)}) is discrete, and the sampler moves through "
                "real numbers. Sum it out of the model: pm.Mixture, or pymc_extras.marginalize."
            )
    for variable in model.observed_RVs:
        graphs = [variable, model.rvs_to_values[variable]]
        ops = [type(graph.owner.op).__name__ for graph in ancestors(graphs) if graph.owner is not None]
        if any(name in _MINIBATCHES for name in ops):
            raise ModelError(
                f"The observed variable {variable.name!r} takes a random part of the data, pm.Minibatch: its density "
                "changes from call to call. Give it all of the data, and leave total_size out."
            )


def kind_of(variable: Any) -> str:
    """What PyMC calls a variable's distribution."""
    op = variable.owner.op
    name = getattr(op, "_print_name", None) or getattr(op, "name", None) or type(op).__name__
    return str(name[0] if isinstance(name, tuple) else name)


def blame(model: Any, attempt: Callable[[list[Any]], Any], error: Exception) -> ModelError:
    """Which part of the density it is that cannot be computed: the first whose own density fails as well.

    Args:
        model: of PyMC.
        attempt: computes the density of some of its variables, or fails.
        error: how that of all failed.
    """
    for variable in (*model.basic_RVs, *model.potentials):
        try:
            attempt([variable])
        except Exception as own:
            return ModelError(
                f"The log density of the variable {variable.name!r} cannot be computed by JAX: "
                f"{type(own).__name__}: {own}"
            )
    return ModelError(f"The log density cannot be computed by JAX: {type(error).__name__}: {error}")


def check_fixed(model: Any, density: Any) -> None:
    """Raise where a log density has random numbers in it: of a distribution that is part of the model by accident."""
    for graph in ancestors([density]):
        if graph.owner is not None and isinstance(graph.owner.op, RandomVariable):
            raise ModelError(
                f"The log density depends on random numbers ({kind_of(graph)}), so that it changes from call to call. "
                "Every distribution that others depend on needs a name, and must not be made by .dist()."
            )
