"""Files from the network, and the folder where they are kept."""

import contextlib
import http.client
import io
import os
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath

from mongepatch._version import __version__
from mongepatch.datasets.catalogue import Download
from mongepatch.errors import DataError

TIMEOUT = 30.0
"""Seconds to wait for the server, each time that nothing comes."""


def fetch(download: Download) -> str:
    """The text of a file in a zip file on the network.

    Raises:
        DataError: what came is no zip file that holds the file.
        OSError: nothing came.
    """
    request = urllib.request.Request(download.url, headers={"User-Agent": f"mongepatch/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            content = response.read()
    except http.client.HTTPException as error:  # broken off on the way
        raise OSError(f"{type(error).__name__}: {error}") from error
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {PurePosixPath(member).name: member for member in archive.namelist()}
            return decoded(archive.read(members[download.member]))
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{download.url} is not a zip file that holds {download.member}.") from error


def decoded(content: bytes) -> str:
    """Text of a file; what is not text is found out when it is read as numbers."""
    return content.decode("utf-8-sig", errors="replace")


def cache_folder() -> Path:
    """Where fetched files are kept: the system's place for what can be fetched again."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        base = Path(named)
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path.home() / ".cache"
    return base / "mongepatch" / "datasets"


def keep(path: Path, text: str) -> None:
    """Write a file whole or not at all: one that is read meanwhile, or by another process, is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
