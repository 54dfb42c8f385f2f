"""Targets: what is sampled. The test problems of the field, each with what is known about it."""

from mongepatch.targets.banana import banana
from mongepatch.targets.base import Target
from mongepatch.targets.funnel import funnel, neal_funnel
from mongepatch.targets.logistic import logistic_regression, standardized_design
from mongepatch.targets.reading import residuals_of
from mongepatch.targets.ring import ring
from mongepatch.targets.rosenbrock import rosenbrock
from mongepatch.targets.squiggle import squiggle
from mongepatch.targets.truth import Marginal, Truth

__all__ = [
    "Marginal",
    "Target",
    "Truth",
    "banana",
    "funnel",
    "logistic_regression",
    "neal_funnel",
    "residuals_of",
    "ring",
    "rosenbrock",
    "squiggle",
    "standardized_design",
]
