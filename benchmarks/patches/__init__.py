"""Hierarchical models as one writes them first: ours beside other samplers, and beside forms made by hand."""

from mongepatch.bench.patches.run import run

__all__ = ["run"]
