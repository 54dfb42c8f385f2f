"""The methods that are compared: HMC, and LMC in the Monge metric with either integration scheme."""

from typing import NamedTuple

from mongepatch.integrators import Scheme
from mongepatch.metrics import Euclidean, Metric, Monge


class Method(NamedTuple):
    """A metric with an integration scheme."""

    name: str
    metric: Metric
    scheme: Scheme
    refinement: int = 1
    """Number of steps that replace each step of a trajectory, at the same integration time."""


HMC = Method("HMC", Euclidean(), "merged")


def merged(alpha: float) -> Method:
    """LMC in the Monge metric, one kick at interior points."""
    return Method("LMC-Monge", Monge(alpha), "merged")


def paper(alpha: float) -> Method:
    """LMC in the Monge metric, two half kicks at interior points."""
    return Method("LMC-Monge, paper's scheme", Monge(alpha), "paper")
