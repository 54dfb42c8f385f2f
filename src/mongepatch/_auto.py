"""Values that a user leaves open, to be found by whoever runs the sampler."""

from dataclasses import dataclass
from typing import Any, NoReturn

import jax

from mongepatch.errors import MetricError


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToBeFound:
    """Stands in the place of a value that is left open."""

    name: str
    """The argument that it was given for."""
    choice: str = "auto"
    """What the user gave: "auto", or the kind of value to find."""

    def check(self, dimension: int | None = None) -> NoReturn:
        """Raise: nothing can be computed with it."""
        raise MetricError(
            f'{self.name}="{self.choice}" is found by the warm-up of mp.sample; elsewhere, and with warmup=0, give '
            "numbers."
        )


def check_found(value: Any) -> None:
    """Raise if a value is still to be found."""
    if isinstance(value, ToBeFound):
        value.check()
