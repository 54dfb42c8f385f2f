"""Files from the network."""

import http.client
import io
import urllib.request
import zipfile
from pathlib import PurePosixPath

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
