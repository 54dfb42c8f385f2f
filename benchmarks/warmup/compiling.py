"""How long the first call takes, and that nothing is compiled twice."""

import time

from mongepatch import datasets
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.tables import show
from mongepatch.chains.chunks import compiled_programs


def table() -> tuple[float, int]:
    """Print the seconds of a first and a second call on heart, and return the first with the programs compiled."""
    target = datasets.load("heart").target()
    before = compiled_programs()

    def seconds(seed: int) -> float:
        started = time.perf_counter()
        sample_quietly(target, seed=seed, progress=False)
        return time.perf_counter() - started

    first, programs = seconds(0), compiled_programs() - before
    second, again = seconds(1), compiled_programs() - before - programs
    show(
        "Heart, all automatic: 4 × (1000 + 1000) draws",
        ("", "seconds", "samplers compiled"),
        [("first call", f"{first:.1f}", programs), ("another seed", f"{second:.2f}", again)],
        ["A sampler is compiled for each kind of trajectory and of metric, and for no window of warm-up."],
    )
    return first, programs
