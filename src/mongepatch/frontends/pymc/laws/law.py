"""A PyMC random variable's distribution as NumPyro's of the same law, with its parameters as PyTensor graphs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.pytensorf import constant_fold
from pytensor.tensor.random.op import RandomVariable

from mongepatch.frontends.residuals import Site

Arrays: TypeAlias = Sequence[jax.Array]


class Law(NamedTuple):
    """What a random variable is distributed by: parameters as graphs, and what is made of their values."""

    parameters: tuple[Any, ...]
    sites: Callable[[Arrays, Any, Any], list[Site]]
    """From the values of the parameters, the variable's own and its unconstrained one to sites of NumPyro's."""


class NotListedError(Exception):
    """No distribution of NumPyro's is known to be this one."""


Reader: TypeAlias = Callable[[Any], Law]
"""Makes the law of a random variable, a PyTensor variable; raises `NotListedError` where it cannot."""


def plain(make: Callable[..., Any]) -> Reader:
    """A reader of variables whose law is one distribution, made of the parameters in PyMC's order."""
    return lambda variable: law_of(parameters_of(variable), make)


def law_of(parameters: Sequence[Any], make: Callable[..., Any]) -> Law:
    """A law that is one distribution, made of the values of some graphs."""
    return Law(tuple(parameters), lambda arrays, value, raw: [Site(make(*arrays), value, raw)])


def parameters_of(variable: Any) -> tuple[Any, ...]:
    """Graphs of a random variable's parameters, without its generator and shape."""
    return _parameters(variable.owner.op, variable.owner)


def _parameters(op: Any, node: Any) -> tuple[Any, ...]:
    if isinstance(op, RandomVariable):
        return tuple(op.dist_params(node))
    if isinstance(op, SymbolicRandomVariable) and getattr(op, "extended_signature", None):
        return tuple(op.dist_params(node))
    raise NotListedError


def known(graph: Any) -> Any:
    """The value of a graph that depends on nothing, or None."""
    (value,) = constant_fold([graph], raise_not_constant=False)
    return None if hasattr(value, "owner") else value
