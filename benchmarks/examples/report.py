"""Tables of the benchmark of examples."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.examples.samplers import ExampleRun
from benchmarks.measures.effective_size import AGREED
from mongepatch.paper.console import print_table

LEGEND = (
    "R̂: the largest over parameters and seeds. ESS: the smallest of bulk, tail and squares over parameters, median of "
    "seeds; per second, with warm-up and without compilation. cold: seconds from the call to the result of the first "
    "run in a fresh process, without imports. Ratios are ours over NumPyro's: many ESS are good, many seconds are not."
)


class Comparison(NamedTuple):
    """Runs of both samplers on one problem, one for each seed; the first is cold where processes are fresh."""

    ours: Sequence[ExampleRun]
    nuts: Sequence[ExampleRun]

    def r_hats(self) -> tuple[float, float]:
        """The largest R̂ of each."""
        ours, nuts = (max(run.r_hat for run in runs) for runs in self)
        return ours, nuts

    def medians(self, figure: Callable[[ExampleRun], float]) -> tuple[float, float]:
        """The median of a number over seeds, of each."""
        ours, nuts = (float(np.median([figure(run) for run in runs])) for runs in self)
        return ours, nuts

    def cold(self) -> tuple[float, float]:
        """Seconds of the first run of each."""
        return self.ours[0].total_seconds, self.nuts[0].total_seconds

    def worse_in(self) -> list[str]:
        """What is worse than NUTS has it: an R̂ that is too large, or a smaller effective size."""
        (own_r_hat, r_hat), (own_size, size) = self.r_hats(), self.medians(_size)
        found = [f"R̂ {own_r_hat:.3f} ({r_hat:.3f})"] if own_r_hat > max(AGREED, r_hat) else []
        return found + ([f"ESS {own_size:.0f} ({size:.0f})"] if own_size < size else [])


def examples_table(results: Mapping[str, Comparison], draws: int, warmup: int, is_cold: bool) -> None:
    """Print all measurements, a line for each problem."""
    lines = []
    for name, both in results.items():
        size, speed = both.medians(_size), both.medians(_per_second)
        lines.append(
            (
                name,
                *(f"{value:.3f}" for value in both.r_hats()),
                *(f"{value:.0f}" for value in size),
                *(f"{value:.3g}" for value in speed),
                f"{_ratio(speed):.2f}",
                *((*(f"{value:.1f}" for value in both.cold()), f"{_ratio(both.cold()):.2f}") if is_cold else ()),
            )
        )
    cold = ("cold, s: ours", "NUTS", "ratio") if is_cold else ()
    print_table(
        f"NumPyro's examples: 4 × {draws:,} draws after {warmup:,} of warm-up",
        ("", "R̂: ours", "NUTS", "ESS: ours", "NUTS", "ESS/s: ours", "NUTS", "ratio", *cold),
        lines,
    )
    print(LEGEND)
    for name, both in results.items():
        print(f"{name}: {both.ours[-1].remark}")


def summary(results: Mapping[str, Comparison], is_cold: bool) -> None:
    """Print the median and the worst of each ratio, and the problems on which ours is worse."""
    ratios: dict[str, tuple[dict[str, float], bool]] = {
        "ESS": ({name: _ratio(both.medians(_size)) for name, both in results.items()}, True),
        "ESS/s": ({name: _ratio(both.medians(_per_second)) for name, both in results.items()}, True),
    }
    if is_cold:
        ratios["seconds, cold"] = ({name: _ratio(both.cold()) for name, both in results.items()}, False)
    lines = []
    for figure, (values, is_good) in ratios.items():
        worst = (min if is_good else max)(values, key=lambda name: values[name])
        lines.append((figure, f"{np.median(list(values.values())):.2f}", f"{values[worst]:.2f}", worst))
    print_table(f"Ratios of {len(results)} problems, ours over NUTS", ("", "median", "worst", "of"), lines)
    worse = {name: both.worse_in() for name, both in results.items() if both.worse_in()}
    print(f"Worse than NUTS in R̂ or effective size: {len(worse)} of {len(results)}; NUTS in brackets.")
    for name, figures in worse.items():
        print(f"  {name}: {', '.join(figures)}")


def _ratio(pair: tuple[float, float]) -> float:
    return pair[0] / pair[1]


def _size(run: ExampleRun) -> float:
    return run.size


def _per_second(run: ExampleRun) -> float:
    return run.per_second
