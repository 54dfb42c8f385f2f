"""Which law a random variable has."""

from typing import Any

from mongepatch.frontends.pymc.laws.law import Law, NotListedError


def find(variable: Any) -> Law:
    """The law of a random variable; raises `NotListedError` where NumPyro has none like it."""
    from mongepatch.frontends.pymc.laws import READERS  # laws of what is made of others find these by this function

    reader = READERS.get(type(variable.owner.op))
    if reader is None:
        raise NotListedError
    return reader(variable)
