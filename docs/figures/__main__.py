"""Draw the figures that are named, or all: `python -m docs.figures funnel patch_1d`."""

import sys
from importlib import import_module
from pathlib import Path

import jax

from docs.figures.common import save

HERE = Path(__file__).parent
SHARED = {"__init__", "__main__", "common", "guides", "models", "runs"}


def names() -> list[str]:
    """All figures: one for each file that is not shared by others."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SHARED)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    unknown = sorted(set(sys.argv[1:]) - set(names()))
    if unknown:
        sys.exit(f"There is no figure {', '.join(unknown)}; the figures are {', '.join(names())}.")
    for name in sys.argv[1:] or names():
        path = HERE.parent / "images" / f"{name}.png"
        try:
            save(import_module(f"docs.figures.{name}").draw(), path)
        except ImportError as error:  # PyMC and Stan are not among the tools of the site
            print(f"{name} stays as it is: {error}", flush=True)
            continue
        print(f"{path.relative_to(HERE.parent.parent)}: {path.stat().st_size // 1000} kB", flush=True)
