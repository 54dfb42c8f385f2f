"""Starting points as users give them: a pytree, a flat vector, values of variables by name, or a draw of a result."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import PyTree
from mongepatch.errors import ParameterError
from mongepatch.targets import Target


class InitialValues(NamedTuple):
    """Where chains start, in the model's own coordinates."""

    position: Any
    """A flat position, or one for each chain; None where values of some variables only are given."""
    values: Mapping[str, Any] | None = None
    """These values by name, with a leading axis for chains where there is a point for each."""
    of_tuning: bool = False
    """Whether they are where chains of an earlier run were, whose tuning is used."""


def plain_values(init: Any, target: Any) -> PyTree:
    """A draw of a result as the target's pytree of arrays; anything else as it is.

    A density has no names: for it a draw is a dict, or where `x` is the only variable, an array.
    """
    if not hasattr(init, "data_vars"):
        return init
    if not len(init.data_vars):
        raise ParameterError(
            'init is a tree without variables: give one draw, such as tree["posterior"].isel(chain=0, draw=-1).'
        )
    values = {}
    for name, variable in init.data_vars.items():
        if "draw" in variable.dims:
            raise ParameterError(
                'init holds many draws: choose one, such as tree["posterior"].isel(chain=0, draw=-1), or one of every '
                "chain by isel(draw=-1) with init_per_chain=True."
            )
        values[str(name)] = np.asarray(variable.transpose("chain", ...) if "chain" in variable.dims else variable)
    if isinstance(target, Target):
        return target.layout.tree_of(values)
    return values["x"] if list(values) == ["x"] else values


def initial_values(
    init: PyTree, target: Target, *, per_chain: bool, unconstrained: bool, is_draw: bool
) -> InitialValues:
    """Where chains start.

    Args:
        init: a pytree or a flat vector of unconstrained values, or a dict by name.
        target: says what the names mean. Values are those of the variables of its results, where it maps these to
            flat positions.
        per_chain: whether arrays have a leading axis for chains.
        unconstrained: whether values by name are unconstrained all the same.
        is_draw: whether they are of a result, which has other variables besides the parameters.
    """
    if target.unconstrain is None or unconstrained or not isinstance(init, Mapping):
        flat = target.layout.flat
        return InitialValues(jax.vmap(flat)(init) if per_chain else flat(init))
    values = _checked(init, target, per_chain=per_chain, is_draw=is_draw)
    if set(values) != set(target.layout.names):
        if target.start is None:
            raise ParameterError(f"init must have values of {list(target.layout.names)}; it has {list(values)}.")
        return InitialValues(None, values)
    zeros = jnp.zeros(target.dimension, jnp.result_type(float))
    place = jax.vmap(target.unconstrain, (0, None)) if per_chain else target.unconstrain
    position = place(values, zeros)
    check_in_support(position, target)
    return InitialValues(position)


def check_in_support(positions: Any, target: Target, names: Any = None) -> None:
    """Raise unless values had unconstrained ones, and name the variable that had none."""
    for name, part in target.layout.named(np.asarray(positions)).items():
        if (names is None or name in names) and not np.isfinite(part).all():
            raise ParameterError(f"The value of {name!r} in init is outside its support: give one inside of it.")


def _checked(init: Mapping[str, Any], target: Target, *, per_chain: bool, is_draw: bool) -> dict[str, Any]:
    """Values as arrays; raise where a name or a shape is not the target's."""
    shapes, values = target.variables, {}
    unknown = [name for name in init if name not in target.layout.names]
    if unknown and not (is_draw and len(unknown) < len(init)):
        raise ParameterError(f"init names {unknown}, but the parameters are {list(target.layout.names)}.")
    for name in (name for name in init if name in target.layout.names):
        try:
            values[name] = jnp.asarray(np.asarray(init[name], float), jnp.result_type(float))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"The value of {name!r} in init is not an array of numbers: {init[name]!r}."
            ) from error
        shape = values[name].shape[1:] if per_chain else values[name].shape
        if shape != shapes[name]:
            raise ParameterError(f"The value of {name!r} in init must have the shape {shapes[name]}; it has {shape}.")
    return values
