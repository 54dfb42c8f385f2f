"""The picture of `make demo`."""

from pathlib import Path
from tempfile import mkdtemp

from mongepatch.demo import run_demo


def draw():
    """The file that the demo writes."""
    out = Path(mkdtemp()) / "demo.png"
    run_demo(out)
    return out
