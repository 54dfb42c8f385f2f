"""The API reference has every public name."""

import re
from pathlib import Path

import mongepatch as mp
import mongepatch.numpyro

PAGE = (Path(__file__).parent.parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
NOT_CALLED = {
    "NAMES",
    "__version__",
    "baselines",
    "datasets",
    "frontends",
    "integrators",
    "kernels",
    "metrics",
    "targets",
}


def test_every_public_name_is_on_the_page():
    named = set(re.findall(r"^\.\. auto\w+:: (\w+)$", PAGE, flags=re.MULTILINE))
    modules = (mp, mp.targets, mp.baselines, mp.datasets, mongepatch.numpyro)
    assert {name for module in modules for name in module.__all__} - NOT_CALLED == named
