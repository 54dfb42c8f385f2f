"""Every figure of the pages is made by a script, shown by a page, and small."""

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
IMAGES = sorted((DOCS / "images").iterdir())
PAGES = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
SHARED = {"__init__", "__main__", "common", "guides", "models", "runs"}


def test_every_image_has_a_script_and_every_script_an_image():
    scripts = {path.stem for path in (DOCS / "figures").glob("*.py")} - SHARED
    assert {path.stem for path in IMAGES} == scripts


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_an_image_is_shown_with_words_for_those_who_do_not_see_it(path):
    words = re.findall(rf"!\[([^\]]*)\]\(images/{path.name}\)", PAGES)
    assert words, f"no page shows {path.name}"
    assert all(len(text) > 20 for text in words)


def test_images_are_small():
    assert sum(path.stat().st_size for path in IMAGES) < 3_000_000


def test_scripts_of_figures_say_what_they_draw():
    for path in (DOCS / "figures").glob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path.name
