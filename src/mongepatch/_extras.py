"""Optional dependencies, imported where they are used."""

import importlib
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
