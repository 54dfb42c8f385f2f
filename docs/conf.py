"""How Sphinx makes the site of these pages: `make docs`, without a network, and every warning is an error."""

import os
import shutil
from pathlib import Path
from typing import Any

from mongepatch import __version__

os.environ["MONGEPATCH_CACHE"] = "0"  # importing the package for its docstrings writes nothing

project = "mongepatch"
author = "The mongepatch developers"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["figures"]
templates_path = ["_templates"]

# Pages are plain Markdown, which code hosts show as well; formulas are text, so that no page needs a script for them.
myst_enable_extensions = ["attrs_block", "attrs_inline"]
myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []
suppress_warnings = ["myst.xref_missing_extension"]
nb_execution_mode = "off"  # the notebook has its outputs; a test runs it
nb_merge_streams = True

# Docstrings are Google's, with names in single backticks.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_typehints = "none"  # the text says what an argument is; shapes in type hints are for checks
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"mongepatch {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_use_index = False  # the API reference is one page, and the search finds its names
html_copy_source = False
html_show_sourcelink = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def copy_explorer(app: Any, error: Exception | None) -> None:
    """The explorer is a page of plain scripts, which Sphinx copies as it is."""
    if error is None and app.builder.format == "html":
        shutil.copytree(Path(app.srcdir) / "explorer", Path(app.outdir) / "explorer", dirs_exist_ok=True)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", copy_explorer)
