"""What warm-up finds, and what it is worth."""

from mongepatch.bench.warmup.run import run

__all__ = ["run"]
