"""A model in several forms, and what is looked at in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mongepatch.targets.truth import Marginal

Model: TypeAlias = Callable[..., None]
"""A NumPyro model of some data."""


@dataclass(frozen=True)
class Problem:
    """A model as one writes it first, centred, and the forms of it that are made by hand for NUTS.

    Every form has all of `scales`, `logs` and `others` among its sites, deterministic ones included.
    """

    name: str
    centred: Model
    data: tuple[Any, ...]
    """Arguments of every form."""
    scales: tuple[str, ...] = ()
    """Positive sites on which the spread of others depends; their logarithms are looked at."""
    logs: tuple[str, ...] = ()
    """Sites that are logarithms of scales already, or as good as."""
    others: tuple[str, ...] = ()
    forms: Mapping[str, Model] = field(default_factory=dict)
    """The same model in other parameters, by what it is called. The truth comes from the first."""
    exact: Mapping[str, Marginal] = field(default_factory=dict)
    """Distributions that are known: of log-scales by name, such as `log tau`; of others by site, all entries equal."""
