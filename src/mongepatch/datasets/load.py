"""Loading a dataset by its name: from the package, the user's folder, the cache, or the network."""

import contextlib
import os
from importlib import resources
from pathlib import Path

import numpy as np

from mongepatch._cache import cache_folder, keep
from mongepatch.datasets.catalogue import CATALOGUE, NAMES, Download, Entry
from mongepatch.datasets.dataset import Dataset
from mongepatch.datasets.fetch import decode, fetch
from mongepatch.datasets.table import read_csv, read_raw, write_csv
from mongepatch.errors import DataError, SettingError

FOLDER_VARIABLE = "MONGEPATCH_DATA"
"""Environment variable that names a folder with the user's own copies."""


def load(name: str) -> Dataset:
    """Load a dataset of the paper's logistic regressions.

    "heart" and "german" are part of the package. "australian" and "south-german" are downloaded from the UCI repository
    the first time, and kept in the user's cache folder. Without a network, put the file into a folder and set the
    environment variable MONGEPATCH_DATA to that folder. The file is UCI's `australian.dat` or `SouthGermanCredit.asc`,
    or `australian.csv` or `south_german.csv` with the names of the columns in a header and the outcome `y` last. Every
    file is verified by checksum.

    The features of "heart" are scaled to the range −1 to 1. Standardized, as in `design`, they agree with UCI's.

    Example:
        >>> dataset = mp.datasets.load("german")
        >>> dataset.features.shape
        (1000, 24)
        >>> target = dataset.target()  # then mp.sample(target)

    Args:
        name: "heart", "german", "australian" or "south-german".

    Raises:
        SettingError: there is no dataset of that name.
        DataError: the download fails, or a file is not the dataset.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        raise SettingError(f"There is no dataset {name!r}; the datasets are {', '.join(NAMES)}.")
    numbers = _from_package(entry) if entry.download is None else _from_copy_or_network(entry, entry.download)
    features, outcomes = numbers[:, :-1].copy(), numbers[:, -1].astype(np.int64)
    features.flags.writeable = outcomes.flags.writeable = False
    return Dataset(entry.name, features, outcomes, entry.columns, entry.source, entry.licence)


def _from_package(entry: Entry) -> np.ndarray:
    file = resources.files("mongepatch.datasets") / "data" / entry.csv
    return read_csv(decode(file.read_bytes()), entry, str(file))


def _from_copy_or_network(entry: Entry, download: Download) -> np.ndarray:
    """From the user's folder, else from the cache, else from the network."""
    numbers = _from_user_folder(entry, download)
    if numbers is not None:
        return numbers
    cached = cache_folder("datasets") / entry.csv
    with contextlib.suppress(OSError):  # missing or corrupt: download it again
        return read_csv(decode(cached.read_bytes()), entry, str(cached))
    try:
        text = fetch(download)
    except DataError:
        raise
    except OSError as error:
        raise DataError(
            f"The dataset {entry.name!r} could not be downloaded from {download.url}: {error}. Connect to the network "
            f"once, and it is kept in {cached.parent}; or put {download.member} or {entry.csv} into a folder, and set "
            f"the environment variable {FOLDER_VARIABLE} to that folder."
        ) from error
    numbers = read_raw(text, entry, f"{download.member} of {download.url}")
    with contextlib.suppress(OSError):  # the data is good even if the cache cannot be written
        keep(cached, write_csv(numbers, entry))
    return numbers


def _from_user_folder(entry: Entry, download: Download) -> np.ndarray | None:
    """The copy in the folder that the environment variable names, if it exists."""
    path = os.environ.get(FOLDER_VARIABLE)
    if not path:
        return None
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DataError(f"The environment variable {FOLDER_VARIABLE} must name a folder; it is {path!r}.")
    for file, read in ((folder / entry.csv, read_csv), (folder / download.member, read_raw)):
        if file.is_file():
            return read(decode(file.read_bytes()), entry, str(file))
    return None
