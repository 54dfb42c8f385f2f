"""Optional dependencies, imported where they are used."""

import importlib
import re
from types import ModuleType

from mongepatch.errors import MissingExtraError


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it and what it was wanted for."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # something that the module itself needs is missing: that is another fault
        raise MissingExtraError(
            f'{purpose} needs {module}, which is not installed: pip install "mongepatch[{extra}]"'
        ) from error


def require_at_least(module: str, least: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it, also where it is older than `least`."""
    found = require(module, extra, purpose)
    if _numbers(found.__version__) < _numbers(least):
        raise MissingExtraError(
            f"{purpose} needs {module} {least} or later, and {found.__version__} is installed: "
            f'pip install --upgrade "mongepatch[{extra}]"'
        )
    return found


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
