"""The same model for the command line: `mongepatch sample examples/cli_model.py:target --store run.zarr`."""

from model import init as starting_point
from model import logdensity as target

init = starting_point()

__all__ = ["init", "target"]
