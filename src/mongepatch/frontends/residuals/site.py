"""A random variable of a model at one point of the parameters: the argument of every residual function."""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

TINY = float(np.finfo(np.float32).tiny)
"""The smallest argument of logarithms and square roots: representable in single precision, as is its root."""


class Site(NamedTuple):
    """A distribution with its parameters, and the value of its random variable."""

    fn: Any
    """The distribution, with NumPyro's name for this field."""
    value: Any
    """The value, in the distribution's support."""
    raw: Any = None
    """The unconstrained value, if the sampler moves the variable; unlike `value` it never rounds to a bound."""
    observed: bool = False
    """Whether the value is data."""
    batch: tuple[int, ...] = ()
    """Shape of independent copies; parameters of `fn` may have fewer axes, or axes of length 1."""
    weight: Any = None
    """Factors on the log density of each copy: 0 where masked, that of `handlers.scale`; None is 1 for all."""

    def with_distribution(self, fn: Any, value: Any, raw: Any = None) -> "Site":
        """A site whose residuals replace those of this one, with the same shape of copies."""
        return self._replace(fn=fn, value=value, raw=raw)

    @property
    def log(self) -> jax.Array:
        """The logarithm of a positive value."""
        return jnp.log(_at_least_tiny(self.value)) if self.raw is None else self.raw

    @property
    def logit(self) -> jax.Array:
        """The log-odds of a value between 0 and 1."""
        if self.raw is not None:
            return self.raw
        value = jnp.asarray(self.value, float)
        return jnp.log(_at_least_tiny(value)) - jnp.log(jnp.maximum(1 - value, TINY))


class ResidualArray(NamedTuple):
    """Residuals whose number of event axes is not that of the distribution: `event_dim`, after the axes of copies."""

    values: Any
    event_dim: int


Residual: TypeAlias = Any
"""What a residual function returns, one of these or a list of them:

- an array, whose last `fn.event_dim` axes belong to one copy;
- a `ResidualArray`, which says how many axes belong to one copy;
- a `Site`, whose residuals are taken.

An array that is the same for many copies may leave out their axes, or have length 1 there. It is then one residual,
multiplied by the square root of the number of copies, which gives the same metric."""


def _at_least_tiny(value: Any) -> jax.Array:
    return jnp.maximum(jnp.asarray(value, float), TINY)
