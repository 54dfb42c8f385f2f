"""What a user gives of a Stan model: its program and its data, each itself or in a file."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mongepatch.errors import DataError, ModelError


class Program(NamedTuple):
    """The text of a Stan program, and the folder in which its `#include`s are looked for, if it has any."""

    code: str
    folder: Path | None


def program_from(program: Any) -> Program:
    """A program from its code, or from the path of a file that ends in `.stan`."""
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program and program.endswith(".stan")):
        path = Path(program)
        try:
            code = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"The Stan program {path} cannot be read: {error}") from error
        # stanc writes the folder into the model, which would be compiled again for each place that it is read from.
        return Program(code, path.resolve().parent if "#include" in code else None)
    if not isinstance(program, str) or not program.strip():
        raise ModelError(
            f"A Stan program is given as its code, or as the path of a .stan file; it is {type(program).__name__}."
        )
    return Program(program, None)


def data_from(data: Any) -> dict[str, Any]:
    """Data by name, from a dict or from the path of a JSON file."""
    if data is None:
        return {}
    if isinstance(data, str | Path):
        try:
            data = json.loads(Path(data).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataError(f"Data are given as a dict, or as the path of a JSON file; {data}: {error}") from error
    if not isinstance(data, Mapping):
        raise ModelError(f"The data of a Stan model are a dict by name; here they are a {type(data).__name__}.")
    return dict(data)


def json_of(data: Mapping[str, Any]) -> str:
    """Data as Stan reads it: truth values are whole numbers, arrays are lists."""
    try:
        return json.dumps({name: _plain(value) for name, value in data.items()})
    except (TypeError, ValueError) as error:
        raise ModelError(f"The data of a Stan model are numbers and arrays of them: {error}") from error


def arrays_of(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The data that are arrays of numbers, for the result."""
    arrays = {name: np.asarray(_plain(value)) for name, value in data.items() if not isinstance(value, Mapping)}
    return {name: array for name, array in arrays.items() if array.dtype.kind in "iuf"}


def refusal(message: str, data: Mapping[str, Any]) -> str:
    """Why Stan does not take the data, in a sentence, and in its own words."""
    named = re.search(r"variable name=(\w+)", message)
    if named and named[1] not in data:
        return f"The data has no {named[1]!r}, which the Stan program asks for. Stan says: {message}"
    return f"Stan does not take the data: {message}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):  # a tuple of Stan, by the numbers of its parts
        return {name: _plain(part) for name, part in value.items()}
    array = np.asarray(value)
    return (array.astype(int) if array.dtype.kind == "b" else array).tolist()
