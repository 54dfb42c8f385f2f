"""The program and the data of a Stan model, as code and dict or from files."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mongepatch.errors import DataError, ModelError


class StanProgram(NamedTuple):
    """The code of a Stan program, and the folder of the files that it includes, if it includes any."""

    code: str
    folder: Path | None


def program_from(program: Any) -> StanProgram:
    """A program from its code, or from the path of a file that ends in `.stan`."""
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program and program.endswith(".stan")):
        path = Path(program)
        try:
            code = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"The Stan program {path} cannot be read: {error}") from error
        # Only with includes: stanc writes the folder into the C++ code, and other C++ code is compiled again.
        return StanProgram(code, path.resolve().parent if "#include" in code else None)
    if not isinstance(program, str) or not program.strip():
        raise ModelError(
            f"A Stan program must be its code, or the path of a .stan file; this is a {type(program).__name__}."
        )
    return StanProgram(program, None)


def parameters_of(code: str, variables: Sequence[str]) -> tuple[str, ...]:
    """Which variables of a program its block `parameters` declares; none where it cannot be read, as in an include."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", "", code, flags=re.DOTALL)
    blocks = re.findall(r"(\btransformed\s+)?\bparameters\s*\{([^}]*)\}", bare)
    words = {word for transformed, block in blocks if not transformed for word in re.findall(r"\w+", block)}
    return tuple(name for name in variables if name in words)


def data_from(data: Any) -> dict[str, Any]:
    """Data by name, from a dict or from the path of a JSON file."""
    if data is None:
        return {}
    if isinstance(data, str | Path):
        try:
            data = json.loads(Path(data).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataError(
                f"The data of a Stan model cannot be read from {data}: {error}. Give a dict or the path of a JSON file."
            ) from error
    if not isinstance(data, Mapping):
        raise ModelError(f"The data of a Stan model must be a dict by name; this is a {type(data).__name__}.")
    return dict(data)


def json_of(data: Mapping[str, Any]) -> str:
    """Data in Stan's JSON format: arrays as lists, and booleans as integers."""
    try:
        return json.dumps({name: _as_json(value) for name, value in data.items()})
    except (TypeError, ValueError) as error:
        raise ModelError(f"The data of a Stan model must be numbers or arrays of numbers: {error}") from error


def arrays_of(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The data that are numbers or arrays of numbers, for the result."""
    arrays = {name: np.asarray(_as_json(value)) for name, value in data.items() if not isinstance(value, Mapping)}
    return {name: array for name, array in arrays.items() if array.dtype.kind in "iuf"}


def data_error_message(message: str, data: Mapping[str, Any]) -> str:
    """The message of an error in the data, from Stan's own message."""
    named = re.search(r"variable name=(\w+)", message)
    if named and named[1] not in data:
        return f"The data has no {named[1]!r}, which the Stan program declares. Stan's message: {message}"
    return f"Stan rejects the data: {message}"


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):  # a tuple of Stan: its entries by number
        return {name: _as_json(part) for name, part in value.items()}
    array = np.asarray(value)
    return (array.astype(int) if array.dtype.kind == "b" else array).tolist()
