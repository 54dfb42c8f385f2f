"""Version, changelog and citation say the same, and the package carries its types. `make dist` checks the files."""

import re
from pathlib import Path

import mongepatch as mp

ROOT = Path(__file__).parent.parent
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
NEWEST = re.search(r"^## (\S+) – (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_citation_and_the_changelog_have_the_version():
    assert re.search(r"^version: (.+)$", CITATION, re.MULTILINE).group(1) == mp.__version__
    assert NEWEST.group(1) == mp.__version__


def test_the_citation_has_the_date_of_a_release():
    dated = re.search(r"^date-released: (.+)$", CITATION, re.MULTILINE)
    assert NEWEST.group(2) == (dated.group(1) if dated else "unreleased")


def test_types_are_shipped():
    assert (Path(mp.__file__).parent / "py.typed").is_file()
