"""Why the log density of a PyMC model is not finite at a position, in terms of its variables."""

from typing import Any

import numpy as np
import pytensor
from pymc.logprob.utils import ParameterValueError

from mongepatch._typing import Vector
from mongepatch.frontends.not_finite import about_values
from mongepatch.frontends.pymc.checks import distribution_name
from mongepatch.frontends.pymc.model import PyMCModel


def explain(model: PyMCModel, position: Vector) -> str:
    """A sentence on the first variable or potential whose log density is not finite; empty where there is none."""
    observed = model.pymc.observed_RVs
    for variable in (*model.pymc.free_RVs, *observed):
        graph = model.log_densities(variable)
        densities, values = (np.asarray(array) for array in model.function([graph, variable])(position))
        if not np.isfinite(densities).all():
            return _sentence(model, position, variable, graph, densities, values, observed=variable in observed)
    for potential in model.pymc.potentials:
        (value,) = map(np.asarray, model.function([potential])(position))
        if not np.isfinite(value).all():
            return f"The potential {potential.name!r} is {value[~np.isfinite(value)].flat[0]} there."
    return ""


def _sentence(
    model: PyMCModel,
    position: Vector,
    variable: Any,
    graph: Any,
    densities: np.ndarray,
    values: np.ndarray,
    *,
    observed: bool,
) -> str:
    what = f"The variable {variable.name!r} ({distribution_name(variable)})"
    wrong = _broken_rule(model, position, graph)
    if wrong:
        return f"{what} has parameters for which {wrong} does not hold there."
    for value in _parameters(model, position, variable):
        if not np.isfinite(value).all():
            return f"{what} has a parameter that is {value[~np.isfinite(value)].flat[0]} there."
    found = about_values(variable.name, values, densities, observed=observed, one_each=values.shape == densities.shape)
    advice = ", outside of the support of the distribution: check the data and the distribution." if observed else "."
    return f"{what}: {found}{advice if np.isneginf(densities).any() else '.'}"


def _broken_rule(model: PyMCModel, position: Vector, graph: Any) -> str:
    """The rule on parameters, such as `sigma > 0`, that is broken: PyTensor's own function raises where one is."""
    inputs = [model.pymc.rvs_to_values[variable] for variable in model.pymc.free_RVs]
    values = [np.asarray(value) for value in model.layout.named(position).values()]
    try:
        pytensor.function(inputs, graph, mode="FAST_COMPILE", on_unused_input="ignore", allow_input_downcast=True)(
            *values
        )
    except ParameterValueError as error:
        return str(error).splitlines()[0]
    except Exception:
        return ""  # of other checks; the sentence does without
    return ""


def _parameters(model: PyMCModel, position: Vector, variable: Any) -> list[np.ndarray]:
    """Values of the parameters of a distribution that says which of its inputs they are."""
    found = getattr(variable.owner.op, "dist_params", None)
    if found is None:
        return []
    try:
        arrays = [np.asarray(array) for array in model.function(list(found(variable.owner)))(position)]
    except Exception:
        return []
    return [array for array in arrays if array.dtype.kind == "f"]
