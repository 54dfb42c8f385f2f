"""Models without hard geometry: the metric that "auto" chooses, and its efficiency."""

from collections.abc import Sequence

from benchmarks.patches.measure import SamplerRow, measure
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.truth import ReferenceQuantiles
from mongepatch.paper.console import print_table

METRICS = ("auto", "euclidean")


def table(problems: Sequence[NumpyroProblem], draws: int, seeds: Sequence[int]) -> dict[str, list[SamplerRow]]:
    """Print effective draws per second, compared with the Euclidean metric."""
    results, lines = {}, []
    for problem in problems:
        rows = measure(problem, ReferenceQuantiles({}), draws, seeds, METRICS, with_peers=False)
        results[problem.name] = rows
        if len(rows) < len(METRICS):
            continue
        auto, euclidean = (row.median(lambda run: run.per_second) for row in rows)
        # Where both have the same metric, seconds differ only by the other load of the machine; gradients do not.
        auto_per_grads, euclidean_per_grads = (row.median(lambda run: run.per_1000_grads) for row in rows)
        worst = max(run.r_hat for run in rows[0].runs)
        chosen = rows[0].runs[-1].remark
        ratios = (f"{auto / euclidean:.2f}", f"{auto_per_grads / euclidean_per_grads:.2f}")
        lines.append((problem.name, f"{auto:.3g}", f"{euclidean:.3g}", *ratios, f"{worst:.3f}", chosen))
    print_table(
        f"Models without hard geometry: 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("", "auto: ESS/s", "euclidean: ESS/s", "ratio", "per grads", "auto: R̂", "chosen (last seed)"),
        lines,
    )
    return results
