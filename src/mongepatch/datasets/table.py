"""Tables of numbers as text: reading, verifying and writing."""

import hashlib
from collections.abc import Iterator

import numpy as np

from mongepatch.datasets.catalogue import Entry
from mongepatch.errors import DataError

OUTCOME = "y"
"""Header of the last column."""


def read_csv(text: str, entry: Entry, where: str) -> np.ndarray:
    """The verified table of a CSV file with a header and the outcome last."""
    lines = _lines(text)
    header = tuple(name.strip() for name in next(lines, "").split(","))
    if header != (*entry.columns, OUTCOME):
        raise DataError(
            f"{where} is not the dataset {entry.name!r}: its header must be {','.join(entry.columns)},{OUTCOME}."
        )
    return _verified((line.split(",") for line in lines), entry, where)


def read_raw(text: str, entry: Entry, where: str) -> np.ndarray:
    """The verified table of a file of the UCI repository: numbers between spaces, with a header or without."""
    rows = (line.split() for line in _lines(text))
    return _verified((row for row in rows if not row[0].isidentifier()), entry, where)


def write_csv(numbers: np.ndarray, entry: Entry) -> str:
    """A table as CSV, with a header."""
    return "\n".join([",".join((*entry.columns, OUTCOME)), *_text_rows(numbers), ""])


def checksum(numbers: np.ndarray) -> str:
    """SHA-256 of the numbers, each in its shortest exact decimal form: 1, 1.0 and 1.00 are the same."""
    return hashlib.sha256("\n".join(_text_rows(numbers)).encode()).hexdigest()


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip())


def _text_rows(numbers: np.ndarray) -> Iterator[str]:
    for row in numbers.tolist():
        yield ",".join(str(int(value)) if value.is_integer() else repr(value) for value in row)


def _verified(rows: Iterator[list[str]], entry: Entry, where: str) -> np.ndarray:
    """The table, with the outcome last. Raises if it is not that of the entry, and says why."""
    try:
        numbers = np.array([[float(value) for value in row] for row in rows])
    except ValueError as error:  # a word, or rows of different lengths
        raise DataError(
            f"{where} is not the dataset {entry.name!r}: it is not a table of numbers ({error})."
        ) from error
    shape, wanted = numbers.shape, (entry.rows, len(entry.columns) + 1)
    if shape != wanted:
        raise DataError(
            f"{where} is not the dataset {entry.name!r}: it must be a table of {wanted[0]} rows and {wanted[1]} "
            f"columns, outcome included; its shape is {shape}."
        )
    outcomes = numbers[:, -1]
    if not np.isin(outcomes, (0.0, 1.0)).all() or outcomes.sum() != entry.ones:
        raise DataError(
            f"{where} is not the dataset {entry.name!r}: its last column must be 0 or 1, and 1 in {entry.ones} rows."
        )
    if checksum(numbers) != entry.sha256:
        raise DataError(
            f"{where} is corrupt: it has the shape of the dataset {entry.name!r} but other numbers. Some copies in "
            "circulation lack their decimal points. Use the file of the UCI repository."
        )
    return numbers
