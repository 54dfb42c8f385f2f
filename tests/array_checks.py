"""The type checker of the test run: arrays have the types and shapes of their hints, at every call.

All other hints are left to mypy, and to the library itself: a test may ask `mongepatch.sample` for half a chain, to see
the message that users would see.
"""

from collections.abc import Callable
from typing import get_args, get_origin

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

_CONF = BeartypeConf(is_pep484_tower=True)  # an integer is a float, as it is for mypy


def check_arrays(function):
    """The function with its arrays checked, as `jaxtyping.install_import_hook` asks for it."""
    hints = {name: hint for name, hint in function.__annotations__.items() if _has_arrays(hint)}
    function.__annotations__ = hints
    return beartype(conf=_CONF)(function) if hints else function


def _has_arrays(hint):
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return get_origin(hint) is not Callable and any(_has_arrays(part) for part in get_args(hint))
