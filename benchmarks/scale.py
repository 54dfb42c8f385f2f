"""Growth with the size of a model: preparing, compiling and a gradient, of hierarchies with up to 100,000 groups."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.gradients import gradient_loop
from benchmarks.measures.passes import pass_loop
from benchmarks.measures.timing import seconds_of
from benchmarks.step import synthetic_regression
from mongepatch import from_numpyro, whiten
from mongepatch._extras import require
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import Target

GROUPS, ROWS = (1_000, 10_000, 100_000), (10_000, 100_000, 1_000_000)
PER_GROUP, COLUMNS, CHAINS = 5, 100, 4
SECONDS_PER_CALL, LEAST_REPEATS = 0.2, 10


class Size(NamedTuple):
    """What a model of one size takes."""

    dimension: int
    prepare_seconds: float
    """From the model to a density in the coordinates that chains move in."""
    compile_seconds: float
    gradient_seconds: float
    """Of one gradient of every chain, in a loop as in a sampler: memory is asked for once."""
    pass_seconds: float
    """Of one pass over arrays of as much memory, which grows faster than they do where they outgrow a cache."""
    memory_bytes: int
    """What its program holds at most."""


def hierarchy(groups: int) -> Target:
    """An intercept and a slope for each group, with five observations in each, in the centred form."""
    numpyro = require("numpyro", "numpyro", "The benchmark of scale")
    dist = require("numpyro.distributions", "numpyro", "The benchmark of scale")
    rng = np.random.default_rng(groups)
    x = rng.normal(size=(groups, PER_GROUP))
    effects = np.array([1.0, -0.5]) + np.array([0.5, 0.3]) * rng.normal(size=(groups, 2))
    y = effects[:, :1] + effects[:, 1:] * x + 0.7 * rng.normal(size=x.shape)

    def model() -> None:
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        effect = {}
        for name in ("intercept", "slope"):
            mu, tau = numpyro.sample(f"mu_{name}", dist.Normal(0, 2)), numpyro.sample(f"tau_{name}", dist.HalfNormal(1))
            with numpyro.plate(f"groups_{name}", groups):
                effect[name] = numpyro.sample(name, dist.Normal(mu, tau))
        mean = effect["intercept"][:, None] + effect["slope"][:, None] * x
        numpyro.sample("y", dist.Normal(mean, sigma).to_event(2), obs=y)

    return from_numpyro(model)


def measured(build: Callable[[], Target], rounds: int, *, whitened: bool) -> Size:
    """Prepare a model, compile its gradient and time it."""
    started = time.perf_counter()
    target = build()
    density = whiten(target).logdensity if whitened else target.logdensity
    prepared = time.perf_counter()
    positions = 0.01 * jax.random.normal(jax.random.key(0), (CHAINS, target.dimension))
    compiled = jax.jit(jax.vmap(jax.value_and_grad(density))).lower(positions).compile()
    compiling = time.perf_counter() - prepared
    used: Any = compiled.memory_analysis()
    memory = used.temp_size_in_bytes + used.argument_size_in_bytes + used.output_size_in_bytes
    alone = seconds_of({"gradient": partial(compiled, positions)}, 1)["gradient"][0]
    repeats = max(LEAST_REPEATS, round(SECONDS_PER_CALL / alone))
    calls = {"gradient": gradient_loop(density, positions, repeats), "pass": pass_loop(memory, repeats)}
    least = {name: float(np.min(seconds)) / repeats for name, seconds in seconds_of(calls, rounds).items()}
    return Size(target.dimension, prepared - started, compiling, least["gradient"], least["pass"], memory)


def run(
    groups: Sequence[int] = GROUPS, rows: Sequence[int] = ROWS, rounds: int = 7, draws: int = 0
) -> dict[str, tuple[float, float]]:
    """Print a table for each family; return the slopes of log time, of a gradient and of passes over its memory."""
    families: dict[str, tuple[Sequence[int], Callable[[int], Target], bool]] = {
        "hierarchy, whitened": (groups, hierarchy, True),
        "hierarchy as it is written": (groups, hierarchy, False),
        f"logistic regression, {COLUMNS} columns": (rows, partial(synthetic_regression, dimension=COLUMNS), False),
    }
    slopes = {}
    for name, (sizes, build, whitened) in families.items():
        found = [measured(partial(build, size), rounds, whitened=whitened) for size in sizes]
        of_time, of_passes, of_memory = (
            float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
            for values in zip(
                *((row.gradient_seconds, row.pass_seconds, row.memory_bytes) for row in found), strict=True
            )
        )
        slopes[name] = (of_time, of_passes)
        print_table(
            f"{name}: a gradient of {CHAINS} chains, {jnp.zeros(()).dtype}, {jax.devices()[0].device_kind}",
            ("size", "parameters", "prepare s", "compile s", "gradient ms", "memory MB", "a pass over it, ms"),
            [
                (
                    f"{size:,}",
                    f"{row.dimension:,}",
                    f"{row.prepare_seconds:.1f}",
                    f"{row.compile_seconds:.1f}",
                    f"{1e3 * row.gradient_seconds:.2f}",
                    f"{row.memory_bytes / 1e6:.1f}",
                    f"{1e3 * row.pass_seconds:.2f}",
                )
                for size, row in zip(sizes, found, strict=True)
            ],
            [f"slope: gradient {of_time:.2f}, memory {of_memory:.2f}, a pass over it {of_passes:.2f}"],
        )
        if draws and (whitened or build is not hierarchy):  # `sample` whitens the hierarchy by itself
            print_table(f"{name}: automatic runs", _COLUMNS, [_automatic(build(size), size, draws) for size in sizes])
    return slopes


_COLUMNS = ("size", "call s", "warm-up s", "sampling s", "gradients per draw", "largest R̂", "least effective size")


def _automatic(target: Target, size: int, draws: int) -> tuple[str, ...]:
    from benchmarks.measures.effective_size import largest_r_hat, smallest_ess_of

    started = time.perf_counter()
    tree = sample_quietly(target, chains=CHAINS, draws=draws, warmup=draws, progress=False)
    whole = time.perf_counter() - started
    posterior, stats = tree["posterior"], tree["sample_stats"]
    scalars = {str(name): np.asarray(values) for name, values in posterior.items() if values.ndim == 2}
    if not scalars:
        scalars = {f"beta {i}": np.asarray(posterior["beta"])[..., i] for i in range(5)}
    return (
        f"{size:,}",
        f"{whole:.1f}",
        f"{posterior.attrs['warmup_time']:.1f}",
        f"{posterior.attrs['sampling_time']:.1f}",
        f"{float(stats['n_grad'].mean()):.1f}",
        f"{largest_r_hat(scalars):.3f}",
        f"{smallest_ess_of(scalars):.0f}",
    )
