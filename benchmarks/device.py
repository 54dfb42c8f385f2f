"""Draws per second by the number of chains: on an accelerator, on the same machine's processor, and by BlackJAX."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from benchmarks.measures.effective_size import effective_size
from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import seconds_of
from benchmarks.patches.problems import hard_problems
from mongepatch import baselines, datasets, from_numpyro, lmc, targets
from mongepatch.metrics import Euclidean, Metric, Monge
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import Target
from mongepatch.trajectories import Static

if TYPE_CHECKING:
    from xarray import DataTree

CHAINS = (1, 64, 1024, 4096, 16_384, 65_536)
DRAWS, WARMUP = 200, 100
MANY = 256
"""Chains from which the spread of their means is a good estimate of a standard error."""
PROBABILITIES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
HEART_STEP, HEART_LENGTH, HEART_ALPHA = 0.09, 7, 0.01


class DeviceProblem(NamedTuple):
    """A target, built in the precision of the moment, and the variable that is measured."""

    name: str
    build: Callable[[], Target]
    variable: str
    is_log_scale: bool = False


def problems() -> list[DeviceProblem]:
    """A regression, the funnel of the paper, and two hierarchies in their centred form."""
    models = {problem.name: problem for problem in hard_problems()}

    def of_model(name: str) -> Target:
        return from_numpyro(models[name].centred, *models[name].data)

    return [
        DeviceProblem("heart", lambda: datasets.load("heart").target(), "beta"),
        DeviceProblem("funnel-10", lambda: targets.funnel(10), "a"),
        DeviceProblem("schools", partial(of_model, "schools"), "tau", True),
        DeviceProblem("groups-100", partial(of_model, "groups-100"), "tau", True),
    ]


@contextmanager
def precision(double: bool) -> Iterator[None]:
    """A block in double or in single precision."""
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", double)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def kernel_rates(chains: int, draws: int, rounds: int) -> dict[str, float]:
    """Draws per second of a bare loop over the kernel on heart, trajectories of seven steps."""
    target = datasets.load("heart").target()
    positions = 0.1 * jax.random.normal(jax.random.key(0), (chains, target.dimension))
    flat: dict[str, Metric] = {"leapfrog": Euclidean(), "LMC-Monge": Monge(HEART_ALPHA)}

    def loop(metric: Metric) -> Callable[[], Any]:
        algorithm = lmc(target, metric, HEART_STEP, Static(HEART_LENGTH))
        step = jax.vmap(algorithm.step)

        @jax.jit
        def follow(key: Any, states: Any) -> Any:
            def one(i: Any, states: Any) -> Any:
                return step(jax.random.split(jax.random.fold_in(key, i), chains), states)[0]

            return jax.lax.fori_loop(0, draws, one, states)

        return partial(follow, jax.random.key(1), jax.vmap(algorithm.init)(positions))

    seconds = seconds_of({name: loop(metric) for name, metric in flat.items()}, rounds)
    return {name: draws * chains / float(np.median(times)) for name, times in seconds.items()}


class DeviceRow(NamedTuple):
    """A warm call: seconds, rates of its sampling, and the draws of what is measured."""

    call_seconds: float
    sampling_seconds: float
    draws_per_second: float
    effective_per_second: float
    values: np.ndarray
    """[chain, draw]."""


def automatic(problem: DeviceProblem, chains: int, draws: int) -> DeviceRow:
    """The second of two calls of `mongepatch.sample`."""
    target = problem.build()
    call = partial(
        sample_quietly, target, chains=chains, draws=draws, warmup=WARMUP, keep=[problem.variable], progress=False
    )
    call(seed=0)
    return _row(problem, partial(call, seed=1))


def of_blackjax(problem: DeviceProblem, chains: int, draws: int) -> DeviceRow:
    """The same by BlackJAX's NUTS."""
    target = problem.build()
    call = partial(baselines.nuts, target, chains=chains, draws=draws, warmup=5 * WARMUP)
    call(seed=0)
    return _row(problem, partial(call, seed=1))


def _row(problem: DeviceProblem, call: Callable[[], "DataTree"]) -> DeviceRow:
    started = time.perf_counter()
    tree = call()
    whole = time.perf_counter() - started
    values = np.asarray(tree["posterior"][problem.variable], float)
    values = values.reshape(*values.shape[:2], -1)[..., 0]
    values = np.log(values) if problem.is_log_scale else values
    seconds = float(tree["posterior"].attrs["sampling_time"])
    return DeviceRow(whole, seconds, values.size / seconds, effective_draws(values) / seconds, values)


def effective_draws(values: np.ndarray) -> float:
    """Effective size of the mean of [chain, draw]: of many chains, by the spread of their own means."""
    if len(values) < MANY:
        return effective_size(values, "bulk")
    return float(values.var() / (values.mean(axis=1).var() / len(values)))


def deviation(values: np.ndarray, truth: np.ndarray) -> float:
    """Largest difference of a fraction below a quantile between two runs of many chains, in standard errors."""
    return max(_difference(values, truth, float(np.quantile(truth, p))) for p in PROBABILITIES)


def _difference(values: np.ndarray, truth: np.ndarray, quantile: float) -> float:
    below = [(part < quantile).mean(axis=1) for part in (values, truth)]
    error = np.sqrt(sum(part.var() / len(part) for part in below))
    return abs(float(below[0].mean() - below[1].mean())) / error


def run(
    chains: Sequence[int] = CHAINS,
    draws: int = DRAWS,
    rounds: int = 5,
    only: Collection[str] = (),
    most_on_cpu: int = 4096,
) -> None:
    """Print tables of the kernel on heart, and of automatic runs, in double and in single precision."""
    check_problems(only, ["kernel", *(problem.name for problem in problems())])
    places = dict.fromkeys((jax.devices()[0], jax.devices("cpu")[0]))
    if not only or "kernel" in only:
        rows = []
        for place in places:
            for double in (True, False):
                for count in chains:
                    if place.platform == "cpu" and count > most_on_cpu:
                        continue
                    with precision(double), jax.default_device(place):
                        rates = kernel_rates(count, draws, rounds)
                    rows.append(
                        (place.device_kind, _name(double), f"{count:,}", *(f"{rate:,.0f}" for rate in rates.values()))
                    )
        print_table(
            f"Draws per second on heart, L = {HEART_LENGTH}",
            ("device", "precision", "chains", "leapfrog", "LMC-Monge"),
            rows,
        )
    for problem in problems():
        if only and problem.name not in only:
            continue
        print_table(
            f"{problem.name}: a warm call with {draws} draws of every chain",
            ("device", "sampler", "precision", "chains", "call s", "sampling s", "draws/s", "effective/s", "deviation"),
            list(_rows(problem, list(places), chains, draws, most_on_cpu)),
            ["deviation: of quantiles from those of the largest run in double precision, in standard errors"],
        )


def _rows(
    problem: DeviceProblem, places: Sequence[Any], chains: Sequence[int], draws: int, most_on_cpu: int
) -> Iterator[tuple[str, ...]]:
    truth: np.ndarray | None = None
    for place in places:
        allowed = [count for count in chains if place.platform != "cpu" or count <= most_on_cpu]
        for double in (True, False):
            for count in sorted(allowed, reverse=True):
                samplers = {"ours": automatic} | ({"BlackJAX": of_blackjax} if count in (64, 1024) else {})
                for name, sampler in samplers.items():
                    with precision(double), jax.default_device(place):
                        row = sampler(problem, count, draws)
                    if truth is None:
                        truth = row.values
                    off = f"{deviation(row.values, truth):.1f}" if count >= MANY and row.values is not truth else ""
                    numbers = (f"{row.call_seconds:.2f}", f"{row.sampling_seconds:.3f}")
                    rates = (f"{row.draws_per_second:,.0f}", f"{row.effective_per_second:,.0f}")
                    yield (place.device_kind, name, _name(double), f"{count:,}", *numbers, *rates, off)


def _name(double: bool) -> str:
    return "double" if double else "single"
