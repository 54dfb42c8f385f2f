"""From the distribution of a PyMC random variable to the same distribution in NumPyro."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import pymc as pm
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.pytensorf import constant_fold
from pytensor.tensor.random.op import RandomVariable

from mongepatch.frontends.residuals import Site

Arrays: TypeAlias = Sequence[jax.Array]


class SymbolicDistribution(NamedTuple):
    """A NumPyro distribution, or several, whose parameters are PyTensor graphs."""

    parameters: tuple[Any, ...]
    sites: Callable[[Arrays, Any, Any], list[Site]]
    """Makes sites from the values of the parameters, the variable's value and its unconstrained value."""


Converter: TypeAlias = Callable[[Any], SymbolicDistribution]
"""From a random variable, a PyTensor variable, to its distribution; raises `NoEquivalentError` where it cannot."""

CONVERTERS: dict[type, Converter] = {}
"""Converters by the class of a random variable's operation."""


class NoEquivalentError(Exception):
    """No distribution of NumPyro is known to be the same as that of a random variable."""


def convert(variable: Any) -> SymbolicDistribution:
    """The distribution of a random variable; raises `NoEquivalentError` where NumPyro has none."""
    converter = CONVERTERS.get(type(variable.owner.op))
    if converter is None:
        raise NoEquivalentError
    return converter(variable)


def register_converters(converters: Mapping[str, Converter]) -> None:
    """Register converters by PyMC's names of distributions."""
    CONVERTERS.update({getattr(pm, name).rv_type: converter for name, converter in converters.items()})


def one_distribution(make: Callable[..., Any]) -> Converter:
    """A converter to the distribution that `make` makes from the parameters, in PyMC's order."""
    return lambda variable: from_parameters(parameters_of(variable), make)


def from_parameters(parameters: Sequence[Any], make: Callable[..., Any]) -> SymbolicDistribution:
    """The distribution that `make` makes from the values of these graphs."""
    return SymbolicDistribution(tuple(parameters), lambda arrays, value, raw: [Site(make(*arrays), value, raw)])


def parameters_of(variable: Any) -> tuple[Any, ...]:
    """Graphs of a random variable's parameters, without its generator and shape."""
    node = variable.owner
    op = node.op
    has_signature = isinstance(op, SymbolicRandomVariable) and getattr(op, "extended_signature", None)
    if isinstance(op, RandomVariable) or has_signature:
        return tuple(op.dist_params(node))
    raise NoEquivalentError


def constant_value(graph: Any) -> Any:
    """The value of a graph without inputs, or None if it has inputs."""
    (value,) = constant_fold([graph], raise_not_constant=False)
    return None if hasattr(value, "owner") else value
