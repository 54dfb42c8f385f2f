"""A PyMC model as a target."""

from dataclasses import replace
from functools import partial
from typing import Any

import pymc

from mongepatch.frontends.pymc.data import constant_data, dims_and_coords, observed_data
from mongepatch.frontends.pymc.explain import explain
from mongepatch.frontends.pymc.generative import PyMCDraws
from mongepatch.frontends.pymc.model import PyMCModel
from mongepatch.frontends.pymc.variables import PyMCVariables
from mongepatch.frontends.residuals import describe, residual_map
from mongepatch.targets import Target


def build(pymc_model: Any) -> Target:
    """The target of a model with the data that it has at this moment."""
    model = PyMCModel(pymc_model)
    variables = PyMCVariables(model)
    maps = residual_map(variables.at, model.layout, model.unbounded)
    constants = constant_data(pymc_model)
    target = Target(
        model.log_density,
        model.layout,
        model.start,
        residuals=maps.residuals,
        model=maps.model,
        constrain=model.values,
        unconstrain=model.position_with,
        explain=partial(explain, model),
        generative=PyMCDraws(pymc_model, constants),
        interface=("pymc", pymc.__version__),
        origin="PyMC",
        observed_data=observed_data(pymc_model),
        constant_data=constants,
        description=describe(variables.descriptions(maps.counts)),
    )
    dims, coords = dims_and_coords(pymc_model, target)
    return replace(target, dims=dims, coords=coords)
