"""Which residual a distribution gets: a table by class, open to users."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from mongepatch.frontends.residuals.fallback import FORMULA, OF_DATA, fallback
from mongepatch.frontends.residuals.site import Residual, Site

F = TypeVar("F", bound=Callable[[Site], Residual])


class Family(NamedTuple):
    """How the residuals of some distributions are made, and how that is told."""

    residual: Callable[[Site], Residual]
    formula: str
    """Empty where the residuals are those of distributions that this one is made of."""
    of_data: str = ""
    """What data has besides."""


_FAMILIES: dict[type, Family] = {}
_FALLBACK = Family(fallback, FORMULA, OF_DATA)


def register_residual(*distributions: type, formula: str | None = None, of_data: str = "") -> Callable[[F], F]:
    """Say how the residuals of distributions of these classes, and of classes derived from them, are made.

    The function takes a `Site` and returns an array: `(site.value - site.fn.loc) / site.fn.scale` is Normal's. What it
    returns must be smooth in the value and in the parameters, about standard normal where the value is typical, and
    neither flat nor exponentially steep far from there. `formula` and `of_data` are what `Target.describe` says of it.
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
    """The family of a distribution: that of its class, or of the nearest class that it is derived from."""
    return next((_FAMILIES[cls] for cls in type(fn).__mro__ if cls in _FAMILIES), _FALLBACK)
