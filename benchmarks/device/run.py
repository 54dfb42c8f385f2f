"""Prints the tables row by row, within a given time: a run that is cut short keeps what it has printed."""

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import jax

from benchmarks.device.bias import MANY, deviation
from benchmarks.device.kernel import LENGTH, kernel_rates
from benchmarks.device.problems import DeviceProblem, device_problems, precision
from benchmarks.device.samplers import SAMPLERS, measured
from benchmarks.measures.names import check_problems

CHAINS = (16_384, 1024, 1, 65_536)
"""In the order in which they are measured: what matters most comes first, in case time runs out."""
DRAWS, BUDGET = 200, 420.0
MOST_ON_CPU, MOST_OF_BLACKJAX = 1024, 1024
"""Largest numbers of chains on a processor beside an accelerator, and of BlackJAX, whose chains wait for each other."""
KERNEL = "kernel"
LEGEND = (
    "first s: the first call, with compilation. call s: a warm call, from the call to its result; of the first call "
    "without compilation where there was no time for a second. warm-up s and sampling s: of the call, with copies from "
    "the device. draws/s and effective/s: of sampling alone. off by: the "
    "largest difference of quantiles from 1% to 99% from the exact ones, or from those of the first row in double "
    "precision, in standard errors."
)


class Row(NamedTuple):
    """A row to be measured."""

    place: Any
    sampler: str
    double: bool
    chains: int

    @property
    def names(self) -> tuple[str, ...]:
        """The first columns."""
        return self.place.device_kind, self.sampler, "double" if self.double else "single", f"{self.chains:,}"


class Budget:
    """Time for a table; rows that would probably take longer are left out."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds
        self._taken: dict[tuple[str, str], tuple[int, float]] = {}

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - time.perf_counter()

    def expected(self, row: Row) -> float:
        """Seconds of a row: as many as the last one of the same sampler on the same device, in proportion to chains.

        An accelerator takes about as long for few chains as for many.
        """
        chains, seconds = self._taken.get((row.place.platform, row.sampler), (row.chains, 0.0))
        growth = row.chains / chains if row.place.platform == "cpu" or row.chains > chains else 1.0
        return seconds * min(growth, 4.0)

    def took(self, row: Row, seconds: float) -> None:
        """Remember how long a row took."""
        self._taken[row.place.platform, row.sampler] = row.chains, seconds


def run(
    chains: Sequence[int] = CHAINS,
    draws: int = DRAWS,
    rounds: int = 5,
    only: Collection[str] = (),
    budget: float = BUDGET,
) -> None:
    """Print tables of the kernel on heart, and of automatic runs, in single and in double precision."""
    problems = device_problems()
    check_problems(only, [KERNEL, *(problem.name for problem in problems)])
    places = list(dict.fromkeys((jax.devices()[0], jax.devices("cpu")[0])))
    parts = [name for name in (KERNEL, *(p.name for p in problems)) if not only or name in only]
    end = time.perf_counter() + budget
    for number, name in enumerate(parts):
        part = Budget((end - time.perf_counter()) / (len(parts) - number))
        if name == KERNEL:
            _print_head(f"Draws per second on heart, L = {LENGTH}", ("leapfrog", "LMC-Monge"))
            lines = _kernel_lines(places, chains, draws, rounds, part)
        else:
            problem = next(problem for problem in problems if problem.name == name)
            title = f"{name}: {draws} draws of every chain, measured: {problem.variable}"
            _print_head(title, ("first s", "call s", "warm-up s", "sampling s", "draws/s", "effective/s", "off by"))
            lines = _lines(problem, places, chains, draws, part)
        for line in lines:
            _print_line(line)
    print(f"\n{LEGEND}")


def rows_of(problem: str, places: Sequence[Any], chains: Sequence[int]) -> list[Row]:
    """The rows of a table, the most important first.

    These are ours in both precisions with the first number of chains, then BlackJAX and the processor with the first
    number that is not too large for them, then all others.
    """
    device, *others = places
    own = ("ours", "ours, NUTS") if problem == "heart" else ("ours",)
    on_device = [Row(device, name, double, n) for n in chains for name in own for double in (True, False)]
    few = [n for n in chains if n <= MOST_OF_BLACKJAX]
    peers = [Row(device, "BlackJAX NUTS", double, n) for n in few for double in (False, True)]
    names, fewer = ("ours", "BlackJAX NUTS"), [n for n in chains if n <= MOST_ON_CPU]
    beside = [Row(cpu, name, True, n) for cpu in others for n in fewer for name in names]
    first = [*on_device[: 2 * len(own)], *peers[:1], *beside[:1]]
    return first + [row for row in (*on_device, *peers, *beside) if row not in first]


def _lines(
    problem: DeviceProblem, places: Sequence[Any], chains: Sequence[int], draws: int, budget: Budget
) -> Iterator[tuple[str, ...]]:
    truth: Any = problem.exact
    for row in rows_of(problem.name, places, chains):
        if budget.left < budget.expected(row):
            yield (*row.names, f"not run: {budget.expected(row):.0f} s expected, {max(budget.left, 0):.0f} s left")
            continue
        started = time.perf_counter()
        try:
            with precision(row.double), jax.default_device(row.place):
                found = measured(problem, SAMPLERS[row.sampler](problem, row.chains, draws), budget.left)
        except Exception as error:  # out of memory, or of any library: the other rows are still measured
            yield (*row.names, f"failed: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
            continue
        budget.took(row, time.perf_counter() - started)
        off = f"{deviation(found.values, truth):.1f}" if row.chains >= MANY and truth is not None else ""
        if truth is None and row.double and row.chains >= MANY:
            truth = found.values
        call = (f"{found.first_seconds:.1f}", f"{found.call_seconds:.2f}")
        parts = (f"{found.warmup_seconds:.3f}", f"{found.sampling_seconds:.3f}")
        rates = (f"{found.draws_per_second:,.0f}", f"{found.effective_per_second:,.0f}")
        yield (*row.names, *call, *parts, *rates, off)


def _kernel_lines(
    places: Sequence[Any], chains: Sequence[int], draws: int, rounds: int, budget: Budget
) -> Iterator[tuple[str, ...]]:
    for place in places:
        for count in chains:
            for double in (False, True):
                row = Row(place, KERNEL, double, count)
                if budget.left < budget.expected(row) or (place is not places[0] and count > MOST_ON_CPU):
                    yield (*row.names, "not run")
                    continue
                started = time.perf_counter()
                with precision(double), jax.default_device(place):
                    rates = kernel_rates(count, draws, rounds)
                budget.took(row, time.perf_counter() - started)
                yield (*row.names, *(f"{rate:,.0f}" for rate in rates.values()))


def _print_head(title: str, columns: Sequence[str]) -> None:
    names = ("device", "sampler", "precision", "chains", *columns)
    print(f"\n{title}\n")
    _print_line(names)
    print("|---" * len(names) + "|", flush=True)


def _print_line(line: Sequence[str]) -> None:
    print(f"| {' | '.join(line)} |", flush=True)
