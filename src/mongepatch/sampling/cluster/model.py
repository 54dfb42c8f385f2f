"""A model on its way to another process: as a function that builds it there, or pickled."""

import importlib
import inspect
import pickle
from collections.abc import Mapping
from typing import Any, NamedTuple

from mongepatch.errors import SettingError, TransportError
from mongepatch.targets import Target


class Model(NamedTuple):
    """What a worker needs to know of a model."""

    target: Any
    """As the user gave it: what it is built by, where it is built."""
    init: Any
    """One point of the parameters; None where the target knows their structure."""
    given: Mapping[str, Any]
    """Settings that are objects, such as a metric."""

    def packed(self) -> bytes:
        """The model as bytes; raise where it cannot be sent, and say what to do."""
        try:
            return bytes(_pickler().dumps(tuple(self)))
        except Exception as error:  # whatever an object of the user's raises
            raise TransportError(
                f"The model cannot be sent to another process ({type(error).__name__}: {error}). Give a function "
                'without arguments that builds it there, or its name as "module:function", in the place of the target.'
            ) from error

    @classmethod
    def unpacked(cls, content: bytes) -> "Model":
        """The inverse, in a worker."""
        try:
            return cls(*pickle.loads(content))
        except (ImportError, AttributeError) as error:
            raise TransportError(
                f"A worker cannot load the model ({type(error).__name__}: {error}). Its modules must be installed "
                "there, or cloudpickle here."
            ) from error


def built(target: Any, init: Any = None) -> tuple[Any, Any]:
    """The target and a starting point: built where `target` is a function without arguments, or names one.

    Such a function returns a `Target`, a log density, or either together with a starting point.
    """
    if isinstance(target, str) and ":" in target:
        target = _named(target)
    elif isinstance(target, Target) or not _takes_nothing(target):
        return target, init
    made = target()
    target, start = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    return target, start if init is None else init


def _named(words: str) -> Any:
    module, _, name = words.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(
            f'A target by name is "module:function", a function without arguments that builds it; {words!r} cannot be '
            f"found: {error}."
        ) from error
    if not callable(found):
        raise SettingError(f"{words!r} is no function.")
    return found


def _takes_nothing(target: Any) -> bool:
    """Whether it is a function without parameters; a log density has one."""
    try:
        return callable(target) and not inspect.signature(target).parameters
    except (TypeError, ValueError):
        return False


def _pickler() -> Any:
    """Cloudpickle, which sends functions by value, where it is installed."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return pickle
