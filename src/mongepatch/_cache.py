"""Files that can be fetched or computed again, kept between runs."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path


def cache_folder(room: str) -> Path:
    """Where this room keeps its files: within the system's place for what can be fetched or computed again."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        base = Path(named)
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path.home() / ".cache"
    return base / "mongepatch" / room


def keep(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: one that is read meanwhile, or by another process, is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with open(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
