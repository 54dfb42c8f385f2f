"""PyMC's distributions with base distributions or components: their residuals are those of these."""

from itertools import accumulate, pairwise
from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from pytensor.tensor.random.op import RandomVariable

from mongepatch.frontends.pymc.distributions.convert import (
    Arrays,
    NoEquivalentError,
    SymbolicDistribution,
    constant_value,
    convert,
    parameters_of,
    register_converters,
)
from mongepatch.frontends.pymc.distributions.scalars import truncatable, truncate
from mongepatch.frontends.residuals import Site


def truncated(variable: Any) -> SymbolicDistribution:
    """Distributions that NumPyro can truncate too."""
    op, (*inputs, low, high) = variable.owner.op.base_rv_op, variable.owner.inputs
    if not isinstance(op, RandomVariable):
        raise NoEquivalentError
    return truncate(tuple(inputs[2:]), truncatable(type(op)), low, high)  # the first two are generator and shape


def censored(variable: Any) -> SymbolicDistribution:
    """The base distribution, at the bound where the value is censored."""
    return convert(variable.owner.inputs[0])


def random_walk(variable: Any) -> SymbolicDistribution:
    """The initial value and the increments. Time is the first event axis of the walk, and the first axis of both."""
    initial_value, increments, _ = variable.owner.inputs
    first, rest = convert(initial_value), convert(increments)
    count, time = len(first.parameters), -variable.owner.op.ndim_supp

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        x = jnp.moveaxis(value, time, 0)
        return [*first.sites(arrays[:count], x[:1], None), *rest.sites(arrays[count:], jnp.diff(x, axis=0), None)]

    return SymbolicDistribution((*first.parameters, *rest.parameters), sites)


def autoregression(variable: Any) -> SymbolicDistribution:
    """The initial values, and normal variables whose means are linear in the values before them."""
    op = variable.owner.op
    coefficients, scale, initial_values, *_ = variable.owner.inputs
    first, order = convert(initial_values), int(op.ar_order)

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        rho, sigma, *initial_parameters = arrays
        lags = rho[..., 1:] if op.constant_term else rho
        steps = value.shape[-1] - order
        before = [value[..., order - lag : order - lag + steps] for lag in range(1, order + 1)]
        mean = sum(lags[..., lag, None] * x for lag, x in enumerate(before))
        mean = mean + rho[..., :1] if op.constant_term else mean
        increments = Site(dist.Normal(mean, sigma[..., None]), value[..., order:])
        return [*first.sites(initial_parameters, value[..., :order], None), increments]

    return SymbolicDistribution((coefficients, scale, *first.parameters), sites)


def mixture(variable: Any) -> SymbolicDistribution:
    """Of one distribution with components along its last axis, or of several; zero-inflated counts are a case of it."""
    weights, *components = (graph for graph in variable.owner.inputs if hasattr(graph.type, "dtype"))
    if components[0].owner.op.ndim_supp:
        raise NoEquivalentError
    if len(components) == 2 and _is_zero(components[0]):
        return _composed(weights, components[1:], lambda p, parts: _zero_inflated(p, parts[0]))
    return _composed(weights, components, _mixture)


def _composed(weights: Any, components: list[Any], make: Any) -> SymbolicDistribution:
    distributions = [convert(component) for component in components]
    ends = [1, *(1 + end for end in accumulate(len(component.parameters) for component in distributions))]

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        parts = []
        for component, (start, end) in zip(distributions, pairwise(ends), strict=True):
            (site,) = component.sites(arrays[start:end], value, None)
            parts.append(site.fn)
        return [Site(make(arrays[0], parts), value, raw)]

    parameters = (graph for component in distributions for graph in component.parameters)
    return SymbolicDistribution((weights, *parameters), sites)


def _mixture(weights: Any, parts: list[Any]) -> Any:
    if len(parts) == 1:
        shape = jnp.broadcast_shapes(weights.shape, parts[0].batch_shape)
        return dist.MixtureSameFamily(_component_choice(weights, shape[:-1]), parts[0].expand(shape))
    shape = jnp.broadcast_shapes(weights.shape[:-1], *(part.batch_shape for part in parts))
    return dist.MixtureGeneral(_component_choice(weights, shape), [part.expand(shape) for part in parts])


def _component_choice(weights: Any, shape: tuple[int, ...]) -> Any:
    return dist.CategoricalProbs(jnp.broadcast_to(weights, (*shape, weights.shape[-1])))


def _zero_inflated(weights: Any, counts: Any) -> Any:
    return dist.ZeroInflatedDistribution(counts, gate=weights[..., 0])


def _is_zero(component: Any) -> bool:
    if not isinstance(component.owner.op, pm.DiracDelta.rv_type):
        return False
    value = constant_value(parameters_of(component)[0])
    return value is not None and not value.any()


register_converters(
    {
        "Truncated": truncated,
        "Censored": censored,
        "RandomWalk": random_walk,
        "AR": autoregression,
        "Mixture": mixture,
    }
)
