"""A centred PyMC model that makes `pm.sample` diverge: ours beside `pm.sample` and nutpie."""

from mongepatch.bench.pymc.run import run

__all__ = ["run"]
