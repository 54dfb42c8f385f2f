"""All tables of the warm-up bench."""

from collections.abc import Collection, Sequence
from pathlib import Path

from mongepatch.bench.warmup import compiling, funnels, regular
from mongepatch.bench.warmup.problems import problems

FUNNELS = "funnels"


def run(
    draws: int = 1000,
    funnel_draws: int = 15_000,
    seeds: Sequence[int] = range(5),
    posteriordb: Path | None = None,
    only: Collection[str] = (),
) -> None:
    """Print them; or what concerns some problems only."""
    if not only:
        compiling.table()
    regular.table(problems(posteriordb, only), draws, seeds)
    if not only or FUNNELS in only:
        funnels.table(funnel_draws, seeds)
