"""A random variable of a model at one point of the parameters, as families of residuals see it."""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

TINY = float(np.finfo(np.float32).tiny)
"""The least value that a logarithm or a root is taken of: a number in either precision, whose root is one too."""


class Site(NamedTuple):
    """A distribution with its parameters, and the value that it has been given."""

    fn: Any
    """The distribution."""
    value: Any
    """The value, in the distribution's support."""
    raw: Any = None
    """The value in unconstrained coordinates, where the sampler moves it by these; it never saturates."""
    observed: bool = False
    """Whether the value is data."""
    batch: tuple[int, ...] = ()
    """Shape of independent copies; parameters of `fn` may have fewer axes, or axes of length 1."""
    weight: Any = None
    """How often each of these counts: 0 where masked, the factor of `handlers.scale`; None is once each."""

    def instead(self, fn: Any, value: Any, raw: Any = None) -> "Site":
        """Another variable that stands for this one, with the same shape of copies."""
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


class Rows(NamedTuple):
    """Residuals that have axes of their own, `event_dim` of them, after those of the copies."""

    values: Any
    event_dim: int


Residual: TypeAlias = Any
"""What a family returns, one of these or a list: an array, whose last `fn.event_dim` axes belong to one copy; `Rows`; a
`Site` whose residuals are taken instead. An array that is the same for many copies may leave their axes out: it
is one residual times the root of their number then, which is the same metric."""


def _at_least_tiny(value: Any) -> jax.Array:
    return jnp.maximum(jnp.asarray(value, float), TINY)
