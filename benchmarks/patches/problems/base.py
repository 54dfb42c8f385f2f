"""A model in several parametrisations, and the quantities that are measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mongepatch.targets.truth import Marginal

ModelFunction: TypeAlias = Callable[..., None]
"""A NumPyro model of some data."""


@dataclass(frozen=True)
class NumpyroProblem:
    """A model in its centred form, and reparametrisations of it that are made by hand for NUTS.

    Every form has all of `scales`, `logs` and `others` among its sites, deterministic sites included.
    """

    name: str
    centred: ModelFunction
    data: tuple[Any, ...]
    """Arguments of every form."""
    scales: tuple[str, ...] = ()
    """Positive sites on which the spread of others depends; their logarithms are measured."""
    logs: tuple[str, ...] = ()
    """Sites that are logarithms of scales, or play their role."""
    others: tuple[str, ...] = ()
    forms: Mapping[str, ModelFunction] = field(default_factory=dict)
    """The same model in other parameters, by name. The truth comes from the first."""
    exact: Mapping[str, Marginal] = field(default_factory=dict)
    """Known distributions: of log scales by name, such as `log tau`; of others by site, the same for all entries."""
