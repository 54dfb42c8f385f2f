"""The ways of moving that are compared."""

from typing import NamedTuple

from mongepatch.integrators import Scheme
from mongepatch.metrics import Euclidean, Metric, Monge


class Method(NamedTuple):
    """A metric with an integration scheme."""

    name: str
    metric: Metric
    scheme: Scheme
    refinement: int = 1
    """Into how many steps each step of a trajectory is cut."""


HMC = Method("HMC", Euclidean(), "merged")


def merged(alpha: float) -> Method:
    """LMC in the Monge metric, one kick at interior points."""
    return Method("LMC-Monge", Monge(alpha), "merged")


def paper(alpha: float) -> Method:
    """LMC in the Monge metric, two half kicks at interior points."""
    return Method("LMC-Monge, paper's scheme", Monge(alpha), "paper")
