"""PyMC's distributions that are made of others: their residuals are those of what they are made of."""

from itertools import accumulate, pairwise
from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from pytensor.tensor.random.op import RandomVariable

from mongepatch.frontends.pymc.laws.find import find
from mongepatch.frontends.pymc.laws.law import Arrays, Law, NotListedError, Reader, known, parameters_of
from mongepatch.frontends.pymc.laws.table import between, makes_line
from mongepatch.frontends.residuals import Site


def truncated(variable: Any) -> Law:
    """Distributions of the whole line that NumPyro can truncate too."""
    op, (*inputs, low, high) = variable.owner.op.base_rv_op, variable.owner.inputs
    if not isinstance(op, RandomVariable):
        raise NotListedError
    return between(tuple(inputs[2:]), makes_line(type(op)), low, high)  # the first two are generator and shape


def censored(variable: Any) -> Law:
    """The base distribution's, at the bound where the value is censored."""
    return find(variable.owner.inputs[0])


def random_walk(variable: Any) -> Law:
    """Its beginning and its increments. PyMC has time for their first axis, and for the first of the event's own."""
    beginning, increments, _ = variable.owner.inputs
    first, rest = find(beginning), find(increments)
    count, time = len(first.parameters), -variable.owner.op.ndim_supp

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        x = jnp.moveaxis(value, time, 0)
        return [*first.sites(arrays[:count], x[:1], None), *rest.sites(arrays[count:], jnp.diff(x, axis=0), None)]

    return Law((*first.parameters, *rest.parameters), sites)


def autoregression(variable: Any) -> Law:
    """Its beginning, and normal variables around what the ones before them make expected."""
    op = variable.owner.op
    coefficients, scale, beginning, *_ = variable.owner.inputs
    first, order = find(beginning), int(op.ar_order)

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        rho, sigma, *others = arrays
        lags = rho[..., 1:] if op.constant_term else rho
        steps = value.shape[-1] - order
        before = [value[..., order - lag : order - lag + steps] for lag in range(1, order + 1)]
        mean = sum(lags[..., lag, None] * x for lag, x in enumerate(before))
        mean = mean + rho[..., :1] if op.constant_term else mean
        increments = Site(dist.Normal(mean, sigma[..., None]), value[..., order:])
        return [*first.sites(others, value[..., :order], None), increments]

    return Law((coefficients, scale, *first.parameters), sites)


def mixture(variable: Any) -> Law:
    """Of one distribution with the components along its last axis, or of several; or of zeros and counts."""
    weights, *components = (graph for graph in variable.owner.inputs if hasattr(graph.type, "dtype"))
    if components[0].owner.op.ndim_supp:
        raise NotListedError
    if len(components) == 2 and _is_zero(components[0]):
        return _composed(weights, components[1:], lambda p, parts: _zero_inflated(p, parts[0]))
    return _composed(weights, components, _mixture)


def _composed(weights: Any, components: list[Any], make: Any) -> Law:
    laws = [find(component) for component in components]
    ends = [1, *(1 + end for end in accumulate(len(law.parameters) for law in laws))]

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        parts = []
        for law, (start, end) in zip(laws, pairwise(ends), strict=True):
            (site,) = law.sites(arrays[start:end], value, None)
            parts.append(site.fn)
        return [Site(make(arrays[0], parts), value, raw)]

    return Law((weights, *(graph for law in laws for graph in law.parameters)), sites)


def _mixture(weights: Any, parts: list[Any]) -> Any:
    if len(parts) == 1:
        shape = jnp.broadcast_shapes(weights.shape, parts[0].batch_shape)
        return dist.MixtureSameFamily(_choice(weights, shape[:-1]), parts[0].expand(shape))
    shape = jnp.broadcast_shapes(weights.shape[:-1], *(part.batch_shape for part in parts))
    return dist.MixtureGeneral(_choice(weights, shape), [part.expand(shape) for part in parts])


def _choice(weights: Any, shape: tuple[int, ...]) -> Any:
    return dist.CategoricalProbs(jnp.broadcast_to(weights, (*shape, weights.shape[-1])))


def _zero_inflated(weights: Any, counts: Any) -> Any:
    return dist.ZeroInflatedDistribution(counts, gate=weights[..., 0])


def _is_zero(component: Any) -> bool:
    if not isinstance(component.owner.op, pm.DiracDelta.rv_type):
        return False
    value = known(parameters_of(component)[0])
    return value is not None and not value.any()


READERS: dict[type, Reader] = {
    pm.Truncated.rv_type: truncated,
    pm.Censored.rv_type: censored,
    pm.RandomWalk.rv_type: random_walk,
    pm.AR.rv_type: autoregression,
    pm.Mixture.rv_type: mixture,
}
