"""A dataset by its name, from wherever it is nearest."""

import contextlib
import os
from importlib import resources
from pathlib import Path

import numpy as np

from mongepatch._cache import cache_folder, keep
from mongepatch.datasets.catalogue import CATALOGUE, NAMES, Download, Entry
from mongepatch.datasets.dataset import Dataset
from mongepatch.datasets.fetch import decoded, fetch
from mongepatch.datasets.table import read_csv, read_raw, write_csv
from mongepatch.errors import DataError, SettingError

FOLDER = "MONGEPATCH_DATA"
"""Environment variable that names a folder with the user's own copies."""


def load(name: str) -> Dataset:
    """One of the datasets of the paper's logistic regressions.

    "heart" and "german" come with the package. "australian" and "south-german" are fetched from the UCI repository
    when they are first asked for, and kept in the user's cache folder. Where there is no network, put the file into a
    folder and name that in the environment variable MONGEPATCH_DATA: `australian.dat` and `SouthGermanCredit.asc` as
    UCI has them, or `australian.csv` and `south_german.csv` with the names of the columns in a header and the outcome
    `y` last. Every number is checked, wherever it came from.

    The features of "heart" are scaled to the range −1 to 1; standardised, as in `design`, they are those of UCI.

    Raises:
        SettingError: there is no dataset of that name.
        DataError: it cannot be had, or a file holds something else.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        raise SettingError(f"There is no dataset {name!r}; there are {', '.join(NAMES)}.")
    numbers = _shipped(entry) if entry.download is None else _fetched(entry, entry.download)
    features, outcomes = numbers[:, :-1].copy(), numbers[:, -1].astype(np.int64)
    features.flags.writeable = outcomes.flags.writeable = False
    return Dataset(entry.name, features, outcomes, entry.columns, entry.source, entry.licence)


def _shipped(entry: Entry) -> np.ndarray:
    file = resources.files("mongepatch.datasets") / "data" / entry.csv
    return read_csv(decoded(file.read_bytes()), entry, str(file))


def _fetched(entry: Entry, download: Download) -> np.ndarray:
    """The user's own copy, else the one in the cache, else the network's."""
    own = _own(entry, download)
    if own is not None:
        return own
    cached = cache_folder("datasets") / entry.csv
    with contextlib.suppress(OSError):  # absent, or no longer what it was: fetched again
        return read_csv(decoded(cached.read_bytes()), entry, str(cached))
    try:
        text = fetch(download)
    except DataError:
        raise
    except OSError as error:
        raise DataError(
            f"The dataset {entry.name!r} could not be fetched from {download.url}: {error}. Connect to the network "
            f"once, and it is kept in {cached.parent}; or put {download.member} or {entry.csv} into a folder, and set "
            f"the environment variable {FOLDER} to that folder."
        ) from error
    numbers = read_raw(text, entry, f"{download.member} of {download.url}")
    with contextlib.suppress(OSError):  # a cache that cannot be written to costs time, not the data
        keep(cached, write_csv(numbers, entry))
    return numbers


def _own(entry: Entry, download: Download) -> np.ndarray | None:
    """The copy in the folder that the user named, if there are both."""
    named = os.environ.get(FOLDER)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"The environment variable {FOLDER} must name a folder; it is {named!r}.")
    for file, read in ((folder / entry.csv, read_csv), (folder / download.member, read_raw)):
        if file.is_file():
            return read(decoded(file.read_bytes()), entry, str(file))
    return None
