"""Models without hard geometry: what "auto" chooses there, and what it costs."""

from collections.abc import Sequence

from mongepatch.bench.patches.measure import Row, measure
from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.patches.truth import Truth
from mongepatch.bench.tables import show

METRICS = ("auto", "euclidean")


def table(problems: Sequence[Problem], draws: int, seeds: Sequence[int]) -> dict[str, list[Row]]:
    """Print effective draws beside those of the Euclidean metric."""
    results, lines = {}, []
    for problem in problems:
        rows = measure(problem, Truth({}), draws, seeds, METRICS, with_peers=False)
        results[problem.name] = rows
        if len(rows) < len(METRICS):
            continue
        auto, euclidean = (row.median(lambda run: run.per_second) for row in rows)
        # Of the same work: where both have chosen the same, all that differs in seconds is what else the machine did.
        by_grads, beside = (row.median(lambda run: run.per_1000_grads) for row in rows)
        worst = max(run.r_hat for run in rows[0].runs)
        chosen = rows[0].runs[-1].remark
        ratios = (f"{auto / euclidean:.2f}", f"{by_grads / beside:.2f}")
        lines.append((problem.name, f"{auto:.3g}", f"{euclidean:.3g}", *ratios, f"{worst:.3f}", chosen))
    show(
        f"Models without hard geometry: 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("", "auto: ESS/s", "euclidean: ESS/s", "ratio", "per grads", "auto: R̂", "chosen (last seed)"),
        lines,
    )
    return results
