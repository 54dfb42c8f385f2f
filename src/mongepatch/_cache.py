"""Files that can be fetched or computed again, kept between runs."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax

COMPILATION_CACHE = "MONGEPATCH_CACHE"
"""The environment variable that switches JAX's persistent compilation cache on: 1, or a folder; 0 for off."""


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


def use_compilation_cache() -> None:
    """Keep compiled programs for later processes, where `MONGEPATCH_CACHE` says so.

    Every program is kept, since a call of `mongepatch.sample` compiles many that take less than JAX's least time of a
    second. A cache that the user has configured in JAX stays as it is.
    """
    wanted = os.environ.get(COMPILATION_CACHE, "")
    config: Any = jax.config  # its attributes are made at run time
    if wanted in ("", "0") or config.jax_compilation_cache_dir is not None:
        return
    folder = cache_folder("programs") if wanted == "1" else Path(wanted).expanduser().absolute()
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
