"""Stored results of tasks, by their settings."""

import hashlib
import inspect
import io
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mongepatch._cache import cache_folder, keep
from mongepatch._version import __version__
from mongepatch.paper.item import Numbers, Task

PLAIN = "plain"
"""The entry for everything that is not an array."""


def path_of(task: Task) -> Path:
    """The file of a task's result. It depends on the settings, the code of the task and the versions."""
    module = inspect.getmodule(task.compute)
    parts = [
        f"{task.compute.__module__}.{task.compute.__qualname__}",
        inspect.getsource(module) if module else "",
        json.dumps(dict(task.settings), sort_keys=True),
        __version__,
        version("jax"),
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_folder("paper") / f"{task.compute.__module__.rpartition('.')[2]}-{digest}.npz"


def load(task: Task) -> Numbers | None:
    """A stored result, or None where it is absent or damaged."""
    try:
        with np.load(io.BytesIO(path_of(task).read_bytes())) as stored:
            plain = json.loads(str(stored[PLAIN]))
            return {**plain, **{name: stored[name] for name in stored.files if name != PLAIN}}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def save(task: Task, numbers: Numbers) -> None:
    """Store a result."""
    arrays = {name: value for name, value in numbers.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in numbers.items() if name not in arrays}
    content = io.BytesIO()
    entries: dict[str, Any] = {PLAIN: np.asarray(json.dumps(plain)), **arrays}
    np.savez_compressed(content, **entries)
    keep(path_of(task), content.getvalue())
