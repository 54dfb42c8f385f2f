"""All tables of the warm-up bench."""

from collections.abc import Sequence
from pathlib import Path

from mongepatch.bench.warmup import compiling, funnels, regular
from mongepatch.bench.warmup.problems import problems


def run(
    draws: int = 1000, funnel_draws: int = 15_000, seeds: Sequence[int] = range(5), posteriordb: Path | None = None
) -> None:
    """Print them."""
    compiling.table()
    regular.table(problems(posteriordb), draws, seeds)
    funnels.table(funnel_draws, seeds)
