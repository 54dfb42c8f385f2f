"""Posteriors of posteriordb through every front end that has them, beside the reference draws."""

from mongepatch.bench.posteriordb.run import run

__all__ = ["run"]
