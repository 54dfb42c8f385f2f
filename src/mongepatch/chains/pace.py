"""The step size of chains that run side by side, which may change from draw to draw."""

from dataclasses import dataclass
from typing import Any, Protocol

import jax

from mongepatch._pytree import pytree
from mongepatch._typing import Scalar


class Pace(Protocol):
    """Where the step size comes from. A pytree."""

    @property
    def step_size(self) -> Scalar:
        """ε of the next draw of every chain."""

    def after(self, acceptance: jax.Array) -> Any:
        """The pace of the next draw, given the acceptance rate of every chain in this one."""


@pytree
@dataclass(frozen=True)
class Fixed:
    """A step size that stays as it is."""

    step_size: Scalar

    def after(self, acceptance: jax.Array) -> "Fixed":
        """The same."""
        return self
