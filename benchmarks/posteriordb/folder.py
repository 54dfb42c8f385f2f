"""Data and reference draws, from a folder of the user's that holds one folder for each posterior.

- `<name>/data.json`: the data block of the Stan program, as in posteriordb.
- `<name>/reference_draws.npz`: `draws` [chains, draws, parameters] and `names`, such as `beta[1]`, in that order.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

DATA, DRAWS = "data.json", "reference_draws.npz"


def has_data(folder: Path, name: str) -> bool:
    """Whether the folder has the data of a posterior."""
    return (folder / name / DATA).is_file()


def has_draws(folder: Path, name: str) -> bool:
    """Whether the folder has the reference draws of a posterior."""
    return (folder / name / DRAWS).is_file()


def names_with_draws(folder: Path) -> list[str]:
    """Names of all posteriors that have reference draws in the folder."""
    return sorted(path.parent.name for path in folder.glob(f"*/{DRAWS}"))


def read_data(folder: Path, name: str) -> dict[str, Any]:
    """The data block of a posterior's Stan program."""
    data: dict[str, Any] = json.loads((folder / name / DATA).read_text())
    return data


def read_draws(folder: Path, name: str) -> tuple[list[str], np.ndarray]:
    """Names of the parameters, and reference draws [chains, draws, parameters]."""
    with (folder / name / DRAWS).open("rb") as stream, np.load(stream) as file:
        return [str(column) for column in file["names"]], np.asarray(file["draws"], float)


def reference(names: list[str], draws: np.ndarray) -> dict[str, np.ndarray]:
    """Reference draws [chains, draws] by name."""
    return {name: draws[..., i] for i, name in enumerate(names)}
