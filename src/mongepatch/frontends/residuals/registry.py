"""Which residual a distribution has: a table by class, which users can extend, and a fallback."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp

from mongepatch.frontends.residuals.site import Residual, ResidualArray, Site

F = TypeVar("F", bound=Callable[[Site], Residual])


class Family(NamedTuple):
    """The residual function of some distributions, and its formula for `Target.describe`."""

    residual: Callable[[Site], Residual]
    formula: str
    """Empty where the residuals are those of a base distribution."""
    of_data: str = ""
    """Formula of the residuals that only data has."""


def fallback(site: Site) -> Residual:
    """The residual of a distribution that is not in the table.

    It is of order one, and follows the parameters where the distribution has a location and a scale. The log density is
    the last resort, and for data alone: its gradient vanishes at the mode, where a metric is needed most. The gradient
    of an unconstrained value does not vanish, and most priors have a width of order one in it.
    """
    fn = site.fn
    if fn.event_dim == 0 and hasattr(fn, "loc") and hasattr(fn, "scale"):
        z = (site.value - fn.loc) / fn.scale
        return [z, jnp.log(fn.scale)] if site.observed else z
    if not site.observed:
        raw = site.value if site.raw is None else site.raw
        return ResidualArray(raw, max(jnp.ndim(raw) - len(site.batch), 0))
    try:
        return (site.value - fn.mean) / jnp.sqrt(fn.variance)
    except (NotImplementedError, AttributeError):
        return ResidualArray(fn.log_prob(site.value), 0)


FALLBACK = Family(
    fallback,
    "(x − loc)/scale or, where it has no such parameters, its unconstrained value",
    "log scale; or (x − mean)/sd or the log density instead",
)

_FAMILIES: dict[type, Family] = {}


def register_residual(*distributions: type, formula: str | None = None, of_data: str = "") -> Callable[[F], F]:
    """Register the residual function of distributions of these classes and of their subclasses.

    The function takes a `Site` and returns an array. It must be smooth in the value and in the parameters of the
    distribution, and about standard normal where the value is typical. In the tails its slope should neither vanish nor
    grow exponentially.

    Example:
        >>> import numpyro.distributions as dist
        >>> from mongepatch.numpyro import register_residual
        >>> class Shifted(dist.Normal):
        ...     pass
        >>> @register_residual(Shifted, formula="(x − loc)/scale")
        ... def shifted(site):
        ...     return (site.value - site.fn.loc) / site.fn.scale

    Args:
        distributions: subclasses of `numpyro.distributions.Distribution`.
        formula: the formula that `Target.describe` shows; by default the name of the function.
        of_data: the formula of further residuals that the function returns where `site.observed`.
    """

    def register(residual: F) -> F:
        family = Family(residual, residual.__name__ if formula is None else formula, of_data)
        _FAMILIES.update(dict.fromkeys(distributions, family))
        return residual

    return register


def families() -> list[Family]:
    """All families that are registered."""
    return list(dict.fromkeys(_FAMILIES.values()))


def family_of(fn: Any) -> Family:
    """The family of a distribution: that of its class, or of its nearest base class in the table."""
    return next((_FAMILIES[cls] for cls in type(fn).__mro__ if cls in _FAMILIES), FALLBACK)
