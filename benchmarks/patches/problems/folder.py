"""Data of posteriordb, from a folder of the user's."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mongepatch.bench.patches.problems.base import Problem


def from_folder(folder: Path, makers: Mapping[str, Callable[[Mapping[str, Any]], Problem]]) -> list[Problem]:
    """Problems from a folder of posteriordb, those whose data are there."""
    found = []
    for name, make in makers.items():
        path = folder / name / "data.json"
        if path.is_file():
            found.append(make(json.loads(path.read_text())))
        else:
            print(f"{name} is left out: there is no {path}.", file=sys.stderr)
    return found
