"""Integrators: how to follow the dynamics of a metric, one step at a time."""

from mongepatch.integrators.base import Failure, Integrator, Node, Phase
from mongepatch.integrators.fixed_point import FixedPoint
from mongepatch.integrators.implicit import GeneralizedLeapfrog, Implicit, ImplicitMidpoint
from mongepatch.integrators.lagrangian import Lagrangian, Scheme
from mongepatch.integrators.path import Path, integrate

__all__ = [
    "Failure",
    "FixedPoint",
    "GeneralizedLeapfrog",
    "Implicit",
    "ImplicitMidpoint",
    "Integrator",
    "Lagrangian",
    "Node",
    "Path",
    "Phase",
    "Scheme",
    "integrate",
]
