"""Downloads of datasets."""

import http.client
import io
import urllib.request
import zipfile
from pathlib import PurePosixPath

from mongepatch._version import __version__
from mongepatch.datasets.catalogue import Download
from mongepatch.errors import DataError

TIMEOUT = 30.0
"""Seconds without data after which a download fails."""


def fetch(download: Download) -> str:
    """Download a zip file, and return the text of a file in it.

    Raises:
        DataError: the download is not a zip file that holds the file.
        OSError: the download fails.
    """
    request = urllib.request.Request(download.url, headers={"User-Agent": f"mongepatch/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            content = response.read()
    except http.client.HTTPException as error:  # such as an incomplete read
        raise OSError(f"{type(error).__name__}: {error}") from error
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {PurePosixPath(member).name: member for member in archive.namelist()}
            return decode(archive.read(members[download.member]))
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{download.url} is not a zip file that holds {download.member}.") from error


def decode(content: bytes) -> str:
    """The text of a file. Bytes that are not text fail later, when they are read as numbers."""
    return content.decode("utf-8-sig", errors="replace")
