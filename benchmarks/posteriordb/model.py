"""What a posterior is made of: constrained parameters, and a log density of them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp

from benchmarks.posteriordb.transforms import Transform, Values
from mongepatch._typing import Scalar


class ConstrainedModel(NamedTuple):
    """A posterior as a Stan program has it."""

    parameters: Mapping[str, Transform]
    """Constraints by name, in an order in which bounds depend on what is before them only."""
    logdensity: Callable[[Values], Scalar]
    """Of the constrained parameters, without Jacobians, up to a constant."""
    report: Callable[[Values], Values] = lambda values: values
    """From the constrained parameters to what the reference draws hold, where they differ."""
    recover: Callable[[Values], Values] = lambda reported: reported
    """The inverse of `report`."""

    @property
    def example(self) -> dict[str, jax.Array]:
        """One position in the free space."""
        return {name: jnp.zeros(transform.shape) for name, transform in self.parameters.items()}

    def free_logdensity(self, position: Values) -> Scalar:
        """The log density of the free parameters, Jacobians included."""
        values, log_jacobian = self.constrained(position)
        return self.logdensity(values) + log_jacobian

    def reported(self, position: Values) -> Values:
        """What the reference draws hold, at a free position."""
        return self.report(self.constrained(position)[0])

    def position(self, reported: Values) -> dict[str, jax.Array]:
        """The free position of what the reference draws hold."""
        values = self.recover(reported)
        return {name: transform.free(values[name], values) for name, transform in self.parameters.items()}

    def constrained(self, position: Values) -> tuple[Values, Scalar]:
        """The constrained parameters at a free position, and the log Jacobian there."""
        values: dict[str, jax.Array] = {}
        log_jacobian = jnp.zeros(())
        for name, transform in self.parameters.items():
            log_jacobian += transform.log_jacobian(position[name], values)
            values[name] = transform.constrain(position[name], values)
        return values, log_jacobian
